//! The table of operations: the arguments of each operation, and its plan on shapes.
//!
//! An operation is a variant of [`Operation`], whose documentation is its help, and an arm of [`Operation::job`].
//! `args` adds the options of the output to each operation. Only `slice`, `convert` and `split` are elsewhere, because
//! they can run piece by piece.

mod boxes;
mod conversion;

use crate::{
    args::{AxisOption, IndexPolicy, Integers, Paddings, Policy, Sizes, parse_number},
    failure::Failure,
    files::{Array, Source},
    job::{self, Job, MaskPosition, TensorAndReport},
    literal, print, units,
};
use boxes::{BoxArguments, crop_job, paste_job, with_only_box};
use clap::{Subcommand, ValueEnum};
use conversion::{convert_job, convert_plan};
use wgslice::{
    DType, Error, Plan, SliceSpec, Tensor, View,
    options::{
        self, Combine, GatherElementsOptions, GatherNdOptions, GatherOptions, PasteOptions,
        ScatterOptions,
    },
    spec::IndexSpec,
};

pub(crate) use conversion::{ConversionOptions, WantedConversion};

#[derive(Debug, Subcommand)]
pub(crate) enum Operation {
    /// Index by positions and masks: NumPy's x[...], Zarr's oindex
    ///
    /// EXPRESSION is the text in the brackets. Lists of positions, or of True and False, are matched
    /// element by element, as in NumPy; --outer selects all combinations of their positions.
    #[command(after_help = "\
Examples:
  wgslice index table.npy '[0, 2, 5], [1, 1, 0]'
  wgslice index photo.png '::-1, [10, 20, 30]' -o columns.npy
  wgslice index volume.npy '[0, 9], :, [True, False, True]' --outer -o some.npy")]
    Index {
        #[command(flatten)]
        x: InputArgument,
        /// The content of the brackets
        #[arg(value_name = "EXPRESSION", allow_hyphen_values = true)]
        spec: String,
        /// Select all combinations of the lists, as numpy.ix_ does
        #[arg(long)]
        outer: bool,
    },
    /// Write values at positions or by masks: x[...] = value or np.add.at
    ///
    /// EXPRESSION is the text in the brackets, as for index. The values are broadcast to the
    /// selection. An element that is selected several times takes the last value or, with --combine,
    /// all values.
    #[command(after_help = "\
Examples:
  wgslice index-update table.npy '[0, 2, 5], 1:' 0 -o cleared.npy
  wgslice index-update votes.npy '[3, 1, 3]' 1 --combine add -o counted.npy
  wgslice index-update image.npy '[0, 9], [0, 9]' corners.npy --outer -o framed.npy")]
    IndexUpdate {
        /// The array
        #[arg(value_name = "IN")]
        input: Source,
        /// The content of the brackets
        #[arg(value_name = "EXPRESSION", allow_hyphen_values = true)]
        spec: String,
        /// The values: an array, or numbers as in 0 or '[255,0,0]'
        #[arg(allow_hyphen_values = true)]
        value: Source,
        /// Select all combinations of the lists, as numpy.ix_ does
        #[arg(long)]
        outer: bool,
        /// The way to combine a value with its element [default: update]
        #[arg(long, value_enum, value_name = "HOW")]
        combine: Option<Combination>,
    },
    /// Gather slices at tuples of indices: TensorFlow's gather_nd
    ///
    /// The last dimension of INDICES holds the index tuples, which consist of integers.
    #[command(after_help = "\
Examples:
  wgslice gather-nd model.safetensors#wte.weight ids.npy -o rows.npy
  wgslice gather-nd x.npy indices.npy -o out.npy --batch-dims 1
  wgslice gather-nd x.npy indices.npy -o out.npy --out-of-range error --json")]
    GatherNd {
        #[command(flatten)]
        arrays: GatherArguments,
        #[command(flatten)]
        batch: BatchDims,
    },
    /// Gather slices along an axis: TensorFlow's gather, NumPy's take
    ///
    /// INDICES can have any shape. In the result, its dimensions replace the axis.
    #[command(after_help = "\
Examples:
  wgslice gather photo.png columns.npy -o picked.npy --axis 1
  wgslice gather model.safetensors#wte.weight 0,5,7 -o rows.npy
  wgslice gather x.npy best.npy -o top.npy --axis -1 --batch-dims 1 --negative wrap")]
    Gather {
        #[command(flatten)]
        arrays: GatherArguments,
        /// The axis of IN; negative ones count from the end [default: the N of --batch-dims]
        #[arg(long, value_name = "AXIS", allow_hyphen_values = true, value_parser = parse_number::<isize>,
            help_heading = None::<&'static str>)]
        axis: Option<isize>,
        #[command(flatten)]
        batch: BatchDims,
    },
    /// Gather single elements: ONNX's GatherElements, torch.gather
    ///
    /// IN and INDICES have the same rank. The result has the shape of INDICES, which can be longer than
    /// IN only along the axis.
    #[command(after_help = "\
Examples:
  wgslice gather-elements scores.npy best.npy -o top.npy --axis 1
  wgslice gather-elements data.npy indices.npy -o out.npy --axis -1 --negative wrap")]
    GatherElements {
        #[command(flatten)]
        arrays: GatherArguments,
        #[command(flatten)]
        axis_option: AxisOption,
    },
    /// Crop a box from each item: jax.lax.dynamic_slice for a batch
    ///
    /// Boxes can have strides and flips. The first dimension of IN counts the items. BEGINS has a row for each box and
    /// a column for each number of --size.
    #[command(override_usage = "\
wgslice crop [OPTIONS] --size <N,M,...> <IN> <BEGINS>
       wgslice crop [OPTIONS] --size <N,M,...> --at <N,M,...> <IN>")]
    #[command(after_help = "\
Examples:
  wgslice crop photo.png --at 50,200 --size 100,100 -o face.png
  wgslice crop images.npy begins.npy --size 224,224 -o crops.npy
  wgslice crop images.npy begins.npy --size 224,224 --flips flips.npy -o crops.npy
  wgslice crop frames.npy begins.npy --size 64,64 --box-indices frame.npy \\
    --out-of-range clamp -o crops.npy")]
    Crop {
        /// The array to crop
        #[arg(value_name = "IN")]
        input: Source,
        /// The start of each box
        #[arg(
            required_unless_present = "at",
            conflicts_with = "at",
            allow_hyphen_values = true
        )]
        begins: Option<Source>,
        /// The start of the only box: IN is a single item, such as a picture, and so is the result
        #[arg(
            long,
            value_name = "N,M,...",
            conflicts_with = "box_indices",
            allow_hyphen_values = true
        )]
        at: Option<Source>,
        /// The size of every box along the dimensions of an item
        #[arg(long, value_name = "N,M,...", allow_hyphen_values = true)]
        size: Sizes,
        #[command(flatten)]
        box_arguments: BoxArguments,
        /// The policy for a box that extends beyond its item: ignore (its elements outside become zeros,
        /// with a warning), error (the command fails) or clamp (the box is shifted inside)
        #[arg(long, value_enum, default_value_t = Policy::Ignore, value_name = "POLICY", hide_possible_values = true)]
        out_of_range: Policy,
        #[command(flatten)]
        conversion: ConversionOptions,
    },
    /// Write boxes into a copy: jax.lax.dynamic_update_slice for a batch
    ///
    /// This is the inverse of crop. The first dimension of IN counts the items, and the first dimension of PATCHES
    /// counts the boxes. BEGINS has a row for each box and a column for each dimension along which boxes have their own
    /// sizes. Boxes are written in order.
    #[command(override_usage = "\
