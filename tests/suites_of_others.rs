//! Runs test suites of other projects on drawn devices. The suites are not part of this repository, so these tests are
//! ignored by default. The environment variable `WGSLICE_SUITES` names the directory with the suites, in the form that
//! `docs/TESTING.md` describes.

use crate::harness::devices;
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, env, fs, path::PathBuf};
use wgslice::{
    Backend, DType, Error, SliceSpec, Tensor,
    options::{
        Boxes, Combine, CropOptions, GatherDims, GatherOptions, NegativeIndex, OutOfRange,
        PasteOptions, ScatterDims, XlaScatterOptions,
    },
};

fn read_suite(name: &str) -> String {
    let folder = env::var_os("WGSLICE_SUITES").expect("WGSLICE_SUITES names a directory");
    let path = PathBuf::from(folder).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A case of StableHLO's test data.
#[derive(Deserialize)]
struct Case {
    name: String,
    family: String,
    op: String,
    #[serde(default)]
    attrs: Value,
    inputs: Vec<Array>,
    expected: Vec<Array>,
}

#[derive(Deserialize)]
struct Array {
    dtype: String,
    shape: Vec<usize>,
    hex: String,
}

impl Array {
    fn dtype(&self) -> DType {
        match &self.dtype[..] {
            "i1" => DType::Bool,
            "i8" => DType::I8,
            "i16" => DType::I16,
            "i32" => DType::I32,
            "i64" => DType::I64,
            "ui8" => DType::U8,
            "ui16" => DType::U16,
            "ui32" => DType::U32,
            "ui64" => DType::U64,
            "bf16" => DType::BF16,
            "f16" => DType::F16,
            "f32" => DType::F32,
            "f64" => DType::F64,
            "complex<f32>" => DType::Complex64,
            "complex<f64>" => DType::Complex128,
            other => panic!("{other}"),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let (pairs, _) = self.hex.as_bytes().as_chunks::<2>();
        let byte = |pair: &[u8; 2]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
        pairs.iter().map(byte).collect()
    }

    fn upload_to(&self, backend: &Backend) -> Result<Tensor, Error> {
        Tensor::from_bytes(backend, self.bytes(), self.dtype(), &self.shape)
    }

    /// Returns the values of indices of any integer type.
    fn indices(&self) -> Vec<i64> {
        let width = self.dtype().size();
        let value = |bytes: &[u8]| {
            let fill_byte = if self.dtype().name().starts_with('u') || bytes[width - 1] < 128 {
                0
            } else {
                255
            };
            let mut extended = [fill_byte; 8];
            extended[..width].copy_from_slice(bytes);
            i64::from_le_bytes(extended)
        };
        self.bytes().chunks_exact(width).map(value).collect()
    }
}

impl Case {
    fn integers(&self, name: &str) -> Vec<usize> {
        serde_json::from_value(self.attrs[name].clone()).unwrap()
    }

    /// Returns the options for a single box, and its start indices. JAX counts negative start indices from the end.
    fn box_arguments(&self, x: &Array, begins: &Array, sizes: &[usize]) -> (CropOptions, Vec<i64>) {
        let options = CropOptions {
            sizes: sizes.to_vec(),
            out_of_range: OutOfRange::Clamp,
            ..CropOptions::default()
        };
        let begins = begins.indices();
        let begins = begins.iter().zip(&x.shape);
        let from_end = |(&begin, &size): (&i64, &usize)| {
            if begin < 0 {
                begin + size as i64
            } else {
                begin
            }
        };
        (options, begins.map(from_end).collect())
    }

    /// Runs the case. Returns `None` if the library cannot express it, or if its attributes are not in the file.
    fn run(&self, backend: &Backend) -> Option<Result<Tensor, Error>> {
        let inputs: Result<Vec<Tensor>, Error> =
            self.inputs.iter().map(|x| x.upload_to(backend)).collect();
        let inputs = inputs.unwrap();
        let rank = self.inputs[0].shape.len();
        let as_one_item = |shape: &[usize]| [&[1], shape].concat();
        Some(match (&self.family[..], &self.op[..]) {
            ("scatter", _) => self.scatter(inputs),
            ("gather", "gather") => {
                let dims = GatherDims {
                    offset_dims: self.integers("offset_dims"),
                    collapsed_slice_dims: self.integers("collapsed_slice_dims"),
                    operand_batching_dims: self.integers("operand_batching_dims"),
                    start_indices_batching_dims: self.integers("start_indices_batching_dims"),
                    start_index_map: self.integers("start_index_map"),
                    index_vector_dim: usize::try_from(self.attrs["index_vector_dim"].as_u64()?)
                        .unwrap(),
                    slice_sizes: self.integers("slice_sizes"),
                };
                let gathered = inputs[0].xla_gather(&inputs[1], &dims, OutOfRange::Clamp);
                gathered.map(|(tensor, _)| tensor)
            }
            // These are the permutations and the dimensions in JAX's generator of the cases.
            ("transpose", _) => {
                let order = [&[1, 0][..], &[1, 2, 0]][rank - 2];
                inputs[0].transpose(order)
            }
            ("rev", _) => {
                let item = |text: &str| text.parse::<SliceSpec>().unwrap().items()[0];
                let flips = |d| item(if rank == 3 || d == 0 { "::-1" } else { ":" });
                inputs[0].slice(&SliceSpec::new((0..rank).map(flips).collect::<Vec<_>>()))
            }
            ("concatenate", _) => {
                let grows = |&d: &usize| self.expected[0].shape[d] != self.inputs[0].shape[d];
                let axis = (0..rank).find(grows).unwrap();
                Tensor::concat(&inputs.iter().collect::<Vec<_>>(), axis.cast_signed())
            }
            ("dynamic_slice", _) => {
                let [.., x, begins] = &self.inputs[..] else {
                    panic!("{}", self.name)
                };
                let sizes = &self.expected[0].shape;
                let (options, begins) = self.box_arguments(x, begins, sizes);
                let begins = backend.upload((&begins, &[1, begins.len()])).unwrap();
                let x = inputs[inputs.len() - 2]
                    .reshape(&as_one_item(&x.shape))
                    .unwrap();
                x.crop(Boxes::new(&begins), &options)
                    .and_then(|(tensor, _)| tensor.reshape(sizes))
            }
            ("dynamic_update_slice", _) => {
                let [.., x, update, begins] = &self.inputs[..] else {
                    panic!("{}", self.name)
                };
                let (crop_options, begins) = self.box_arguments(x, begins, &update.shape);
                let begins = backend.upload((&begins, &[1, begins.len()])).unwrap();
                let x_number = inputs.len() - 3;
                let mut changed = inputs[x_number].reshape(&as_one_item(&x.shape)).unwrap();
                let patches = inputs[x_number + 1]
                    .reshape(&as_one_item(&update.shape))
                    .unwrap();
                let options = PasteOptions {
                    out_of_range: crop_options.out_of_range,
                    ..PasteOptions::default()
                };
                let pasted = changed.paste(&patches, Boxes::new(&begins), &options);
                pasted.and_then(|_| changed.reshape(&x.shape))
            }
            _ => return None,
        })
    }

    fn scatter(&self, inputs: Vec<Tensor>) -> Result<Tensor, Error> {
        let dims = ScatterDims {
            update_window_dims: self.integers("update_window_dims"),
            inserted_window_dims: self.integers("inserted_window_dims"),
            input_batching_dims: self.integers("input_batching_dims"),
            scatter_indices_batching_dims: self.integers("scatter_indices_batching_dims"),
            scatter_dims_to_operand_dims: self.integers("scatter_dims_to_operand_dims"),
            index_vector_dim: usize::try_from(self.attrs["index_vector_dim"].as_u64().unwrap())
                .unwrap(),
        };
        let options = XlaScatterOptions {
            combine: Some(self.combine()),
            unique: self.attrs["unique_indices"] == true,
            ..XlaScatterOptions::default()
        };
        let [x, indices, updates] = &inputs[..] else {
            panic!("{}", self.name)
        };
        let mut changed = x.clone();
        changed.xla_scatter(indices, updates, &dims, options)?;
        Ok(changed)
    }

    fn combine(&self) -> Combine {
        match self.attrs["combine"].as_str() {
            Some("update") => Combine::Update,
            Some("add") => Combine::Add,
            Some("multiply") => Combine::Mul,
            Some("minimum") => Combine::Min,
            Some("maximum") => Combine::Max,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
#[ignore = "it needs suites of other projects: see docs/TESTING.md"]
fn the_cases_of_stablehlo_hold() {
    let text = read_suite("stablehlo.jsonl");
    let mut counts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    for line in text.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let key = format!(
            "{} {}",
            case.family,
            case.attrs["combine"].as_str().unwrap_or_default()
        );
        for device in devices() {
            let description = format!("{} on {}", case.name, device.name);
            let count = counts.entry(key.clone()).or_default();
            match case.run(&device.backend) {
                None => count[2] += 1,
                Some(Err(Error::DTypeOnDevice { .. } | Error::DeviceLimit { .. }))
                    if !device.backend.is_cpu() =>
                {
                    count[1] += 1;
                }
                Some(result) => {
                    let result = result.unwrap_or_else(|error| panic!("{description}: {error}"));
                    let expected = &case.expected[0];
                    assert_eq!(result.shape(), expected.shape, "{description}");
                    assert_eq!(result.bytes().unwrap(), expected.bytes(), "{description}");
                    count[0] += 1;
                }
            }
        }
    }
    for (family, [passed, refused, skipped]) in &counts {
        println!("{family}: {passed} passed, {refused} refused by a GPU, {skipped} not expressed");
    }
    let passed: usize = counts.values().map(|count| count[0]).sum();
    assert!(passed > 1123, "{passed}");
}

/// A graph of WebNN's conformance tests, in JSON.
#[derive(Deserialize)]
struct Graph {
    inputs: BTreeMap<String, Operand>,
    operators: Vec<Value>,
    #[serde(rename = "expectedOutputs")]
    outputs: BTreeMap<String, Operand>,
}

#[derive(Deserialize)]
struct Operand {
    data: Vec<Value>,
    descriptor: Descriptor,
}

#[derive(Deserialize)]
struct Descriptor {
    shape: Vec<usize>,
    #[serde(rename = "dataType")]
    dtype: String,
}

impl Operand {
    fn dtype(&self) -> DType {
        let named = DType::ALL
            .into_iter()
            .find(|dtype| dtype.name() == self.descriptor.dtype);
        named.unwrap_or_else(|| panic!("{}", self.descriptor.dtype))
    }

    fn bytes(&self) -> Vec<u8> {
        let bytes = |value: &Value| {
            let number = value.as_f64().unwrap();
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the files have numbers of these types"
            )]
            match self.dtype() {
                DType::F32 => (number as f32).to_le_bytes().to_vec(),
                DType::F16 => half::f16::from_f64(number).to_le_bytes().to_vec(),
                DType::I32 | DType::U32 => (number as i64).to_le_bytes()[..4].to_vec(),
                DType::I64 => (number as i64).to_le_bytes().to_vec(),
                other => panic!("{other}"),
            }
        };
        self.data.iter().flat_map(bytes).collect()
    }

    fn upload_to(&self, backend: &Backend) -> Result<Tensor, Error> {
        Tensor::from_bytes(backend, self.bytes(), self.dtype(), &self.descriptor.shape)
    }
}

impl Graph {
    fn run(&self, backend: &Backend) -> Result<Tensor, Error> {
        let [operator] = &self.operators[..] else {
            panic!("a graph of one operator")
        };
        let argument = |name: &str| {
            let arguments = operator["arguments"].as_array().unwrap().iter();
            arguments
                .filter_map(|argument| argument.get(name))
                .next()
                .cloned()
                .unwrap_or_default()
        };
        let tensor = |name: &str| self.inputs[argument(name).as_str().unwrap()].upload_to(backend);
        let integers =
            |value: &Value| -> Option<Vec<i64>> { serde_json::from_value(value.clone()).ok() };
        let (x, options) = (tensor("input")?, argument("options"));
        match operator["name"].as_str() {
            Some("slice") => {
                let [starts, sizes] =
                    ["starts", "sizes"].map(|name| integers(&argument(name)).unwrap());
                let ends: Vec<i64> = starts
                    .iter()
                    .zip(&sizes)
                    .map(|(start, size)| start + size)
                    .collect();
                let strides = integers(&options["strides"]);
                x.slice(&SliceSpec::onnx(
                    x.shape(),
                    &starts,
                    &ends,
                    None,
                    strides.as_deref(),
                )?)
            }
            Some("gather") => {
                let options = GatherOptions {
                    axis: options["axis"]
                        .as_i64()
                        .or(Some(0))
                        .map(|axis| axis.try_into().unwrap()),
                    out_of_range: OutOfRange::Clamp,
                    negative: NegativeIndex::Wrap,
                    ..GatherOptions::default()
                };
                Ok(x.gather(&tensor("indices")?, options)?.0)
            }
            Some("transpose") => {
                let rank = x.shape().len();
                let order = serde_json::from_value(options["permutation"].clone());
                x.transpose(&order.unwrap_or_else(|_| (0..rank).rev().collect::<Vec<usize>>()))
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
#[ignore = "it needs suites of other projects: see docs/TESTING.md"]
fn the_conformance_tests_of_webnn_hold() {
    for (name, test_count) in [("slice", 19), ("gather", 42), ("transpose", 18)] {
        let text = read_suite(&format!("wpt-{name}.json"));
        let mut file: Value = serde_json::from_str(&text).unwrap();
        let tests = file["tests"].as_array_mut().unwrap();
        assert_eq!(tests.len(), test_count, "{name}");
        for test in tests {
            let graph: Graph = serde_json::from_value(test["graph"].take()).unwrap();
            for device in devices() {
                let description = format!("{} on {}", test["name"], device.name);
                let result = graph
                    .run(&device.backend)
                    .unwrap_or_else(|error| panic!("{description}: {error}"));
                let expected = graph.outputs.values().next().unwrap();
                assert_eq!(result.shape(), expected.descriptor.shape, "{description}");
                assert_eq!(result.bytes().unwrap(), expected.bytes(), "{description}");
            }
        }
    }
}
