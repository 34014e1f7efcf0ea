//! Draws the devices and the element sizes of a case, and prints the devices if the case fails.
//!
//! Every case runs on the CPU and on one device of each adapter. Each call of `devices` draws this device, by a seed
//! and the number of the draw. So a case compiles its pipelines on one device of an adapter, and many cases together
//! use all devices. `WGSLICE_TEST_ALL=1` runs every case on every device. `WGSLICE_TEST_SEED` is the seed, 1 by
//! default. If `WGSLICE_TEST_CASE` is the number of a draw, all other draws run only on the CPU.
//! `WGSLICE_TEST_FIRST=1` ends the process at the first failure.

use super::{DEVICES, DTYPE_OF_EACH_SIZE, Device};
use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    env, panic, process,
    str::FromStr,
    sync::{LazyLock, Mutex},
    thread,
};
use wgslice::DType;

fn number_from_variable<T: FromStr>(variable: &str) -> Option<T> {
    let text = env::var(variable).ok()?;
    let number = text.parse().ok();
    assert!(number.is_some(), "{variable}={text}, which is not a number");
    number
}

/// The seed of all draws, of the random cases and of the order in which strict devices run invocations.
pub(crate) static SEED: LazyLock<u64> =
    LazyLock::new(|| number_from_variable("WGSLICE_TEST_SEED").unwrap_or(1));

/// The number of the only draw that runs on GPUs, if `WGSLICE_TEST_CASE` is set.
static ONLY_DRAW: LazyLock<Option<u64>> =
    LazyLock::new(|| number_from_variable("WGSLICE_TEST_CASE"));

/// True if every case runs on every device.
pub(crate) static USES_ALL_DEVICES: LazyLock<bool> =
    LazyLock::new(|| env::var("WGSLICE_TEST_ALL").is_ok_and(|all| all == "1"));

/// True if the first failure ends the process. Programs that only need to know whether a test fails set
/// `WGSLICE_TEST_FIRST=1`.
static STOPS_AT_FIRST_FAILURE: LazyLock<bool> =
    LazyLock::new(|| env::var("WGSLICE_TEST_FIRST").is_ok_and(|first| first == "1"));

thread_local! {
    /// The number of draws of this thread so far.
    static DRAW_COUNT: Cell<u64> = const { Cell::new(0) };
    /// The names of the devices of the last draw.
    static DRAWN_NAMES: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    /// The number of runs of cases on devices by this thread, since the last call of `print_cases`.
    static CASE_COUNT: Cell<usize> = const { Cell::new(0) };
    /// Strict devices take part in one of this many draws.
    static STRICT_ONE_IN: Cell<u64> = const { Cell::new(1) };
}

/// Returns a pseudorandom number for a choice of the current draw. It depends only on the seed, the draw and `choice`.
fn random(choice: u64) -> usize {
    // This is the output function of SplitMix64.
    let mut bits = SEED.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ DRAW_COUNT.get() << 8 ^ choice;
    for (shift, factor) in [(30, 0xbf58_476d_1ce4_e5b9), (27, 0x94d0_49bb_1331_11eb)] {
        bits = (bits ^ bits >> shift).wrapping_mul(factor);
    }
    (bits >> 33) as usize
}

/// Returns the CPU, followed by one device of each adapter, drawn anew in each call, or by all devices under
/// `WGSLICE_TEST_ALL=1`.
pub(crate) fn devices() -> &'static [Device] {
    /// A list of devices for each combination of their positions that was drawn.
    static DEVICE_LISTS: Mutex<Option<HashMap<Vec<usize>, &'static [Device]>>> = Mutex::new(None);
    LazyLock::force(&PANIC_HOOK);
    DRAW_COUNT.set(DRAW_COUNT.get() + 1);
    let places = drawn_places();
    CASE_COUNT.set(CASE_COUNT.get() + places.len());
    DRAWN_NAMES.replace(places.iter().map(|&place| &*DEVICES[place].name).collect());
    let mut lists = DEVICE_LISTS
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    lists
        .get_or_insert_default()
        .entry(places)
        .or_insert_with_key(|places| {
            let devices = places.iter().map(|&place| DEVICES[place].clone());
            devices.collect::<Vec<_>>().leak()
        })
}

/// For each adapter, the positions of its devices in [`DEVICES`]. The first entry is the CPU.
static ADAPTERS: LazyLock<Vec<Vec<usize>>> = LazyLock::new(|| {
    let mut adapters: Vec<Vec<usize>> = Vec::new();
    for (place, device) in DEVICES.iter().enumerate() {
        match adapters.last_mut() {
            Some(places) if DEVICES[places[0]].adapter_name() == device.adapter_name() => {
                places.push(place);
            }
            _ => adapters.push(vec![place]),
        }
    }
    adapters
});

