//! What `concat`, `stack`, `pad`, `roll`, `tile` and `repeat` have in common: an array that is put together of pieces.
//!
//! A piece is a view of a source, and the view of the result that it is written to. Each piece is a plan of its own, a
//! walk between the two views, which changes no other byte of the result. All pieces together cover the result, and no
//! two of them overlap, so they may be written in any order.

use crate::{
    Array, Backend, DType, Element, Error, Indices, Plan, View, cpu::Dest, error, plan::Operation,
};
#[cfg(feature = "gpu")]
use crate::{Tensor, backend::Device};

/// An array that is put together of pieces of other arrays: what concat, stack, pad, roll, tile and repeat make, on
/// known shapes and independent of any device.
///
/// Each piece is a [`Plan`] that writes a part of one source to its place in the result. To record an assembly into
/// your own encoder, record each piece with the buffer of its source:
///
/// ```no_run
/// # #[cfg(feature = "gpu")]
/// # fn example(gpu: &wgslice::Gpu, caches: [&wgpu::Buffer; 2], joined: &wgpu::Buffer) -> Result<(), wgslice::Error> {
/// use wgslice::{gpu::Buffers, Assembly, DType, View};
///
/// // Keys of 8 heads: 500 old tokens and 12 new ones.
/// let (old, new) = (View::new(&[8, 500, 64])?, View::new(&[8, 12, 64])?);
/// let keys = Assembly::concat(&[old, new], 1, DType::F16)?;
/// let mut encoder = gpu.device().create_command_encoder(&Default::default());
/// for (number, plan) in keys.pieces() {
///     let buffers = Buffers { source: caches[number].slice(..), indices: None, dest: joined.slice(..) };
///     gpu.encode(&mut encoder, plan, buffers)?;
/// }
/// gpu.queue().submit([encoder.finish()]);
/// # Ok(())
/// # }
/// ```
///
/// Host values and tensors need no assembly: [`Backend::concat`], [`Tensor::concat`](crate::Tensor::concat) and their
/// like make one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Assembly {
    operation: Operation,
    shape: Vec<usize>,
    dtype: DType,
    pieces: Vec<(usize, Plan)>,
}

/// The most pieces of a padded or rolled array: those of 10 dimensions that are padded at both ends.
const MOST_PIECES: usize = 59_049;

/// Positions of a dimension of a source, `step` apart from `first` on, and where they go: to `count` neighbouring
/// positions of a dimension of the result. A step of 0 repeats a position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) first: usize,
    pub(super) step: isize,
    pub(super) to: usize,
    pub(super) count: usize,
}

impl Assembly {
    /// An assembly without pieces. `shape` must have passed [`shape::elements`](crate::shape::elements).
    pub(super) fn new(operation: Operation, shape: Vec<usize>, dtype: DType) -> Self {
        Self {
            operation,
            shape,
            dtype,
            pieces: Vec::new(),
        }
    }

    /// Adds the piece that goes from a view of source number `source` to a view of the result, which has the same
    /// shape. An empty piece is left out.
    pub(super) fn put(&mut self, source: usize, from: &View, to: &View) {
        if !from.is_empty() {
            let plan = Plan {
                operation: self.operation,
                shape: self.shape.clone(),
                ..Plan::of_update(from, to, self.dtype)
            };
            self.pieces.push((source, plan));
        }
    }

    /// Adds a piece of source 0 for each combination of runs, of which each dimension has some.
    pub(super) fn put_runs(&mut self, x: &View, runs: &[Vec<Run>]) -> Result<(), Error> {
        let pieces = runs
            .iter()
            .fold(1usize, |all, runs| all.saturating_mul(runs.len()));
        if pieces > MOST_PIECES {
            return Err(error::assembly::pieces(pieces, MOST_PIECES));
        }
        let mut pieces = vec![(x.clone(), View::whole(&self.shape))];
        for (axis, runs) in runs.iter().enumerate() {
            let cut = |(from, to): &(View, View)| {
                let piece = |run: &Run| {
                    (
                        from.along(axis, run.first, run.step, run.count),
                        to.along(axis, run.to, 1, run.count),
                    )
                };
                runs.iter().map(piece).collect::<Vec<_>>()
            };
            pieces = pieces.iter().flat_map(cut).collect();
        }
        for (from, to) in &pieces {
            self.put(0, from, to);
        }
        Ok(())
    }

    /// The shape of the result.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The pieces that are not empty: the number of the source that each reads, and its plan, whose destination is the
    /// result. They may run in any order, and together write all of the result.
    pub fn pieces(&self) -> impl Iterator<Item = (usize, &Plan)> {
        self.pieces.iter().map(|(source, plan)| (*source, plan))
    }

    /// Runs all pieces on the CPU. `sources` holds the values of the sources, and `dest` receives the result.
    ///
    /// ```
    /// use wgslice::{Assembly, DType, View};
    ///
    /// let rows = Assembly::concat(&[View::new(&[1, 2])?, View::new(&[2, 2])?], 0, DType::I32)?;
    /// let mut result = [0; 6];
    /// rows.run_cpu(&[&[1, 2], &[3, 4, 5, 6]], &mut result)?;
    /// assert_eq!(result, [1, 2, 3, 4, 5, 6]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for too few sources, or for elements of another type; [`Error::Length`].
    pub fn run_cpu<T: Element>(&self, sources: &[&[T]], dest: &mut [T]) -> Result<(), Error> {
        for (source, plan) in self.pieces() {
            let Some(values) = sources.get(source) else {
                return Err(error::assembly::sources(sources.len(), source + 1));
            };
            plan.run_cpu(values, None, dest)?;
        }
        Ok(())
    }
}

impl View {
    /// `count` positions of dimension `axis` from `first` on, `step` apart.
    pub(super) fn along(&self, axis: usize, first: usize, step: isize, count: usize) -> Self {
        let mut view = self.clone();
        let stride = view.strides[axis];
        view.shape[axis] = count;
        view.strides[axis] = if count > 1 { stride * step } else { 0 };
        if count > 0 {
            view.offset = crate::layout::along(view.offset, stride, first);
        }
        view.normalize();
        view
    }
}

impl Backend {
    /// Runs an assembly on host values.
    pub(super) fn assemble<T: Element>(
        &self,
        assembly: &Assembly,
        sources: &[&[T]],
    ) -> Result<Array<T>, Error> {
        let made = Array::collect(&assembly.shape, |result| {
            let result = result.all();
            #[cfg(feature = "gpu")]
            if let Device::Gpu(_) = self.device
                && assembly
                    .pieces()
                    .all(|(_, plan)| *self.device_for(plan) != Device::Cpu)
            {
                match self.assemble_on_device(assembly, sources, result) {
                    Err(error) if self.may_fall_back(&error) => {}
                    outcome => return outcome,
                }
            }
            for (source, plan) in assembly.pieces() {
                let source = T::as_bytes(sources[source]);
                let result = Dest::Old(result);
                plan.run_on_threads(source, Indices::I32(&[]), result, self.threads)?;
            }
            Ok(())
        });
        made.map(|(array, ())| array)
    }

    #[cfg(feature = "gpu")]
    fn assemble_on_device<T: Element>(
        &self,
        assembly: &Assembly,
        sources: &[&[T]],
        result: &mut [u8],
    ) -> Result<(), Error> {
        let upload = |source: &&[T]| self.upload((*source, &[source.len()]));
        let sources: Vec<Tensor> = sources.iter().map(upload).collect::<Result<_, _>>()?;
        let sources: Vec<_> = sources.iter().collect();
        Tensor::assemble(assembly, &sources)?.read(result.into())
    }
}
