//! `wgslice slice`.

use crate::{
    args::{Global, Integers, To, mask, memory},
    device,
    failure::{Failure, Stopped, Words},
    files::{Element, Source},
    job, literal,
    ops::{self, As},
    progress,
    report::{Described, Explained, Outcome, Run},
    target::Target,
    times::{Stage, Timer, Times},
};
use std::ops::Range;
use wgslice::{
    DType, Error, Plan, SliceSpec,
    spec::{SliceItem, TfStridedSlice},
};

/// Slice an array: Python's syntax, or TensorFlow's vectors and masks
///
/// IN is .npy, .png (height x width x channels) or FILE.safetensors#TENSOR. It may be larger than
/// memory: it is processed in pieces, and only the parts of the file that the slice needs are
/// read. Held in memory whole are PNG files, read or written, and .npy files in Fortran order or
/// not in the byte order of the machine.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice slice photo.png '100:400, ::-1, :' -o flipped.png
  wgslice slice photo.png '0, :5'
  wgslice slice model.safetensors#wte.weight ':1000' -o rows.npy --device gpu
  wgslice slice huge.npy '::2, ::-1' -o half.npy --memory 2G
  wgslice slice photo.png '::2, ::2' --as float32 --scale 0.0039215686 --transpose 2,0,1 -o planes.npy
  wgslice slice in.npy --begin 0,-1 --end 2,0 --strides 1,-1 --end-mask 0b10 -o out.npy")]
pub(crate) struct Slice {
    /// The array
    #[arg(value_name = "IN")]
    pub(crate) input: Source,
    /// The content of the brackets of x[...] in Python; `wgslice index` takes lists of positions
    #[arg(
        value_name = "SPEC",
        allow_hyphen_values = true,
        required_unless_present = "begin",
        conflicts_with_all = ["begin", "end", "strides", "begin_mask", "end_mask",
            "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"],
    )]
    pub(crate) spec: Option<String>,
    /// Memory for the array's pieces, on the host and on the device together, as in 500M or 2G;
    /// files that are held in memory whole take theirs besides
    /// [default: a quarter of the device's longest buffer, at most 1 GiB]
    #[arg(long, value_name = "SIZE", value_parser = memory, conflicts_with_all = ["as", "transpose"])]
    pub(crate) memory: Option<usize>,
    /// Put the axes of the slice in this order; the slice is then made in memory
    #[arg(long, value_name = "AXIS,...", allow_hyphen_values = true)]
    pub(crate) transpose: Option<Integers>,
    #[command(flatten)]
    pub(crate) conversion: As,
    #[command(flatten)]
    pub(crate) encoded: Encoded,
}

/// TensorFlow's attributes of `StridedSlice`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "TensorFlow's attributes, instead of SPEC")]
pub(crate) struct Encoded {
    /// First position of each entry, as in 0,-1
    #[arg(
        long,
        value_name = "I,J,...",
        allow_hyphen_values = true,
        requires = "end"
    )]
    pub(crate) begin: Option<Integers>,
    /// Position after the last of each entry
    #[arg(
        long,
        value_name = "I,J,...",
        allow_hyphen_values = true,
        requires = "begin"
    )]
    pub(crate) end: Option<Integers>,
    /// Stride of each entry [default: 1 for each]
    #[arg(
        long,
        value_name = "I,J,...",
        allow_hyphen_values = true,
        requires = "begin"
    )]
    pub(crate) strides: Option<Integers>,
    /// Bit i: begin[i] is ignored. Masks are decimal, 0x... or 0b...
    #[arg(long, value_name = "MASK", allow_hyphen_values = true, requires = "begin",
        default_value = "0", hide_default_value = true, value_parser = mask)]
    pub(crate) begin_mask: i64,
    /// Bit i: end[i] is ignored
    #[arg(long, value_name = "MASK", allow_hyphen_values = true, requires = "begin",
        default_value = "0", hide_default_value = true, value_parser = mask)]
    pub(crate) end_mask: i64,
    /// Bit i: entry i is `...`
    #[arg(long, value_name = "MASK", allow_hyphen_values = true, requires = "begin",
        default_value = "0", hide_default_value = true, value_parser = mask)]
    pub(crate) ellipsis_mask: i64,
    /// Bit i: entry i is a new axis
    #[arg(long, value_name = "MASK", allow_hyphen_values = true, requires = "begin",
        default_value = "0", hide_default_value = true, value_parser = mask)]
    pub(crate) new_axis_mask: i64,
    /// Bit i: entry i is the single index begin[i]
    #[arg(long, value_name = "MASK", allow_hyphen_values = true, requires = "begin",
        default_value = "0", hide_default_value = true, value_parser = mask)]
    pub(crate) shrink_axis_mask: i64,
}

