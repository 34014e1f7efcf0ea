//! The workloads: the built-in set, or a file in the same format. The `comment` in the built-in set explains the
//! format.

use super::data::Values;
use serde::Deserialize;
use std::{collections::BTreeSet, fmt};
use wgslice::{
    Error, Plan, SliceSpec, View,
    options::{Boxes, CropOptions},
};

/// The built-in set.
const BUILT_IN: &str = include_str!("workloads.json");

/// Python's start, stop and step of one dimension.
pub(crate) type Bounds = [Option<i64>; 3];

/// An operation on data from the formula.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    pub(crate) id: String,
    pub(crate) what: String,
    pub(crate) values: Values,
    pub(crate) shape: Vec<usize>,
    pub(crate) operation: Operation,
    pub(crate) plan: Plan,
    /// Whether adapters also measure `Quantity::E2e`: upload, operation and readback.
    pub(crate) e2e: bool,
    /// The checksum that the workloads file gives for the result. It is compared in addition to the checksum that
    /// follows from the formula.
    pub(crate) checksum: Option<f64>,
}

#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Slice {
        bounds: Vec<Bounds>,
        spec: SliceSpec,
    },
    Gather {
        rows: usize,
        depth: usize,
    },
    /// Dimension `i` of the result is dimension `axes[i]` of the data.
    Transpose {
        axes: Vec<usize>,
    },
    /// A box is cut from each item of the first dimension.
    Crop {
        options: CropOptions,
    },
    /// Values from the formula are written into a slice of the data, in place.
    Update {
        bounds: Vec<Bounds>,
        spec: SliceSpec,
        value: Vec<usize>,
    },
}

impl Operation {
    /// Makes a slice. `bounds` has an entry for every dimension.
    pub(crate) fn slice(bounds: Vec<Bounds>) -> Result<Self, Error> {
        let spec = spec(&bounds)?;
        Ok(Self::Slice { bounds, spec })
    }

    /// Makes an update of a slice. `bounds` has an entry for every dimension of `shape`.
    fn update(bounds: Vec<Bounds>, shape: &[usize]) -> Result<Self, Error> {
        let spec = spec(&bounds)?;
        let value = spec.view(shape)?.shape().to_vec();
        Ok(Self::Update {
            bounds,
            spec,
            value,
        })
    }
}

fn spec(bounds: &[Bounds]) -> Result<SliceSpec, Error> {
    let part = |part: Option<i64>| part.map_or_else(String::new, |part| part.to_string());
    let dims: Vec<String> = bounds.iter().map(|dim| dim.map(part).join(":")).collect();
    dims.join(", ").parse()
}

impl Workload {
    pub(crate) fn new(
        id: &str,
        what: &str,
        values: Values,
        shape: Vec<usize>,
        operation: Operation,
    ) -> Result<Self, Error> {
        let plan = match &operation {
            Operation::Slice { spec, .. } => Plan::slice(&shape, spec, values.dtype()),
            &Operation::Gather { rows, depth } => {
                let options = wgslice::options::GatherOptions::default();
                Plan::gather_nd(&shape, &[rows, depth], options, values.dtype())
            }
            Operation::Transpose { axes } => View::new(&shape)
                .and_then(|view| view.transpose(axes))
                .map(|view| view.plan(values.dtype())),
            Operation::Crop { options } => {
                let boxes = Boxes {
                    count: shape.first().copied().unwrap_or(0),
                    box_indices: false,
                    flips: true,
                };
                Plan::crop(&shape, boxes, options, values.dtype())
            }
            Operation::Update { spec, value, .. } => {
                Plan::slice_update(&shape, spec, value, values.dtype())
            }
        }?;
        Ok(Self {
            id: id.to_owned(),
            what: what.to_owned(),
            values,
            shape,
            operation,
            plan,
            e2e: false,
            checksum: None,
        })
    }

    /// Returns the bytes read plus the bytes written: twice the size of the result, or of the value of an update.
    /// Indices do not count.
    pub(crate) fn bytes(&self) -> usize {
        match self.plan.is_in_place() {
            true => 2 * self.plan.source_bytes(),
            false => 2 * self.plan.result_bytes(),
        }
    }
}

/// Writes the id and the description.
impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} {}", self.id, self.what))
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
    op: Op,
    dtype: String,
    shape: Vec<usize>,
    slices: Option<Vec<Bounds>>,
    indices: Option<[usize; 2]>,
    axes: Option<Vec<usize>>,
    size: Option<Vec<usize>>,
    #[serde(default)]
    e2e: bool,
    checksum: Option<f64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Op {
    Slice,
    GatherNd,
    Transpose,
    Crop,
    Update,
}

/// The built-in set.
pub(crate) fn built_in() -> Result<Vec<Workload>, String> {
    parse(BUILT_IN)
}

/// Parses the text of a workloads file.
pub(crate) fn parse(text: &str) -> Result<Vec<Workload>, String> {
    let File { workloads } = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if workloads.is_empty() {
        return Err("there is no workload in it".into());
    }
    let mut ids = BTreeSet::new();
    let twice = workloads.iter().find(|entry| !ids.insert(&entry.id));
    if let Some(entry) = twice {
        return Err(format!(
            "the id {:?} is there twice: ids are names",
            entry.id
        ));
    }
    let named = |entry: Entry| {
        let id = entry.id.clone();
        entry.check().map_err(|problem| format!("{id}: {problem}"))
    };
    workloads.into_iter().map(named).collect()
}

