//! Times wgslice on the CPU against the crates that people would use instead: ndarray, transpose, strided-perm, candle
//! and burn-flex. `README.md` in the parent folder describes how to run it and what its table means.

mod cases;
mod clock;
mod peers;
mod report;

use cases::Case;
use clock::Clock;
use peers::{Element, Inputs, Kept, New, Peer};
use report::Row;
use std::{
    error::Error,
    time::{Duration, Instant},
};
use threadteam::Pool;
use wgslice::DType;

const USAGE: &str = "rust-peers [--threads 1,2] [--only TEXT] [--seconds 0.2] [--clock wall|thread] [--out FOLDER]

--threads  the numbers of threads that each crate can use; each number has its own tables
--only     measures only the cases with this text in their name or type
--seconds  the approximate total time of a call's measurements, which are 3 to 25
--clock    thread: the processor time of the thread, without the time of other programs; only for one thread
--out      the folder to which rust-peers.json and rust-peers.md are written; without it, they are printed";

/// The options on the command line.
pub struct Options {
    threads: Vec<usize>,
    only: String,
    seconds: f64,
    clock: Clock,
    out: Option<String>,
}

impl Options {
    fn read() -> Result<Self, Box<dyn Error>> {
        let mut options = Self {
            threads: vec![1, 2],
            only: String::new(),
            seconds: 0.2,
            clock: Clock::Wall,
            out: None,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or(USAGE)?;
            match &name[..] {
                "--threads" => {
                    let counts = value.split(',').map(|count| count.parse());
                    options.threads = counts.collect::<Result<_, _>>().map_err(|_| USAGE)?;
                }
                "--only" => options.only = value,
                "--seconds" => options.seconds = value.parse()?,
                "--clock" if value == "wall" => options.clock = Clock::Wall,
                "--clock" if value == "thread" => options.clock = Clock::Thread,
                "--out" => options.out = Some(value),
                _ => return Err(USAGE.into()),
            }
        }
        if options.clock == Clock::Thread && options.threads != [1] {
            return Err("the clock of a thread measures one thread: add --threads 1".into());
        }
        Ok(options)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::read()?;
    let start = Instant::now();
    let mut rows = Vec::new();
    for case in cases::all() {
        let name = format!("{} {}", case.name, case.dtype);
        if !name.contains(&options.only) {
            continue;
        }
        eprintln!("{:4.0} s  {name}", start.elapsed().as_secs_f64());
        match case.dtype {
            DType::F32 => measure::<f32>(&case, &options, &mut rows)?,
            DType::F64 => measure::<f64>(&case, &options, &mut rows)?,
            _ => measure::<u8>(&case, &options, &mut rows)?,
        }
        // The results are written after each case, so that an interrupted run keeps them.
        if options.out.is_some() {
            report::write(&options, &rows, start.elapsed())?;
        }
    }
    match options.out {
        Some(_) => Ok(()),
        None => report::write(&options, &rows, start.elapsed()),
    }
}

/// Takes all measurements of a case.
fn measure<T: Element>(
    case: &Case,
    options: &Options,
    rows: &mut Vec<Row>,
) -> Result<(), Box<dyn Error>> {
    let inputs = Inputs::<T>::of(&case.work);
    for &threads in &options.threads {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()?;
        // The threads of this team sleep as soon as they are idle, so that they do not slow the next crate down.
        let team = Pool::builder().threads(threads);
        let team = team.idle_spin(Duration::ZERO).build()?;
        pool.install(|| {
            let peers = peers::all(&case.work, &inputs, threads, &team, options.clock);
            let (mut new_calls, mut kept_calls) = (Vec::new(), Vec::new());
            for Peer { name, new, kept } in peers {
                new_calls.extend(new.map(|call| (name, call)));
                kept_calls.extend(kept.map(|call| (name, call)));
            }
            let row = |mode, times| Row {
                case: case.clone(),
                bytes: size_of_val(&inputs.expected[..]),
                threads,
                mode,
                times,
            };
            rows.push(row(
                "new",
                time_new(new_calls, &inputs.expected, threads, options),
            ));
            rows.push(row(
                "kept",
                time_kept(kept_calls, &inputs.expected, threads, options),
            ));
        });
    }
    Ok(())
}

/// Times all peers' calls that make new results, alternately.
fn time_new<T: Element>(
    peers: Vec<(&'static str, New<'_, T>)>,
    expected: &[T],
    threads: usize,
    options: &Options,
) -> Vec<report::Times> {
    let mut calls: Vec<(&'static str, Call<'_>)> = Vec::new();
    let copy_to_new = move || match threads {
        1 => expected.to_vec(),
        _ => {
            let mut result = vec![T::default(); expected.len()];
            copy(&mut result, expected, threads);
            result
        }
    };
    let time_copy = move |_: bool| options.clock.time(copy_to_new).0;
    calls.push(("copy", Box::new(time_copy)));
    for (name, mut call) in peers {
        let run = move |checks: bool| {
            call(&mut |result| assert!(!checks || result == expected, "{name}: a wrong result"))
        };
        calls.push((name, Box::new(run)));
    }
    time_alternately(calls, options.seconds)
}

/// Times all peers' calls that reuse the result's memory, alternately.
fn time_kept<T: Element>(
    peers: Vec<(&'static str, Kept<'_, T>)>,
    expected: &[T],
    threads: usize,
    options: &Options,
) -> Vec<report::Times> {
    let out = std::cell::RefCell::new(vec![T::default(); expected.len()]);
    let mut calls: Vec<(&'static str, Call<'_>)> = Vec::new();
    let time_copy = |_: bool| {
        let out = &mut out.borrow_mut();
        options.clock.time(|| copy(out, expected, threads)).0
    };
    calls.push(("copy", Box::new(time_copy)));
    for (name, mut call) in peers {
        let out = &out;
        let run = move |checks: bool| {
            let out = &mut out.borrow_mut();
            if checks {
                out.fill(T::value(3));
            }
            let time = options.clock.time(|| call(out)).0;
            assert!(!checks || out[..] == *expected, "{name}: a wrong result");
            time
        };
        calls.push((name, Box::new(run)));
    }
    time_alternately(calls, options.seconds)
}

/// Copies on `threads` threads. The speed of this copy is the upper limit for all crates.
fn copy<T: Element>(to: &mut [T], from: &[T], threads: usize) {
    let part_len = to.len().div_ceil(threads);
    rayon::scope(|scope| {
        let mut parts = to.chunks_mut(part_len).zip(from.chunks(part_len));
        let own_part = parts.next();
        for (to, from) in parts {
            scope.spawn(|_| to.copy_from_slice(from));
        }
        if let Some((to, from)) = own_part {
            to.copy_from_slice(from);
        }
    });
}

/// A timed call. If its argument is true, it also compares the result with the expected result. It returns its time
/// without the comparison.
type Call<'a> = Box<dyn FnMut(bool) -> Duration + 'a>;

/// Calls that take less time than this are repeated, and the mean is taken.
const MIN_TIME: Duration = Duration::from_micros(100);

/// Times calls alternately, so that other activity on the machine affects all of them alike. The first call of each
/// peer is a warm-up, and its result is checked.
fn time_alternately(calls: Vec<(&'static str, Call<'_>)>, seconds: f64) -> Vec<report::Times> {
    let mut timed_calls: Vec<_> = calls
        .into_iter()
        .map(|(name, mut call)| {
            call(true);
            let call_time = call(false);
            let repeats = match call_time {
                time if time < MIN_TIME => MIN_TIME.as_nanos() / time.as_nanos().max(20),
                _ => 1,
            };
            (name, call, repeats as u32, Vec::new(), Duration::ZERO)
        })
        .collect();
    for round in 0..25 {
        for (_, call, repeats, times, total_time) in &mut timed_calls {
            if round < 3 || total_time.as_secs_f64() < seconds {
                let sum: Duration = (0..*repeats).map(|_| call(false)).sum();
                *total_time += sum;
                times.push(sum / *repeats);
            }
        }
    }
    let times = timed_calls.into_iter();
    times
        .map(|(name, _, _, times, _)| report::Times::of(name, times))
        .collect()
}
