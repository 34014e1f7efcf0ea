//! `wgslice gather-nd`.

use crate::{
    args::{GatherNd, Global},
    device,
    failure::{Failure, Stopped},
    files::{self, Array, Indices},
    print,
    report::{Described, Run},
    times::{Stage, Times},
};
use std::process::ExitCode;
use wgslice::{Backend, Plan, Report};

pub(crate) fn run(global: &Global, args: &GatherNd) -> Result<ExitCode, Failure> {
    let mut times = Times::default();
    let (params, indices) = times.measure(Stage::Read, || {
        Ok::<_, Failure>((files::read(&args.params)?, files::read(&args.indices)?))
    })?;
    let dtype = params.dtype();
    let inputs = [
        Described::new(&args.params, params.shape()),
        Described::new(&args.indices, indices.shape()),
    ];
    let [params_shape, indices_shape] = [&inputs[0].shape, &inputs[1].shape];
    let context = format!("{} at {}", inputs[0], inputs[1]);
    // Shapes that do not fit are refused before a device is opened and fed.
    Plan::gather_nd(params_shape, indices_shape, options(args), dtype)
        .map_err(Failure::refused(&context))?;
    let tuples = files::to_indices(&indices)
        .map_err(|error| Failure::usage(format_args!("{}: {error}", args.indices)))?;

    let backend = device::open(global)?;
    let mut fallback = None;
    let mut gathered = gather(args, &backend, params, &tuples, indices_shape, &mut times);
    if let Err(Stopped::Library(error)) = &gathered
        && device::may_fall_back(global, error)?
    {
        fallback = Some(error.to_string());
        let params = files::read(&args.params)?;
        let cpu = Backend::cpu();
        gathered = gather(args, &cpu, params, &tuples, indices_shape, &mut times);
    }
    let (shape, report) = gathered.map_err(|stopped| stopped.explained(&context))?;

    warn(&report);
    Run::new(inputs, &args.output, &shape, dtype, &backend, times)
        .with_report(report)
        .with_fallback(fallback)
        .print(global.json)?;
    Ok(ExitCode::SUCCESS)
}

/// Gathers and writes the output. Returns the result's shape, and the report.
fn gather(
    args: &GatherNd,
    backend: &Backend,
    params: Array,
    tuples: &Indices,
    indices_shape: &[usize],
    times: &mut Times,
) -> Result<(Vec<usize>, Report), Stopped> {
    let dtype = params.dtype();
    let (params, tuples) = times.measure(Stage::Upload, || {
        let shape = params.shape().to_vec();
        let params = backend.adopt(dtype, &shape, params)?;
        let tuples = match tuples {
            Indices::I32(tuples) => backend.upload(tuples, indices_shape)?,
            Indices::I64(tuples) => backend.upload(tuples, indices_shape)?,
        };
        backend.wait()?;
        Ok::<_, Stopped>((params, tuples))
    })?;
    let gathered = times.measure(Stage::Dispatch, || {
        let gathered = params.gather_nd(&tuples, options(args))?;
        backend.wait()?;
        Ok::<_, Stopped>(gathered)
    })?;
    let result = &gathered.tensor;
    let (bytes, report) = times.measure(Stage::Readback, || {
        let report = gathered.report()?;
        Ok::<_, Stopped>((result.bytes()?, report))
    })?;
    times.measure(Stage::Write, || {
        let written = files::write(&args.output, dtype, result.shape(), &bytes);
        written.map_err(Failure::from)
    })?;
    Ok((result.shape().to_vec(), report))
}

fn options(args: &GatherNd) -> wgslice::GatherNd {
    wgslice::GatherNd {
        batch_dims: args.batch_dims,
        out_of_range: args.out_of_range.into(),
        negative: args.negative.into(),
    }
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