impl Entry {
    fn check(self) -> Result<Workload, String> {
        let values = Values::named(&self.dtype)
            .ok_or_else(|| format!("dtype is {:?}: use one of {}", self.dtype, Values::names()))?;
        let rank = self.shape.len();
        if let Some(bounds) = self.slices.as_ref().filter(|bounds| bounds.len() != rank) {
            return Err(format!(
                "slices has {} entries, but shape has {rank} dimensions: give one for each",
                bounds.len()
            ));
        }
        let operation = match (self.op, self.slices, self.indices, self.axes, self.size) {
            (Op::Slice, Some(bounds), None, None, None) => {
                Operation::slice(bounds).map_err(|error| error.to_string())?
            }
            (Op::Update, Some(bounds), None, None, None) => {
                Operation::update(bounds, &self.shape).map_err(|error| error.to_string())?
            }
            (Op::GatherNd, None, Some([rows, depth]), None, None) => {
                if let Some(dim) = self.shape.iter().find(|&&dim| i32::try_from(dim).is_err()) {
                    return Err(format!("the dimension {dim} is beyond 32-bit indices"));
                }
                Operation::Gather { rows, depth }
            }
            (Op::Transpose, None, None, Some(axes), None) => Operation::Transpose { axes },
            (Op::Crop, None, None, None, Some(sizes)) => {
                let mut dims = sizes.iter().zip(self.shape.iter().skip(1));
                if sizes.len() >= rank || dims.any(|(size, dim)| size > dim) {
                    return Err("size must be within the shape after its first dimension".into());
                }
                Operation::Crop {
                    options: CropOptions {
                        sizes,
                        ..CropOptions::default()
                    },
                }
            }
            (op, ..) => {
                let argument = match op {
                    Op::Slice | Op::Update => "slices",
                    Op::GatherNd => "indices",
                    Op::Transpose => "axes",
                    Op::Crop => "size",
                };
                return Err(format!("it has {argument}, and none of the others"));
            }
        };
        let workload = Workload::new(&self.id, &self.what, values, self.shape, operation)
            .map_err(|error| error.to_string())?;
        Ok(Workload {
            e2e: self.e2e,
            checksum: self.checksum,
            ..workload
        })
    }
}

/// Returns the workloads with these ids, in the order of the set, or all workloads if `ids` is empty. An unknown id is
/// an error.
pub(crate) fn only(workloads: Vec<Workload>, ids: &[String]) -> Result<Vec<Workload>, String> {
    let ids: Vec<&str> = ids.iter().map(|id| id.trim()).collect();
    let known = |id: &str| workloads.iter().any(|workload| workload.id == id);
    if let Some(id) = ids.iter().find(|id| !known(id)) {
        let there: Vec<&str> = workloads.iter().map(|workload| &*workload.id).collect();
        return Err(format!(
            "--only names {id:?}, but there are: {}",
            there.join(", ")
        ));
    }
    let wanted = |workload: &Workload| ids.is_empty() || ids.contains(&&*workload.id);
    Ok(workloads.into_iter().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_set_is_whole() {
        let set = built_in().expect("the set");
        let ids: Vec<&str> = set.iter().map(|workload| &*workload.id).collect();
        assert_eq!(ids.len(), 16);
        assert!(set.iter().all(|workload| workload.checksum.is_some()));
        let some = only(set.clone(), &["W11".into(), " W3".into()]).expect("both are there");
        let some: Vec<&str> = some.iter().map(|workload| &*workload.id).collect();
        assert_eq!(some, ["W3", "W11"]);
        let none = only(set, &["W17".into()]).expect_err("it is not there");
        assert!(none.contains("\"W17\"") && none.contains("W16"), "{none}");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let rows = [
            (r#"{"workloads": []}"#, "no workload"),
            (r#"{"workloads": [{"id": "A"}]}"#, "missing field"),
            (
                r#"{"workloads": [{"id": "A", "op": "slice", "dtype": "f32", "shape": [2]}]}"#,
                "A: it has slices",
            ),
            (
                r#"{"workloads": [{"id": "A", "op": "transpose", "dtype": "u8", "shape": [2],
                    "slices": [[0, 1, 1]]}]}"#,
                "A: it has axes",
            ),
            (
                r#"{"workloads": [{"id": "A", "op": "transpose", "dtype": "u8", "shape": [2, 3],
                    "axes": [0, 2]}]}"#,
                "A: the permutation [0, 2] does not order 2 dimensions",
            ),
            (
                r#"{"workloads": [{"id": "A", "op": "turn", "dtype": "u8", "shape": [2]}]}"#,
                "unknown variant `turn`",
            ),
            (
                r#"{"workloads": [{"id": "A", "op": "crop", "dtype": "u8", "shape": [2, 3],
                    "size": [4]}]}"#,
                "A: size must be within",
            ),
            (
                r#"{"workloads": [{"id": "A", "op": "slice", "dtype": "f8", "shape": [2],
                    "slices": [[0, 1, 1]]}]}"#,
                "A: dtype is \"f8\"",
            ),
            (
                r#"{"workloads": [{"id": "A", "op": "slice", "dtype": "u8", "shape": [2, 2],
                    "slices": [[0, 1, 1]]}]}"#,
                "slices has 1 entries",
            ),
            (
                r#"{"workloads": [{"id": "A", "op": "slice", "dtype": "u8", "shape": [2],
                    "slices": [[0, 1, 0]]}]}"#,
                "A: ",
            ),
            (
                r#"{"workloads": [{"id": "A", "op": "gather_nd", "dtype": "u8", "shape": [2],
                    "indices": [3, 2]}]}"#,
                "A: ",
            ),
        ];
        for (text, named) in rows {
            let problem = parse(text).expect_err(text);
            assert!(problem.contains(named), "{named} in {problem}");
        }
    }
}
