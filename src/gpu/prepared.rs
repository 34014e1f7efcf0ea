//! Plans whose pipelines are compiled and whose dispatches are computed before they are recorded.

use super::{
    Gpu, Texels,
    device::caps::Tuning,
    engine::{
        dispatch::ArgumentPlaces,
        route::{Route, choose_route},
    },
};
use crate::{Error, Pending, Plan, moves::Move, plan::Works};
use std::{ops::Deref, sync::Arc};

/// A [`Plan`] or [`Texels`], ready to be recorded on one device: its pipelines are compiled and its dispatches are
/// computed, so recording only writes commands. [`Gpu::prepare`] returns this type. The calls that record a plan or
/// texels accept it: [`Gpu::encode`], [`Gpu::encode_from_texture`] and [`Gpu::encode_to_texture`].
///
/// A `Prepared` owns the pipelines and dispatches, but not the caller's buffers. It is prepared for indices of the
/// plan's type and for buffer slices with offsets that are multiples of 16 and of the device's
/// `min_storage_buffer_offset_alignment`. With other indices or offsets, or on another device, the first recording
/// computes the dispatches and might compile a pipeline. While a prepared plan exists, equal plans are also prepared.
///
/// A `Prepared` is cheap to clone.
#[derive(Clone, Debug)]
pub struct Prepared<T = Plan> {
    /// The plan or texels, which hold the prepared works.
    inner: Arc<T>,
}

/// Dereferences to the plan or texels, so calls that take a plan or texels accept `&prepared`.
impl<T> Deref for Prepared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

/// A type that [`Gpu::prepare`] can prepare: [`Plan`] or [`Texels`].
pub trait Prepare: sealed::Prepare + Clone + Send + Sync + 'static {}

impl Prepare for Plan {}

impl Prepare for Texels {}

mod sealed {
    use super::{Error, Gpu, Move, Plan, Texels, Works};

    /// For each step, the moves to prepare. Texels count as one step, with the moves that read and write them.
    #[derive(Debug)]
    pub struct Moves(pub(in crate::gpu) Vec<Vec<Move>>);

    /// The works of all steps, ready to be recorded.
    #[derive(Debug)]
    pub struct PreparedWorks(pub(in crate::gpu) Works);

    pub trait Prepare {
        fn moves_to_prepare(&self, gpu: &Gpu) -> Result<Moves, Error>;

        /// Returns the same plan or texels with the works that were prepared for it.
        fn with_works(&self, works: PreparedWorks) -> Self;
    }

    impl Prepare for Plan {
        fn moves_to_prepare(&self, _: &Gpu) -> Result<Moves, Error> {
            let moves = self.steps().map(|(step_move, _)| vec![step_move.clone()]);
            Ok(Moves(moves.collect()))
        }

        fn with_works(&self, PreparedWorks(works): PreparedWorks) -> Self {
            self.with_works(works)
        }
    }

    impl Prepare for Texels {
        fn moves_to_prepare(&self, gpu: &Gpu) -> Result<Moves, Error> {
            Ok(Moves(vec![gpu.texel_moves(self)?]))
        }

        fn with_works(&self, PreparedWorks(works): PreparedWorks) -> Self {
            self.with_works(works)
        }
    }
}

