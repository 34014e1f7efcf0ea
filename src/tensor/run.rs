//! Runs plans on tensors.

use super::Tensor;
use crate::{
    Assembly, Count, DType, Error, Indices, Nonzero, Pending, Plan, Report, View,
    backend::Device,
    cpu::{Dest, Threads},
    error,
    ops::{index::IndexType, mask::check_mask},
    plan::Operation,
};
#[cfg(feature = "gpu")]
use crate::{options::OutOfRange, tensor::Storage};
use std::borrow::Cow;

impl Tensor {
    /// The elements that a view of this tensor selects. The result shares this tensor's memory if the view is the whole
    /// tensor in its order.
    pub(crate) fn selected(&self, view: View) -> Result<Self, Error> {
        if !self.backend.is_cpu() {
            return Ok(self.make(&Plan::of_view(view, self.dtype), None)?.0);
        }
        let storage = match view.is_whole() {
            true => self.storage.clone(),
            false => {
                let bytes = view.len() * self.dtype.size();
                let select = |dest: Dest<'_>| {
                    view.copy(self.dtype, self.storage.host(), dest, self.backend.threads);
                    Ok(())
                };
                self.backend.host_storage(bytes, select)?.0
            }
        };
        Ok(Self::new(&self.backend, self.dtype, view.shape, storage))
    }

    /// Runs a plan with this tensor as its source. The result is a new tensor, which shares this tensor's memory if the
    /// plan selects the whole tensor in its order. `indices` are those of a gather, a crop or a scatter.
    pub(crate) fn make(
        &self,
        plan: &Plan,
        indices: Option<&Self>,
    ) -> Result<(Self, Pending<Report>), Error> {
        if plan.is_identity() {
            let nothing = plan.report(Default::default(), |_| Vec::new())?;
            return Ok((
                self.result(plan, self.storage.clone()),
                Pending::done(nothing),
            ));
        }
        let index = indices
            .map(|indices| self.index_type(plan, indices))
            .transpose()?;
        #[cfg(feature = "gpu")]
        if let (Device::Gpu(gpu), Storage::Device(source)) = (&self.backend.device, &self.storage) {
            let indices = indices.and_then(|indices| indices.device_bytes());
            let waits = self.waits(plan)?;
            let typed = plan.with_indices_of(index.unwrap_or_default());
            let (made, report) = gpu.make(&typed, source, indices)?;
            if waits {
                report.wait()?;
            }
            return Ok((self.result(plan, Storage::Device(made)), report));
        }
        let threads = self.backend.threads;
        let run = |dest: Dest<'_>| self.run_on_cpu(plan, indices.zip(index), dest, threads);
        let (storage, report) = self.backend.host_storage(plan.result_bytes(), run)?;
        Ok((self.result(plan, storage), Pending::done(report)))
    }

    /// Runs a plan that changes this tensor in place. `source` is the updates of a scatter or the value of an update.
    /// `indices` are those of the scatter.
    pub(crate) fn change(
        &mut self,
        plan: &Plan,
        source: &Self,
        indices: Option<&Self>,
    ) -> Result<Pending<Report>, Error> {
        let index = indices
            .map(|indices| self.index_type(plan, indices))
            .transpose()?;
        #[cfg(feature = "gpu")]
        let waits = self.waits(plan)?;
        #[cfg(feature = "gpu")]
        if let (Device::Gpu(gpu), Storage::Device(dest), Storage::Device(source)) =
            (&self.backend.device, &mut self.storage, &source.storage)
        {
            let indices = indices.and_then(|indices| indices.device_bytes());
            let in_place = dest.is_unshared();
            let typed = plan.with_indices_of(index.unwrap_or_default());
            let (changed, report) = gpu.change(&typed, source, indices, dest, in_place)?;
            if waits {
                report.wait()?;
            }
            *dest = changed;
            return Ok(report);
        }
        let threads = self.backend.threads;
        let dest = self.host_bytes_mut()?.into();
        let report = source.run_on_cpu(plan, indices.zip(index), dest, threads)?;
        Ok(Pending::done(report))
    }

    /// Searches this mask: the positions of its true elements, and their number.
    pub(crate) fn find(&self, nonzero: &Nonzero) -> Result<(Self, Count), Error> {
        check_mask(self.dtype)?;
        let (backend, shape) = (&self.backend, nonzero.shape());
        let (rows, words, found) = match &backend.device {
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => {
                let Storage::Device(mask) = &self.storage else {
                    return Err(error::value::device_mismatch("mask"));
                };
                let (rows, words, found) = gpu.find(nonzero, mask)?;
                (Storage::Device(rows), Storage::Device(words), found)
            }
            Device::Cpu => {
                let run = |rows: Dest<'_>| nonzero.run_cpu(self.storage.host(), rows.all());
                let (rows, found) = backend.host_storage(nonzero.plan.result_bytes(), run)?;
                let words = found.words();
                let copy = |dest: Dest<'_>| {
                    dest.copy_from(bytemuck::bytes_of(&words));
                    Ok(())
                };
                let (words, ()) = backend.host_storage(size_of_val(&words), copy)?;
                (rows, words, Pending::done(found))
            }
        };
        let words = Self::new(backend, DType::U32, [8], words);
        let rows = Self::new(backend, nonzero.dtype(), shape, rows);
        Ok((rows, Count { found, words }))
    }

    /// Runs an assembly with these tensors as its sources: at least one, all of one device and of the assembly's type.
    pub(crate) fn assemble(assembly: &Assembly, sources: &[&Self]) -> Result<Self, Error> {
        let (backend, shape, dtype) = (&sources[0].backend, assembly.shape(), assembly.dtype());
        let storage = match &backend.device {
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => {
                let sources = sources.iter().filter_map(|tensor| tensor.device_bytes());
                let sources: Vec<_> = sources.collect();
                let dest = gpu.opened().allocate(shape, dtype.size())?;
                let plans = assembly.pieces();
                let plans = plans.map(|(source, plan)| (sources[source], plan));
                gpu.write_all("putting arrays together", plans, &dest)?;
                Storage::Device(dest)
            }
            Device::Cpu => {
                let bytes = shape.iter().product::<usize>() * dtype.size();
                let fill = |dest: Dest<'_>| {
                    let dest = dest.all();
                    assembly.pieces().try_for_each(|(source, plan)| {
                        let dest = Dest::Old(dest);
                        let ran = sources[source].run_on_cpu(plan, None, dest, backend.threads);
                        ran.map(drop)
                    })
                };
                backend.host_storage(bytes, fill)?.0
            }
        };
        Ok(Self::new(backend, dtype, shape, storage))
    }

    /// Whether a call waits for the device before it returns, so that the call itself can fail if a tuple is out of
    /// range. True on a GPU under [`OutOfRange::Error`], unless the backend has late errors. Fails if the call would
    /// have to wait where blocking is not allowed.
    #[cfg(feature = "gpu")]
    fn waits(&self, plan: &Plan) -> Result<bool, Error> {
        let strict = plan.policy().out_of_range == OutOfRange::Error;
        let Device::Gpu(gpu) = &self.backend.device else {
            return Ok(false);
        };
        if !strict || self.backend.late_errors {
            return Ok(false);
        }
        gpu.opened().check_may_block(
            "the report of a gather or a scatter under OutOfRange::Error before it returns",
            "Backend::with_late_errors for the backend of the tensors, and await the report",
        )?;
        Ok(true)
    }

    fn run_on_cpu(
        &self,
        plan: &Plan,
        indices: Option<(&Self, IndexType)>,
        dest: Dest<'_>,
        threads: Threads,
    ) -> Result<Report, Error> {
        let source = self.bytes()?;
        let run = |indices, dest| plan.run_on_threads(&source, indices, dest, threads);
        let Some((indices, index)) = indices else {
            return run(Indices::I32(&[]), dest);
        };
        let bytes = indices.bytes()?;
        match index {
            IndexType::I32 => run(Indices::I32(&integers(&bytes)), dest),
            IndexType::U32 => run(Indices::U32(&integers(&bytes)), dest),
            IndexType::I64 => run(Indices::I64(&integers(&bytes)), dest),
            IndexType::Mask => run(Indices::Mask(&bytes), dest),
        }
    }

    /// Checks that the `indices` of a plan live on the same device as this tensor, and returns their type.
    fn index_type(&self, plan: &Plan, indices: &Self) -> Result<IndexType, Error> {
        let argument = match plan.operation {
            Operation::Crop | Operation::Paste => "begins",
            Operation::MaskedUpdate => "mask",
            _ => "indices",
        };
        self.check_same_device(argument, indices)?;
        plan.index_type_of(indices.dtype, argument)
    }

    pub(crate) fn check_same_device(
        &self,
        argument: &'static str,
        other: &Self,
    ) -> Result<(), Error> {
        match other.backend.device == self.backend.device {
            true => Ok(()),
            false => Err(error::value::device_mismatch(argument)),
        }
    }

    /// Checks that an argument is on the same device as this tensor and has the same element type.
    pub(crate) fn check_goes_with(
        &self,
        argument: &'static str,
        other: &Self,
    ) -> Result<(), Error> {
        self.check_same_device(argument, other)?;
        let (found, needed) = (other.dtype, self.dtype);
        if found != needed {
            return Err(error::value::dtype_mismatch(argument, found, needed));
        }
        Ok(())
    }

    /// The bytes of a tensor on the CPU, for writing. If another tensor shares them, or if they are the caller's, the
    /// tensor first gets a copy.
    fn host_bytes_mut(&mut self) -> Result<&mut [u8], Error> {
        if self.storage.host_mut().is_none() {
            let bytes = self.storage.host();
            let copy = |dest: Dest<'_>| {
                dest.copy_from(bytes);
                Ok(())
            };
            self.storage = self.backend.host_storage(bytes.len(), copy)?.0;
        }
        Ok(self.storage.host_mut().unwrap_or_default())
    }
}

/// Casts bytes to integers. Copies misaligned bytes: [`Tensor::from_bytes`] takes bytes at any address.
fn integers<T: bytemuck::AnyBitPattern + bytemuck::NoUninit>(bytes: &[u8]) -> Cow<'_, [T]> {
    match bytemuck::try_cast_slice(bytes) {
        Ok(integers) => Cow::Borrowed(integers),
        Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(bytes)),
    }
}