wgslice paste [OPTIONS] <IN> <PATCHES> <BEGINS>
       wgslice paste [OPTIONS] --at <N,M,...> <IN> <PATCHES>")]
    #[command(after_help = "\
Examples:
  wgslice paste photo.png face.png --at 50,200 -o patched.png
  wgslice paste images.npy patches.npy begins.npy -o patched.npy
  wgslice paste cache.npy tokens.npy lengths.npy --circular -o cache2.npy
  wgslice paste frames.npy faces.npy begins.npy --box-indices frame.npy -o frames2.npy")]
    Paste {
        /// The array to write into; its file does not change
        #[arg(value_name = "IN")]
        input: Source,
        /// The boxes
        patches: Source,
        /// The start of each box
        #[arg(
            required_unless_present = "at",
            conflicts_with = "at",
            allow_hyphen_values = true
        )]
        begins: Option<Source>,
        /// The start of the only box: IN is a single item, such as a picture, and PATCHES is the box
        #[arg(
            long,
            value_name = "N,M,...",
            conflicts_with = "box_indices",
            allow_hyphen_values = true
        )]
        at: Option<Source>,
        #[command(flatten)]
        box_arguments: BoxArguments,
        /// Wrap boxes from the end of a dimension to its start, as in a ring buffer
        #[arg(long)]
        circular: bool,
        /// The policy for a box that extends beyond its item: ignore (its elements outside are not
        /// written, with a warning), error (the command fails) or clamp (the box is shifted inside)
        #[arg(long, value_enum, default_value_t = Policy::Ignore, value_name = "POLICY", hide_possible_values = true)]
        out_of_range: Policy,
    },
    /// Find the true elements of a mask: NumPy's argwhere
    ///
    /// MASK is of bool or uint8. The result has a row of int64 for each true element.
    #[command(after_help = "\
Examples:
  wgslice nonzero mask.npy -o positions.npy")]
    Nonzero {
        /// The mask
        mask: Source,
    },
    /// Select slices where a mask is true: NumPy's x[mask]
    ///
    /// MASK is of bool or uint8. Its dimensions equal as many dimensions of IN, from the axis on.
    #[command(after_help = "\
