//! The command line.

use bytesize::ByteSize;
use clap::{Args as ArgGroup, Parser, Subcommand, ValueEnum};
use std::{
    num::{IntErrorKind, NonZero},
    path::{Path, PathBuf},
    str::FromStr,
};
use wgslice::{Combine, Negative, OutOfRange};

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  verify or bench found a wrong result
  2  bad usage or bad input
  3  no such device, or one that failed or is too small
  130  interrupted; no output was written";

/// Slices and gathers n-dimensional arrays in files, on the GPU or the CPU, with TensorFlow's
/// exact semantics.
#[derive(Debug, Parser)]
#[command(name = "wgslice", version, max_term_width = 90, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, ArgGroup)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Where to work [default: auto; for verify and bench: all]
    #[arg(long, global = true, value_enum, value_name = "DEVICE")]
    pub(crate) device: Option<DeviceChoice>,
    /// Use the GPU whose name contains NAME, be it a software adapter; implies --device gpu
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) adapter: Option<String>,
    /// Use a GPU through this graphics API; implies --device gpu
    #[arg(long, global = true, value_enum, value_name = "API")]
    pub(crate) backend: Option<Api>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeviceChoice {
    /// A hardware GPU where there is one and the work is worth it, else the CPU
    Auto,
    /// A GPU, a software adapter included; fails where there is none
    Gpu,
    /// The CPU
    Cpu,
    /// The CPU and every adapter that fits; for verify and bench
    All,
}

/// The graphics APIs that a user can ask for. wgpu's `noop` is not among them: it computes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Api {
    Vulkan,
    Metal,
    Dx12,
    Gl,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Slice(Slice),
    GatherNd(GatherNd),
    Gather(Gather),
    ScatterNd(ScatterNd),
    SliceUpdate(SliceUpdate),
    Grad(Grad),
    /// Show the adapters of this machine, their limits, and which would be used and why
    #[command(after_help = "\
Examples:
  wgslice info
  wgslice info --device gpu --backend vulkan
  wgslice info --json")]
    Info,
    Verify(Verify),
    Bench(Bench),
}

/// Slice an array: Python's syntax, or TensorFlow's vectors and masks
///
/// IN is .npy, .png (height x width x channels) or FILE.safetensors#TENSOR. It may be larger than
/// memory: it is worked through in pieces, and only the parts of the file that the slice needs are
/// read.
#[derive(Debug, ArgGroup)]
#[command(after_help = "\
Examples:
  wgslice slice photo.png '100:400, ::-1, :' -o flipped.png
  wgslice slice volume.npy '-1, ..., None, ::2' -o part.npy
  wgslice slice model.safetensors#wte.weight ':1000' -o rows.npy --device gpu
  wgslice slice huge.npy '::2, ::-1' -o half.npy --memory 2G
  wgslice slice huge.npy '::2, ::-1' --explain
  wgslice slice in.npy --begin 0,-1 --end 2,0 --strides 1,-1 --end-mask 0b10 -o out.npy")]
pub(crate) struct Slice {
    /// The array
    #[arg(value_name = "IN")]
    pub(crate) input: String,
    /// What stands between the brackets of x[...] in Python
    #[arg(
        value_name = "SPEC",
        allow_hyphen_values = true,
        required_unless_present = "begin",
        conflicts_with_all = ["begin", "end", "strides", "begin_mask", "end_mask",
            "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"],
    )]
    pub(crate) spec: Option<String>,
    #[command(flatten)]
    pub(crate) to: To,
    /// Memory for the array's pieces, on the host and on the device together, as in 500M or 2G
    /// [default: a quarter of the device's longest buffer, at most 1 GiB]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub(crate) memory: Option<usize>,
    #[command(flatten)]
    pub(crate) encoded: Encoded,
}

/// TensorFlow's attributes of `StridedSlice`.
#[derive(Debug, ArgGroup)]
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
    /// Bit i: begin[i] is the far end. Masks are decimal, 0x... or 0b...
    #[arg(long, value_name = "MASK", allow_hyphen_values = true, requires = "begin",
        default_value = "0", hide_default_value = true, value_parser = mask)]
    pub(crate) begin_mask: i64,
    /// Bit i: end[i] is the far end
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

/// Gather the slices of PARAMS that the tuples in INDICES point at
///
/// PARAMS and INDICES are .npy, .png or FILE.safetensors#TENSOR. The last dimension of INDICES
/// holds the tuples; they must be integers.
#[derive(Debug, ArgGroup)]
#[command(after_help = "\
Examples:
  wgslice gather-nd model.safetensors#wte.weight ids.npy -o rows.npy
  wgslice gather-nd params.npy indices.npy -o out.npy --batch-dims 1
  wgslice gather-nd params.npy indices.npy -o out.npy --out-of-range error --json")]