pub(crate) fn run(global: &Global, to: &To, args: &Slice) -> Result<Outcome, Failure> {
    let mut times = Times::default();
    let spec = spec(args)?;
    let axes = args.transpose.as_ref();
    if axes.is_some() || args.conversion.is_given() {
        return ops::slice(&args.input, spec, axes, args.conversion.conversion()).run(global, to);
    }
    let array = times.measure(Stage::Read, || job::array(&args.input))?;
    let (element, shape) = (array.element(), array.shape().to_vec());
    let input = Described::new(&args.input, &shape);
    let words = job::words(&[&args.input]);
    let refused = || words.refused(&input);
    // An invalid slice is refused before a device is opened.
    let plan = Plan::slice(&shape, &spec, element.dtype).map_err(refused())?;
    let result = plan.shape().to_vec();
    let (parts, of_parts) = in_parts(element, &shape, &spec);
    let plan = Plan::slice(&parts.shape, &of_parts, parts.dtype).map_err(refused())?;

    let backend = device::open_for(global, &plan)?;
    if to.explain {
        let bytes = array.len();
        let explained = Explained::new([input], bytes, to, &result, &backend, &[&plan], element);
        return Ok(Outcome::Explained(Box::new(explained)));
    }
    let stream = backend.stream(&parts.shape, &of_parts, parts.dtype);
    let mut stream = stream.map_err(refused())?;
    if let Some(memory) = args.memory {
        stream = stream.with_memory(memory);
    }
    let mut output = Target::create(to, global.json, array.origin(), element, &result)?;
    let (mut reading, mut writing) = (Timer::default(), Timer::default());
    let streamed = progress::of_bytes(stream.result_bytes(), |progress| {
        let fetch = |range: Range<usize>| {
            let window = reading.measure(|| array.window(range));
            let path = &args.input;
            window
                .map_err(|error| Failure::usage(format_args!("cannot read {path}: {error}")).into())
        };
        let sink = |bytes: &[u8]| {
            writing.measure(|| output.write_elements(bytes))?;
            progress.advance(bytes.len());
            Ok::<_, Stopped>(())
        };
        stream.run(fetch, sink)
    });
    let streamed = streamed.map_err(|stopped| stopped.explained(&input, &words))?;
    let values = times.measure(Stage::Write, || output.finish())?;
    times.add(Stage::Read, reading);
    times.add(Stage::Upload, streamed.upload);
    times.add(Stage::Dispatch, streamed.dispatch);
    times.add(Stage::Readback, streamed.readback);
    times.add(Stage::Write, writing);

    let run = Run::new([input], to, &result, element, &backend, times)
        .in_pieces(streamed.pieces)
        .with_fallback(streamed.fallback.map(|why| why.to_string()));
    Ok(Outcome::Made(Box::new(run), values))
}

/// Elements as the library has them.
struct Parts {
    dtype: DType,
    shape: Vec<usize>,
}

/// An array and a slice of it, in numbers of the library. Elements of another size are cut into numbers along one more
/// dimension, which the slice takes whole.
fn in_parts(element: Element, shape: &[usize], spec: &SliceSpec) -> (Parts, SliceSpec) {
    let (mut shape, mut spec, size) = (shape.to_vec(), spec.clone(), element.size());
    if !element.has_handles() {
        let dtype = element.dtype;
        return (Parts { dtype, shape }, spec);
    }
    let parts = [DType::Complex128, DType::U64, DType::U32, DType::U16];
    let fits = |dtype: &DType| size.is_multiple_of(dtype.size());
    let dtype = parts.into_iter().find(fits).unwrap_or(DType::U8);
    shape.push(size / dtype.size());
    if !spec.items().contains(&SliceItem::Ellipsis) {
        spec = spec.with(SliceItem::Ellipsis);
    }
    (Parts { dtype, shape }, spec.with(SliceItem::FULL))
}

fn spec(args: &Slice) -> Result<SliceSpec, Failure> {
    match (&args.spec, &args.encoded) {
        (Some(text), _) => literal::expression(text, "SPEC"),
        (
            None,
            Encoded {
                begin: Some(begin),
                end: Some(end),
                strides,
                ..
            },
        ) => {
            let mut words = Words::default();
            words.add("begin, end and strides", "--begin, --end and --strides");
            encoded(&args.encoded, begin, end, strides.as_ref()).map_err(words.refused("slice"))
        }
        // This is not reached: the argument parser requires SPEC or `--begin`, and with `--begin` also `--end`.
        (None, _) => Err(Failure::usage("give SPEC, or --begin and --end")),
    }
}

fn encoded(
    args: &Encoded,
    Integers(begin): &Integers,
    Integers(end): &Integers,
    strides: Option<&Integers>,
) -> Result<SliceSpec, Error> {
    let encoded = TfStridedSlice {
        begin: begin.clone(),
        end: end.clone(),
        strides: strides.map_or_else(|| vec![1; begin.len()], |Integers(strides)| strides.clone()),
        begin_mask: TfStridedSlice::mask("begin_mask", args.begin_mask)?,
        end_mask: TfStridedSlice::mask("end_mask", args.end_mask)?,
        ellipsis_mask: TfStridedSlice::mask("ellipsis_mask", args.ellipsis_mask)?,
        new_axis_mask: TfStridedSlice::mask("new_axis_mask", args.new_axis_mask)?,
        shrink_axis_mask: TfStridedSlice::mask("shrink_axis_mask", args.shrink_axis_mask)?,
    };
    SliceSpec::try_from(&encoded)
}