Examples:
  wgslice boolean-mask boxes.npy keep.npy -o kept.npy
  wgslice boolean-mask batch.npy columns.npy -o some.npy --axis 2")]
    BooleanMask {
        #[command(flatten)]
        x: InputArgument,
        /// The mask
        mask: Source,
        /// The first dimension of IN that the mask selects from
        #[arg(
            long,
            value_name = "AXIS",
            default_value_t = 0,
            allow_hyphen_values = true
        )]
        axis: isize,
    },
    /// Select positions along an axis by a mask: NumPy's compress
    ///
    /// MASK is of bool or uint8, has one dimension, and can be shorter than the axis.
    #[command(after_help = "\
Examples:
  wgslice compress x.npy columns.npy -o some.npy --axis -1
  wgslice compress x.npy elements.npy -o flat.npy")]
    Compress {
        #[command(flatten)]
        x: InputArgument,
        /// The mask
        mask: Source,
        /// The axis; negative ones count from the end [default: all elements in one dimension]
        #[arg(long, value_name = "AXIS", allow_hyphen_values = true, value_parser = parse_number::<isize>)]
        axis: Option<isize>,
    },
    /// Choose elements of X or Y by a mask: NumPy's where
    ///
    /// MASK is of bool or uint8. All three are broadcast to one shape.
    #[command(after_help = "\
Examples:
  wgslice where mask.npy x.npy y.npy -o chosen.npy
  wgslice where is-nan.npy 0 x.npy -o clean.npy")]
    Where {
        /// The mask
        mask: Source,
        /// The elements where the mask is true
        #[arg(allow_hyphen_values = true)]
        x: Source,
        /// The elements where the mask is false
        #[arg(allow_hyphen_values = true)]
        y: Source,
    },
    /// Write values where a mask is true: NumPy's x[mask] = values
    ///
    /// MASK is of bool or uint8. It has the first dimensions of IN. VALUES has a row for each true
    /// element.
    #[command(after_help = "\
Examples:
  wgslice masked-scatter x.npy mask.npy values.npy -o y.npy
  wgslice masked-scatter x.npy true,false,true '[[1, 2], [3, 4]]'")]
    MaskedScatter {
        #[command(flatten)]
        x: InputArgument,
        /// The mask
        mask: Source,
        /// The values: an array, or numbers
        #[arg(allow_hyphen_values = true)]
        values: Source,
    },
    /// Scatter slices to tuples of indices: TensorFlow's scatter_nd
    ///
    /// With --shape, scatters into zeros and, by default, adds up the updates of one position. With
    /// --into, scatters into a copy of an array and, by default, keeps the last update.
    #[command(after_help = "\
Examples:
  wgslice scatter-nd rows.npy gradients.npy -o sum.npy --shape 50257,768 --combine add
  wgslice scatter-nd places.npy values.npy -o changed.npy --into array.npy
  wgslice scatter-nd places.npy values.npy -o sum.npy --into array.npy --combine add")]
    ScatterNd {
        #[command(flatten)]
        arrays: ScatterArguments,
        /// Scatter into zeros of this shape
        #[arg(
            long,
            value_name = "N,M,...",
            allow_hyphen_values = true,
            required_unless_present = "into",
            conflicts_with = "into"
        )]
        shape: Option<Sizes>,
        /// Scatter into a copy of this array
        #[arg(long, value_name = "IN")]
        into: Option<Source>,
    },
    /// Scatter single elements along an axis: ONNX's ScatterElements
    ///
    /// DATA, INDICES and UPDATES have the same rank. There is an update for each index.
    #[command(after_help = "\
Examples:
  wgslice scatter-elements data.npy indices.npy updates.npy -o out.npy --axis 1
  wgslice scatter-elements sums.npy bins.npy ones.npy -o counts.npy --combine add")]
    ScatterElements {
        /// The array to scatter into; its file does not change
        data: Source,
        #[command(flatten)]
        arrays: ScatterArguments,
        #[command(flatten)]
        axis_option: AxisOption,
    },
    /// Overwrite a slice of a copy: x[SPEC] = VALUE
    ///
    /// VALUE has the slice's shape, or one that broadcasts to it.
    #[command(after_help = "\
Examples:
  wgslice slice-update photo.png '100:400, ::-1' patch.png -o patched.png
  wgslice slice-update photo.png '100:400, ::-1' '[255,0,0]' -o red.png
  wgslice slice-update x.npy '..., 0' 0 -o cleared.npy --device cpu")]
    SliceUpdate {
        /// The array
        #[arg(value_name = "IN")]
        input: Source,
        /// The content of the brackets of x[...] in Python
        #[arg(allow_hyphen_values = true)]
        spec: String,
        /// The values: an array, or numbers as in 0 or '[255,0,0]'
        #[arg(allow_hyphen_values = true)]
        value: Source,
    },
    /// The gradient of a slice: zeros, with DY at the positions of the slice
    #[command(after_help = "\
Examples:
  wgslice grad dy.npy '1:, ::-2' --shape 480,640 -o dx.npy")]
    Grad {
        /// The gradient of the slice's result
        dy: Source,
        /// The content of the brackets of x[...]
        #[arg(allow_hyphen_values = true)]
        spec: String,
        /// The shape of the slice's input
        #[arg(long, value_name = "N,M,...", allow_hyphen_values = true)]
        shape: Sizes,
    },
    /// Put the axes in another order: NumPy's transpose
    #[command(after_help = "\
