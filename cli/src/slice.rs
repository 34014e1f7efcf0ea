//! `wgslice slice`.

use crate::{
    args::{Encoded, Global, Integers, Slice},
    device,
    failure::{Failure, Stopped},
    files::{self, Writer},
    print, progress,
    report::{Described, Run},
    times::{Stage, Timer, Times},
};
use std::{ops::Range, process::ExitCode};
use wgslice::{Error, Plan, SliceSpec, StridedSlice};

pub(crate) fn run(global: &Global, args: &Slice) -> Result<ExitCode, Failure> {
    let mut times = Times::default();
    let spec = spec(args)?;
    let array = times.measure(Stage::Read, || files::read(&args.input))?;
    let (dtype, shape) = (array.dtype(), array.shape().to_vec());
    let input = Described::new(&args.input, &shape);
    let refused = || Failure::refused(&input);
    // A slice that does not fit is refused before a device is opened and fed.
    let plan = Plan::strided_slice(&shape, &spec, dtype).map_err(refused())?;

    let backend = device::open(global)?;
    if args.to.explain {
        print::line(backend.explain(&plan));
        return Ok(ExitCode::SUCCESS);
    }
    let mut stream = backend.stream(&shape, &spec, dtype).map_err(refused())?;
    if let Some(memory) = args.memory {
        stream = stream.with_memory(memory);
    }
    let mut output = Writer::create(args.to.output(), dtype, stream.shape())?;
    let (mut reading, mut writing) = (Timer::default(), Timer::default());
    let streamed = progress::of_bytes(stream.result_bytes(), |progress| {
        let fetch = |range: Range<usize>| {
            let window = reading.measure(|| array.window(range));
            let path = &args.input;
            window
                .map_err(|error| Failure::usage(format_args!("cannot read {path}: {error}")).into())
        };
        let sink = |bytes: &[u8]| {
            writing
                .measure(|| output.write(bytes))
                .map_err(Failure::from)?;
            progress.advance(bytes.len());
            Ok::<_, Stopped>(())
        };
        stream.run(fetch, sink)
    });
    let streamed = streamed.map_err(|stopped| stopped.explained(&input))?;
    times.measure(Stage::Write, || output.finish())?;
    times.add(Stage::Read, reading);
    times.add(Stage::Upload, streamed.upload);
    times.add(Stage::Dispatch, streamed.dispatch);
    times.add(Stage::Readback, streamed.readback);
    times.add(Stage::Write, writing);

    let shape = stream.shape();
    Run::new([input], args.to.output(), shape, dtype, &backend, times)
        .in_pieces(streamed.pieces)
        .with_fallback(streamed.fallback.map(|why| why.to_string()))
        .print(global.json)?;
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
