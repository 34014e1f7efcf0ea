//! [`Work`]s: the passes of dispatches that are recorded for a move, with their pipelines. A work is usually computed
//! once and kept for later recordings.

use super::{
    Engine,
    caps::check_limit,
    cut::Cutter,
    dispatch::{ArgumentPlaces, Cut, Dispatch, MAX_DISPATCHES, Pass},
    find::search_cut,
    program::UNIFORMS_GROUP,
    slots::Slot,
    steps::scatter_cut,
    tuples::TupleArgument,
    uniforms::Uniforms,
};
use crate::{
    Error,
    moves::{Effect, Move},
    walk::Walk,
};
use std::sync::Arc;
use wgpu::util::{BufferInitDescriptor, DeviceExt};

/// A [`Work`] with more dispatches than this is not kept, unless the plan is prepared. The few plans with more
/// dispatches keep the device busy for so long that the time to compute the dispatches again hardly matters.
const MAX_KEPT_DISPATCHES: usize = 64;

/// The passes that are recorded for a move with arguments at `places`.
#[derive(Debug)]
pub(in crate::gpu) struct Work {
    pub(super) step_move: Arc<Move>,
    /// The places of the arguments. Their offsets are reduced by the value of
    /// [`DispatchLimits::align_offset`](super::caps::DispatchLimits::align_offset). Recording adds this value to the
    /// offsets of bindings again.
    pub(super) places: ArgumentPlaces,
    pub(super) passes: Vec<Pass<ReadyDispatch>>,
    /// The size in bytes of the scratch memory that the passes share.
    pub(super) scratch_bytes: u64,
    /// The tables of a move that converts.
    pub(super) tables: Option<wgpu::Buffer>,
}

/// A dispatch, ready to be recorded.
#[derive(Debug)]
pub(super) struct ReadyDispatch {
    pub(super) dispatch: Dispatch,
    pub(super) pipeline: wgpu::ComputePipeline,
    /// The slot that contains the dispatch's uniforms when the next submission runs.
    pub(super) uniforms: Slot,
}

impl Work {
    pub(super) fn dispatches(&self) -> impl Iterator<Item = &ReadyDispatch> {
        self.passes.iter().flat_map(|pass| &pass.dispatches)
    }

    pub(super) fn is_small(&self) -> bool {
        self.dispatches().count() <= MAX_KEPT_DISPATCHES
    }

    /// Returns whether the device could allocate memory for the uniforms. If it could not, the next recording tries
    /// again.
    pub(super) fn has_uniforms(&self) -> bool {
        self.dispatches().all(|ready| ready.uniforms.has_buffer())
    }
}

impl Engine {
    /// Returns the work of a non-empty move: a kept work or a new one. The offsets in `places` are reduced, as in
    /// [`Work::places`]. All pipelines of the work are compiled. A work with many dispatches is kept only if `keeps` is
    /// true.
    pub(in crate::gpu) fn make_work(
        &self,
        step_move: &Move,
        places: ArgumentPlaces,
        keeps: bool,
    ) -> Result<Arc<Work>, Error> {
        self.cache.cached_work(step_move, places, keeps, || {
            self.new_work(step_move, places)
        })
    }

    fn new_work(&self, step_move: &Move, places: ArgumentPlaces) -> Result<Work, Error> {
        let cut = self.cut_move(step_move, &places)?;
        #[cfg(any(test, debug_assertions))]
        {
            let outcome = super::bounds::check_cut(&self.limits, step_move, &places, &cut);
            assert!(outcome.is_ok(), "{step_move}: {}", outcome.unwrap_err());
        }
        let make_ready = |dispatch: Dispatch| {
            self.pipelines.check_limits(&dispatch.program)?;
            let pipeline = self.pipelines.get_or_compile(dispatch.program.clone())?;
            let layout = || pipeline.get_bind_group_layout(UNIFORMS_GROUP);
            let uniforms = self.pipelines.uniforms.lend_slot(layout);
            uniforms.write_bytes(&self.device.queue, dispatch.uniforms.bytes());
            Ok(ReadyDispatch {
                dispatch,
                pipeline,
                uniforms,
            })
        };
        let passes = cut.passes.into_iter().map(|pass| {
            let dispatches = pass.dispatches.into_iter().map(make_ready);
            Ok(Pass {
                cleared_bytes: pass.cleared_bytes,
                dispatches: dispatches.collect::<Result<_, Error>>()?,
            })
        });
        let work = Work {
            passes: passes.collect::<Result<_, Error>>()?,
            step_move: Arc::new(step_move.clone()),
            places,
            scratch_bytes: cut.scratch_bytes,
            tables: self.upload_tables(step_move)?,
        };
        if self.pipelines.drop_old_if_full() {
            // Kept works would keep the old pipelines alive.
            self.cache.clear();
        }
        let doing = "allocating the uniforms of a dispatch";
        match work.has_uniforms() {
            true => Ok(work),
            false => {
                self.device.check_alive(doing)?;
                Err(Error::OutOfDeviceMemory { doing })
            }
        }
    }