impl Gpu {
    /// Compiles the pipelines that a plan needs and computes its dispatches. Call this when a program loads, so that no
    /// frame waits for the compiler. [`Gpu::prepare_async`] does the same without blocking.
    ///
    /// [`Texels`] are prepared for the copies that the texture's usages allow: reading with `COPY_SRC`, writing with
    /// `COPY_DST`. The call also allocates the scratch memory for these copies.
    ///
    /// ```no_run
    /// # fn example(gpu: &wgslice::Gpu, input: &wgpu::Buffer, output: &wgpu::Buffer)
    /// # -> Result<(), wgslice::Error> {
    /// use wgslice::{slice, DType, Plan};
    ///
    /// let flip = gpu.prepare(&Plan::slice(&[480, 640, 4], &slice![.., ..; -1], DType::U8)?)?;
    /// // … later, in each frame:
    /// let mut encoder = gpu.device().create_command_encoder(&Default::default());
    /// gpu.encode(&mut encoder, &flip, &[input.slice(..)], &[output.slice(..)])?;
    /// gpu.queue().submit([encoder.finish()]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Gpu::supports`]; [`Error::Pipeline`] if the device rejects a shader; [`Error::DeviceLost`];
    /// [`Error::OutOfDeviceMemory`].
    pub fn prepare<T: Prepare>(&self, what: &T) -> Result<Prepared<T>, Error> {
        let mut steps = Vec::new();
        for moves in what.moves_to_prepare(self)?.0 {
            let mut works = Vec::new();
            for step_move in moves {
                if let Some(places) = usual_places(&step_move, &self.engine.limits.tuning) {
                    works.push(self.engine.make_work(&step_move, places, true)?);
                }
            }
            steps.push(works);
        }
        // If all works were already kept, no call so far has detected a loss of the device.
        self.open_device().check_alive("preparing a plan")?;
        let works = sealed::PreparedWorks(self.engine.works(steps));
        let inner = Arc::new(what.with_works(works));
        Ok(Prepared { inner })
    }

    /// Runs [`Gpu::prepare`] on a new thread. Returns immediately with a [`Pending`] result that the caller can poll in
    /// each frame, wait for or await. In a browser, which compiles in the background anyway, the result is available
    /// immediately.
    ///
    /// ```no_run
    /// # fn example(gpu: &wgslice::Gpu) -> Result<(), wgslice::Error> {
    /// use wgslice::{slice, DType, Plan};
    ///
    /// let flip = gpu.prepare_async(&Plan::slice(&[480, 640, 4], &slice![.., ..; -1], DType::U8)?);
    /// // … in each frame:
    /// if let Some(flip) = flip.poll()? {
    ///     // … gpu.encode(&mut encoder, &flip, &inputs, &outputs)?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Gpu::prepare`], from [`Pending::poll`].
    pub fn prepare_async<T: Prepare>(&self, what: &T) -> Pending<Prepared<T>> {
        let (gpu, what) = (self.clone(), what.clone());
        Pending::on_own_thread(move || gpu.prepare(&what))
    }

    /// Checks that this device can run a plan or copy texels. The check compiles nothing and does not allocate the
    /// result, so the device might still lack memory for it. For [`Texels`], the check allocates the scratch memory of
    /// the copies.
    ///
    /// ```no_run
    /// use wgslice::{options::{Combine, ScatterOptions}, DType, Plan};
    ///
    /// # fn example(gpu: &wgslice::Gpu) -> Result<(), wgslice::Error> {
    /// let add = ScatterOptions { combine: Some(Combine::Add), ..ScatterOptions::default() };
    /// let sums = Plan::tensor_scatter_nd(&[10], &[3, 1], &[3], add, DType::F64)?;
    /// if let Err(why) = gpu.supports(&sums) {
    ///     println!("on the CPU, since {why}"); // no shader adds f64
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::DTypeOnDevice`] if the shaders cannot compute a scatter's combination for its element type;
    /// [`Error::ConversionOnDevice`] if the shaders cannot compute a conversion; [`Error::DeviceLimit`] if the plan has
    /// too many dimensions for a shader, or if the device's limits are too low for a shader or for a single unit of 1
    /// to 16 bytes; for [`Texels`] also [`Error::Argument`] and [`Error::OutOfDeviceMemory`].
    pub fn supports<T: Prepare>(&self, what: &T) -> Result<(), Error> {
        what.moves_to_prepare(self)?
            .0
            .iter()
            .flatten()
            .try_for_each(|step_move| {
                let places = usual_places(step_move, &self.engine.limits.tuning);
                places.map_or(Ok(()), |places| {
                    self.engine.check_supported(step_move, &places)
                })
            })
    }
}

/// Returns the places of arguments for which a move is prepared: each argument starts at offset 0 of its buffer.
/// Returns `None` for a move that records nothing.
fn usual_places(step_move: &Move, tuning: &Tuning) -> Option<ArgumentPlaces> {
    match choose_route(step_move, tuning, false) {
        Route::Nothing => None,
        _ => Some(ArgumentPlaces::AT_BEGIN),
    }
}
