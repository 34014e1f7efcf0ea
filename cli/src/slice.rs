//! `wgslice slice` and `wgslice convert`.

use crate::{
    args::{Global, Integers, OutputOptions, parse_mask, parse_memory},
    device,
    failure::{Failure, TaskError, WordList},
    files::{self, Array, Source},
    job, literal,
    ops::{self, ConversionOptions, WantedConversion},
    pieces::{ElementParts, ReadProblem, SlicedArray, fortran_parts},
    progress,
    report::{ArraySummary, Explained, Outcome, Run},
    target::{ElementOrder, Target},
    times::{Stage, Timer, Times},
    values::ShownArray,
};
use std::ops::Range;
use wgslice::{
    Error, Plan, SliceSpec,
    spec::{SliceItem, TfStridedSlice},
};

/// Slice an array: Python's syntax, or TensorFlow's vectors and masks
///
/// The file can be larger than memory: it is processed in pieces, and only the parts that the slice needs are read. PNG
/// and JPEG files are held in memory. A slice of an .npy file in Fortran order is also in Fortran order if it is
/// written as .npy or .npz.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice slice photo.png '100:400, ::-1, :' -o flipped.png
  wgslice slice photo.png '0, :5'
  wgslice slice model.safetensors#wte.weight ':1000' -o rows.npy --device gpu
  wgslice slice huge.npy '::2, ::-1' -o half.npy --memory 2G
  wgslice slice photo.png '::2, ::2' --normalize imagenet --transpose 2,0,1 -o x.npy
  wgslice slice in.npy --begin 0,-1 --end 2,0 --strides 1,-1 --end-mask 0b10 -o out.npy")]
pub(crate) struct Slice {
    /// The array
    #[arg(value_name = "IN")]
    pub(crate) input: Source,
    /// The content of the brackets of x[...] in Python; `wgslice index` takes lists of positions
    /// [default: ...]
    #[arg(
        value_name = "SPEC",
        allow_hyphen_values = true,
        conflicts_with_all = ["begin", "end", "strides", "begin_mask", "end_mask",
            "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"],
    )]
    pub(crate) spec: Option<String>,
    /// Memory for the array's pieces, on the host and on the device together, as in 500M or 2G; files that are held in
    /// memory as a whole are not included [default: 1 GiB, or a quarter of a GPU's longest buffer if that is less;
    /// 128 MiB if the CPU reorders an array in Fortran order]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory, conflicts_with_all = ["as", "transpose"])]
    pub(crate) memory: Option<usize>,
    /// Put the axes of the slice in this order; the slice is then made in memory
    #[arg(long, value_name = "AXIS,...", allow_hyphen_values = true)]
    pub(crate) transpose: Option<Integers>,
    #[command(flatten)]
    pub(crate) conversion: ConversionOptions,
    #[command(flatten)]
    pub(crate) encoded: Encoded,
}

/// Convert the numbers of a slice, or a file to another format
///
/// The result is x[SPEC] * SCALE + BIAS. Without --as or --normalize, numbers keep their type. With --device auto, the
/// CPU does the conversions for which a GPU would give other bits.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice convert photo.png --as float32 --transpose 2,0,1 --scale 1/255 -o planes.npy
  wgslice convert photo.png --normalize imagenet --transpose 2,0,1 -o planes.npy
  wgslice convert weights.npy ':1000' --as bfloat16 -o rows.safetensors
  wgslice convert planes.npy --as uint8 -o rounded.npy
  wgslice convert array.npy -o array.safetensors")]
pub(crate) struct Convert {
    /// The array
    #[arg(value_name = "IN")]
    input: Source,
    /// The content of the brackets of x[...] in Python
    #[arg(default_value = "...", allow_hyphen_values = true)]
    spec: String,
    /// Put the axes of the slice in this order
    #[arg(long, value_name = "AXIS,...", allow_hyphen_values = true)]
    transpose: Option<Integers>,
    #[command(flatten)]
    conversion: ConversionOptions,
}

