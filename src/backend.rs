//! A [`Backend`] is the CPU or one GPU. [`Backend::reason`] explains why this device was chosen.
//!
//! If an operation fails on the device, the call returns an error. A backend made by [`Backend::with_fallback`] runs
//! such operations on host values on the CPU instead, and [`Backend::last_fallback`] then returns the error of the
//! device.

mod open;
mod run;
mod upload;

#[cfg(any(feature = "gpu", all(feature = "std", not(target_arch = "wasm32"))))]
use crate::Plan;
use crate::{Error, cpu::Threads, host_pool::HostPool, lock::KeptValue};
use alloc::sync::Arc;
use core::fmt;

#[cfg(feature = "gpu")]
use crate::Gpu;
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
use crate::cost::{CostModel, Estimate};

/// The device that runs operations: the CPU or one GPU.
///
/// ```
/// use wgslice::{slice, Backend};
///
/// let backend = Backend::cpu();
/// let flipped = backend.slice((&[1, 2, 3, 4, 5, 6], &[2, 3]), &slice![.., ..; -1])?;
/// assert_eq!((flipped.shape, flipped.data), (vec![2, 3], vec![3, 2, 1, 6, 5, 4]));
/// # Ok::<(), wgslice::Error>(())
/// ```
///
/// | to | call |
/// |---|---|
/// | let the crate choose | [`Backend::auto`]: a hardware GPU if there is one, else the CPU |
/// | use the CPU | [`Backend::cpu`] |
/// | use a GPU, or a software adapter | `Backend::open_gpu`, with the same options as `Gpu::open` |
/// | use the program's own device | `Backend::from(Gpu::new(&device, &queue))` |
/// | do one operation and end | `Backend::auto_for_plan` |
///
/// A backend is cheap to clone.
#[derive(Clone, Debug)]
pub struct Backend {
    pub(crate) device: Device,
    reason: Arc<str>,
    /// If `Some`, the CPU does operations on host values that fail with an error of the device, and the last such error
    /// is kept.
    fallback: Option<KeptValue<Error>>,
    /// True if the report returns the error for out-of-range tuples, instead of the call. If `false`, the call waits
    /// for the device before it returns. This applies to tensors on a GPU under `OutOfRange::Error`.
    #[cfg(feature = "gpu")]
    pub(crate) late_errors: bool,
    /// If `Some`, an operation on host values runs on the CPU if the CPU is faster according to these costs.
    #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
    costs: Option<CostModel>,
    /// The maximum number of threads for an operation on the CPU.
    pub(crate) threads: Threads,
    /// Reuses the memory of dropped tensors on the CPU.
    pub(crate) host_pool: HostPool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Device {
    Cpu,
    #[cfg(feature = "gpu")]
    Gpu(Gpu),
}

impl Backend {
    /// Returns the same backend with the CPU as a fallback. Without a fallback, a call that fails on the device returns
    /// an error, even on a backend made by [`Backend::auto`].
    ///
    /// If an operation on host values fails with an [error of the device](Error::is_device_error), the CPU does the
    /// operation. Such errors include a lost device, too little device memory, a limit that is too low, and an element
    /// type that the shaders cannot combine. The fallback covers [`Backend::stream`] and all calls that take and return
    /// host values, such as [`Backend::slice`], [`Backend::gather_nd`] and [`Backend::scatter_nd`]. Tensors stay on
    /// their device: if an operation on a tensor fails there, the call returns the error. [`Backend::last_fallback`]
    /// tells whether the CPU did an operation, and why.
    ///
    /// ```
    /// # #[cfg(feature = "gpu")] {
    /// use wgslice::{slice, Backend};
    ///
    /// let backend = Backend::auto().with_fallback();
    /// backend.slice((&[1, 2, 3], &[3]), &slice![..; -1])?;
    /// if let Some(error) = backend.last_fallback() {
    ///     eprintln!("finished on the CPU: {error}");
    /// }
    /// # }
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    #[must_use]
    pub fn with_fallback(mut self) -> Self {
        self.fallback = Some(KeptValue::default());
        self
    }