pub(crate) struct GatherNd {
    /// The array to gather from
    pub(crate) params: String,
    /// The index tuples
    pub(crate) indices: String,
    /// How many leading dimensions PARAMS and INDICES share
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        allow_hyphen_values = true
    )]
    pub(crate) batch_dims: usize,
    #[command(flatten)]
    pub(crate) policy: IndexPolicy,
    #[command(flatten)]
    pub(crate) to: To,
}

/// Gather slices of PARAMS along one axis: TensorFlow's gather, NumPy's take
///
/// PARAMS and INDICES are .npy, .png or FILE.safetensors#TENSOR. INDICES may have any shape, which
/// stands in the result where the axis was.
#[derive(Debug, ArgGroup)]
#[command(after_help = "\
Examples:
  wgslice gather photo.png columns.npy -o picked.npy --axis 1
  wgslice gather model.safetensors#wte.weight ids.npy -o rows.npy
  wgslice gather params.npy best.npy -o top.npy --axis -1 --batch-dims 1 --negative wrap")]
pub(crate) struct Gather {
    /// The array to gather from
    pub(crate) params: String,
    /// The indices
    pub(crate) indices: String,
    /// The axis of PARAMS; negative ones count from the end [default: N of --batch-dims]
    #[arg(long, value_name = "AXIS", allow_hyphen_values = true)]
    pub(crate) axis: Option<isize>,
    /// How many leading dimensions PARAMS and INDICES share; negative: all of INDICES but so many
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        allow_hyphen_values = true
    )]
    pub(crate) batch_dims: isize,
    #[command(flatten)]
    pub(crate) policy: IndexPolicy,
    #[command(flatten)]
    pub(crate) to: To,
}

/// Scatter UPDATES to the places that the tuples in INDICES point at
///
/// Into zeros of a shape, where updates of one place are added, or into a copy of an array, where
/// the last one counts. INDICES and UPDATES are .npy, .png or FILE.safetensors#TENSOR.
#[derive(Debug, ArgGroup)]
#[command(after_help = "\
Examples:
  wgslice scatter-nd rows.npy gradients.npy -o sum.npy --shape 50257,768 --combine add
  wgslice scatter-nd places.npy values.npy -o changed.npy --into array.npy
  wgslice scatter-nd places.npy values.npy -o sum.npy --into array.npy --combine add")]
pub(crate) struct ScatterNd {
    /// The index tuples
    pub(crate) indices: String,
    /// What goes there
    pub(crate) updates: String,
    /// Scatter into zeros of this shape
    #[arg(
        long,
        value_name = "N,M,...",
        required_unless_present = "into",
        conflicts_with = "into"
    )]
    pub(crate) shape: Option<Sizes>,
    /// Scatter into a copy of this array
    #[arg(long, value_name = "IN")]
    pub(crate) into: Option<String>,
    /// What becomes of an update where something is [default: with --shape add, else update]
    #[arg(long, value_enum, value_name = "HOW")]
    combine: Option<Combination>,
    #[command(flatten)]
    pub(crate) policy: IndexPolicy,
    #[command(flatten)]
    pub(crate) to: To,
}

impl ScatterNd {
    pub(crate) fn combine(&self) -> Combine {
        match (self.combine, &self.into) {
            (None, None) => Combine::Add,
            (None, Some(_)) => Combine::Update,
            (Some(Combination::Update), _) => Combine::Update,
            (Some(Combination::Add), _) => Combine::Add,
            (Some(Combination::Sub), _) => Combine::Sub,
            (Some(Combination::Mul), _) => Combine::Mul,
            (Some(Combination::Min), _) => Combine::Min,
            (Some(Combination::Max), _) => Combine::Max,
        }
    }
}

/// Overwrite a slice of a copy of IN with VALUE: x[SPEC] = VALUE
///
/// VALUE has the slice's shape, or one that is broadcast to it.
#[derive(Debug, ArgGroup)]
#[command(after_help = "\
Examples:
  wgslice slice-update photo.png '100:400, ::-1' patch.png -o patched.png
  wgslice slice-update x.npy '..., 0' zero.npy -o cleared.npy --device cpu")]
pub(crate) struct SliceUpdate {
    /// The array
    #[arg(value_name = "IN")]
    pub(crate) input: String,
    /// What stands between the brackets of x[...] in Python
    #[arg(allow_hyphen_values = true)]
    pub(crate) spec: String,
    /// The values
    pub(crate) value: String,
    #[command(flatten)]
    pub(crate) to: To,
}

