//! Where work is done: decided once, openly.
//!
//! A [`Backend`] is the CPU or one GPU, and can say which and why. An operation that the device cannot
//! do is an error that says so; only where [`Backend::with_fallback`] was asked for does the CPU stand
//! in, and then the backend says why.

use crate::{
    Array, DType, Element, Error, Gather, GatherNd, Indices, Plan, Report, SliceSpec, Tensor, View,
    shape,
    spare::Spare,
    tensor::{Owner, Storage},
};
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
use crate::{Costs, Estimate, Place};
#[cfg(feature = "gpu")]
use crate::{
    Gpu,
    gpu::{AdapterOptions, Software},
};

/// The CPU, or a GPU.
///
/// ```
/// use wgslice::{slice, Backend};
///
/// let backend = Backend::cpu();
/// let flipped = backend.strided_slice(&[1, 2, 3, 4, 5, 6], &[2, 3], &slice![.., ..; -1])?;
/// assert_eq!((flipped.shape, flipped.data), (vec![2, 3], vec![3, 2, 1, 6, 5, 4]));
/// # Ok::<(), wgslice::Error>(())
/// ```
///
/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Backend {
    pub(crate) device: Device,
    reason: Arc<str>,
    /// Where there is one, the CPU may stand in for the device. Holds why it last did.
    fallback: Option<Arc<Mutex<Option<Error>>>>,
    /// Where there are some, the CPU does what it does faster than the device.
    #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
    costs: Option<Costs>,
    /// Memory for the results of tensors on the CPU.
    pub(crate) spare: Spare,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Device {
    Cpu,
    #[cfg(feature = "gpu")]
    Gpu(Gpu),
}

impl Backend {
    /// The CPU.
    pub fn cpu() -> Self {
        Self::new(Device::Cpu, "the CPU was asked for")
    }

    fn new(device: Device, reason: impl Into<Arc<str>>) -> Self {
        Self {
            device,
            reason: reason.into(),
            fallback: None,
            #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
            costs: None,
            spare: Spare::default(),
        }
    }

    /// The same, but where the device fails at an operation on values of the host, because it is lost,
    /// has no memory left, is too small or cannot add such elements, the CPU does it:
    /// [`Backend::strided_slice`], [`Backend::gather_nd`], [`Backend::scatter_nd`] and their like, and
    /// [`Backend::stream`]. Tensors stay where they are; what fails on them is an error. [`Backend::fallen_back`] says whether and why it happened.
    ///
    /// ```
    /// # #[cfg(feature = "gpu")] {
    /// use wgslice::{slice, Backend};
    ///
    /// let backend = Backend::auto().with_fallback();
    /// backend.strided_slice(&[1, 2, 3], &[3], &slice![..; -1])?;
    /// if let Some(error) = backend.fallen_back() {
    ///     eprintln!("finished on the CPU: {error}");
    /// }
    /// # }
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    #[must_use]
    pub fn with_fallback(mut self) -> Self {
        self.fallback = Some(Arc::default());
        self
    }

    /// Why the CPU last stood in for the device, if it did. Clones of a backend share it.
    pub fn fallen_back(&self) -> Option<Error> {
        let why = self.fallback.as_ref()?.lock();
        why.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the CPU stands in after this error; notes why if so.
    #[cfg(feature = "gpu")]
    pub(crate) fn may_fall_back(&self, error: &Error) -> bool {
        let Some(why) = self.fallback.as_ref().filter(|_| error.is_of_device()) else {
            return false;
        };
        *why.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
        true
    }

    /// Where an operation on values of the host is done.
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

    /// Why it is this device.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Whether it is the CPU. A software adapter is a GPU here.
    pub fn is_cpu(&self) -> bool {
        self.device == Device::Cpu
    }

    /// Slices values: values in, values out.
    ///
    /// # Errors
    ///
    /// [`SpecError`](crate::SpecError), [`Error::Length`], or an error of the device.
    pub fn strided_slice<T: Element>(
        &self,
        input: &[T],
        shape: &[usize],
        spec: &SliceSpec,
    ) -> Result<Array<T>, Error> {
        self.run_plan(input, &Plan::strided_slice(shape, spec, T::DTYPE)?)
    }

    /// Moves what a view selects: values in, values out.
    ///
    /// ```
    /// use wgslice::{slice, Backend, View};
    ///
    /// let transposed = View::of(&[2, 3])?.transpose(&[1, 0])?;
    /// let last = transposed.strided_slice(&slice![-1])?;
    /// let array = Backend::cpu().run_view(&[1, 2, 3, 4, 5, 6], &last)?;
    /// assert_eq!(array.data, [3, 6]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Length`], or an error of the device.
    pub fn run_view<T: Element>(&self, input: &[T], view: &View) -> Result<Array<T>, Error> {
        self.run_plan(input, &view.plan(T::DTYPE))
    }

    fn run_plan<T: Element>(&self, input: &[T], plan: &Plan) -> Result<Array<T>, Error> {
        check_elements("input", &plan.source, input.len())?;
        let input = T::as_bytes(input);
        let run = |dest: &mut [u8]| match self.device_for(plan) {
            Device::Cpu => plan.run(input, dest),
            #[cfg(all(feature = "gpu", target_arch = "wasm32"))]
            Device::Gpu(gpu) => gpu.wait(),
            // Only what is selected goes to the device, and only the result comes back.
            #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
            Device::Gpu(_) => {
                let mut left = dest;
                let sink = |bytes: &[u8]| {
                    let (now, rest) = std::mem::take(&mut left).split_at_mut(bytes.len());
                    now.copy_from_slice(bytes);
                    left = rest;
                    Ok::<_, Error>(())
                };
                let stream = self.stream_plan(plan.clone());
                stream.run(|range| Ok(&input[range]), sink).map(drop)
            }
        };
        Array::collect(plan, run).map(|(array, ())| array)
    }

    /// Gathers values: values in, values out, with a report of the index tuples that were out of
    /// range.
    ///
    /// ```
    /// use wgslice::{Backend, GatherNd};
    ///
    /// let params = [10, 11, 12, 20, 21, 22];
    /// let indices = [1i64, 0, 5, 0]; // (1, 0) and (5, 0)
    /// let (array, report) =
    ///     Backend::cpu().gather_nd(&params, &[2, 3], &indices[..], &[2, 2], GatherNd::default())?;
    /// assert_eq!(array.data, [20, 0]);
    /// assert_eq!(report.bad, 1);
    /// assert_eq!(report.first.unwrap().index, [5, 0]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`GatherError`](crate::GatherError), [`Error::Length`], or an error of the device.
    pub fn gather_nd<'a, T: Element>(
        &self,
        params: &[T],
        params_shape: &[usize],
        indices: impl Into<Indices<'a>>,
        indices_shape: &[usize],
        options: GatherNd,
    ) -> Result<(Array<T>, Report), Error> {
        let plan = Plan::gather_nd(params_shape, indices_shape, options, T::DTYPE)?;
        let indices = (indices.into(), indices_shape);
        self.gather_by(&plan, (params, params_shape), indices)
    }

    /// Gathers values along a dimension: values in, values out, with a report of the indices that were
    /// out of range.
    ///
    /// ```
    /// use wgslice::{Backend, Gather, Negative};
    ///
    /// let params = [10, 11, 12, 20, 21, 22];
    /// let options = Gather { axis: Some(1), negative: Negative::Wrap, ..Gather::default() };
    /// let (array, report) = Backend::cpu().gather(&params, &[2, 3], &[-1i32, 0][..], &[2], options)?;
    /// assert_eq!(array.data, [12, 10, 22, 20]);
    /// assert_eq!((report.rows, report.bad), (2, 0));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`GatherError`](crate::GatherError), [`Error::Length`], or an error of the device.
    pub fn gather<'a, T: Element>(
        &self,
        params: &[T],
        params_shape: &[usize],
        indices: impl Into<Indices<'a>>,
        indices_shape: &[usize],
        options: Gather,
    ) -> Result<(Array<T>, Report), Error> {
        let plan = Plan::gather(params_shape, indices_shape, options, T::DTYPE)?;
        let indices = (indices.into(), indices_shape);
        self.gather_by(&plan, (params, params_shape), indices)
    }

    /// Gathers from each batch of `params` what the same batch of `indices` names: [`Backend::gather`]
    /// with [`Gather::batch`].
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let scores = [0.1f32, 0.7, 0.2, 0.5, 0.3, 0.2];
    /// let best = [1i32, 0];
    /// let (array, _) = Backend::cpu().batch_gather(&scores, &[2, 3], &best[..], &[2, 1])?;
    /// assert_eq!(array.data, [0.7, 0.5]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Backend::gather`].
    pub fn batch_gather<'a, T: Element>(
        &self,
        params: &[T],
        params_shape: &[usize],
        indices: impl Into<Indices<'a>>,
        indices_shape: &[usize],
    ) -> Result<(Array<T>, Report), Error> {
        let options = Gather::batch(indices_shape.len());
        self.gather(params, params_shape, indices, indices_shape, options)
    }

    /// Runs the plan of a gather, on the CPU or with tensors on the device. Params are the source of the
    /// plan's view, with its shape.
    #[cfg_attr(
        not(feature = "gpu"),
        expect(unused_variables, reason = "there is no device")
    )]
    pub(crate) fn gather_by<T: Element>(
        &self,
        plan: &Plan,
        (params, params_shape): (&[T], &[usize]),
        (indices, indices_shape): (Indices<'_>, &[usize]),
    ) -> Result<(Array<T>, Report), Error> {
        check_elements("params", params_shape, params.len())?;
        #[cfg(feature = "gpu")]
        if let Device::Gpu(_) = self.device_for(plan) {
            check_elements("indices", indices_shape, indices.len())?;
            let on_device = || {
                let params = self.upload(params, params_shape)?;
                let indices = match indices {
                    Indices::I32(indices) => self.upload(indices, indices_shape)?,
                    Indices::I64(indices) => self.upload(indices, indices_shape)?,
                    Indices::U32(indices) => self.upload(indices, indices_shape)?,
                };
                let gathered = params.gathered(plan, &indices)?;
                Ok((gathered.tensor.to_array()?, gathered.report()?))
            };
            match on_device() {
                Err(error) if self.may_fall_back(&error) => {}
                outcome => return outcome,
            }
        }
        let run = |dest: &mut [u8]| plan.run_with(T::as_bytes(params), indices, dest);
        Array::collect(plan, run)
    }

    /// Puts values on the device, as a tensor that stays there.
    ///
    /// # Errors
    ///
    /// [`Error::Length`], or an error of the device.
    pub fn upload<T: Element>(&self, values: &[T], shape: &[usize]) -> Result<Tensor, Error> {
        check_elements("values", shape, values.len())?;
        let bytes = T::as_bytes(values);
        let storage = match &self.device {
            Device::Cpu => {
                let mut dest = self.spare.take(bytes.len())?;
                dest.as_mut().copy_from_slice(bytes);
                Storage::Host(Owner::new(dest))
            }
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => Storage::Device(gpu.upload(shape, T::DTYPE.size(), bytes)?),
        };
        Ok(Tensor::new(self, T::DTYPE, shape, storage))
    }

    /// Slices values of the host on their way to the device: only what is selected is put there, in one
    /// move, and the tensor is the result.
    ///
    /// ```
    /// use wgslice::{slice, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let batch = backend.upload_slice(&[1, 2, 3, 4, 5, 6], &[3, 2], &slice![1.., ..; -1])?;
    /// assert_eq!(batch.to_array::<i32>()?.data, [4, 3, 6, 5]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SpecError`](crate::SpecError), [`Error::Length`], or an error of the device.
    pub fn upload_slice<T: Element>(
        &self,
        values: &[T],
        shape: &[usize],
        spec: &SliceSpec,
    ) -> Result<Tensor, Error> {
        self.upload_view(values, &spec.view(shape)?)
    }

    /// Puts what a view selects of values of the host on the device, in one move.
    ///
    /// # Errors
    ///
    /// [`Error::Length`], or an error of the device.
    pub fn upload_view<T: Element>(&self, values: &[T], view: &View) -> Result<Tensor, Error> {
        let plan = view.plan(T::DTYPE);
        check_elements("values", view.source(), values.len())?;
        let bytes = T::as_bytes(values);
        let storage = match &self.device {
            Device::Cpu => {
                let mut dest = self.spare.take(plan.result_bytes())?;
                plan.run(bytes, dest.as_mut())?;
                Storage::Host(Owner::new(dest))
            }
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => Storage::Device(gpu.upload_slice(&plan, bytes)?),
        };
        Ok(Tensor::new(self, T::DTYPE, plan.shape(), storage))
    }

    /// Puts the bytes of a row-major array on the device, in the machine's byte order.
    ///
    /// On the CPU the tensor keeps `bytes` and copies nothing, so that a memory-mapped file is read
    /// where it is touched.
    ///
    /// # Errors
    ///
    /// [`Error::Length`], or an error of the device.
    pub fn adopt(
        &self,
        dtype: DType,
        shape: &[usize],
        bytes: impl AsRef<[u8]> + Send + Sync + 'static,
    ) -> Result<Tensor, Error> {
        let needed = shape::elements(shape)? * dtype.size();
        shape::check_length("bytes", shape, "bytes", needed, bytes.as_ref().len())?;
        let storage = match &self.device {
            Device::Cpu => Storage::Host(Owner::callers(bytes)),
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => Storage::Device(gpu.upload(shape, dtype.size(), bytes.as_ref())?),
        };
        Ok(Tensor::new(self, dtype, shape, storage))
    }

    /// Waits until the device has done everything that was asked of it.
    ///
    /// # Errors
    ///
    /// [`Error::Device`] where the device is lost.
    pub fn wait(&self) -> Result<(), Error> {
        match &self.device {
            Device::Cpu => Ok(()),
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => {
                // An upload may still stand in line: wgpu hands it over with the next submission.
                gpu.queue().submit([]);
                gpu.wait()
            }
        }
    }
}