Examples:
  wgslice transpose photo.png 2,0,1 -o planes.npy
  wgslice transpose matrix.npy -o turned.npy")]
    Transpose {
        #[command(flatten)]
        x: InputArgument,
        /// The axis of IN for each axis of the result; negative ones count from the end
        /// [default: reversed]
        #[arg(value_name = "AXIS,...", allow_hyphen_values = true)]
        axes: Option<Integers>,
    },
    /// Join arrays along an axis: NumPy's concatenate
    ///
    /// All arrays have one type, unless --as converts them, and equal sizes in all dimensions except the
    /// axis.
    #[command(after_help = "\
Examples:
  wgslice concat left.png right.png -o both.png --axis 1
  wgslice concat part-*.npy -o all.npy")]
    Concat(Arrays),
    /// Stack arrays of one shape along a new axis: NumPy's stack
    #[command(after_help = "\
Examples:
  wgslice stack photo-*.png -o batch.npy
  wgslice stack red.npy green.npy blue.npy -o rgb.npy --axis -1
  wgslice stack photo-*.png --normalize imagenet -o batch.npy")]
    Stack(Arrays),
    /// Add positions around an array: NumPy's pad
    #[command(after_help = "\
Examples:
  wgslice pad photo.png 16,16,0 -o framed.png --mode reflect
  wgslice pad tokens.npy 0,0:3 --value -1 -o padded.npy")]
    Pad {
        #[command(flatten)]
        x: InputArgument,
        /// The number of positions to add at both ends of each dimension, or BEFORE:AFTER
        #[arg(value_name = "N,N:M,...", allow_hyphen_values = true)]
        paddings: Paddings,
        /// The values of the new positions
        #[arg(long, value_enum, default_value_t = Mode::Zeros)]
        mode: Mode,
        /// A value other than zero: a number, or an array without dimensions
        #[arg(
            long,
            value_name = "V",
            conflicts_with = "mode",
            allow_hyphen_values = true
        )]
        value: Option<Source>,
    },
    /// Move elements along axes, around the ends: NumPy's roll
    #[command(after_help = "\
Examples:
  wgslice roll photo.png -40,100 0,1 -o rolled.png")]
    Roll {
        #[command(flatten)]
        x: InputArgument,
        /// The number of positions to move by, for each axis
        #[arg(value_name = "N,...", allow_hyphen_values = true)]
        shifts: Integers,
        /// The axes; negative ones count from the end
        #[arg(value_name = "AXIS,...", allow_hyphen_values = true)]
        axes: Integers,
    },
    /// Slide a window along an axis: NumPy's sliding_window_view
    ///
    /// The axis of the result counts the windows, and a new last axis counts the positions in a window, as in PyTorch's
    /// unfold. Positions after the last whole window are left out.
    #[command(after_help = "\
Examples:
  wgslice windows signal.npy 400 --step 160 -o frames.npy
  wgslice windows prices.npy 7 --axis -1 -o weeks.npy")]
    Windows {
        #[command(flatten)]
        x: InputArgument,
        /// The number of positions in a window
        #[arg(value_name = "N", value_parser = parse_number::<usize>, allow_hyphen_values = true)]
        size: usize,
        /// The number of positions from one window to the next
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_number::<usize>, allow_hyphen_values = true)]
        step: usize,
        #[command(flatten)]
        axis_option: AxisOption,
    },
    /// Repeat an array as a whole: NumPy's tile
    #[command(after_help = "\
Examples:
  wgslice tile texture.png 4,4,1 -o wall.png")]
    Tile {
        #[command(flatten)]
        x: InputArgument,
        /// The number of copies along each dimension
        #[arg(value_name = "N,...", allow_hyphen_values = true)]
        multiples: Sizes,
    },
    /// Repeat each position along an axis: NumPy's repeat
    #[command(after_help = "\
Examples:
  wgslice repeat mask.png 2 -o taller.png
  wgslice repeat mask.png 2 -o wider.png --axis 1")]
    Repeat {
        #[command(flatten)]
        x: InputArgument,
        /// The number of copies of each position
        #[arg(value_name = "N", value_parser = parse_number::<usize>, allow_hyphen_values = true)]
        times: usize,
        #[command(flatten)]
        axis_option: AxisOption,
    },
}

/// Returns the job for a slice that is made in memory as a whole, because its axes are permuted or its numbers are
/// converted.
pub(crate) fn slice_job<'a>(
    input: &'a Source,
    spec: &'a SliceSpec,
    axes: Option<&'a Integers>,
    wanted_conversion: Option<WantedConversion<'a>>,
) -> Job<'a> {
    let job = Job::new([input], move |s| {
        let mut view = View::new(&s[0])?.slice(spec)?;
        if axes.is_some() {
            view = view.transpose(&axis_order(axes, view.shape().len()))?;
        }
        convert_plan(Plan::contiguous(view, s.dtype)?, wanted_conversion, s.dtype)
    });
    with_axes_in_errors(convert_job(job, wanted_conversion), axes)
}