/// The gradient of a slice: zeros of the input's shape with DY where the slice was
#[derive(Debug, ArgGroup)]
#[command(after_help = "\
Examples:
  wgslice grad dy.npy '1:, ::-2' --shape 480,640 -o dx.npy")]
pub(crate) struct Grad {
    /// The gradient of the slice's result
    pub(crate) dy: String,
    /// What stood between the brackets of x[...]
    #[arg(allow_hyphen_values = true)]
    pub(crate) spec: String,
    /// The shape of x
    #[arg(long, value_name = "N,M,...")]
    pub(crate) shape: Sizes,
    #[command(flatten)]
    pub(crate) to: To,
}

/// Where results go.
#[derive(Debug, ArgGroup)]
pub(crate) struct To {
    /// Where to write the result: .npy or .png
    #[arg(short, long, value_name = "OUT", required_unless_present = "explain")]
    output: Option<PathBuf>,
    /// Say how it would be done, and do nothing
    #[arg(long)]
    pub(crate) explain: bool,
}

impl To {
    /// Where to write; empty where nothing is written.
    pub(crate) fn output(&self) -> &Path {
        self.output.as_deref().unwrap_or(Path::new(""))
    }
}

/// How indices are read.
#[derive(Debug, ArgGroup)]
pub(crate) struct IndexPolicy {
    /// What becomes of an index tuple that points outside
    #[arg(long, value_enum, default_value_t = Policy::Zero, value_name = "POLICY")]
    pub(crate) out_of_range: Policy,
    /// What a negative index means
    #[arg(long, value_enum, default_value_t = NegativeIndex::OutOfRange, value_name = "MEANING")]
    negative: NegativeIndex,
}

