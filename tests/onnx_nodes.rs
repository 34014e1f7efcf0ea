//! Runs ONNX's own node tests of `Slice`, `Concat`, `Pad`, `Tile`, `Compress`, `NonZero`, `Where`, `TensorScatter`, and
//! of its gathers and scatters, on drawn devices.
//!
//! `tests/vectors/gen_onnx.py` extracted the tests from the package `onnx`. In these tests, negative indices count from
//! the end, and an out-of-range index is an error.

use crate::harness::devices;
use serde::Deserialize;
use std::collections::BTreeMap;
use wgslice::{
    Backend, DType, Error, SliceSpec, Tensor,
    options::{
        Boxes, Combine, GatherElementsOptions, GatherNdOptions, GatherOptions, NegativeIndex,
        OutOfRange, Pad, PasteOptions, ScatterOptions,
    },
    slice,
};

#[derive(Deserialize)]
struct Line {
    name: String,
    op: String,
    attributes: BTreeMap<String, serde_json::Value>,
    inputs: BTreeMap<String, Array>,
    output: Array,
}

#[derive(Deserialize)]
struct Array {
    dtype: String,
    shape: Vec<usize>,
    hex: String,
}

impl Array {
    fn dtype(&self) -> DType {
        let named = DType::ALL
            .into_iter()
            .find(|dtype| dtype.name() == self.dtype);
        named.unwrap_or_else(|| panic!("{}", self.dtype))
    }

    /// Returns the bytes of the elements, which are little-endian as in the file.
    fn bytes(&self) -> Vec<u8> {
        let (pairs, _) = self.hex.as_bytes().as_chunks::<2>();
        let byte = |pair: &[u8; 2]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
        pairs.iter().map(byte).collect()
    }

    fn integers(&self) -> Vec<i64> {
        assert_eq!(self.dtype, "int64");
        let bytes = self.bytes();
        let (integers, _) = bytes.as_chunks();
        integers
            .iter()
            .map(|&bytes| i64::from_le_bytes(bytes))
            .collect()
    }
}

impl Line {
    fn tensor(&self, backend: &Backend, name: &str) -> Result<Tensor, Error> {
        let array = &self.inputs[name];
        Tensor::from_bytes(backend, array.bytes(), array.dtype(), &array.shape)
    }

    fn integer(&self, attribute: &str) -> isize {
        let value = self.attributes.get(attribute);
        let value = value.map_or(0, |value| value.as_i64().unwrap());
        value.try_into().unwrap()
    }

    /// Runs an operator that assembles tensors.
    fn assemble(&self, backend: &Backend) -> Result<Tensor, Error> {
        let tensor = |name: &str| self.tensor(backend, name);
        match self.op.as_str() {
            "Concat" => {
                let tensors =
                    (0..self.inputs.len()).map(|number| tensor(&format!("inputs{number}")));
                let tensors = tensors.collect::<Result<Vec<_>, _>>()?;
                Tensor::concat(&tensors.iter().collect::<Vec<_>>(), self.integer("axis"))
            }
            "Tile" => {
                let repeats = self.inputs["repeats"].integers();
                let repeats = repeats.iter().map(|&count| count.try_into().unwrap());
                tensor("input")?.tile(&repeats.collect::<Vec<_>>())
            }
            _ => {
                let data = tensor("data")?;
                let pads = self.inputs["pads"].integers();
                let rank = data.shape().len() as i64;
                let axes = self.inputs.get("axes").map(Array::integers);
                let axes = axes.unwrap_or_else(|| (0..rank).collect());
                let mut paddings = vec![[0; 2]; data.shape().len()];
                for (number, axis) in axes.iter().enumerate() {
                    let axis: usize = axis.rem_euclid(rank).try_into().unwrap();
                    let pair = [pads[number], pads[axes.len() + number]];
                    paddings[axis] = pair.map(|count| count.try_into().unwrap());
                }
                let zero = vec![0; data.dtype().size()];
                let constant = match self.inputs.get("constant_value") {
                    Some(_) => tensor("constant_value")?,
                    None => Tensor::from_bytes(backend, zero, data.dtype(), &[])?,
                };
                let mode = self.attributes.get("mode");
                let mode = match mode.map_or("constant", |name| name.as_str().unwrap()) {
                    "constant" => Pad::Constant(&constant),
                    "edge" => Pad::Edge,
                    "reflect" => Pad::Reflect,
                    "wrap" => Pad::Wrap,
                    other => panic!("{other}"),
                };
                data.pad(&paddings, mode)
            }
        }
    }

    /// Runs an operator that selects by a mask.
    fn select(&self, backend: &Backend) -> Result<Tensor, Error> {
        let tensor = |name: &str| self.tensor(backend, name);
        if self.op == "NonZero" {
            // The result has a column for each element that is not 0. The inputs of the tests are bool.
            let (rows, report) = tensor("X")?.nonzero(None)?;
            let count = report.wait()?.found.unwrap();
            return rows.slice(&slice![..count as i64])?.transpose(&[1, 0]);
        }
        let condition = tensor("condition")?;
        if self.op == "Where" {
            return Tensor::select(&condition, &tensor("X")?, &tensor("Y")?);
        }
        let has_axis = self.attributes.contains_key("axis");
        let axis = has_axis.then(|| self.integer("axis"));
        // Along the axis, the expected output has one position for each true element.
        let count = self.inputs["condition"]
            .bytes()
            .iter()
            .filter(|&&byte| byte > 0)
            .count();
        let (selected, report) = tensor("input")?.compress(&condition, axis, Some(count))?;
        assert_eq!(report.wait()?.found.unwrap(), count);
        Ok(selected)
    }

