//! The commands that are recorded for a plan, worked out once: passes of dispatches, with their pipelines.
//!
//! The [`Work`] of a plan is kept for later recordings, until it has not been [used recently](Recent).

use super::{
    Gpu,
    cut::{Cutter, Dispatch, INDICES, Places, Tuples},
    recent::{Recent, WordHasher},
    scatter::scatter_steps,
};
use crate::{Error, Plan, lock::lock, plan::Effect, walk::Walk};
use std::{
    hash::{Hash, Hasher},
    ops::Range,
    sync::{Arc, Mutex},
};

/// A [`Work`] with more dispatches than this is not kept. Few plans need more. Such plans keep the device busy for so
/// long that working out their commands again hardly matters.
const MOST_KEPT: usize = 64;

/// The most dispatches, by an estimate, into which a plan is cut. More would take the host too much time and memory.
/// Only plans on tensors that no device can hold, or on devices with tiny limits, need more.
const MOST_DISPATCHES: u64 = 1 << 18;

/// The commands that are recorded for a plan whose arguments lie at `places`.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) plan: Arc<Plan>,
    /// The places of the arguments, with reduced offsets: see [`Gpu::aligned`].
    pub(super) places: Places,
    pub(super) passes: Vec<Pass<Launch>>,
    /// The bytes of scratch memory that the passes share.
    pub(super) scratch: u64,
}

/// Dispatches in one compute pass.
#[derive(Debug)]
pub(crate) struct Pass<D> {
    /// The bytes of scratch memory that are cleared before the pass; empty for none.
    pub(crate) cleared: Range<u64>,
    pub(crate) dispatches: Vec<D>,
}

/// A dispatch, ready to be recorded.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) dispatch: Dispatch,
    pub(super) pipeline: wgpu::ComputePipeline,
}

/// The works of the plans that were recorded recently.
#[derive(Debug, Default)]
pub(super) struct Works(Mutex<Recent<Arc<Work>>>);

impl Works {
    /// Empties the cache.
    pub(super) fn clear(&self) {
        *lock(&self.0) = Recent::default();
    }
}

impl Gpu {
    /// Reduces the offsets of `places` by what [`Reach::aligned`](super::caps::Reach::aligned) returns for them.
    /// Recording adds this to the offsets of bindings again.
    pub(super) fn aligned(&self, mut places: Places) -> Places {
        for parts in [&mut places.source, &mut places.dest, &mut places.indices] {
            parts.offset -= self.inner.reach.aligned(parts.offset);
        }
        places
    }

    /// Returns the work of a plan that is not empty and whose arguments lie at `places`, which must be
    /// [aligned](Self::aligned): a kept work or a new one. All its pipelines are compiled.
    pub(super) fn work(&self, plan: &Plan, places: Places) -> Result<Arc<Work>, Error> {
        let mut hasher = WordHasher::default();
        (plan, places).hash(&mut hasher);
        let hash = hasher.finish();
        let kept = || lock(&self.inner.works.0);
        if let Some(work) = kept().find(hash)
            && work.places == places
            && *work.plan == *plan
        {
            return Ok(Arc::clone(work));
        }
        let work = Arc::new(self.new_work(Arc::new(plan.clone()), places)?);
        let dispatches = work.passes.iter().map(|pass| pass.dispatches.len());
        if dispatches.sum::<usize>() <= MOST_KEPT {
            kept().keep(hash, Arc::clone(&work));
        }
        Ok(work)
    }

    /// Makes the work that [`Gpu::work`] returns, but neither looks for a kept work nor keeps the new one.
    pub(super) fn new_work(&self, plan: Arc<Plan>, places: Places) -> Result<Work, Error> {
        let (passes, scratch) = self.cut(&plan, &places)?;
        #[cfg(any(test, debug_assertions))]
        {
            let checked = super::bounds::check(&self.inner.reach, &plan, &places, scratch, &passes);
            assert!(checked.is_ok(), "{plan}: {}", checked.unwrap_err());
        }
        let launch = |dispatch: Dispatch| {
            let pipeline = self.inner.pipelines.get(dispatch.program)?;
            Ok(Launch { dispatch, pipeline })
        };
        let passes = passes.into_iter().map(|pass| {
            let dispatches = pass.dispatches.into_iter().map(launch);
            Ok(Pass {
                cleared: pass.cleared,
                dispatches: dispatches.collect::<Result<_, Error>>()?,
            })
        });
        Ok(Work {
            passes: passes.collect::<Result<_, Error>>()?,
            plan,
            places,
            scratch,
        })
    }

    /// Fails if a plan would be cut into too many dispatches.
    fn check_dispatches(&self, plan: &Plan) -> Result<(), Error> {
        let reach = &self.inner.reach;
        let windows = |bytes: usize, most: u64| bytes as u64 / most.max(1) + 1;
        let dest = windows(plan.result_bytes(), reach.binding.min(reach.dispatch));
        let source = windows(plan.source_bytes(), reach.binding);
        let needed = match plan.tuples() {
            // A tuple may point into any window of the source.
            Some(_) => dest.saturating_mul(source),
            None => dest.max(source.min(plan.moved_bytes().0 as u64)),
        };
        match needed <= MOST_DISPATCHES {
            true => Ok(()),
            false => Err(Error::DeviceLimit {
                what: "a plan of this size",
                limit: "limit on dispatches",
                needed,
                allowed: MOST_DISPATCHES,
            }),
        }
    }

    /// Cuts a plan that is not empty into passes of dispatches, and returns the bytes of scratch memory that they need.
    pub(super) fn cut(
        &self,
        plan: &Plan,
        places: &Places,
    ) -> Result<(Vec<Pass<Dispatch>>, u64), Error> {
        self.check_dispatches(plan)?;
        let zeros = || Walk::zeros(1, plan.result_bytes());
        // What is written before the walk, and instead of it.
        let (before, instead) = match (plan.walk(), plan.effect()) {
            (Some(walk), Effect::Scatter(scatter)) => {
                return scatter_steps(&self.inner.reach, plan, walk, &scatter, places);
            }
            (Some(_), Effect::Make | Effect::Update) => (None, None),
            (Some(walk), Effect::Fill) => match walk.filled(plan.result_bytes() / walk.unit) {
                Some(filled) => (None, Some(filled)),
                None => (Some(zeros()), None),
            },
            (None, _) => (None, Some(zeros())),
        };
        let cutter = Cutter {
            reach: &self.inner.reach,
            places,
            tuples: plan.tuples().map(|tuples| Tuples {
                argument: INDICES,
                index: places.index,
                policy: tuples.policy,
                keeps: false,
                first_index: 0,
            }),
            source_bytes: plan.source_bytes(),
        };
        let mut dispatches = Vec::with_capacity(1);
        for walk in before.iter().chain(instead.as_ref().or(plan.walk())) {
            cutter.cut(walk, &mut dispatches)?;
        }
        let pass = Pass {
            cleared: 0..0,
            dispatches,
        };
        Ok((vec![pass], 0))
    }
}
