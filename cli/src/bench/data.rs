//! Makes a workload's data and its correct result. A formula defines the data, so that other programs can make the same
//! bytes.
//!
//! Element i has the value i % modulus, which its type represents exactly. Coordinate i of a gather's index tuples,
//! counted in row-major order, is a hash of i modulo the size of its dimension.

use super::{
    loops,
    times::{Output, Problem, TimedRun},
    workload::{Call, Operation, Workload, make_spec},
};
use bytemuck::Pod;
use half::f16;
use std::{borrow::Cow, sync::Arc};
use wgslice::{
    Backend, DType, Element, Error, Plan, SliceSpec, Tensor,
    options::{Boxes, GatherNdOptions},
};

/// An element type and the modulus of its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueFormula {
    pub(crate) name: &'static str,
    pub(crate) dtype: DType,
    modulus: u32,
}

const VALUE_FORMULAS: [(&str, DType, u32); 4] = [
    ("u8", DType::U8, 251),
    ("f16", DType::F16, 2048),
    ("f32", DType::F32, 8191),
    ("f64", DType::F64, 8191),
];

impl ValueFormula {
    pub(crate) fn with_name(name: &str) -> Option<Self> {
        let (name, dtype, modulus) = VALUE_FORMULAS.into_iter().find(|values| values.0 == name)?;
        Some(Self {
            name,
            dtype,
            modulus,
        })
    }

    pub(crate) fn all_names() -> String {
        VALUE_FORMULAS.map(|(name, ..)| name).join(", ")
    }

    /// Returns the bytes of element `i`.
    fn element_bytes(self, i: usize) -> Vec<u8> {
        let value = u16::try_from(i % self.modulus as usize).unwrap_or(u16::MAX);
        match self.dtype {
            DType::F16 => f16::from_f32(value.into()).to_ne_bytes().to_vec(),
            DType::F32 => f32::from(value).to_ne_bytes().to_vec(),
            DType::F64 => f64::from(value).to_ne_bytes().to_vec(),
            _ => vec![value.to_le_bytes()[0]],
        }
    }

    /// Returns the sum of all elements, where element i is multiplied by i % 97 + 1. All terms are integers, so sums
    /// below 2^53 are exact.
    pub(crate) fn checksum(self, bytes: &[u8]) -> f64 {
        match self.dtype {
            DType::F16 => weighted_sum(bytes, |bytes| f16::from_ne_bytes(bytes).into()),
            DType::F32 => weighted_sum(bytes, |bytes| f32::from_ne_bytes(bytes).into()),
            DType::F64 => weighted_sum(bytes, f64::from_ne_bytes),
            _ => weighted_sum(bytes, |[byte]| byte.into()),
        }
    }
}

fn weighted_sum<const N: usize>(bytes: &[u8], value: impl Fn([u8; N]) -> f64) -> f64 {
    let weights = (1..=97u8).cycle().map(f64::from);
    let elements = bytes.as_chunks().0.iter().zip(weights);
    elements.map(|(&bytes, weight)| value(bytes) * weight).sum()
}

/// Returns the 32-bit hash `lowbias32` of the number's low 32 bits.
fn lowbias32(number: usize) -> usize {
    let mut hash = u32::try_from(number & u32::MAX as usize).unwrap_or(u32::MAX);
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(0x7feb_352d);
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x846c_a68b);
    (hash ^ (hash >> 16)) as usize
}

/// Returns the index tuples of a gather or a crop. A tuple of a crop holds the start indices of a box and a flip for
/// each dimension; only the last dimension can be flipped.
fn workload_indices(work: &Workload) -> Result<Vec<i32>, Problem> {
    let as_index = |at| i32::try_from(at).unwrap_or(i32::MAX);
    let (mut indices, shape) = (Vec::new(), &work.shape);
    match &work.operation {
        Operation::GatherNd { indices: tuples } => {
            let [rows, depth] = *tuples;
            allocate(&mut indices, rows * depth)?;
            let index = |i| as_index(lowbias32(i) % shape[i % depth].max(1));
            indices.extend((0..rows * depth).map(index));
        }
        Operation::Crop { size } => {
            allocate(&mut indices, shape[0] * 2 * size.len())?;
            for n in 0..shape[0] {
                for (d, (box_size, dim)) in size.iter().zip(&shape[1..]).enumerate() {
                    let at = lowbias32(size.len() * n + d) % (dim - box_size + 1);
                    indices.push(as_index(at));
                }
                indices.resize(indices.len() + size.len() - 1, 0);
                indices.push(as_index(lowbias32(n + 1_000_003) % 2));
            }
        }
        _ => {}
    }
    Ok(indices)
}

/// Reserves memory for `count` elements. Fails if there is too little memory.
fn allocate<T>(vector: &mut Vec<T>, count: usize) -> Result<(), Problem> {
    vector.try_reserve_exact(count).map_err(|_| {
        let bytes = count.saturating_mul(size_of::<T>());
        Problem::other_problem(format_args!(
            "no memory left on the host for {bytes} bytes: choose smaller workloads with --only"
        ))
    })
}

