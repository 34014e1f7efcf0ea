//! Runs plans on tensors: records a plan and submits it.

use super::{
    DeviceBytes, Gpu,
    engine::{argument::Argument, commands::Target, record::PlanArguments},
};
use crate::{DType, Error, Pending, Plan, Report};

impl Gpu {
    /// Runs a plan in one submission and returns the outputs. If the flag next to an output is true, the plan writes to
    /// the output itself, otherwise to a copy. `copied_bytes` is the value of [`Report::copied`].
    pub(crate) fn run(
        &self,
        plan: &Plan,
        types: &[DType],
        inputs: &[&DeviceBytes],
        outputs: &[(DeviceBytes, bool)],
        copied_bytes: usize,
    ) -> Result<(Vec<DeviceBytes>, Pending<Report>), Error> {
        let plan = &*plan.with_types(|input| types.get(input).copied())?;
        let (outcome, _) = self
            .open_device()
            .record_and_submit(plan.name(), |encoder| {
                let output_to_change = |(output, in_place): &(DeviceBytes, bool)| {
                    self.open_device()
                        .tensor_to_change(encoder, output, *in_place)
                };
                let outputs = outputs
                    .iter()
                    .map(output_to_change)
                    .collect::<Result<Vec<_>, _>>()?;
                let (plan_inputs, plan_outputs) = (plan.inputs(), plan.outputs());
                let sources = plan_inputs.iter().zip(inputs);
                let sources: Vec<_> = sources
                    .map(|(input, bytes)| Argument::from_tensor(input.name, bytes))
                    .collect();
                let dests = plan_outputs.iter().zip(&outputs);
                let dests: Vec<_> = dests
                    .map(|(output, bytes)| Argument::from_tensor(output.name, bytes))
                    .collect();
                let arguments = PlanArguments {
                    types,
                    inputs: &sources,
                    outputs: &dests,
                    copied_bytes,
                };
                let report = self
                    .engine
                    .record_plan(Target::Encoder(encoder), plan, &arguments)?;
                Ok((outputs, report))
            })?;
        Ok(outcome)
    }
}