impl Convert {
    pub(crate) fn run(
        &self,
        global: &Global,
        output_options: &OutputOptions,
    ) -> Result<Outcome, Failure> {
        let spec = literal::parse_expression(&self.spec, "SPEC")?;
        let (axes, wanted_conversion) =
            (self.transpose.as_ref(), self.conversion.wanted_conversion());
        make_slice(
            global,
            output_options,
            &self.input,
            &spec,
            axes,
            wanted_conversion,
            None,
        )
    }
}

/// The attributes of TensorFlow's `StridedSlice`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "TensorFlow's attributes, instead of SPEC")]
pub(crate) struct Encoded {
    /// The first position of each entry, as in 0,-1
    #[arg(
        long,
        value_name = "I,J,...",
        allow_hyphen_values = true,
        requires = "end"
    )]
    pub(crate) begin: Option<Integers>,
    /// The end of each entry: the position after its last one
    #[arg(
        long,
        value_name = "I,J,...",
        allow_hyphen_values = true,
        requires = "begin"
    )]
    pub(crate) end: Option<Integers>,
    /// The stride of each entry [default: 1 for each]
    #[arg(
        long,
        value_name = "I,J,...",
        allow_hyphen_values = true,
        requires = "begin"
    )]
    pub(crate) strides: Option<Integers>,
    /// Bit i: begin[i] is ignored. Masks are decimal, 0x... or 0b...
    #[arg(long, value_name = "MASK", allow_hyphen_values = true, requires = "begin",
        default_value = "0", hide_default_value = true, value_parser = parse_mask)]
    pub(crate) begin_mask: i32,
    /// Bit i: end[i] is ignored
    #[arg(long, value_name = "MASK", allow_hyphen_values = true, requires = "begin",
        default_value = "0", hide_default_value = true, value_parser = parse_mask)]
    pub(crate) end_mask: i32,
    /// Bit i: entry i is `...`
    #[arg(long, value_name = "MASK", allow_hyphen_values = true, requires = "begin",
        default_value = "0", hide_default_value = true, value_parser = parse_mask)]
    pub(crate) ellipsis_mask: i32,
    /// Bit i: entry i is a new axis
    #[arg(long, value_name = "MASK", allow_hyphen_values = true, requires = "begin",
        default_value = "0", hide_default_value = true, value_parser = parse_mask)]
    pub(crate) new_axis_mask: i32,
    /// Bit i: entry i is the single index begin[i]
    #[arg(long, value_name = "MASK", allow_hyphen_values = true, requires = "begin",
        default_value = "0", hide_default_value = true, value_parser = parse_mask)]
    pub(crate) shrink_axis_mask: i32,
}

pub(crate) fn run(
    global: &Global,
    output_options: &OutputOptions,
    args: &Slice,
) -> Result<Outcome, Failure> {
    let (spec, axes) = (slice_spec(args)?, args.transpose.as_ref());
    make_slice(
        global,
        output_options,
        &args.input,
        &spec,
        axes,
        args.conversion.wanted_conversion(),
        args.memory,
    )
}

/// Slices an array: as a whole in memory if its axes are permuted or its numbers converted, otherwise in pieces.
pub(crate) fn make_slice(
    global: &Global,
    output_options: &OutputOptions,
    source: &Source,
    spec: &SliceSpec,
    axes: Option<&Integers>,
    wanted_conversion: Option<WantedConversion<'_>>,
    memory: Option<usize>,
) -> Result<Outcome, Failure> {
    match axes.is_some() || wanted_conversion.is_some() {
        true => ops::slice_job(source, spec, axes, wanted_conversion).run(global, output_options),
        false => {
            let mut times = Times::default();
            let array = times.measure(Stage::Read, || literal::read_in_stored_order(source))?;
            in_pieces(
                global,
                output_options,
                (source, &array),
                spec,
                memory,
                times,
            )
        }
    }
}

