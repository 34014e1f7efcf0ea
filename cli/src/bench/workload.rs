//! Defines workloads: the built-in set, or a file in the same format. The field `comment` of the built-in set explains
//! the format.

use super::data::ValueFormula;
use serde::Deserialize;
use std::collections::BTreeSet;
use wgslice::{
    Error, Plan, SliceSpec, View,
    options::{Boxes, CropOptions, GatherNdOptions},
};

const BUILT_IN: &str = include_str!("workloads.json");

/// Python's start, stop and step for one dimension.
pub(crate) type Bounds = [Option<i64>; 3];

/// An operation on data from a formula.
#[derive(Debug)]
pub(crate) struct Workload {
    pub(crate) id: String,
    pub(crate) description: String,
    pub(crate) values: ValueFormula,
    pub(crate) shape: Vec<usize>,
    pub(crate) operation: Operation,
    pub(crate) plan: Plan,
    pub(crate) call: Call,
    /// The checksum of the result, if the workloads file has one.
    pub(crate) checksum: Option<f64>,
}

/// An operation as written in the workloads file.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(crate) enum Operation {
    Slice {
        slices: Vec<Bounds>,
    },
    /// Gathers by index tuples. `indices` has the number of tuples and the length of a tuple.
    GatherNd {
        indices: [usize; 2],
    },
    /// Dimension `i` of the result is dimension `axes[i]` of the data.
    Transpose {
        axes: Vec<usize>,
    },
    /// Cuts one box from each item of the first dimension.
    Crop {
        size: Vec<usize>,
    },
    /// Writes values from the formula into a slice of the data, in place.
    Update {
        slices: Vec<Bounds>,
    },
}

/// The arguments of the library's function that does the workload.
#[derive(Debug)]
pub(crate) enum Call {
    View(View),
    Gather,
    Crop(CropOptions),
    Update { spec: SliceSpec, value: Vec<usize> },
}

impl Workload {
    /// Returns the number of bytes read plus bytes written: twice the size of the result, or of an update's value.
    /// Indices do not count.
    pub(crate) fn bytes(&self) -> usize {
        match self.plan.is_in_place() {
            true => 2 * self.plan.inputs()[0].bytes(),
            false => 2 * self.plan.outputs()[0].bytes(),
        }
    }
}

#[derive(Debug, Deserialize)]
struct File {
    workloads: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    id: String,
    #[serde(default)]
    what: String,
    dtype: String,
    shape: Vec<usize>,
    checksum: Option<f64>,
    #[serde(flatten)]
    operation: Operation,
}

/// Returns the built-in set.
pub(crate) fn built_in() -> Result<Vec<Workload>, String> {
    parse_workloads(BUILT_IN)
}

/// Parses the text of a workloads file.
pub(crate) fn parse_workloads(text: &str) -> Result<Vec<Workload>, String> {
    let File { workloads } = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if workloads.is_empty() {
        return Err("it contains no workloads".into());
    }
    let mut ids = BTreeSet::new();
    let mut repeated_entries = workloads.iter().filter(|entry| !ids.insert(&entry.id));
    if let Some(Entry { id, .. }) = repeated_entries.next() {
        return Err(format!(
            "the id {id:?} is used twice: each workload needs its own id"
        ));
    }
    let named_workload = |entry: Entry| {
        let id = entry.id.clone();
        entry
            .into_workload()
            .map_err(|problem| format!("{id}: {problem}"))
    };
    workloads.into_iter().map(named_workload).collect()
}

impl Entry {
    fn into_workload(self) -> Result<Workload, String> {
        let values = ValueFormula::with_name(&self.dtype).ok_or_else(|| {
            format!(
                "dtype is {:?}: use one of {}",
                self.dtype,
                ValueFormula::all_names()
            )
        })?;
        let (shape, rank) = (&self.shape, self.shape.len());
        match &self.operation {
            Operation::Slice { slices } | Operation::Update { slices } if slices.len() != rank => {
                let entries = slices.len();
                return Err(format!(
                    "slices has {entries} entries, but shape has {rank} dimensions: give one for each"
                ));
            }
            Operation::GatherNd { indices } => {
                if indices[1] == 0 {
                    return Err("the index tuples of a gather have at least one index".into());
                }
                if let Some(dim) = shape.iter().find(|&&dim| i32::try_from(dim).is_err()) {
                    return Err(format!("dimension size {dim} does not fit 32-bit indices"));
                }
            }
            Operation::Crop { size } => {
                let mut dims = size.iter().zip(shape.iter().skip(1));
                if size.is_empty() || size.len() >= rank || dims.any(|(size, dim)| size > dim) {
                    return Err("size must be within the shape after its first dimension".into());
                }
            }
            _ => {}
        }
        let prepared = prepare_call(&self.operation, shape, values);
        let (plan, call) = prepared.map_err(|error| error.to_string())?;
        Ok(Workload {
            id: self.id,
            description: self.what,
            values,
            shape: self.shape,
            operation: self.operation,
            plan,
            call,
            checksum: self.checksum,
        })
    }
}

