//! Index tuples of any index type, and functions that run a plan or count its steps.

use wgslice::{DType, Error, Pending, Plan, Report, Tensor, Values, ValuesMut};

/// Index tuples of one of the three index types.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Indices<'a> {
    I32(&'a [i32]),
    I64(&'a [i64]),
    U32(&'a [u32]),
}

impl<'a> From<Indices<'a>> for Values<'a> {
    fn from(indices: Indices<'a>) -> Self {
        match indices {
            Indices::I32(values) => values.into(),
            Indices::I64(values) => values.into(),
            Indices::U32(values) => values.into(),
        }
    }
}

impl Indices<'_> {
    pub(crate) fn dtype(&self) -> DType {
        match self {
            Self::I32(_) => DType::I32,
            Self::I64(_) => DType::I64,
            Self::U32(_) => DType::U32,
        }
    }
}

/// Runs a plan on the CPU, with arguments as bytes.
pub(crate) fn run_bytes(
    plan: &Plan,
    source: &[u8],
    indices: Option<Values<'_>>,
    dest: &mut [u8],
) -> Result<Report, Error> {
    let source = Values::from_bytes(plan.inputs()[0].dtype, source);
    let inputs: Vec<Values<'_>> = [Some(source), indices].into_iter().flatten().collect();
    plan.run_cpu(&inputs, &mut [ValuesMut::from_bytes(plan.dtype(), dest)])
}

/// Returns the number of a plan's steps. Parses it from the plan's text, which leaves out the number 1.
pub(crate) fn step_count(plan: &Plan) -> usize {
    let text = plan.to_string();
    let count_text = text
        .strip_suffix(" steps")
        .and_then(|text| text.rsplit(' ').next());
    count_text.map_or(1, |count_text| count_text.parse().unwrap())
}

/// Runs a plan on tensors. Returns the result and the report.
pub(crate) fn run_tensors(
    plan: &Plan,
    inputs: &[&Tensor],
) -> Result<(Tensor, Pending<Report>), Error> {
    let (mut results, report) = Tensor::run(plan, inputs)?;
    Ok((results.swap_remove(0), report))
}
