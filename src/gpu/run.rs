//! Runs plans on tensors: records a plan and submits it.

use super::{
    DeviceBytes, Gpu,
    engine::{argument::Argument, commands::Target, record::Arguments},
};
use crate::{DType, Error, Pending, Plan, Report};

impl Gpu {
    /// Runs a plan in one submission and returns the outputs. If the flag next to an output is true, that output itself
    /// is written, otherwise a copy of it. `copied` is the number of bytes for [`Report::copied`].
    pub(crate) fn run(
        &self,
        plan: &Plan,
        types: &[DType],
        inputs: &[&DeviceBytes],
        outputs: &[(DeviceBytes, bool)],
        copied: usize,
    ) -> Result<(Vec<DeviceBytes>, Pending<Report>), Error> {
        let plan = &*plan.with_types(|input| types.get(input).copied())?;
        let (made, _) = self.opened().submit(plan.name(), |encoder| {
            let changeable = |(output, in_place): &(DeviceBytes, bool)| {
                self.opened().changeable(encoder, output, *in_place)
            };
            let outputs = outputs
                .iter()
                .map(changeable)
                .collect::<Result<Vec<_>, _>>()?;
            let (needed, made) = (plan.inputs(), plan.outputs());
            let from = needed.iter().zip(inputs);
            let from: Vec<_> = from
                .map(|(of, bytes)| Argument::tensor(of.name, bytes))
                .collect();
            let to = made.iter().zip(&outputs);
            let to: Vec<_> = to
                .map(|(of, bytes)| Argument::tensor(of.name, bytes))
                .collect();
            let arguments = Arguments {
                types,
                inputs: &from,
                outputs: &to,
                copied,
            };
            let report = self
                .engine
                .record(Target::Encoder(encoder), plan, &arguments)?;
            Ok((outputs, report))
        })?;
        Ok(made)
    }
}
