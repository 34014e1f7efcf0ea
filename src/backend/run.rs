//! Runs a plan on host values: the one place that chooses the device by the costs, and falls back to the CPU.

use super::{Backend, Device};
use crate::{Array, Element, Error, Indices, Plan, Report, Tensor, plan::Map};

/// The host values of a plan, each of the length that the plan needs.
#[derive(Clone, Copy)]
pub(crate) struct Inputs<'a, T> {
    /// The input of a slice, the params of a gather, the updates of a scatter, the value of an update, or the `dy` of a
    /// gradient.
    pub(crate) source: &'a [T],
    /// The index tuples of a gather or a scatter.
    pub(crate) indices: Option<Indices<'a>>,
    /// The array that the plan changes a copy of.
    pub(crate) dest: Option<&'a [T]>,
}

impl<'a, T> Inputs<'a, T> {
    /// The values of a plan that needs no others.
    pub(crate) fn of(source: &'a [T]) -> Self {
        Self {
            source,
            indices: None,
            dest: None,
        }
    }
}

impl Backend {
    /// Runs a plan on host values, on the device that [`Backend::device_for`] chooses. If that fails with an error of
    /// the device and the backend has a fallback, the CPU runs the plan.
    pub(crate) fn run<T: Element>(
        &self,
        plan: &Plan,
        inputs: Inputs<'_, T>,
    ) -> Result<(Array<T>, Report), Error> {
        Array::collect(&plan.shape, |result| {
            if *self.device_for(plan) != Device::Cpu {
                match self.run_on_device(plan, inputs, result) {
                    #[cfg(feature = "gpu")]
                    Err(error) if self.may_fall_back(&error) => {}
                    outcome => return outcome,
                }
            }
            if let Some(dest) = inputs.dest {
                result.copy_from_slice(T::as_bytes(dest));
            }
            let indices = inputs.indices.unwrap_or(Indices::I32(&[]));
            plan.run_on_threads(T::as_bytes(inputs.source), indices, result, self.threads)
        })
    }

    /// Runs a plan without indices on the CPU.
    pub(crate) fn run_slice(
        &self,
        plan: &Plan,
        source: &[u8],
        dest: &mut [u8],
    ) -> Result<(), Error> {
        plan.run_on_threads(source, Indices::I32(&[]), dest, self.threads)
            .map(drop)
    }

    fn run_on_device<T: Element>(
        &self,
        plan: &Plan,
        inputs: Inputs<'_, T>,
        result: &mut [u8],
    ) -> Result<Report, Error> {
        #[cfg(not(target_arch = "wasm32"))]
        if let Map::StridedSlice(_) = plan.map {
            return self.run_stream(plan, T::as_bytes(inputs.source), result);
        }
        let source = self.upload((inputs.source, &plan.source))?;
        let indices = match (inputs.indices, plan.tuples()) {
            (Some(indices), Some(tuples)) => Some(self.upload_indices(indices, tuples.indices)?),
            _ => None,
        };
        let (tensor, report) = match inputs.dest {
            Some(dest) => {
                let mut tensor = self.upload((dest, &plan.shape))?;
                let report = tensor.change(plan, &source, indices.as_ref())?;
                (tensor, report)
            }
            None => source.make(plan, indices.as_ref())?,
        };
        tensor.read(result)?;
        report.wait()
    }

    /// Runs a slice as a stream, which uploads only the parts of the input that the slice needs, while the device works
    /// on earlier parts.
    #[cfg(not(target_arch = "wasm32"))]
    fn run_stream(
        &self,
        plan: &Plan,
        input: &[u8],
        mut result: &mut [u8],
    ) -> Result<Report, Error> {
        let sink = |bytes: &[u8]| {
            let (now, rest) = std::mem::take(&mut result).split_at_mut(bytes.len());
            now.copy_from_slice(bytes);
            result = rest;
            Ok::<_, Error>(())
        };
        self.stream_plan(plan.clone())
            .run(|range| Ok(&input[range]), sink)?;
        plan.report(Default::default(), |_| Vec::new())
    }

    fn upload_indices(&self, indices: Indices<'_>, shape: &[usize]) -> Result<Tensor, Error> {
        match indices {
            Indices::I32(indices) => self.upload((indices, shape)),
            Indices::I64(indices) => self.upload((indices, shape)),
            Indices::U32(indices) => self.upload((indices, shape)),
        }
    }
}