#[cfg(not(feature = "gpu"))]
impl Backend {
    /// The CPU: the crate was built without the feature `gpu`.
    pub fn auto() -> Self {
        Self::new(Device::Cpu, "this build has no GPU support")
    }
}

#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
impl Backend {
    /// The same, but what the CPU does faster by these costs is done there: [`Backend::strided_slice`],
    /// [`Backend::gather_nd`] and [`Backend::stream`], whose values come from the host and go back to it.
    /// Tensors stay where they are, and so does the work on them.
    ///
    /// Backends that [`Backend::auto`] gives have the costs that are usual for their device.
    ///
    /// ```no_run
    /// use wgslice::{gpu::AdapterOptions, Backend, Costs};
    ///
    /// let backend = Backend::open_gpu(&AdapterOptions::default())?;
    /// let costs = backend.gpu().map(Costs::measure).transpose()?;
    /// let backend = backend.with_costs(costs.unwrap_or(Costs::HARDWARE));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    #[must_use]
    pub fn with_costs(mut self, costs: Costs) -> Self {
        self.costs = Some(costs);
        self
    }

    /// What an operation on values of the host takes on the CPU and on the device, if the backend
    /// [chooses](Self::with_costs) between them.
    pub fn estimate(&self, plan: &Plan) -> Option<Estimate> {
        let costs = self.costs.as_ref().filter(|_| !self.is_cpu())?;
        Some(costs.estimate(plan, Place::Host, Place::Host))
    }