fn prepare_call(
    operation: &Operation,
    shape: &[usize],
    values: ValueFormula,
) -> Result<(Plan, Call), Error> {
    let dtype = values.dtype;
    let plan_of_view = |view: View| -> Result<_, Error> {
        Ok((Plan::contiguous(&view, dtype)?, Call::View(view)))
    };
    Ok(match operation {
        Operation::Slice { slices } => plan_of_view(make_spec(slices)?.view(shape)?)?,
        Operation::Transpose { axes } => plan_of_view(View::new(shape)?.transpose(axes)?)?,
        Operation::GatherNd { indices } => {
            let options = GatherNdOptions::default();
            let plan = Plan::gather_nd(shape, indices, options, dtype)?;
            (plan, Call::Gather)
        }
        Operation::Crop { size } => {
            // A measurement passes the starts and flips of all boxes as one array of tuples.
            let boxes = Boxes::of_tuples(&[shape[0], 2 * size.len()], false, true);
            let options = CropOptions {
                sizes: size.clone(),
                ..CropOptions::default()
            };
            let plan = Plan::crop(shape, boxes, &options, dtype)?;
            (plan, Call::Crop(options))
        }
        Operation::Update { slices } => {
            let spec = make_spec(slices)?;
            let value = spec.view(shape)?.shape().to_vec();
            let plan = Plan::slice_update(shape, &spec, &value, dtype)?;
            (plan, Call::Update { spec, value })
        }
    })
}

pub(super) fn make_spec(slices: &[Bounds]) -> Result<SliceSpec, Error> {
    let bound_text =
        |bound: Option<i64>| bound.map_or_else(String::new, |position| position.to_string());
    let dims: Vec<String> = slices
        .iter()
        .map(|dim| dim.map(bound_text).join(":"))
        .collect();
    dims.join(", ").parse()
}

/// Returns the workloads with these ids, in the order of the set. Returns all workloads if `ids` is empty. Fails for an
/// unknown id.
pub(crate) fn select_workloads(
    workloads: Vec<Workload>,
    ids: &[String],
) -> Result<Vec<Workload>, String> {
    let ids: Vec<&str> = ids.iter().map(|id| id.trim()).collect();
    let known_ids: Vec<&str> = workloads.iter().map(|workload| &*workload.id).collect();
    if let Some(id) = ids.iter().find(|id| !known_ids.contains(id)) {
        let known_ids = known_ids.join(", ");
        return Err(format!(
            "--only names {id:?}, which is not a workload: choose from {known_ids}"
        ));
    }
    let is_wanted = |workload: &Workload| ids.is_empty() || ids.contains(&&*workload.id);
    Ok(workloads.into_iter().filter(is_wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_set_is_whole() {
        let workload_set = built_in().expect("the set");
        assert_eq!(workload_set.len(), 16);
        assert!(
            workload_set
                .iter()
                .all(|workload| workload.checksum.is_some())
        );
        let selected =
            select_workloads(workload_set, &["W11".into(), " W3".into()]).expect("both are there");
        assert_eq!([&selected[0].id, &selected[1].id], ["W3", "W11"]);
        let workload_set = built_in().expect("the set");
        let message = select_workloads(workload_set, &["W17".into()]).expect_err("it is not there");
        assert!(
            message.contains("\"W17\"") && message.contains("W16"),
            "{message}"
        );
    }

    #[test]
    fn invalid_workloads_are_rejected() {
        let rows = [
            (
                r#""dtype":"f32","shape":[2],"op":"slice""#,
                "missing field `slices`",
            ),
            (
                r#""dtype":"u8","shape":[2],"op":"turn""#,
                "unknown variant `turn`",
            ),
            (
                r#""dtype":"u8","shape":[2,3],"op":"transpose","axes":[0,2]"#,
                "A: the permutation [0, 2] does not order 2 dimensions",
            ),
            (
                r#""dtype":"u8","shape":[2,3],"op":"crop","size":[4]"#,
                "A: size must be within",
            ),
            (
                r#""dtype":"u8","shape":[2,3],"op":"crop","size":[]"#,
                "A: size must be within",
            ),
            (
                r#""dtype":"f8","shape":[2],"op":"slice","slices":[[0,1,1]]"#,
                "A: dtype is \"f8\"",
            ),
            (
                r#""dtype":"u8","shape":[2,2],"op":"slice","slices":[[0,1,1]]"#,
                "slices has 1 entries",
            ),
            (
                r#""dtype":"u8","shape":[2],"op":"update","slices":[[0,1,0]]"#,
                "A: ",
            ),
            (
                r#""dtype":"u8","shape":[2],"op":"gather_nd","indices":[3,2]"#,
                "A: ",
            ),
            (
                r#""dtype":"u8","shape":[2],"op":"gather_nd","indices":[3,0]"#,
                "A: the index tuples",
            ),
        ];
        for (entry, message) in rows {
            let text = format!(r#"{{"workloads":[{{"id":"A",{entry}}}]}}"#);
            let problem = parse_workloads(&text).expect_err(&text);
            assert!(problem.contains(message), "{message} in {problem}");
        }
    }
}