/// Lets the job's errors show the negative axis that the user gave instead of [`NO_AXIS`].
fn with_axes_in_errors<'a>(job: Job<'a>, axes: Option<&Integers>) -> Job<'a> {
    match axes.and_then(|axes| axes.0.iter().min()) {
        Some(&negative) if negative < 0 => {
            job.with_argument_name(&NO_AXIS.to_string(), negative.to_string())
        }
        _ => job,
    }
}

/// The argument for the array of an operation.
#[derive(Debug, clap::Args)]
pub(crate) struct InputArgument {
    /// The array
    #[arg(value_name = "IN")]
    input: Source,
}

/// A mask. The host counts its true elements, because the output has a row for each true element.
struct MaskArray(Array);

impl MaskArray {
    fn read(source: &Source) -> Result<Self, Failure> {
        let array = job::read_typed_array(source)?;
        match array.dtype() {
            DType::Bool | DType::U8 => Ok(Self(array)),
            _ => Err(Failure::usage(format_args!(
                "{source} holds {}, but a mask is bool or uint8: save the result of a comparison",
                array.element().name()
            ))),
        }
    }

    fn count_true(&self) -> usize {
        self.0.bytes().iter().filter(|&&byte| byte != 0).count()
    }

    fn shape(&self) -> Vec<usize> {
        self.0.shape().to_vec()
    }
}

/// The arguments for an operation on several arrays.
#[derive(Debug, clap::Args)]
pub(crate) struct Arrays {
    /// The arrays
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<Source>,
    #[command(flatten)]
    axis_option: AxisOption,
    #[command(flatten)]
    conversion: ConversionOptions,
}

/// The option for the dimensions of a batch.
#[derive(Debug, clap::Args)]
pub(crate) struct BatchDims {
    /// Number of leading dimensions that IN and INDICES share; for gather, -N means all except the last N of INDICES
    #[arg(long, value_name = "N", default_value_t = 0, allow_hyphen_values = true,
        value_parser = parse_number::<isize>, help_heading = None::<&'static str>)]
    batch_dims: isize,
}

/// The arguments of a gather: the array, the indices with their policies, and the conversion of the result.
#[derive(Debug, clap::Args)]
pub(crate) struct GatherArguments {
    /// The array to gather from
    #[arg(value_name = "IN")]
    input: Source,
    /// The indices: an array, or numbers as in 0,5,7
    #[arg(allow_hyphen_values = true)]
    indices: Source,
    #[command(flatten)]
    policy: IndexPolicy,
    #[command(flatten)]
    conversion: ConversionOptions,
}

/// The arguments of a scatter: the indices with their policies, the updates, and how they are combined.
#[derive(Debug, clap::Args)]
pub(crate) struct ScatterArguments {
    /// The indices: an array, or numbers as in 0,5,7
    #[arg(allow_hyphen_values = true)]
    indices: Source,
    /// The values: an array, or numbers
    #[arg(allow_hyphen_values = true)]
    updates: Source,
    /// How an update is combined with the element at its position [default: update, or add into zeros]
    #[arg(long, value_enum, value_name = "HOW")]
    combine: Option<Combination>,
    #[command(flatten)]
    policy: IndexPolicy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Combination {
    /// Replaces the old value; the last update counts
    Update,
    /// Adds the update
    Add,
    /// Subtracts the update
    Sub,
    /// Multiplies by the update
    Mul,
    /// Keeps the smaller value
    Min,
    /// Keeps the larger value
    Max,
}

impl From<Combination> for Combine {
    fn from(combination: Combination) -> Self {
        match combination {
            Combination::Update => Self::Update,
            Combination::Add => Self::Add,
            Combination::Sub => Self::Sub,
            Combination::Mul => Self::Mul,
            Combination::Min => Self::Min,
            Combination::Max => Self::Max,
        }
    }
}

/// The values that padding adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Zeros
    Zeros,
    /// The nearest element
    Edge,
    /// The array mirrored at its first and last element
    Reflect,
    /// The array mirrored before its first and after its last element
    Symmetric,
    /// The array repeated
    Wrap,
}

