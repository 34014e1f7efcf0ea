//! `wgslice gather-nd`.

use crate::{
    args::{GatherNd, Global},
    device,
    failure::Failure,
    files::{self, Indices},
    print,
    report::{Described, Run},
    times::{Stage, Times},
};
use std::process::ExitCode;
use wgslice::{Plan, Report};

pub(crate) fn run(global: &Global, args: &GatherNd) -> Result<ExitCode, Failure> {
    let mut times = Times::default();
    let (params, indices) = times.measure(Stage::Read, || {
        Ok((files::read(&args.params)?, files::read(&args.indices)?))
    })?;
    let dtype = params.dtype();
    let inputs = [
        Described::new(&args.params, params.shape()),
        Described::new(&args.indices, indices.shape()),
    ];
    let [params_shape, indices_shape] = [&inputs[0].shape, &inputs[1].shape];
    let context = format!("{} at {}", inputs[0], inputs[1]);
    let refused = || Failure::refused(&context);
    // Shapes that do not fit are refused before a device is opened and fed.
    Plan::gather_nd(params_shape, indices_shape, args.batch_dims, dtype).map_err(refused())?;
    let tuples = files::to_indices(&indices)
        .map_err(|error| Failure::usage(format_args!("{}: {error}", args.indices)))?;

    let backend = device::open(global)?;
    let (params, tuples) = times.measure(Stage::Upload, || {
        let params = backend
            .adopt(dtype, params_shape, params)
            .map_err(refused())?;
        let tuples = match tuples {
            Indices::I32(tuples) => backend.upload(&tuples, indices_shape),
            Indices::I64(tuples) => backend.upload(&tuples, indices_shape),
        };
        let tuples = tuples.map_err(refused())?;
        backend.wait().map_err(refused())?;
        Ok((params, tuples))
    })?;
    let gathered = times.measure(Stage::Dispatch, || {
        let options = wgslice::GatherNd {
            batch_dims: args.batch_dims,
            out_of_range: args.out_of_range.into(),
        };
        let gathered = params.gather_nd(&tuples, options).map_err(refused())?;
        backend.wait().map_err(refused())?;
        Ok(gathered)
    })?;
    let result = &gathered.tensor;
    let (bytes, report) = times.measure(Stage::Readback, || {
        let report = gathered.report().map_err(refused())?;
        Ok((result.bytes().map_err(refused())?, report))
    })?;
    times.measure(Stage::Write, || {
        Ok(files::write(&args.output, dtype, result.shape(), &bytes)?)
    })?;

    warn(&report);
    Run::new(inputs, &args.output, result, times, Some(report)).print(global.json)?;
    Ok(ExitCode::SUCCESS)
}

fn warn(report: &Report) {
    if let Some(first) = &report.first {
        let Report {
            rows, bad, params, ..
        } = report;
        let params = crate::report::shape(params);
        print::line_to_stderr(format_args!(
            "warning: {bad} of {rows} index tuples are out of range and became zeros, \
             the first at {first} of params {params}"
        ));
    }
}