    /// Returns the same backend with a limit: each operation on the CPU uses at most `threads` threads, including the
    /// calling thread. With 1, no thread is started. 0 stands for the default: one thread for each core that the
    /// process may use.
    ///
    /// An operation uses fewer threads if it is small: every thread gets at least about 60 µs of work. With the feature
    /// `rayon`, the threads belong to the rayon pool of the calling thread, or else to the global pool. The default and
    /// the maximum are then the size of this pool. Without the feature `std` the calling thread does all of the work.
    /// The number of threads does not change the bits of a result.
    ///
    /// The limit also applies to tensors that the backend makes from now on. It does not apply to copies to and from
    /// the memory of a GPU.
    ///
    /// ```
    /// use wgslice::{slice, Backend};
    ///
    /// let backend = Backend::cpu().with_threads(1);
    /// let flipped = backend.slice((&[1, 2, 3], &[3]), &slice![..; -1])?;
    /// assert_eq!(flipped.data, [3, 2, 1]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = Threads::at_most(threads);
        self
    }

    /// Like [`Backend::with_threads`], but without a minimum amount of work for each thread, so that in tests even
    /// small results are cut into parts. After this call, the whole process also zeroes new memory in the smallest
    /// blocks.
    #[cfg(any(test, feature = "test-seams"))]
    #[doc(hidden)]
    #[must_use]
    pub fn with_threads_for_any_work(mut self, threads: usize) -> Self {
        self.threads = Threads::at_most(threads);
        self.threads.for_any_work = true;
        crate::cpu::ALWAYS_UNINITIALIZED.store(true, core::sync::atomic::Ordering::Relaxed);
        self
    }

    /// Returns the same backend. After this call, the whole process orders its loops as on a processor of the other
    /// kind, or again as on its own kind.
    #[cfg(any(test, feature = "test-seams"))]
    #[doc(hidden)]
    #[must_use]
    pub fn with_other_processor(self, is_other: bool) -> Self {
        crate::cpu::IS_OTHER_KIND.store(is_other, core::sync::atomic::Ordering::Relaxed);
        self
    }

    /// Returns the same backend with late errors: gathers, crops, pastes and scatters of tensors do not wait for the
    /// device under [`OutOfRange::Error`](crate::options::OutOfRange::Error). A call returns as soon as the work is
    /// submitted.
    /// If a tuple is out of range, the [report](crate::Pending) returns the error instead of the call. This applies to
    /// tensors that the backend makes from now on, and to results of operations on them.
    ///
    /// In a browser no call can block. Without late errors, such a call fails there before it submits the operation.
    /// Elsewhere late errors let a program submit several calls before it waits for the first of their reports.
    ///
    /// Use a result only after its report has returned no error. If a tuple is out of range, the result of a gather or
    /// a crop has zeros for the elements out of range, and a paste or a scatter leaves its tensor unchanged. On the CPU
    /// the call itself fails.
    ///
    /// ```
    /// use wgslice::{options::{GatherOptions, OutOfRange}, Backend};
    ///
    /// # async fn example(backend: Backend) -> Result<(), wgslice::Error> {
    /// let backend = backend.with_late_errors();
    /// let table = backend.upload((&[10.0f32, 20.0], &[2]))?;
    /// let ids = backend.upload((&[1u32, 0], &[2]))?;
    /// let strict = GatherOptions { out_of_range: OutOfRange::Error, ..GatherOptions::default() };
    /// let (rows, report) = table.gather(&ids, strict)?;
    /// report.await?; // Error::InvalidIndices if an index was out of range
    /// assert_eq!(rows.to_array_async::<f32>().await?.data, [20.0, 10.0]);
    /// # Ok(())
    /// # }
    /// # pollster::block_on(example(Backend::auto()))?;
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    #[cfg(feature = "gpu")]
    #[must_use]
    pub fn with_late_errors(mut self) -> Self {
        self.late_errors = true;
        self
    }

    /// Returns the last error that made the CPU do an operation instead of the device, or `None` if there was none.
    /// Clones of a backend share this error.
    pub fn last_fallback(&self) -> Option<Error> {
        self.fallback.as_ref()?.get()
    }