    /// Uploads the tables of a move that converts by tables.
    fn upload_tables(&self, step_move: &Move) -> Result<Option<wgpu::Buffer>, Error> {
        let conversion = step_move.conversion.as_ref();
        let Some(table) = conversion.and_then(|conversion| conversion.table.as_ref()) else {
            return Ok(None);
        };
        let make = || {
            let descriptor = BufferInitDescriptor {
                label: Some("wgslice tables"),
                contents: bytemuck::cast_slice(&table.entries),
                usage: wgpu::BufferUsages::STORAGE,
            };
            self.device.wgpu.create_buffer_init(&descriptor)
        };
        self.device
            .run_guarded("allocating the tables of a conversion", make)
            .map(Some)
    }

    /// Fails if a move would be cut into too many dispatches.
    fn check_dispatches(&self, step_move: &Move) -> Result<(), Error> {
        let limits = &self.limits;
        let count_windows = |bytes: usize, max_bytes: u64| bytes as u64 / max_bytes.max(1) + 1;
        let dest_windows = count_windows(
            step_move.result_bytes(),
            limits.max_binding_bytes.min(limits.max_result_bytes),
        );
        let source_windows = count_windows(step_move.source_bytes(), limits.max_binding_bytes);
        let window_count = match step_move.tuples() {
            // A tuple can select a position in any window of the source.
            Some(_) => dest_windows.saturating_mul(source_windows),
            None => dest_windows.max(source_windows.min(step_move.moved_bytes().0 as u64)),
        };
        let limit = "limit on dispatches";
        check_limit("a plan of this size", limit, window_count, MAX_DISPATCHES)
    }

    /// Fails if the device cannot run a move whose arguments are at `places`.
    pub(in crate::gpu) fn check_supported(
        &self,
        step_move: &Move,
        places: &ArgumentPlaces,
    ) -> Result<(), Error> {
        let cut = self.cut_move(step_move, places)?;
        let mut programs = cut.dispatches().map(|dispatch| &dispatch.program);
        programs.try_for_each(|program| self.pipelines.check_limits(program))
    }

    /// Cuts a non-empty move into passes of dispatches.
    pub(super) fn cut_move(&self, step_move: &Move, places: &ArgumentPlaces) -> Result<Cut, Error> {
        if let Effect::Find(find) = step_move.effect() {
            return search_cut(&self.limits, places, &step_move.source, find);
        }
        self.check_dispatches(step_move)?;
        let cutter = Cutter {
            limits: &self.limits,
            places,
            tuples: TupleArgument::from_move(step_move),
            source_bytes: step_move.source_bytes(),
            conversion: step_move
                .conversion
                .as_ref()
                .map(|conversion| (conversion, step_move.dtype())),
        };
        let zeros = || Walk::zeros(1, step_move.result_bytes());
        // A walk that runs before the move's walk, and a walk that replaces the move's walk.
        let (zeroing_walk, replacing_walk) = match (step_move.walk(), step_move.effect()) {
            (Some(walk), Effect::Scatter(scatter)) => {
                return scatter_cut(cutter, step_move, walk, scatter);
            }
            (Some(walk), Effect::Fill) => {
                match walk.filled_walk(step_move.result_bytes() / walk.unit) {
                    Some(filled_walk) => (None, Some(filled_walk)),
                    None => (Some(zeros()), None),
                }
            }
            (Some(_), _) => (None, None),
            (None, _) => (None, Some(zeros())),
        };
        let mut dispatches = Vec::with_capacity(1);
        for walk in zeroing_walk
            .iter()
            .chain(replacing_walk.as_ref().or(step_move.walk()))
        {
            cutter.cut_walk(walk, &mut dispatches)?;
        }
        Ok(Cut::single_pass(
            Pass::from_dispatches(0, dispatches, Uniforms::Walk),
            0,
        ))
    }
}