/// Slices an array piece by piece.
pub(crate) fn in_pieces(
    global: &Global,
    output_options: &OutputOptions,
    (source, stored_array): (&Source, &Array),
    spec: &SliceSpec,
    memory: Option<usize>,
    mut times: Times,
) -> Result<Outcome, Failure> {
    let row_major_array;
    let mut array = stored_array;
    let (element, shape) = (array.element(), array.shape().to_vec());
    let input = ArraySummary::new(source, &shape);
    let words = job::command_words(&[source]);
    let to_failure = || words.with_context(&input);
    // An invalid slice is rejected before a device is opened.
    let plan = Plan::slice(&shape, spec, element.dtype).map_err(to_failure())?;
    let result_shape = plan.shape().to_vec();
    let is_fortran = array.stored().is_some_and(|stored| stored.column_major);
    let keeps_order = is_fortran && Target::holds_fortran_order(output_options, array.origin());
    let ElementParts {
        dtype,
        shape: parts_shape,
        spec: parts_spec,
    } = match keeps_order {
        true => fortran_parts(element, &shape, spec),
        false => ElementParts::new(element, &shape, spec),
    };
    let plan = Plan::slice(&parts_shape, &parts_spec, dtype).map_err(to_failure())?;

    let backend = device::open_for(global, &plan)?;
    if output_options.explain {
        let bytes = array.len();
        let explanation = Explained::new(
            [input],
            bytes,
            output_options,
            &result_shape,
            &backend,
            &[&plan],
            element,
        );
        return Ok(Outcome::Explained(Box::new(explanation)));
    }
    if is_fortran && !keeps_order && backend.is_cpu() {
        let outcome =
            fortran_to_row_major((source, array), output_options, global, spec, memory, times);
        let (times, pieces, values) =
            outcome.map_err(|error| error.into_failure(&input, &words))?;
        let run = Run::new(
            [input],
            output_options,
            &result_shape,
            element,
            &backend,
            times,
        )
        .in_pieces(pieces);
        return Ok(Outcome::Done(Box::new(run), values));
    }
    if is_fortran && !keeps_order {
        row_major_array = times.measure(Stage::Read, || files::read_array(source))?;
        array = &row_major_array;
    }
    let stream = backend.stream(&parts_shape, &parts_spec, dtype);
    let mut stream = stream.map_err(to_failure())?;
    if let Some(memory) = memory {
        stream = stream.with_memory(memory);
    }
    let order = if keeps_order {
        ElementOrder::Fortran
    } else {
        ElementOrder::RowMajor
    };
    let origin = array.origin();
    let mut output = Target::create_in_order(
        order,
        output_options,
        global.json,
        origin,
        element,
        &result_shape,
    )?;
    let (mut read_timer, mut write_timer) = (Timer::default(), Timer::default());
    let stream_report = progress::with_byte_bar(stream.result_bytes(), |progress| {
        let fetch = |range: Range<usize>| {
            let window = read_timer.measure(|| array.window(range));
            window.map_err(|error| {
                Failure::usage(format_args!("cannot read {source}: {error}")).into()
            })
        };
        let sink = |bytes: &[u8]| {
            write_timer.measure(|| write(&mut output, array, bytes))?;
            progress.advance_by(bytes.len());
            Ok::<_, TaskError>(())
        };
        stream.run(fetch, sink)
    });
    let stream_report = stream_report.map_err(|error| error.into_failure(&input, &words))?;
    let values = times.measure(Stage::Write, || output.finish())?;
    times.add(Stage::Read, read_timer);
    times.add(Stage::Upload, stream_report.upload);
    times.add(Stage::Dispatch, stream_report.dispatch);
    times.add(Stage::Readback, stream_report.readback);
    times.add(Stage::Write, write_timer);

    let run = Run::new(
        [input],
        output_options,
        &result_shape,
        element,
        &backend,
        times,
    )
    .in_pieces(stream_report.pieces)
    .with_fallback(stream_report.fallback.map(|why| why.to_string()));
    Ok(Outcome::Done(Box::new(run), values))
}