    /// [`Backend::auto_with`] for one operation on values of the host, after which the program ends: a
    /// GPU is opened only if that, too, is worth it.
    ///
    /// ```
    /// use wgslice::{gpu::AdapterOptions, slice, Backend, DType, Plan};
    ///
    /// let plan = Plan::strided_slice(&[64, 64], &slice![..; -1], DType::F32)?;
    /// let backend = Backend::auto_for(&plan, &AdapterOptions::default());
    /// assert!(backend.is_cpu());
    /// println!("on the CPU: {}", backend.reason()); // ... takes about 2.4µs and ... 200.1ms
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    pub fn auto_for(plan: &Plan, options: &AdapterOptions) -> Self {
        let costs = Costs::HARDWARE;
        let mut estimate = costs.estimate(plan, Place::Host, Place::Host);
        estimate.device += costs.opening;
        let why = format!("for this work {estimate}, which has to be opened first");
        if estimate.prefers_cpu() {
            return Self::new(Device::Cpu, why);
        }
        let auto = Self::auto_with(options);
        if auto.is_cpu() {
            return auto;
        }
        let reason = format!("{}, and {why}", auto.reason).into();
        Self { reason, ..auto }
    }
}

#[cfg(feature = "gpu")]
impl Backend {
    /// A hardware GPU where there is one, and the CPU otherwise: a software adapter is no faster
    /// than the CPU path. [`Backend::reason`] says which and why.
    ///
    /// Tensors live there. Values of the host are worked on where it takes less time, by what is usual
    /// [for such a device](crate::Costs::of); see [`Backend::with_costs`] and [`Backend::estimate`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn auto() -> Self {
        Self::auto_with(&AdapterOptions::default())
    }

    /// [`Backend::auto`], looking for a hardware GPU among those that the options let in.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn auto_with(options: &AdapterOptions) -> Self {
        pollster::block_on(Self::auto_async(options))
    }

    /// [`Backend::auto_with`] without blocking: for programs that run in a browser, or on an
    /// executor.
    pub async fn auto_async(options: &AdapterOptions) -> Self {
        let hardware = AdapterOptions {
            software: Software::Refuse,
            ..options.clone()
        };
        match Gpu::open_async(&hardware).await {
            Ok(gpu) => Self {
                #[cfg(not(target_arch = "wasm32"))]
                costs: Some(Costs::of(&gpu)),
                ..Self::new(Device::Gpu(gpu), "it is the best hardware GPU here")
            },
            Err(Error::NoAdapter(_)) => Self::new(
                Device::Cpu,
                "no hardware GPU fits, and a software adapter is no faster than the CPU",
            ),
            Err(error) => Self::new(
                Device::Cpu,
                format!("the hardware GPU could not be opened: {error}"),
            ),
        }
    }

    /// A GPU, a software adapter included where the options allow one.
    ///
    /// # Errors
    ///
    /// [`Error::NoAdapter`] where none fits; it lists what there is.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open_gpu(options: &AdapterOptions) -> Result<Self, Error> {
        pollster::block_on(Self::open_gpu_async(options))
    }

    /// [`Backend::open_gpu`] without blocking: for programs that run in a browser, or on an executor.
    ///
    /// # Errors
    ///
    /// As [`Backend::open_gpu`].
    pub async fn open_gpu_async(options: &AdapterOptions) -> Result<Self, Error> {
        let gpu = Gpu::open_async(options).await?;
        let reason = if gpu.is_software() && options.software != Software::Require {
            "a GPU was asked for, and there is no hardware GPU that fits"
        } else {
            "it is the best adapter that fits what was asked for"
        };
        Ok(Self::new(Device::Gpu(gpu), reason))
    }

    /// The GPU, if it is one.
    pub fn gpu(&self) -> Option<&Gpu> {
        match &self.device {
            Device::Cpu => None,
            Device::Gpu(gpu) => Some(gpu),
        }
    }
}

#[cfg(feature = "gpu")]
impl From<Gpu> for Backend {
    fn from(gpu: Gpu) -> Self {
        Self::new(Device::Gpu(gpu), "the caller's device was given")
    }
}

/// The device.
impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.device {
            Device::Cpu => f.write_str("CPU"),
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => gpu.fmt(f),
        }
    }
}

pub(crate) fn check_elements(
    argument: &'static str,
    shape: &[usize],
    found: usize,
) -> Result<(), Error> {
    shape::check_length(argument, shape, "elements", shape::elements(shape)?, found)
}
