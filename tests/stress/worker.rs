//! The work of a thread on a device that other threads use at the same time. Results are compared with the CPU's.

use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};
use wgslice::{
    Backend, DType, Error, Gpu, Pending, Plan, Report, SliceSpec, Tensor, Values, ValuesMut,
    options::{GatherNdOptions, OutOfRange},
    slice,
};
use wgslice_vectors::{Call, kind, random, run};

/// The largest number of values that the threads of a device keep for each other.
const MAX_KEPT: usize = 24;

/// The number of random cases: enough to need most kernels, but so few that all these kernels are compiled soon.
const CASE_COUNT: usize = 400;

/// A value that one thread made and that another thread can use or drop.
enum KeptValue {
    /// A tensor, and the bytes that it must have.
    Tensor(Box<Tensor>, Vec<u8>),
    /// A report, and the number of out-of-range tuples that it must give.
    Report(Pending<Report>, usize),
}

/// A device, and the values that its threads keep for each other.
pub(crate) struct SharedDevice {
    gpu: Gpu,
    backend: Backend,
    kept_values: Mutex<Vec<KeptValue>>,
    /// Threads hold a read lock while their calls can write to a buffer: see [`SharedDevice::destroy`].
    writes: RwLock<()>,
}

impl SharedDevice {
    pub(crate) fn new(gpu: &Gpu) -> Self {
        Self {
            gpu: gpu.clone(),
            backend: Backend::from(gpu.clone()),
            kept_values: Mutex::default(),
            writes: RwLock::default(),
        }
    }

    /// Destroys the device at a moment when no thread writes. Threads can read back, wait, poll, drop values and submit
    /// recorded work at this moment, and the device can run work. In wgpu 30, `Queue::write_buffer` locks the device's
    /// trackers while it holds the snatch lock, and the poll that frees a destroyed device's buffers takes the two
    /// locks in the other order. If the device is lost while a thread writes, this thread and the polling thread can
    /// each hold one lock and wait for the other lock forever.
    pub(crate) fn destroy(&self) {
        let _no_writer = self.writes.write().unwrap_or_else(PoisonError::into_inner);
        self.gpu.device().destroy();
    }

    fn lock_for_writing(&self) -> RwLockReadGuard<'_, ()> {
        self.writes.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a value. If more than [`MAX_KEPT`] values are then kept, takes out and returns a random value, which
    /// another thread can have made.
    fn exchange(&self, value: KeptValue, random: &mut Random) -> Option<KeptValue> {
        let mut kept = self
            .kept_values
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        kept.push(value);
        (kept.len() > MAX_KEPT).then(|| {
            let index = random.below(kept.len());
            kept.swap_remove(index)
        })
    }
}

/// A generator of random numbers: Marsaglia's xorshift.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).expect("53 bits") % end
    }
}