/// Returns bytes of 0xa5, so that a check of the result notices bytes that a run did not write.
pub(crate) fn garbage_bytes(bytes: usize) -> Result<Vec<u8>, Problem> {
    let mut garbage = Vec::new();
    allocate(&mut garbage, bytes)?;
    garbage.resize(bytes, 0xa5);
    Ok(garbage)
}

/// Shared bytes with an alignment that suits every element type.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedBytes {
    words: Arc<Vec<u64>>,
    len: usize,
}

impl SharedBytes {
    /// Makes `count` elements. Element i has the value that the formula gives to element `i * factor`.
    fn make_elements(values: ValueFormula, count: usize, factor: usize) -> Result<Self, Problem> {
        let period = (0..values.modulus as usize).flat_map(|i| values.element_bytes(i * factor));
        let period: Vec<u8> = period.collect();
        let len = count * values.dtype.size();
        let mut words = Vec::new();
        allocate(&mut words, len.div_ceil(size_of::<u64>()))?;
        words.resize(len.div_ceil(size_of::<u64>()), 0);
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        for bytes in bytes[..len].chunks_mut(period.len()) {
            bytes.copy_from_slice(&period[..bytes.len()]);
        }
        let words = Arc::new(words);
        Ok(Self { words, len })
    }
}

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }
}

struct Bytes<T>(Vec<T>);

impl<T: Pod> AsRef<[u8]> for Bytes<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

struct TensorBytes(Tensor);

impl AsRef<[u8]> for TensorBytes {
    fn as_ref(&self) -> &[u8] {
        match self.0.bytes() {
            Ok(Cow::Borrowed(bytes)) => bytes,
            // Only a tensor on the CPU has bytes to lend. For other tensors, empty bytes make the check fail.
            _ => &[],
        }
    }
}

/// A workload, its data on the host, and its correct result.
#[derive(Debug)]
pub(crate) struct WorkloadData<'a> {
    pub(crate) work: &'a Workload,
    pub(crate) input: SharedBytes,
    /// The index tuples of a gather or a crop; otherwise empty.
    pub(crate) indices: Vec<i32>,
    /// The value of an update; otherwise empty.
    pub(crate) value: SharedBytes,
    expected: Vec<u8>,
}

impl<'a> WorkloadData<'a> {
    /// Makes the data, and computes the correct result with plain loops. If the workloads file gives a checksum of the
    /// result, the loops' result must have this checksum.
    pub(crate) fn new(work: &'a Workload) -> Result<Self, Problem> {
        let elements = |shape: &[usize], factor| {
            SharedBytes::make_elements(work.values, shape.iter().product(), factor)
        };
        let mut data = Self {
            work,
            input: elements(&work.shape, 1)?,
            indices: workload_indices(work)?,
            value: match &work.call {
                Call::Update { value, .. } => elements(value, 7)?,
                _ => SharedBytes::default(),
            },
            expected: Vec::new(),
        };
        let mut expected = data.result_memory()?;
        loops::run_workload(&data, &mut expected);
        data.expected = expected;
        let loop_checksum = work.values.checksum(&data.expected);
        match work.checksum.filter(|&checksum| checksum != loop_checksum) {
            None => Ok(data),
            Some(checksum) => Err(Problem::wrong_result(format_args!(
                "wrong result: the checksum of plain loops is {loop_checksum}, but the workloads file says \
                 {checksum}"
            ))),
        }
    }

    /// Returns memory for the result: a copy of the input if the workload changes the input in place, otherwise
    /// [`garbage_bytes`].
    pub(crate) fn result_memory(&self) -> Result<Vec<u8>, Problem> {
        let mut dest = garbage_bytes(self.work.plan.outputs()[0].bytes())?;
        if self.work.plan.is_in_place() {
            dest.copy_from_slice(self.input.as_ref());
        }
        Ok(dest)
    }

    /// Compares every bit of a result with the correct result.
    pub(crate) fn check_result(&self, result: &[u8]) -> Result<(), Problem> {
        if result == self.expected {
            return Ok(());
        }
        let mut bytes = result.iter().zip(&self.expected);
        let byte_index = bytes.position(|(found, expected)| found != expected);
        let element_index = byte_index.unwrap_or(result.len()) / self.work.values.dtype.size();
        Err(Problem::wrong_result(format_args!(
            "wrong result: element {element_index} differs from the result of plain loops"
        )))
    }

    /// Runs the workload from host values to host values in new memory.
    pub(crate) fn host_to_host(&self, backend: &Backend) -> Result<Output, Problem> {
        Ok(match self.work.values.dtype.size() {
            1 => self.run_typed::<u8>(backend),
            2 => self.run_typed::<u16>(backend),
            4 => self.run_typed::<u32>(backend),
            _ => self.run_typed::<u64>(backend),
        }?)
    }