    /// Decides whether the CPU does an operation that failed on the device with this error. If so, keeps the error
    /// for [`Backend::last_fallback`].
    #[cfg(feature = "gpu")]
    pub(crate) fn may_fall_back(&self, error: &Error) -> bool {
        let Some(kept_error) = self.fallback.as_ref().filter(|_| error.is_device_error()) else {
            return false;
        };
        kept_error.put(error.clone());
        true
    }

    /// Chooses the device that runs a plan on host values: the backend's device, unless the backend's costs say that
    /// the CPU is faster.
    #[cfg(any(feature = "gpu", all(feature = "std", not(target_arch = "wasm32"))))]
    pub(crate) fn device_for(&self, plan: &Plan) -> &Device {
        #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
        if self
            .estimate(plan)
            .is_some_and(|estimate| estimate.prefers_cpu())
        {
            return &Device::Cpu;
        }
        let _ = plan;
        &self.device
    }

    /// Returns the reason why the backend has this device, such as "the CPU was asked for".
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Returns whether the device is the CPU. `false` for a software adapter, which is a GPU backend on which
    /// [`Gpu::is_software`](crate::Gpu::is_software) is `true`.
    pub fn is_cpu(&self) -> bool {
        self.device == Device::Cpu
    }

    /// Waits until the device has finished all submitted work.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`], or another error of the device; [`Error::WouldBlock`] in a browser.
    pub fn wait(&self) -> Result<(), Error> {
        match &self.device {
            Device::Cpu => Ok(()),
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => {
                gpu.open_device()
                    .check_may_block("the device", "Backend::wait_async")?;
                // wgpu delays uploads until the next submission, so an empty submission flushes them.
                gpu.queue().submit([]);
                gpu.open_device().wait_for_submissions()?;
                gpu.open_device().check_alive("waiting for the device")
            }
        }
    }
}

#[cfg(feature = "gpu")]
impl Backend {
    /// Like [`Backend::wait`], but without blocking, for programs that run in a browser or in an async runtime. Its
    /// errors are the same, except [`Error::WouldBlock`].
    pub async fn wait_async(&self) -> Result<(), Error> {
        match &self.device {
            Device::Cpu => Ok(()),
            Device::Gpu(gpu) => gpu.open_device().wait_async().await,
        }
    }
}

#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
impl Backend {
    /// Returns the same backend with costs: an operation on host values runs on the CPU if the costs estimate that the
    /// CPU is faster. This covers [`Backend::stream`] and all calls that take and return host values. Tensors stay on
    /// their device, and operations on them run there.
    ///
    /// A GPU backend made by [`Backend::auto`] has the typical costs of its kind of device.
    ///
    /// ```no_run
    /// use wgslice::{cost::CostModel, gpu::AdapterOptions, Backend};
    ///
    /// let backend = Backend::open_gpu(&AdapterOptions::default())?;
    /// let costs = backend.gpu().map(CostModel::measure).transpose()?;
    /// let backend = backend.with_costs(costs.unwrap_or(CostModel::HARDWARE));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    #[must_use]
    pub fn with_costs(mut self, costs: CostModel) -> Self {
        self.costs = Some(costs);
        self
    }

    /// Estimates the time of an operation on host values on the CPU and on the device, from the backend's
    /// [costs](Self::with_costs). Returns `None` if the backend has no costs or is the CPU.
    pub fn estimate(&self, plan: &Plan) -> Option<Estimate> {
        let costs = self.costs.as_ref().filter(|_| !self.is_cpu())?;
        Some(costs.estimate(plan))
    }
}

#[cfg(feature = "gpu")]
impl Backend {
    /// Returns the GPU, or `None` if the backend is the CPU.
    pub fn gpu(&self) -> Option<&Gpu> {
        match &self.device {
            Device::Cpu => None,
            Device::Gpu(gpu) => Some(gpu),
        }
    }
}

/// Prints the name of the device.
impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.device {
            Device::Cpu => f.write_str("CPU"),
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => gpu.fmt(f),
        }
    }
}