/// A thread's work on a device, and the thread's random numbers.
pub(crate) struct Worker<'a> {
    shared: &'a SharedDevice,
    random: Random,
    /// The approximate largest size in bytes of a matrix that the worker uploads. It is small on a strict device, which
    /// is slow.
    max_matrix_bytes: usize,
    /// The number of the worker's last random case, below [`CASE_COUNT`].
    case_number: usize,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(shared: &'a SharedDevice, seed: u64, max_matrix_bytes: usize) -> Self {
        let mut random = Random::new(seed);
        Self {
            shared,
            case_number: random.below(CASE_COUNT),
            random,
            max_matrix_bytes,
        }
    }

    /// Runs every random case once, so that no kernel that the cases need is compiled later.
    #[allow(dead_code, reason = "a short test has no time for it")]
    pub(crate) fn warm_up(&mut self) -> Result<(), Error> {
        (0..CASE_COUNT).try_for_each(|_| self.run_next_case())
    }

    /// Does one random kind of work. All errors are errors of the device.
    ///
    /// # Panics
    ///
    /// If a result differs from the CPU's.
    pub(crate) fn act(&mut self) -> Result<(), Error> {
        match self.random.below(8) {
            0..3 => self.run_next_case(),
            3 => self.encode(false),
            4 => self.encode(true),
            5 => self.gather(),
            6 => self.update(),
            _ => self.slice_and_drop(),
        }
    }

    /// Runs the next random case on tensors, whatever its operation.
    fn run_next_case(&mut self) -> Result<(), Error> {
        self.case_number = (self.case_number + 1) % CASE_COUNT;
        let case = random::answered(random::case(77, self.case_number)).expect("a case");
        let call = Call::of(&case).expect("a call");
        let Some(variant) = random::variant(&case) else {
            return Ok(());
        };
        let cpu = run(&call, &Backend::cpu(), &variant);
        let writing = self.shared.lock_for_writing();
        let device = run(&call, &self.shared.backend, &variant);
        drop(writing);
        match (cpu, device) {
            (Ok(cpu), Ok(device)) => {
                let is_equal = cpu.shape == device.shape && cpu.values == device.values;
                assert!(is_equal && cpu.bad == device.bad, "{}", case.to_line());
            }
            // The device has limits that the CPU does not have, such as the limit on the length of tuples.
            (
                _,
                Err(
                    Error::DeviceLimit { .. }
                    | Error::DTypeOnDevice { .. }
                    | Error::ConversionOnDevice { .. },
                ),
            ) => {}
            (_, Err(error)) if error.is_device_error() => return Err(error),
            (Err(cpu), Err(device)) => {
                assert_eq!(kind(&cpu), kind(&device), "{}", case.to_line());
            }
            (cpu, device) => panic!("{cpu:?}, but {device:?}: {}", case.to_line()),
        }
        Ok(())
    }

    /// Uploads a random matrix of bytes. Returns its tensor, its shape and the bytes.
    fn upload_matrix(&mut self) -> Result<(Tensor, [usize; 2], Vec<u8>), Error> {
        let columns = 1 + self.random.below(300);
        let rows = 1 + self.random.below(self.max_matrix_bytes / columns + 1);
        let salt = self.random.below(251);
        let cycle = (0..251_u8).cycle().skip(salt);
        let bytes: Vec<u8> = cycle.take(rows * columns).collect();
        let tensor = self.shared.backend.upload((&bytes, &[rows, columns]))?;
        Ok((tensor, [rows, columns], bytes))
    }

    fn random_spec(&mut self) -> SliceSpec {
        match self.random.below(5) {
            0 => slice![.., ..; -1],
            1 => slice![..; -2],
            2 => slice![1.., ..-1],
            3 => slice![..; 3, ..; 3],
            _ => slice![.., 1..],
        }
    }

    /// Records a slice into a new encoder. If `is_prepared`, the plan is prepared first.
    fn encode(&mut self, is_prepared: bool) -> Result<(), Error> {
        let writing = self.shared.lock_for_writing();
        let (source, shape, bytes) = self.upload_matrix()?;
        let plan = Plan::slice(&shape, &self.random_spec(), DType::U8)?;
        let mut expected = vec![0; plan.outputs()[0].bytes()];
        run_on_cpu(&plan, &bytes, None, &mut expected)?;
        if expected.is_empty() {
            return Ok(());
        }
        let gpu = &self.shared.gpu;
        let dest = self
            .shared
            .backend
            .upload((&vec![0_u8; expected.len()], plan.shape()))?;
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        let (from, to) = (
            source.buffers().unwrap()[0].slice(..),
            dest.buffers().unwrap()[0].slice(..),
        );
        let (inputs, outputs) = ([from], [to]);
        match is_prepared {
            true => gpu.encode(&mut encoder, &*gpu.prepare(&plan)?, &inputs, &outputs)?,
            false => gpu.encode(&mut encoder, &plan, &inputs, &outputs)?,
        };
        drop(writing);
        gpu.queue().submit([encoder.finish()]);
        assert!(dest.bytes()? == expected, "{plan}");
        Ok(())
    }

    /// Records a gather, and keeps its report for any of the threads.
    fn gather(&mut self) -> Result<(), Error> {
        let writing = self.shared.lock_for_writing();
        let (source, shape, bytes) = self.upload_matrix()?;
        let tuple_count = 1 + self.random.below(50);
        let mut id = || i32::try_from(self.random.below(shape[0] + 2)).expect("a small id");
        let ids: Vec<i32> = (0..tuple_count).map(|_| id()).collect();
        let options = GatherNdOptions {
            out_of_range: OutOfRange::Ignore,
            ..GatherNdOptions::default()
        };
        let plan = Plan::gather_nd(&shape, &[tuple_count, 1], options, DType::U8)?;
        let mut expected = vec![0; plan.outputs()[0].bytes()];
        let cpu_report = run_on_cpu(&plan, &bytes, Some((&ids).into()), &mut expected)?;
        let (gpu, backend) = (&self.shared.gpu, &self.shared.backend);
        let tuples = backend.upload((&ids, &[tuple_count, 1]))?;
        let dest = backend.upload((&vec![0_u8; expected.len()], plan.shape()))?;
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        let report = gpu.encode(
            &mut encoder,
            &plan,
            &[
                source.buffers().unwrap()[0].slice(..),
                tuples.buffers().unwrap()[0].slice(..),
            ],
            &[dest.buffers().unwrap()[0].slice(..)],
        )?;
        drop(writing);
        gpu.queue().submit([encoder.finish()]);
        assert!(dest.bytes()? == expected, "{plan}");
        self.keep(KeptValue::Report(report, cpu_report.out_of_range))
    }

    /// Updates a clone of a tensor, which leaves the tensor itself unchanged.
    fn update(&mut self) -> Result<(), Error> {
        let writing = self.shared.lock_for_writing();
        let (tensor, shape, bytes) = self.upload_matrix()?;
        let spec = self.random_spec();
        let plan = Plan::slice_update(&shape, &spec, &[], DType::U8)?;
        let mut expected = bytes.clone();
        run_on_cpu(&plan, &[200], None, &mut expected)?;
        let mut changed = tensor.clone();
        let value = self.shared.backend.upload((&[200_u8], &[]))?;
        changed.slice_update(&spec, &value)?;
        drop(writing);
        assert!(changed.bytes()? == expected, "{plan}");
        assert!(tensor.bytes()? == bytes, "the clone of {plan}");
        self.keep(KeptValue::Tensor(Box::new(changed), expected))
    }

    /// Slices a tensor, and drops the tensor before the slice is read, perhaps by another thread.
    fn slice_and_drop(&mut self) -> Result<(), Error> {
        let writing = self.shared.lock_for_writing();
        let (tensor, shape, bytes) = self.upload_matrix()?;
        let spec = self.random_spec();
        let plan = Plan::slice(&shape, &spec, DType::U8)?;
        let mut expected = vec![0; plan.outputs()[0].bytes()];
        run_on_cpu(&plan, &bytes, None, &mut expected)?;
        let sliced = tensor.slice(&spec)?;
        drop((tensor, writing));
        self.keep(KeptValue::Tensor(Box::new(sliced), expected))
    }

    /// Keeps a value. If a value is taken out in exchange, uses that value or drops it.
    fn keep(&mut self, value: KeptValue) -> Result<(), Error> {
        let taken = self.shared.exchange(value, &mut self.random);
        if self.random.below(3) == 0 {
            return Ok(());
        }
        match taken {
            Some(KeptValue::Tensor(tensor, expected)) => {
                assert!(tensor.bytes()? == expected, "a tensor of another thread");
            }
            Some(KeptValue::Report(report, out_of_range)) => {
                assert_eq!(
                    report.wait()?.out_of_range,
                    out_of_range,
                    "a report of another thread"
                );
            }
            None => {}
        }
        Ok(())
    }
}

/// Runs a plan on the CPU, with arguments as bytes.
fn run_on_cpu(
    plan: &Plan,
    source: &[u8],
    indices: Option<Values<'_>>,
    dest: &mut [u8],
) -> Result<Report, Error> {
    let source = Values::from_bytes(plan.dtype(), source);
    let inputs: Vec<_> = [Some(source), indices].into_iter().flatten().collect();
    plan.run_cpu(&inputs, &mut [ValuesMut::from_bytes(plan.dtype(), dest)])
}