impl Operation {
    /// Returns the job of the operation. The job reads most arrays only when it runs.
    pub(crate) fn job(&self) -> Result<Job<'_>, Failure> {
        Ok(match self {
            Self::Index { x, spec, outer } => {
                let spec: IndexSpec = literal::parse_expression(spec, "EXPRESSION")?;
                let spec = if *outer { spec.outer() } else { spec };
                Job::new([&x.input], move |s| Plan::index(&s[0], &spec, s.dtype))
            }
            Self::IndexUpdate {
                input,
                spec,
                value,
                outer,
                combine,
            } => {
                let spec: IndexSpec = literal::parse_expression(spec, "EXPRESSION")?;
                let spec = if *outer { spec.outer() } else { spec };
                let combine = combine.map_or(Combine::Update, Combine::from);
                let job = Job::new([input, value], move |s| {
                    Plan::index_update(&s[0], &spec, &s[1], combine, s.dtype)
                });
                job.with_combination(combine != Combine::Update)
            }
            Self::GatherNd { arrays, batch } => {
                let options = GatherNdOptions {
                    batch_dims: batch.batch_dims,
                    out_of_range: arrays.policy.out_of_range.into(),
                    negative: arrays.policy.negative_index_policy(),
                };
                arrays.job(move |x, indices, dtype| Plan::gather_nd(x, indices, options, dtype))
            }
            Self::Gather {
                arrays,
                axis,
                batch,
            } => {
                let options = GatherOptions {
                    axis: *axis,
                    batch_dims: batch.batch_dims,
                    out_of_range: arrays.policy.out_of_range.into(),
                    negative: arrays.policy.negative_index_policy(),
                };
                let job =
                    arrays.job(move |x, indices, dtype| Plan::gather(x, indices, options, dtype));
                with_one_axis(match axis {
                    Some(_) => job,
                    None => job.with_argument_name(
                        "axis is",
                        "the axis, which defaults to --batch-dims, is",
                    ),
                })
            }
            Self::GatherElements {
                arrays,
                axis_option,
            } => {
                let options = GatherElementsOptions {
                    out_of_range: arrays.policy.out_of_range.into(),
                    negative: arrays.policy.negative_index_policy(),
                };
                with_one_axis(arrays.job(move |x, indices, dtype| {
                    Plan::gather_elements(x, indices, axis_option.axis, options, dtype)
                }))
            }
            Self::Crop {
                input,
                begins,
                at,
                size,
                box_arguments,
                out_of_range,
                conversion,
            } => {
                // With `--at`, the only item becomes a batch of one. The user does not see the batch's first dimension.
                let wanted_conversion =
                    conversion.wanted_after_hidden_dims(begins.is_none().into());
                let options = box_arguments.options(&size.0, *out_of_range)?;
                // The argument parser requires BEGINS or `--at`.
                match begins.as_ref().ok_or(at) {
                    Ok(begins) => crop_job(
                        input,
                        begins,
                        box_arguments,
                        options,
                        wanted_conversion,
                        false,
                    )?,
                    Err(Some(at)) => {
                        let job =
                            crop_job(input, at, box_arguments, options, wanted_conversion, true)?;
                        with_only_box(job.without_first_dim(), input)
                    }
                    Err(None) => return Err(Failure::usage("give BEGINS or --at")),
                }
            }
            Self::Paste {
                input,
                patches,
                begins,
                at,
                box_arguments,
                circular,
                out_of_range,
            } => {
                let crop = box_arguments.options(&[], *out_of_range)?;
                let options = PasteOptions {
                    strides: crop.strides,
                    out_of_range: crop.out_of_range,
                    circular: *circular,
                    unique: false,
                };
                // The argument parser requires BEGINS or `--at`.
                match begins.as_ref().ok_or(at) {
                    Ok(begins) => {
                        paste_job([input, patches], begins, box_arguments, options, false)?
                    }
                    Err(Some(at)) => paste_job([input, patches], at, box_arguments, options, true)?,
                    Err(None) => return Err(Failure::usage("give BEGINS or --at")),
                }
            }
            Self::ScatterNd {
                arrays,
                shape,
                into,
            } => {
                let (options, updates) = (arrays.options(), &arrays.updates);
                let job = match (into, shape) {
                    (Some(into), _) => Job::new([into, updates], move |s| {
                        Plan::tensor_scatter_nd(&s[0], &s.indices, &s[1], options, s.dtype)
                    }),
                    // The argument parser requires `--shape` or `--into`.
                    (None, shape) => {
                        let shape = shape.as_ref().map_or(&[][..], |shape| &shape.0);
                        Job::new([updates], move |s| {
                            Plan::scatter_nd(shape, &s.indices, &s[0], options, s.dtype)
                        })
                    }
                };
                job.with_combination(arrays.is_combined(into.is_none()))
                    .with_indices(
                        &arrays.indices,
                        "index tuples are out of range and were dropped",
                    )
            }
            Self::ScatterElements {
                data,
                arrays,
                axis_option,
            } => {
                let options = arrays.options();
                let job = Job::new([data, &arrays.updates], move |s| {
                    Plan::scatter_elements(
                        &s[0],
                        &s.indices,
                        &s[1],
                        axis_option.axis,
                        options,
                        s.dtype,
                    )
                });
                let job = job.with_combination(arrays.is_combined(false));
                with_one_axis(job.with_indices(
                    &arrays.indices,
                    "index tuples are out of range and were dropped",
                ))
            }
            Self::Nonzero { mask } => {
                let count = Some(MaskArray::read(mask)?.count_true());
                Job::new([mask], move |s| Plan::nonzero(&s[0], count, DType::I64))
                    .with_result_type(DType::I64)
            }
            Self::BooleanMask { x, mask, axis } => {
                let mask = MaskArray::read(mask)?;
                let (count, shape) = (Some(mask.count_true()), mask.shape());
                Job::new([&x.input], move |s| {
                    Plan::boolean_mask(&s[0], &shape, *axis, count, s.dtype)
                })
                .with_mask(mask.0, MaskPosition::After)
            }
            Self::Compress { x, mask, axis } => {
                let mask = MaskArray::read(mask)?;
                let (count, shape) = (Some(mask.count_true()), mask.shape());
                Job::new([&x.input], move |s| {
                    Plan::compress(&s[0], &shape, *axis, count, s.dtype)
                })
                .with_mask(mask.0, MaskPosition::After)
            }
            Self::Where { mask, x, y } => {
                let mask = MaskArray::read(mask)?;
                let shape = mask.shape();
                Job::new([x, y], move |s| Plan::select(&shape, &s[0], &s[1], s.dtype))
                    .with_mask(mask.0, MaskPosition::Before)
            }
            Self::MaskedScatter { x, mask, values } => {
                let mask = MaskArray::read(mask)?;
                let (true_count, shape) = (mask.count_true(), mask.shape());
                let row_count = literal::read_in_stored_order(values)?
                    .shape()
                    .first()
                    .copied();
                if let Some(row_count) = row_count.filter(|&row_count| row_count != true_count) {
                    let text = format!(
                        "the mask has {}, but {values} has {}",
                        units::format_count(true_count, "true element"),
                        units::format_count(row_count, "row"),
                    );
                    if row_count < true_count {
                        return Err(Failure::usage(format_args!("{text}: give one for each")));
                    }
                    print::print_note(format_args!("warning: {text}: the last ones are not used"));
                }
                Job::new([&x.input, values], move |s| {
                    Plan::masked_scatter(&s[0], &shape, &s[1], s.dtype)
                })
                .with_mask(mask.0, MaskPosition::After)
            }
            Self::SliceUpdate { input, spec, value } => {
                let spec: SliceSpec = literal::parse_expression(spec, "SPEC")?;
                Job::new([input, value], move |s| {
                    Plan::slice_update(&s[0], &spec, &s[1], s.dtype)
                })
            }
            Self::Grad { dy, spec, shape } => {
                let spec: SliceSpec = literal::parse_expression(spec, "SPEC")?;
                Job::new([dy], move |s| {
                    Plan::slice_grad(&shape.0, &spec, &s[0], s.dtype)
                })
            }
            Self::Concat(arrays) => arrays.job(Plan::concat, Tensor::concat),
            Self::Stack(arrays) => arrays.job(Plan::stack, Tensor::stack),
            Self::Transpose { x, axes } => {
                let job = Job::new([&x.input], move |s| {
                    let x = View::new(&s[0])?;
                    let order = axis_order(axes.as_ref(), x.shape().len());
                    Plan::contiguous(x.transpose(&order)?, s.dtype)
                });
                with_axes_in_errors(job, axes.as_ref())
            }
            Self::Pad {
                x,
                paddings: Paddings(paddings),
                mode,
                value,
            } => {
                let mode = match mode {
                    Mode::Zeros => options::Pad::Constant(()),
                    Mode::Edge => options::Pad::Edge,
                    Mode::Reflect => options::Pad::Reflect,
                    Mode::Symmetric => options::Pad::Symmetric,
                    Mode::Wrap => options::Pad::Wrap,
                };
                let has_value = value.is_some();
                Job::new([&x.input].into_iter().chain(value), move |s| {
                    Plan::pad(&s[0], paddings, mode, s.dtype)
                })
                .with_work(move |t, plan| {
                    if has_value || mode != options::Pad::Constant(()) {
                        return t.run(plan);
                    }
                    let zero = vec![0u8; t[0].dtype().size()];
                    let zero = Tensor::from_bytes(t[0].backend(), zero, t[0].dtype(), &[])?;
                    let (mut results, report) = Tensor::run(plan, &[&t[0], &zero])?;
                    Ok((results.swap_remove(0), report))
                })
            }
            Self::Roll { x, shifts, axes } => {
                let (axes, shifts) = (axes.to_isizes()?, &shifts.0);
                let job = x.job(move |x, dtype| Plan::roll(x, shifts, &axes, dtype));
                job.with_argument_name("axis is", "an axis is")
            }
            Self::Windows {
                x,
                size,
                step,
                axis_option,
            } => x.job(|x, dtype| {
                let windows = View::new(x)?.windows(axis_option.axis, *size, *step)?;
                Plan::contiguous(windows, dtype)
            }),
            Self::Tile { x, multiples } => x.job(|x, dtype| Plan::tile(x, &multiples.0, dtype)),
            Self::Repeat {
                x,
                times,
                axis_option,
            } => x.job(|x, dtype| Plan::repeat(x, *times, axis_option.axis, dtype)),
        })
    }
}