    /// Runs TensorScatter. The update of each item is a box. The box begins at the item's index along the axis, and at
    /// 0 along the dimensions before the axis.
    fn tensor_scatter(&self, backend: &Backend) -> Result<Tensor, Error> {
        let tensor = |name| self.tensor(backend, name);
        let (mut cache, update) = (tensor("past_cache")?, tensor("update")?);
        let rank = cache.shape().len() as i64;
        let axis = self
            .attributes
            .get("axis")
            .map_or(-2, |axis| axis.as_i64().unwrap());
        let axis: usize = axis.rem_euclid(rank).try_into().unwrap();
        let indices = self.inputs.get("write_indices").map(Array::integers);
        let indices = indices.unwrap_or_else(|| vec![0; cache.shape()[0]]);
        let mut begins = vec![0; indices.len() * axis];
        for (begin, index) in begins.chunks_exact_mut(axis).zip(&indices) {
            begin[axis - 1] = *index;
        }
        let begins = backend.upload((&begins, &[indices.len(), axis]))?;
        let mode = self.attributes.get("mode");
        let options = PasteOptions {
            out_of_range: OutOfRange::Error,
            circular: mode.is_some_and(|mode| mode == "circular"),
            ..PasteOptions::default()
        };
        cache.paste(&update, Boxes::new(&begins), &options)?;
        Ok(cache)
    }

    fn run(&self, backend: &Backend) -> Result<Tensor, Error> {
        if matches!(self.op.as_str(), "Compress" | "NonZero" | "Where") {
            return self.select(backend);
        }
        if self.op == "TensorScatter" {
            return self.tensor_scatter(backend);
        }
        if matches!(self.op.as_str(), "Concat" | "Pad" | "Tile") {
            return self.assemble(backend);
        }
        let tensor = |name| self.tensor(backend, name);
        let data = tensor("data")?;
        let gather_options = GatherOptions {
            out_of_range: OutOfRange::Error,
            negative: NegativeIndex::Wrap,
            ..GatherOptions::default()
        };
        let scatter_options = ScatterOptions {
            combine: Some(self.reduction()),
            out_of_range: gather_options.out_of_range,
            negative: gather_options.negative,
            ..ScatterOptions::default()
        };
        match self.op.as_str() {
            "Slice" => {
                let integers = |name| self.inputs.get(name).map(Array::integers);
                let [starts, ends] = ["starts", "ends"].map(|name| integers(name).unwrap());
                let (axes, steps) = (integers("axes"), integers("steps"));
                let (axes, steps) = (axes.as_deref(), steps.as_deref());
                data.slice(&SliceSpec::onnx(data.shape(), &starts, &ends, axes, steps)?)
            }
            "Gather" => {
                let options = GatherOptions {
                    axis: Some(self.integer("axis")),
                    ..gather_options
                };
                Ok(data.gather(&tensor("indices")?, options)?.0)
            }
            "GatherElements" => {
                let options = GatherElementsOptions {
                    out_of_range: gather_options.out_of_range,
                    negative: gather_options.negative,
                };
                let (indices, axis) = (tensor("indices")?, self.integer("axis"));
                Ok(data.gather_elements(&indices, axis, options)?.0)
            }
            "GatherND" => {
                let options = GatherNdOptions {
                    batch_dims: self.integer("batch_dims"),
                    out_of_range: gather_options.out_of_range,
                    negative: gather_options.negative,
                };
                Ok(data.gather_nd(&tensor("indices")?, options)?.0)
            }
            "ScatterND" => {
                let (indices, updates) = (tensor("indices")?, tensor("updates")?);
                let mut data = data;
                data.tensor_scatter_nd(&indices, &updates, scatter_options)?;
                Ok(data)
            }
            "ScatterElements" => {
                let (indices, updates) = (tensor("indices")?, tensor("updates")?);
                let mut changed = data;
                let axis = self.integer("axis");
                changed.scatter_elements(&indices, &updates, axis, scatter_options)?;
                Ok(changed)
            }
            other => panic!("{other}"),
        }
    }

    fn reduction(&self) -> Combine {
        let reduction = self.attributes.get("reduction");
        match reduction.map_or("none", |name| name.as_str().unwrap()) {
            "none" => Combine::Update,
            "add" => Combine::Add,
            "mul" => Combine::Mul,
            "max" => Combine::Max,
            "min" => Combine::Min,
            other => panic!("{other}"),
        }
    }
}

#[test]
fn the_node_tests_of_onnx_pass() {
    let mut operation_counts = BTreeMap::new();
    for line in include_str!("vectors/onnx.jsonl").lines() {
        let line: Line = serde_json::from_str(line).unwrap();
        for device in devices() {
            let description = format!("{} on {}", line.name, device.name);
            let result = line.run(&device.backend);
            let result = result.unwrap_or_else(|error| panic!("{description}: {error}"));
            assert_eq!(result.shape(), line.output.shape, "{description}");
            assert_eq!(
                result.bytes().unwrap(),
                line.output.bytes(),
                "{description}"
            );
        }
        *operation_counts.entry(line.op).or_insert(0) += 1;
    }
    let counts: Vec<(&str, i32)> = operation_counts
        .iter()
        .map(|(op, &n)| (op.as_str(), n))
        .collect();
    assert_eq!(
        counts,
        [
            ("Compress", 5),
            ("Concat", 12),
            ("Gather", 4),
            ("GatherElements", 3),
            ("GatherND", 3),
            ("NonZero", 1),
            ("Pad", 6),
            ("ScatterElements", 7),
            ("ScatterND", 7),
            ("Slice", 8),
            ("TensorScatter", 3),
            ("Tile", 2),
            ("Where", 2)
        ]
    );
}
