//! `wgslice split`.

use crate::{
    args::{Global, OutputOptions, Sizes, parse_number},
    failure::Failure,
    files::Source,
    job, literal,
    report::{ArraySummary, Outcome},
    slice,
    times::Times,
};
use std::path::{Path, PathBuf};
use wgslice::{SliceSpec, View, spec::SliceItem};

/// Split an array into parts along an axis: NumPy's split
///
/// The parts go to files that are numbered from 0: -o part.npy writes part-0.npy, part-1.npy, ... Each part is
/// written in pieces, like a slice.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice split batch.npy 8 -o part.npy
  wgslice split data.npy 800,100,100 -o set.npy
  wgslice split photo.png 3 --axis -1 -o channel.png
  wgslice split data.npy 4 -o parts.npz#part")]
pub(crate) struct Split {
    /// The array
    #[arg(value_name = "IN")]
    input: Source,
    /// The number of equal parts, or the size of each part
    #[arg(value_name = "N|N,M,...", allow_hyphen_values = true)]
    sizes: Sizes,
    /// The axis; negative ones count from the end
    #[arg(long, value_name = "AXIS", value_parser = parse_number::<isize>, default_value_t = 0,
        allow_hyphen_values = true)]
    axis: isize,
}

impl Split {
    pub(crate) fn run(
        &self,
        global: &Global,
        output_options: &OutputOptions,
    ) -> Result<Outcome, Failure> {
        if output_options.is_stdout() {
            return Err(Failure::usage(
                "split makes several arrays, and standard output takes one: name a file, as in -o part.npy",
            ));
        }
        let array = literal::read_in_stored_order(&self.input)?;
        let shape = array.shape();
        let mut words = job::command_words(&[&self.input]);
        if let Some(name) = job::source_name(&self.input) {
            words.add("each array", name);
        }
        let summary = ArraySummary::new(&self.input, shape);
        let view = View::new(shape).map_err(words.with_context(&summary))?;
        let rank = shape.len();
        // A negative axis counts from the end. If the axis is out of range, `view.split` below rejects it.
        let axis = match self.axis {
            negative if negative < 0 => negative.checked_add_unsigned(rank).unwrap_or(negative),
            axis => axis,
        };
        let axis = usize::try_from(axis).unwrap_or(rank);
        let sizes = self.part_sizes(shape.get(axis).copied().unwrap_or(0))?;
        view.split(&sizes, self.axis)
            .map_err(words.with_context(&summary))?;
        let mut begin = 0;
        let mut part_outcomes = Vec::new();
        for (number, &size) in sizes.iter().enumerate() {
            let to_bound = |position: usize| i64::try_from(position).ok();
            let range = SliceItem::Range {
                begin: to_bound(begin),
                end: to_bound(begin + size),
                stride: 1,
            };
            let whole_range = SliceItem::Range {
                begin: None,
                end: None,
                stride: 1,
            };
            let mut items = vec![whole_range; axis];
            items.push(range);
            let spec = SliceSpec::new(items);
            let to_part_path = |path: &PathBuf| numbered_path(path, number, sizes.len());
            let mut part_target = output_options.clone();
            part_target.output = output_options.output.as_ref().map(to_part_path);
            let input = (&self.input, &array);
            let outcome =
                slice::in_pieces(global, &part_target, input, &spec, None, Times::default())?;
            part_outcomes.push((outcome, part_target));
            begin += size;
        }
        Ok(Outcome::Several(part_outcomes))
    }

    /// Returns the sizes of the parts of an axis of size `axis_size`. Fails if equal parts are impossible.
    fn part_sizes(&self, axis_size: usize) -> Result<Vec<usize>, Failure> {
        match self.sizes.0[..] {
            [0] | [] => Err(Failure::usage("the number of parts must be at least 1")),
            [part_count] if axis_size.is_multiple_of(part_count) => {
                Ok(vec![axis_size / part_count; part_count])
            }
            [part_count] => Err(Failure::usage(format_args!(
                "{axis_size} positions cannot be split into {part_count} equal parts: give a size for each part, as \
                 in {},{}",
                axis_size - axis_size / 2,
                axis_size / 2
            ))),
            _ => Ok(self.sizes.0.clone()),
        }
    }
}

/// Returns the path of a part. The part's number goes before the extension or, if there is no extension or the path
/// names an array in the file, to the end. All numbers have as many digits as the last one, so that the names sort like
/// the parts.
fn numbered_path(path: &Path, number: usize, part_count: usize) -> PathBuf {
    let digit_count = part_count.saturating_sub(1).to_string().len();
    let suffix = format!("-{number:0digit_count$}");
    let source = Source::from(path.as_os_str().to_owned());
    let (stem, extension) = (path.file_stem(), path.extension());
    match (stem, extension) {
        (Some(stem), Some(extension)) if source.path() == path => {
            let mut name = stem.to_owned();
            name.push(suffix);
            name.push(".");
            name.push(extension);
            path.with_file_name(name)
        }
        _ => {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            name.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_numbered() {
        for (path, number, part_count, expected) in [
            ("a/part.npy", 0, 3, "a/part-0.npy"),
            ("part.x.png", 7, 11, "part.x-07.png"),
            ("x.npz#part", 2, 3, "x.npz#part-2"),
            ("x.npz#a.b", 2, 3, "x.npz#a.b-2"),
            ("part", 1, 10, "part-1"),
        ] {
            assert_eq!(
                numbered_path(Path::new(path), number, part_count),
                Path::new(expected)
            );
        }
    }
}