/// The number that stands for a negative axis out of range. No array has this axis.
const NO_AXIS: usize = usize::MAX;

/// Converts the axes of a transpose to nonnegative numbers. The library checks them.
fn axis_order(axes: Option<&Integers>, rank: usize) -> Vec<usize> {
    let Some(Integers(axes)) = axes else {
        return (0..rank).rev().collect();
    };
    let axis_from_begin = |&axis: &i64| {
        let position = if axis < 0 {
            axis.saturating_add_unsigned(rank as u64)
        } else {
            axis
        };
        // An axis that is still negative is out of range, like an axis after the last axis.
        usize::try_from(position).unwrap_or(NO_AXIS)
    };
    axes.iter().map(axis_from_begin).collect()
}

/// Adapts the errors of a job whose indices are single numbers instead of tuples.
fn with_one_axis(job: Job<'_>) -> Job<'_> {
    let job = job.with_argument_name("index tuples", "indices");
    job.with_argument_name("index tuple", "index")
}

impl GatherArguments {
    fn job<'a>(
        &'a self,
        make_plan: impl Fn(&[usize], &[usize], DType) -> Result<Plan, Error> + 'a,
    ) -> Job<'a> {
        let wanted_conversion = self.conversion.wanted_conversion();
        let job = Job::new([&self.input], move |s| {
            let plan = make_plan(&s[0], &s.indices, s.dtype)?;
            convert_plan(plan, wanted_conversion, s.dtype)
        });
        let job = job.with_indices(
            &self.indices,
            "index tuples are out of range and became zeros",
        );
        let job = match job::source_name(&self.input) {
            Some(name) => job.with_argument_name("the array", name),
            None => job,
        };
        convert_job(job, wanted_conversion)
    }
}