/// Converts elements from the byte order of the array's file to native byte order and writes them.
fn write(output: &mut Target, array: &Array, bytes: &[u8]) -> Result<(), Failure> {
    /// The number of bytes that are converted at a time. They stay in a cache.
    const PIECE_BYTES: usize = 1 << 16;
    let Some(stored) = array.stored() else {
        return output.write_elements(bytes);
    };
    let size = array.element().size().max(1);
    let mut pieces = bytes.chunks((PIECE_BYTES / size).max(1) * size);
    pieces.try_for_each(|piece| output.write_elements(&stored.to_native(piece)))
}

/// Slices an array in Fortran order for an output in row-major order, piece by piece on the CPU. Returns the times, the
/// number of pieces and, if the result has no file, the values.
fn fortran_to_row_major(
    (source, array): (&Source, &Array),
    output_options: &OutputOptions,
    global: &Global,
    spec: &SliceSpec,
    memory: Option<usize>,
    mut times: Times,
) -> Result<(Times, usize, Option<ShownArray>), TaskError> {
    /// A piece gets a third of the memory, because the file's pages that it reads are likely to take the rest.
    const MEMORY_SHARES: usize = 3;
    /// The memory without `--memory`, in bytes.
    const DEFAULT_MEMORY: usize = 1 << 27;
    let sliced = SlicedArray::new(array, spec)?;
    let shape = sliced.shape();
    let mut output = Target::create(
        output_options,
        global.json,
        array.origin(),
        array.element(),
        shape,
    )?;
    let pieces = sliced.cut_into_pieces(memory.unwrap_or(DEFAULT_MEMORY) / MEMORY_SHARES);
    let bytes = shape.iter().product::<usize>() * array.element().size();
    let (mut read_timer, mut write_timer) = (Timer::default(), Timer::default());
    progress::with_byte_bar(bytes, |progress| {
        for piece in &pieces {
            let elements = read_timer
                .measure(|| sliced.read(piece))
                .map_err(|problem| match problem {
                    ReadProblem::Library(error) => TaskError::Library(error),
                    ReadProblem::File(error) => {
                        Failure::usage(format_args!("cannot read {source}: {error}")).into()
                    }
                })?;
            write_timer.measure(|| output.write_elements(&elements))?;
            progress.advance_by(elements.len());
        }
        Ok::<_, TaskError>(())
    })?;
    let values = times.measure(Stage::Write, || output.finish())?;
    times.add(Stage::Dispatch, read_timer);
    times.add(Stage::Write, write_timer);
    Ok((times, pieces.len(), values))
}

fn slice_spec(args: &Slice) -> Result<SliceSpec, Failure> {
    match (&args.spec, &args.encoded) {
        (Some(text), _) => literal::parse_expression(text, "SPEC"),
        (None, Encoded { begin: None, .. }) => Ok(SliceSpec::new([SliceItem::Ellipsis])),
        (
            None,
            Encoded {
                begin: Some(begin),
                end: Some(end),
                strides,
                ..
            },
        ) => {
            let mut words = WordList::default();
            words.add("begin, end and strides", "--begin, --end and --strides");
            encoded_spec(&args.encoded, begin, end, strides.as_ref())
                .map_err(words.with_context("slice"))
        }
        // The argument parser requires `--end` with `--begin`, so this is unreachable.
        (None, _) => Err(Failure::usage("give --end with --begin")),
    }
}

fn encoded_spec(
    args: &Encoded,
    Integers(begin): &Integers,
    Integers(end): &Integers,
    strides: Option<&Integers>,
) -> Result<SliceSpec, Error> {
    let tf_slice = TfStridedSlice {
        begin: begin.clone(),
        end: end.clone(),
        strides: strides.map_or_else(|| vec![1; begin.len()], |Integers(strides)| strides.clone()),
        begin_mask: args.begin_mask,
        end_mask: args.end_mask,
        ellipsis_mask: args.ellipsis_mask,
        new_axis_mask: args.new_axis_mask,
        shrink_axis_mask: args.shrink_axis_mask,
    };
    SliceSpec::try_from(&tf_slice)
}
