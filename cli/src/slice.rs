//! `wgslice slice`.

use crate::{
    args::{Encoded, Global, Integers, Slice},
    device,
    failure::Failure,
    files,
    report::{Described, Run},
    times::{Stage, Times},
};
use std::process::ExitCode;
use wgslice::{Error, Plan, SliceSpec, StridedSlice};

pub(crate) fn run(global: &Global, args: &Slice) -> Result<ExitCode, Failure> {
    let mut times = Times::default();
    let spec = spec(args)?;
    let array = times.measure(Stage::Read, || Ok(files::read(&args.input)?))?;
    let (dtype, shape) = (array.dtype(), array.shape().to_vec());
    let input = Described::new(&args.input, &shape);
    let refused = || Failure::refused(&input);
    // A slice that does not fit is refused before a device is opened and fed.
    Plan::strided_slice(&shape, &spec, dtype).map_err(refused())?;

    let backend = device::open(global)?;
    let tensor = times.measure(Stage::Upload, || {
        let tensor = backend.adopt(dtype, &shape, array).map_err(refused())?;
        backend.wait().map_err(refused())?;
        Ok(tensor)
    })?;
    let result = times.measure(Stage::Dispatch, || {
        let result = tensor.slice(&spec).map_err(refused())?;
        backend.wait().map_err(refused())?;
        Ok(result)
    })?;
    let bytes = times.measure(Stage::Readback, || result.bytes().map_err(refused()))?;
    times.measure(Stage::Write, || {
        Ok(files::write(&args.output, dtype, result.shape(), &bytes)?)
    })?;

    Run::new([input], &args.output, &result, times, None).print(global.json)?;
    Ok(ExitCode::SUCCESS)
}

fn spec(args: &Slice) -> Result<SliceSpec, Failure> {
    match (&args.spec, &args.encoded) {
        (Some(text), _) => text.parse().map_err(Failure::refused("SPEC")),
        (
            None,
            Encoded {
                begin: Some(begin),
                end: Some(end),
                strides,
                ..
            },
        ) => {
            encoded(&args.encoded, begin, end, strides.as_ref()).map_err(Failure::refused("slice"))
        }
        // The command line does not parse without one of them.
        (None, _) => Err(Failure::usage("give SPEC, or --begin and --end")),
    }
}

fn encoded(
    args: &Encoded,
    Integers(begin): &Integers,
    Integers(end): &Integers,
    strides: Option<&Integers>,
) -> Result<SliceSpec, Error> {
    StridedSlice {
        begin: begin.clone(),
        end: end.clone(),
        strides: strides.map_or_else(|| vec![1; begin.len()], |Integers(strides)| strides.clone()),
        begin_mask: StridedSlice::mask("begin_mask", args.begin_mask)?,
        end_mask: StridedSlice::mask("end_mask", args.end_mask)?,
        ellipsis_mask: StridedSlice::mask("ellipsis_mask", args.ellipsis_mask)?,
        new_axis_mask: StridedSlice::mask("new_axis_mask", args.new_axis_mask)?,
        shrink_axis_mask: StridedSlice::mask("shrink_axis_mask", args.shrink_axis_mask)?,
    }
    .try_into()
}