    /// Does the work of [`Self::host_to_host`]. `T` is an unsigned integer with the size of an element.
    fn run_typed<T: Element + Pod>(&self, backend: &Backend) -> Result<Output, Error> {
        let input: &[T] = bytemuck::cast_slice(self.input.as_ref());
        let x = (input, &*self.work.shape);
        let array = match &self.work.call {
            Call::View(view) => {
                let plan = Plan::contiguous(view, T::DTYPE)?;
                backend.run(&plan, &[input.into()])?.0
            }
            Call::Gather => {
                let (shape, options) = (self.tuple_shape(), GatherNdOptions::default());
                backend.gather_nd(x, (&self.indices, &shape), options)?.0
            }
            Call::Crop(options) => {
                let (shape, begins, flips) = self.crop_boxes();
                let boxes = Boxes::new((&begins, &shape)).flipped((&flips, &shape));
                backend.crop(x, boxes, options)?.0
            }
            Call::Update { spec, value } => {
                let values: &[T] = bytemuck::cast_slice(self.value.as_ref());
                backend.slice_update(x, spec, (values, &**value))?
            }
        };
        Ok(Box::new(Bytes(array.data)))
    }

    /// Uploads the tensors and returns a run that computes a new tensor from them. Must not be called for an update,
    /// which changes a tensor in place.
    pub(crate) fn on_tensors(&self, backend: &Backend) -> Result<TimedRun<'_>, Problem> {
        let (dtype, shape) = (self.work.values.dtype, &self.work.shape);
        let x = Tensor::from_bytes(backend, self.input.clone(), dtype, shape)?;
        let indices = backend.upload((&self.indices, &self.tuple_shape()))?;
        let (shape, begins, flips) = self.crop_boxes();
        let (begins, flips) = (
            backend.upload((&begins, &shape))?,
            backend.upload((&flips, &shape))?,
        );
        let spec = match &self.work.operation {
            Operation::Slice { slices } => make_spec(slices)?,
            _ => SliceSpec::default(),
        };
        Ok(Box::new(move || {
            let result = match (&self.work.call, &self.work.operation) {
                (_, Operation::Slice { .. }) => x.slice(&spec)?.contiguous()?,
                (_, Operation::Transpose { axes }) => x.transpose(axes)?.contiguous()?,
                (Call::Crop(options), _) => x.crop(Boxes::new(&begins).flipped(&flips), options)?.0,
                _ => x.gather_nd(&indices, GatherNdOptions::default())?.0,
            };
            Ok(Box::new(TensorBytes(result)))
        }))
    }

    /// Returns the shape of the start indices and flips of a crop, and their values. For other operations both vectors
    /// are empty.
    fn crop_boxes(&self) -> ([usize; 2], Vec<i32>, Vec<bool>) {
        let (mut begins, mut flips) = (Vec::new(), Vec::new());
        let [count, columns] = match &self.work.call {
            Call::Crop(_) => self.tuple_shape(),
            _ => return ([0, 0], begins, flips),
        };
        for tuple in self.indices.chunks(columns) {
            let (own_begins, own_flips) = tuple.split_at(columns / 2);
            begins.extend_from_slice(own_begins);
            flips.extend(own_flips.iter().map(|&flip| flip != 0));
        }
        ([count, columns / 2], begins, flips)
    }

    /// Returns the shape of the index tuples.
    pub(crate) fn tuple_shape(&self) -> [usize; 2] {
        match &self.work.operation {
            Operation::GatherNd { indices } => *indices,
            Operation::Crop { size } => [self.work.shape[0], 2 * size.len()],
            _ => [0, 0],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::workload;

    /// The loops' results match the checksums in the built-in set, which NumPy computed. The CPU's results are
    /// bit-identical to the loops' results.
    #[test]
    fn loops_give_what_numpy_and_the_library_give() {
        let mut workload_set = workload::built_in().expect("the set");
        // Larger workloads take seconds in a build without optimization.
        workload_set.retain(|work| work.plan.outputs()[0].bytes() < 20 << 20);
        for work in &workload_set {
            let data = WorkloadData::new(work).expect(&work.id);
            let result = data.host_to_host(&Backend::cpu()).expect(&work.id);
            data.check_result((*result).as_ref()).expect(&work.id);
        }
    }

    #[test]
    fn a_wrong_element_is_named() {
        for dtype in ["u8", "f16", "f32", "f64"] {
            let text = format!(
                r#"{{"workloads": [{{"id": "A", "op": "slice", "dtype": "{dtype}",
                    "shape": [3, 7000], "slices": [[null, null, null], [-1, null, -2]]}}]}}"#
            );
            let work = &workload::parse_workloads(&text).expect("a set")[0];
            let data = WorkloadData::new(work).expect("memory");
            let mut result = data.expected.clone();
            data.check_result(&result).expect("the same bits");
            let last_byte = result.len() - 1;
            result[last_byte] ^= 1;
            let sums = [&result, &data.expected].map(|bytes| work.values.checksum(bytes));
            assert_ne!(sums[0], sums[1]);
            let message = data.check_result(&result).expect_err(dtype).text;
            assert!(message.contains("element 10499 "), "{message}");
        }
    }
}
