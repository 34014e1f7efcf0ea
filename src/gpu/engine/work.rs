//! [`Work`]s: the passes of dispatches that are recorded for a move, computed once, with their pipelines.

use super::{
    Engine,
    caps::within,
    cut::Cutter,
    dispatch::{Cut, Dispatch, MOST_DISPATCHES, Pass, Places},
    find::find,
    program::UNIFORMS_GROUP,
    slots::Slot,
    steps::steps,
    tuples::Tuples,
    uniforms::Uniforms,
};
use crate::{
    Error,
    moves::{Effect, Move},
    walk::Walk,
};
use std::sync::Arc;
use wgpu::util::{BufferInitDescriptor, DeviceExt};

/// A [`Work`] with more dispatches than this is not kept, unless the plan is prepared. Few plans need more. They keep
/// the device busy for so long that it hardly matters to compute their commands again.
const MOST_KEPT_DISPATCHES: usize = 64;

/// The commands that are recorded for a move whose arguments are at `places`.
#[derive(Debug)]
pub(in crate::gpu) struct Work {
    pub(super) what: Arc<Move>,
    /// The places of the arguments. Their offsets are reduced by the value of
    /// [`Reach::aligned`](super::caps::Reach::aligned), which recording adds to the offsets of bindings again.
    pub(super) places: Places,
    pub(super) passes: Vec<Pass<Ready>>,
    /// The size in bytes of the scratch memory that the passes share.
    pub(super) scratch: u64,
    /// The tables of a move that converts.
    pub(super) tables: Option<wgpu::Buffer>,
}

/// A dispatch, ready to be recorded.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) dispatch: Dispatch,
    pub(super) pipeline: wgpu::ComputePipeline,
    /// The slot that contains the dispatch's uniforms when the next submission runs.
    pub(super) uniforms: Slot,
}

impl Work {
    pub(super) fn dispatches(&self) -> impl Iterator<Item = &Ready> {
        self.passes.iter().flat_map(|pass| &pass.dispatches)
    }

    pub(super) fn is_small(&self) -> bool {
        self.dispatches().count() <= MOST_KEPT_DISPATCHES
    }

    /// Returns whether the device could create memory for the uniforms. If not, the next recording tries again.
    pub(super) fn exists(&self) -> bool {
        self.dispatches().all(|ready| ready.uniforms.exists())
    }
}

impl Engine {
    /// Returns the work of a move that is not empty and whose arguments are at `places`, with reduced offsets: a kept
    /// work or a new one. All its pipelines are compiled. A work of very many dispatches is kept only if `keeps`.
    pub(in crate::gpu) fn work(
        &self,
        what: &Move,
        places: Places,
        keeps: bool,
    ) -> Result<Arc<Work>, Error> {
        self.cache
            .work(what, places, keeps, || self.new_work(what, places))
    }

    fn new_work(&self, what: &Move, places: Places) -> Result<Work, Error> {
        let cut = self.cut(what, &places)?;
        #[cfg(any(test, debug_assertions))]
        {
            let checked = super::bounds::check(&self.reach, what, &places, &cut);
            assert!(checked.is_ok(), "{what}: {}", checked.unwrap_err());
        }
        let ready = |dispatch: Dispatch| {
            self.pipelines.allows(&dispatch.program)?;
            let pipeline = self.pipelines.get(dispatch.program.clone())?;
            let layout = || pipeline.get_bind_group_layout(UNIFORMS_GROUP);
            let uniforms = self.pipelines.uniforms.lend(layout);
            uniforms.write(&self.device.queue, dispatch.uniforms.bytes());
            Ok(Ready {
                dispatch,
                pipeline,
                uniforms,
            })
        };
        let passes = cut.passes.into_iter().map(|pass| {
            let dispatches = pass.dispatches.into_iter().map(ready);
            Ok(Pass {
                cleared: pass.cleared,
                dispatches: dispatches.collect::<Result<_, Error>>()?,
            })
        });
        let work = Work {
            passes: passes.collect::<Result<_, Error>>()?,
            what: Arc::new(what.clone()),
            places,
            scratch: cut.scratch,
            tables: self.tables(what)?,
        };
        if self.pipelines.age() {
            // Kept works would keep old pipelines alive.
            self.cache.clear();
        }
        let doing = "allocating the numbers of a dispatch";
        match work.exists() {
            true => Ok(work),
            false => {
                self.device.check_alive(doing)?;
                Err(Error::OutOfDeviceMemory { doing })
            }
        }
    }

    /// Uploads the tables of a move that converts by tables.
    fn tables(&self, what: &Move) -> Result<Option<wgpu::Buffer>, Error> {
        let conversion = what.conversion.as_ref();
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
            .guarded("allocating the tables of a conversion", make)
            .map(Some)
    }

    /// Fails if a move would be cut into too many dispatches.
    fn check_dispatches(&self, what: &Move) -> Result<(), Error> {
        let reach = &self.reach;
        let windows = |bytes: usize, most: u64| bytes as u64 / most.max(1) + 1;
        let dest = windows(what.result_bytes(), reach.binding.min(reach.dispatch));
        let source = windows(what.source_bytes(), reach.binding);
        let needed = match what.tuples() {
            // A tuple can select a position in any window of the source.
            Some(_) => dest.saturating_mul(source),
            None => dest.max(source.min(what.moved_bytes().0 as u64)),
        };
        let limit = "limit on dispatches";
        within("a plan of this size", limit, needed, MOST_DISPATCHES)
    }

    /// Fails if the device cannot run a move whose arguments are at `places`.
    pub(in crate::gpu) fn supports(&self, what: &Move, places: &Places) -> Result<(), Error> {
        let cut = self.cut(what, places)?;
        let mut programs = cut.dispatches().map(|dispatch| &dispatch.program);
        programs.try_for_each(|program| self.pipelines.allows(program))
    }

    /// Cuts a move that is not empty into passes of dispatches.
    pub(super) fn cut(&self, what: &Move, places: &Places) -> Result<Cut, Error> {
        if let Effect::Find(how) = what.effect() {
            return find(&self.reach, places, &what.source, how);
        }
        self.check_dispatches(what)?;
        let cutter = Cutter {
            reach: &self.reach,
            places,
            tuples: Tuples::of(what),
            source_bytes: what.source_bytes(),
            conversion: what.conversion.as_ref().map(|of| (of, what.dtype())),
        };
        let zeros = || Walk::zeros(1, what.result_bytes());
        // The writes before the walk, and the writes instead of it.
        let (before, instead) = match (what.walk(), what.effect()) {
            (Some(walk), Effect::Scatter(scatter)) => return steps(cutter, what, walk, scatter),
            (Some(walk), Effect::Fill) => match walk.filled(what.result_bytes() / walk.unit) {
                Some(filled) => (None, Some(filled)),
                None => (Some(zeros()), None),
            },
            (Some(_), _) => (None, None),
            (None, _) => (None, Some(zeros())),
        };
        let mut dispatches = Vec::with_capacity(1);
        for walk in before.iter().chain(instead.as_ref().or(what.walk())) {
            cutter.cut(walk, &mut dispatches)?;
        }
        Ok(Cut::one(Pass::of(0, dispatches, Uniforms::Walk), 0))
    }
}