/// Returns the positions in [`DEVICES`] of the devices that the current draw chooses.
fn drawn_places() -> Vec<usize> {
    let mut adapters = ADAPTERS.iter();
    let mut chosen_places = adapters.next().cloned().unwrap_or_default();
    if ONLY_DRAW.is_some_and(|only| only != DRAW_COUNT.get()) {
        return chosen_places;
    }
    for (adapter, places) in (0..).zip(adapters) {
        let is_strict = DEVICES[places[0]].name.starts_with("strict");
        match *USES_ALL_DEVICES {
            true => chosen_places.extend(places),
            false if is_strict && !(random(1 << 33) as u64).is_multiple_of(STRICT_ONE_IN.get()) => {
            }
            false => chosen_places.push(places[random(adapter) % places.len()]),
        }
    }
    chosen_places
}

/// Prints the number of cases that have passed, counted once for each device. `bash tests/run` adds these numbers up.
pub(crate) fn print_cases() {
    println!("cases: {} passed", CASE_COUNT.take());
}

/// Calls `check` such that strict devices take part in only one of `interval` draws, because they interpret shaders,
/// which takes long.
pub(crate) fn with_strict_one_in(interval: u64, check: impl FnOnce()) {
    STRICT_ONE_IN.set(interval);
    check();
    STRICT_ONE_IN.set(1);
}

/// Counts one case less, because the case is too large for a drawn device.
pub(crate) fn uncount_case() {
    CASE_COUNT.set(CASE_COUNT.get().saturating_sub(1));
}

/// Calls `check` with the number of draws set back to `draw_count`, so that a smaller case runs on the same devices.
pub(crate) fn with_draw_count<T>(draw_count: u64, check: impl FnOnce() -> T) -> T {
    DRAW_COUNT.set(draw_count);
    check()
}

/// Returns the number of draws so far.
pub(crate) fn draw_count() -> u64 {
    DRAW_COUNT.get()
}

/// The element sizes at which a case runs.
#[derive(Clone, Copy)]
pub(crate) enum Sizes {
    /// Every size.
    All,
    /// One size on each device, drawn at random.
    One,
}

impl Sizes {
    /// Returns the sizes for rows of this many elements, in tests of many row lengths. Rows of more than 16 elements
    /// run at one size on each device, because more elements only add iterations of loops.
    pub(crate) fn of_length(length: usize) -> Self {
        match length {
            ..=16 => Self::All,
            _ => Self::One,
        }
    }

    /// Returns a function that lists the devices on which a case runs at an element size.
    pub(crate) fn draw_devices(self) -> impl Fn(DType) -> Vec<&'static Device> {
        let sized_devices: Vec<(DType, &Device)> = match self {
            Self::All => Vec::new(),
            Self::One => {
                let devices = (0_u64..).zip(devices());
                let draw_dtype =
                    |place| DTYPE_OF_EACH_SIZE[random(1 << 32 | place) % DTYPE_OF_EACH_SIZE.len()];
                devices
                    .map(|(place, device)| (draw_dtype(place), device))
                    .collect()
            }
        };
        move |dtype| match self {
            Self::All => devices().iter().collect(),
            Self::One => {
                let of_dtype = sized_devices
                    .iter()
                    .filter(|(drawn_dtype, _)| *drawn_dtype == dtype);
                of_dtype.map(|(_, device)| *device).collect()
            }
        }
    }
}

/// Installs a panic hook that prints more after the message of a failed test: its seed, its devices, and the command
/// that runs only this draw.
static PANIC_HOOK: LazyLock<()> = LazyLock::new(|| {
    let previous_hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        previous_hook(info);
        let draw = DRAW_COUNT.get();
        if draw == 0 {
            return;
        }
        let thread = thread::current();
        let test = thread
            .name()
            .filter(|name| *name != "main")
            .unwrap_or("TEST");
        let device_names = DRAWN_NAMES.with_borrow(|names| names.join("; "));
        let all = if *USES_ALL_DEVICES {
            "WGSLICE_TEST_ALL=1 "
        } else {
            ""
        };
        eprintln!(
            "draw {draw} of seed {}: {device_names}\nto run only this draw again:\n  {all}WGSLICE_TEST_SEED={} \
             WGSLICE_TEST_CASE={draw} cargo test -p wgslice --all-features --test root -- --exact {test}",
            *SEED, *SEED
        );
        if *STOPS_AT_FIRST_FAILURE {
            process::exit(101);
        }
    }));
});