impl ScatterArguments {
    /// Returns whether updates are combined instead of only moved. `default` applies without `--combine`.
    fn is_combined(&self, default: bool) -> bool {
        self.combine
            .map_or(default, |how| how != Combination::Update)
    }

    fn options(&self) -> ScatterOptions {
        ScatterOptions {
            combine: self.combine.map(Combine::from),
            out_of_range: self.policy.out_of_range.into(),
            negative: self.policy.negative_index_policy(),
            ..ScatterOptions::default()
        }
    }
}

/// Uploads the array to the backend of `tensor`.
fn upload_to_backend_of(array: &Array, tensor: &Tensor) -> Result<Tensor, Error> {
    let (bytes, dtype) = (array.bytes().to_vec(), array.dtype());
    Tensor::from_bytes(tensor.backend(), bytes, dtype, array.shape())
}

impl Arrays {
    /// Returns the job that joins the arrays. If the user asks for a conversion, the job first converts each array.
    fn job(
        &self,
        make_plan: fn(&[View], isize, DType) -> Result<Plan, Error>,
        join: fn(&[&Tensor], isize) -> Result<Tensor, Error>,
    ) -> Job<'_> {
        let axis = self.axis_option.axis;
        let wanted_conversion = self.conversion.wanted_conversion();
        let conversion_plan = move |view: View, dtype| {
            convert_plan(Plan::contiguous(view, dtype)?, wanted_conversion, dtype)
        };
        let job = Job::new(&self.inputs, move |s| {
            let views = s.make_views()?;
            let Some(wanted_conversion) = wanted_conversion else {
                return make_plan(&views, axis, s.dtype);
            };
            for (view, &dtype) in views.iter().zip(&s.dtypes) {
                conversion_plan(view.clone(), dtype)?;
            }
            make_plan(&views, axis, wanted_conversion.result)
        });
        let job = job.with_work(move |t, plan| {
            if wanted_conversion.is_none() {
                return t.run(plan);
            }
            let convert = |x: &Tensor| {
                let (mut results, report) =
                    Tensor::run(&conversion_plan(View::new(x.shape())?, x.dtype())?, &[x])?;
                Ok((results.swap_remove(0), report))
            };
            let conversions = t
                .value_tensors()
                .iter()
                .map(convert)
                .collect::<Result<Vec<TensorAndReport>, Error>>()?;
            let (tensors, mut reports): (Vec<_>, Vec<_>) = conversions.into_iter().unzip();
            let joined = join(&tensors.iter().collect::<Vec<_>>(), axis)?;
            // The reports of conversions are empty, so the first report represents all.
            Ok((joined, reports.swap_remove(0)))
        });
        let job = match wanted_conversion {
            Some(_) if self.inputs.len() > 1 => job.with_argument_name("x", "one of the arrays"),
            _ => job,
        };
        let job = convert_job(job, wanted_conversion);
        let names = self.inputs.iter().map(job::source_name).enumerate();
        names.fold(job, |job, (index, name)| match (index, name) {
            (_, None) => job,
            (0, Some(name)) => {
                let name_and_verb = format!("{name} is");
                job.with_argument_name("the first", name)
                    .with_argument_name("the first has", name_and_verb)
            }
            (index, Some(name)) => job.with_argument_name(&format!("array {index}"), name),
        })
    }
}

impl InputArgument {
    fn job<'a>(
        &'a self,
        make_plan: impl Fn(&[usize], DType) -> Result<Plan, Error> + 'a,
    ) -> Job<'a> {
        let job = Job::new([&self.input], move |s| make_plan(&s[0], s.dtype));
        match job::source_name(&self.input) {
            Some(name) => job.with_argument_name("each array", name),
            None => job,
        }
    }
}
