//! `wgslice concat`, `stack`, `pad`, `roll`, `tile` and `repeat`: arrays that are put together of pieces.

use crate::{
    args::{Global, Integers, Sizes, To},
    failure::Failure,
    job::{Job, Shapes, Tensors},
};
use clap::ValueEnum;
use std::process::ExitCode;
use wgslice::{Assembly, DType, Error, Tensor, View, options};

/// Put arrays together along an axis: TensorFlow's and NumPy's concat
///
/// All arrays have one type, and one size in each dimension but the axis.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice concat left.png right.png -o both.png --axis 1
  wgslice concat part-*.npy -o all.npy")]
pub(crate) struct Concat {
    #[command(flatten)]
    arrays: Arrays,
}

/// Stack arrays of one shape along a new axis: TensorFlow's and NumPy's stack
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice stack photo-*.png -o batch.npy
  wgslice stack red.npy green.npy blue.npy -o rgb.npy --axis -1")]
pub(crate) struct Stack {
    #[command(flatten)]
    arrays: Arrays,
}

#[derive(Debug, clap::Args)]
struct Arrays {
    /// The arrays
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<String>,
    /// The axis; negative ones count from the end of the result
    #[arg(long, default_value_t = 0, allow_hyphen_values = true)]
    axis: isize,
    #[command(flatten)]
    to: To,
}

/// Add positions around an array: TensorFlow's and NumPy's pad
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice pad photo.png 16,16,0 -o framed.png --mode reflect
  wgslice pad tokens.npy 0,0:3 -o padded.npy")]
pub(crate) struct Pad {
    #[command(flatten)]
    x: Input,
    /// For each dimension the positions to add at both ends, or BEFORE:AFTER
    #[arg(value_name = "N,N:M,...")]
    paddings: Paddings,
    /// What the positions hold
    #[arg(long, value_enum, default_value_t = Mode::Zeros)]
    mode: Mode,
}

/// What padding holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
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

/// The positions before and behind each dimension.
#[derive(Clone, Debug)]
struct Paddings(Vec<[usize; 2]>);

impl std::str::FromStr for Paddings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let pair = |part: &str| {
            let (before, after) = part.split_once(':').unwrap_or((part, part));
            let size = |text: &str| {
                let parsed = text.trim().parse();
                parsed.map_err(|_| {
                    format!("{text:?} is no number of positions: use N or BEFORE:AFTER")
                })
            };
            Ok([size(before)?, size(after)?])
        };
        text.split(',')
            .map(pair)
            .collect::<Result<_, String>>()
            .map(Self)
    }
}

/// Move elements along axes, and around the ends: TensorFlow's and NumPy's roll
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice roll photo.png -40,100 0,1 -o rolled.png")]
pub(crate) struct Roll {
    #[command(flatten)]
    x: Input,
    /// The positions to move by, for each axis
    #[arg(value_name = "N,...", allow_hyphen_values = true)]
    shifts: Integers,
    /// The axes; negative ones count from the end
    #[arg(value_name = "AXIS,...", allow_hyphen_values = true)]
    axes: Integers,
}

/// Repeat an array as a whole: TensorFlow's and NumPy's tile
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice tile texture.png 4,4,1 -o wall.png")]
pub(crate) struct Tile {
    #[command(flatten)]
    x: Input,
    /// The copies along each dimension
    #[arg(value_name = "N,...")]
    multiples: Sizes,
}

/// Repeat each position along an axis: TensorFlow's and NumPy's repeat
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice repeat mask.png 2 -o taller.png
  wgslice repeat mask.png 2 -o wider.png --axis 1")]
pub(crate) struct Repeat {
    #[command(flatten)]
    x: Input,
    /// How often
    #[arg(value_name = "N")]
    times: usize,
    /// The axis; negative ones count from the end
    #[arg(long, default_value_t = 0, allow_hyphen_values = true)]
    axis: isize,
}

#[derive(Debug, clap::Args)]
struct Input {
    /// The array
    #[arg(value_name = "IN")]
    input: String,
    #[command(flatten)]
    to: To,
}

/// Runs a job on arrays of values alone.
fn run(
    global: &Global,
    inputs: &[&str],
    to: &To,
    plan: impl FnOnce(&[View], DType) -> Result<Assembly, Error>,
    work: impl Fn(&Tensors) -> Result<Tensor, Error>,
) -> Result<ExitCode, Failure> {
    let job = Job {
        values: inputs,
        indices: None,
        to,
        bad: "",
    };
    let plan = |shapes: &Shapes| {
        let views = shapes.values.iter().map(|shape| View::new(shape));
        plan(&views.collect::<Result<Vec<_>, _>>()?, shapes.dtype)
    };
    job.run(global, plan, work)
}

impl Arrays {
    fn run(
        &self,
        global: &Global,
        plan: fn(&[View], isize, DType) -> Result<Assembly, Error>,
        work: fn(&[&Tensor], isize) -> Result<Tensor, Error>,
    ) -> Result<ExitCode, Failure> {
        let inputs: Vec<&str> = self.inputs.iter().map(String::as_str).collect();
        run(
            global,
            &inputs,
            &self.to,
            |views, dtype| plan(views, self.axis, dtype),
            |tensors| work(&tensors.values(), self.axis),
        )
    }
}

impl Concat {
    pub(crate) fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        self.arrays.run(global, Assembly::concat, Tensor::concat)
    }
}

impl Stack {
    pub(crate) fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        self.arrays.run(global, Assembly::stack, Tensor::stack)
    }
}

impl Input {
    fn run(
        &self,
        global: &Global,
        plan: impl FnOnce(&View, DType) -> Result<Assembly, Error>,
        work: impl Fn(&Tensor) -> Result<Tensor, Error>,
    ) -> Result<ExitCode, Failure> {
        run(
            global,
            &[&self.input],
            &self.to,
            |views, dtype| plan(&views[0], dtype),
            |tensors| work(tensors.value(0)),
        )
    }
}

impl Pad {
    pub(crate) fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        let Paddings(paddings) = &self.paddings;
        let mode = match self.mode {
            Mode::Zeros => options::Pad::Constant(()),
            Mode::Edge => options::Pad::Edge,
            Mode::Reflect => options::Pad::Reflect,
            Mode::Symmetric => options::Pad::Symmetric,
            Mode::Wrap => options::Pad::Wrap,
        };
        let work = |x: &Tensor| {
            let zero = vec![0u8; x.dtype().size()];
            let zero = Tensor::from_bytes(x.backend(), zero, x.dtype(), &[])?;
            x.pad(paddings, mode.map(|()| &zero))
        };
        self.x.run(
            global,
            |x, dtype| Assembly::pad(x, paddings, mode, dtype),
            work,
        )
    }
}

impl Roll {
    pub(crate) fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        let Integers(shifts) = &self.shifts;
        let axis = |&axis: &i64| isize::try_from(axis).unwrap_or(isize::MAX);
        let axes: Vec<isize> = self.axes.0.iter().map(axis).collect();
        self.x.run(
            global,
            |x, dtype| Assembly::roll(x, shifts, &axes, dtype),
            |x| x.roll(shifts, &axes),
        )
    }
}

impl Tile {
    pub(crate) fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        let Sizes(multiples) = &self.multiples;
        self.x.run(
            global,
            |x, dtype| Assembly::tile(x, multiples, dtype),
            |x| x.tile(multiples),
        )
    }
}

impl Repeat {
    pub(crate) fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        let (times, axis) = (self.times, self.axis);
        self.x.run(
            global,
            |x, dtype| Assembly::repeat(x, times, axis, dtype),
            |x| x.repeat(times, axis),
        )
    }
}