impl IndexPolicy {
    pub(crate) fn negative(&self) -> Negative {
        match self.negative {
            NegativeIndex::OutOfRange => Negative::OutOfRange,
            NegativeIndex::Wrap => Negative::Wrap,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Policy {
    /// Its slice becomes zeros or is not scattered, and a warning says so
    Zero,
    /// The command fails and writes nothing
    Error,
    /// Its indices move to the nearest end of their dimensions
    Clamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NegativeIndex {
    /// It points outside, as in TensorFlow
    OutOfRange,
    /// It counts from the end, as in NumPy and ONNX
    Wrap,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Combination {
    /// It takes the place; of several the last
    Update,
    /// It is added
    Add,
    /// It is subtracted
    Sub,
    /// It is multiplied with
    Mul,
    /// The smaller one stays
    Min,
    /// The larger one stays
    Max,
}

impl From<Policy> for OutOfRange {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Zero => Self::Zero,
            Policy::Error => Self::Error,
            Policy::Clamp => Self::Clamp,
        }
    }
}

/// Run golden vectors, or cases made by chance, and compare every bit
///
/// CASES are JSON lines made by TensorFlow. Each line runs on each device at every element size (1 to
/// 16 bytes) that can hold its values; gathers and scatters also with every index type that holds
/// their indices, and under both policies for indices out of range. A line on a device counts as
/// one, and passes if all of that does.
///
/// With --random, cases of all operations are made by chance and answered by a naive reference. Each
/// runs on each device in one way. A case that fails is made as small as it still fails, and printed
/// as a line for a file of CASES.
#[derive(Debug, ArgGroup)]
#[command(after_help = "\
Examples:
  wgslice verify tests/vectors/seed1.jsonl
  wgslice verify tests/vectors/*.jsonl --device cpu
  wgslice verify --random 100000 --seed 7
  WGSLICE_REQUIRE_GPU=1 wgslice verify cases.jsonl

Without an adapter `all` verifies the CPU alone and says so; with WGSLICE_REQUIRE_GPU=1 it
fails.")]
pub(crate) struct Verify {
    /// Vector files
    #[arg(required_unless_present = "random")]
    pub(crate) cases: Vec<PathBuf>,
    /// Also run N cases made by chance
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) random: usize,
    /// What chance begins with: equal seeds make equal cases
    #[arg(long, value_name = "S", default_value_t = 1, requires = "random")]
    pub(crate) seed: u64,
}

/// Measure slices and gathers on the CPU and on every adapter
///
/// A built-in set of workloads, or one of your own. Data is made by a formula, and a time counts
/// only if the checksum of the result is right. GB/s are bytes read plus bytes written; `copy` is
/// the share of the rate at which the same device copies as many bytes.
#[derive(Debug, ArgGroup)]
#[command(after_help = "\
Examples:
  wgslice bench
  wgslice bench --device cpu --only W1,W7 --reps 20
  wgslice bench --html results.html --sweep-to 1GiB
  wgslice bench --workloads mine.json --device gpu --jsonl results.jsonl")]
pub(crate) struct Bench {
    /// Measure what this file describes, in the form of the built-in set
    /// (cli/src/bench/workloads.json)
    #[arg(long, value_name = "FILE.json")]
    pub(crate) workloads: Option<PathBuf>,
    /// Measure only the workloads of these names
    #[arg(long, value_name = "W1,W3,...", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// How often everything is timed
    #[arg(long, value_name = "N", default_value = "9")]
    pub(crate) reps: NonZero<usize>,
    /// Append a line for each workload and mode to this file
    #[arg(long, value_name = "OUT.jsonl")]
    pub(crate) jsonl: Option<PathBuf>,
    /// Write everything that was measured, as --json prints it
    #[arg(long, value_name = "OUT.json")]
    pub(crate) json_out: Option<PathBuf>,
    /// Write a line for each time that was measured, for spreadsheets
    #[arg(long, value_name = "OUT.csv")]
    pub(crate) csv: Option<PathBuf>,
    /// Write one page with plots: GB/s by size and by workload, and where the time goes
    #[arg(long, value_name = "OUT.html")]
    pub(crate) html: Option<PathBuf>,
    /// Also measure results of 64 KiB up to this size, and say from which on each device wins;
    /// 0 for none [default: 256MiB; 0 with --only or --workloads]
    #[arg(long, value_name = "SIZE")]
    sweep_to: Option<ByteSize>,
}

impl Bench {
    /// The largest result of the sweep, in bytes.
    pub(crate) fn sweep_to(&self) -> usize {
        const MOST: ByteSize = ByteSize::mib(256);
        let chosen = self.workloads.is_some() || !self.only.is_empty();
        let unsaid = if chosen { ByteSize(0) } else { MOST };
        let ByteSize(bytes) = self.sweep_to.unwrap_or(unsaid);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }
}

/// Integers with commas between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Integers(pub(crate) Vec<i64>);

impl FromStr for Integers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self(Vec::new()));
        }
        let integer = |part: &str| {
            let part = part.trim();
            part.parse().map_err(|error| unreadable(part, &error))
        };
        text.split(',')
            .map(integer)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// Sizes with commas between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sizes(pub(crate) Vec<usize>);

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Integers(integers) = text.parse()?;
        let size = |size| usize::try_from(size).map_err(|_| format!("{size} is no size"));
        integers
            .into_iter()
            .map(size)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// A mask: decimal, hexadecimal or binary. Whether it fits 32 bits is for the library to say.
fn mask(text: &str) -> Result<i64, String> {
    let parsed = if let Some(digits) = text.strip_prefix("0x") {
        i64::from_str_radix(digits, 16)
    } else if let Some(digits) = text.strip_prefix("0b") {
        i64::from_str_radix(digits, 2)
    } else {
        text.parse()
    };
    parsed.map_err(|error| unreadable(text, &error))
}

/// A number of bytes. Below a megabyte pieces would be too small to be worth their overhead.
fn memory(text: &str) -> Result<usize, String> {
    let ByteSize(bytes) = text.parse()?;
    match isize::try_from(bytes) {
        Ok(bytes) if bytes >= 1_000_000 => Ok(bytes.unsigned_abs()),
        Ok(bytes) => Err(format!("{bytes} bytes is too little: give 1M or more")),
        Err(_) => Err("more than can be addressed".into()),
    }
}

fn unreadable(text: &str, error: &std::num::ParseIntError) -> String {
    match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => {
            format!("{text} does not fit 64 bits")
        }
        _ => format!("{text:?} is not an integer"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn masks_are_decimal_hexadecimal_or_binary() {
        assert_eq!(mask("-1"), Ok(-1));
        assert_eq!(mask("0x1f"), Ok(31));
        assert_eq!(mask("0b101"), Ok(5));
        assert_eq!(mask("4294967296"), Ok(1 << 32));
        assert!(mask("0b2").is_err() && mask("").is_err() && mask("0x").is_err());
    }

    #[test]
    fn memory_is_a_number_of_bytes() {
        assert_eq!(memory("2GiB"), Ok(2 << 30));
        assert_eq!(memory("1500000"), Ok(1_500_000));
        assert_eq!(memory("1M"), Ok(1_000_000));
        assert!(memory("2 G").is_ok());
        for bad in ["", "much", "-1", "1000", "99999999999999999999T"] {
            assert!(memory(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn integers_are_separated_by_commas() {
        assert_eq!("1, -2,3".parse(), Ok(Integers(vec![1, -2, 3])));
        assert_eq!("".parse(), Ok(Integers(vec![])));
        let overflow = "9223372036854775808".parse::<Integers>();
        assert!(overflow.is_err_and(|error| error.contains("64 bits")));
        assert!("1,,2".parse::<Integers>().is_err());
    }
}
