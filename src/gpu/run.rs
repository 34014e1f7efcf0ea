//! Runs plans on tensors: records a plan and submits it.

use super::{
    DeviceBytes, Gpu,
    engine::{argument::Argument, find::COUNT_BYTES, record::Target},
};
use crate::{Error, Found, Nonzero, Pending, Plan, Report};

impl Gpu {
    /// Runs a plan, and returns the result as a new tensor. `indices` are those of a gather, a crop or a
    /// scatter.
    pub(crate) fn make(
        &self,
        plan: &Plan,
        source: &DeviceBytes,
        indices: Option<&DeviceBytes>,
    ) -> Result<(DeviceBytes, Pending<Report>), Error> {
        let dest = self.opened().allocate(plan.shape(), plan.dtype.size())?;
        self.change(plan, source, indices, &dest, true)
    }

    /// Searches a mask by a plan. Returns the positions, and the words and the value of their number.
    pub(crate) fn find(
        &self,
        nonzero: &Nonzero,
        mask: &DeviceBytes,
    ) -> Result<(DeviceBytes, DeviceBytes, Pending<Found>), Error> {
        let plan = &nonzero.plan;
        let rows = self
            .opened()
            .allocate(nonzero.shape(), nonzero.dtype().size())?;
        let words = self.opened().allocate(&[COUNT_BYTES], 1)?;
        let arguments = [("mask", mask), ("rows", &rows), ("count", &words)];
        let arguments = arguments.map(|(name, bytes)| Argument::tensor(name, bytes));
        let (found, _) = self.opened().submit(plan.name(), |encoder| {
            let target = Target::Encoder(encoder);
            self.engine.record_find(target, plan, arguments)
        })?;
        Ok((rows, words, found))
    }

    /// Runs plans without indices, each with its source, that all write to `dest`, in one submission named `doing`.
    pub(crate) fn write_all<'a>(
        &self,
        doing: &'static str,
        plans: impl Iterator<Item = (&'a DeviceBytes, &'a Plan)>,
        dest: &DeviceBytes,
    ) -> Result<(), Error> {
        let to = Argument::tensor("dest", dest);
        let (mut plans, engine) = (plans, &self.engine);
        let submitted = self.opened().submit(doing, |encoder| {
            plans.try_for_each(|(source, plan)| {
                let from = Argument::tensor("source", source);
                engine
                    .record(Target::Encoder(encoder), plan, from, None, to)
                    .map(drop)
            })
        });
        submitted.map(drop)
    }

    /// Runs a plan that writes to `dest` if `in_place`, otherwise to a copy of `dest`. Returns the changed tensor.
    pub(crate) fn change(
        &self,
        plan: &Plan,
        source: &DeviceBytes,
        indices: Option<&DeviceBytes>,
        dest: &DeviceBytes,
        in_place: bool,
    ) -> Result<(DeviceBytes, Pending<Report>), Error> {
        let (made, _) = self.opened().submit(plan.name(), |encoder| {
            let dest = self.opened().changeable(encoder, dest, in_place)?;
            let from = Argument::tensor("source", source);
            let to = Argument::tensor("dest", &dest);
            let indices = indices.map(|tuples| Argument::tensor("indices", tuples));
            let report = self
                .engine
                .record(Target::Encoder(encoder), plan, from, indices, to)?;
            Ok((dest, report))
        })?;
        Ok(made)
    }
}
