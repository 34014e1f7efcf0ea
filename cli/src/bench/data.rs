//! The data of a workload, defined by a formula so that other programs can make the same bytes.
//!
//! Element i has the value i % modulus, where i wraps at 32 bits. The element type represents these values exactly. The
//! coordinates of all index tuples of a gather are numbered in order: coordinate i is a hash of i, modulo the size of
//! its dimension.

use super::{
    checksum::{self, Wrong},
    workload::{Operation, Workload},
};
use bytemuck::Pod;
use std::{borrow::Cow, sync::Arc};
use wgslice::{
    ArrayRef, Backend, DType, Element, Error, SliceSpec, Tensor, View,
    options::{CropOptions, GatherOptions},
};

/// An element type and the modulus of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Values {
    pub(crate) name: &'static str,
    dtype: DType,
    modulus: u32,
}

const VALUES: [Values; 4] = [
    Values {
        name: "u8",
        dtype: DType::U8,
        modulus: 251,
    },
    Values {
        name: "f16",
        dtype: DType::F16,
        modulus: 2048,
    },
    Values {
        name: "f32",
        dtype: DType::F32,
        modulus: 8191,
    },
    Values {
        name: "f64",
        dtype: DType::F64,
        modulus: 8191,
    },
];

impl Values {
    pub(crate) const F32: Self = VALUES[2];

    pub(crate) fn named(name: &str) -> Option<Self> {
        VALUES.into_iter().find(|values| values.name == name)
    }

    pub(crate) fn names() -> String {
        VALUES.map(|values| values.name).join(", ")
    }

    pub(crate) fn dtype(self) -> DType {
        self.dtype
    }

    /// Returns the value of element `i`.
    pub(crate) fn at(self, i: usize) -> u32 {
        // `i` wraps to 32 bits before the remainder is taken. The order matters, because 2048 is the only modulus that
        // divides 2³².
        let i = i & u32::MAX as usize;
        u32::try_from(i % self.modulus as usize).unwrap_or(u32::MAX)
    }

    /// Returns element `i` of the value that an update writes.
    pub(crate) fn update(self, i: usize) -> u32 {
        self.at(i.wrapping_mul(7))
    }

    /// Returns the bytes of an element with this value.
    fn encode(self, value: u32) -> Vec<u8> {
        match self.dtype {
            DType::F16 => half_bits(value).to_ne_bytes().to_vec(),
            DType::F32 => (value as f32).to_ne_bytes().to_vec(),
            DType::F64 => f64::from(value).to_ne_bytes().to_vec(),
            _ => vec![value.to_le_bytes()[0]],
        }
    }

    /// Returns the bytes of the first `count` elements.
    fn elements(self, count: usize) -> Result<Vec<u8>, OutOfMemory> {
        /// After this many elements `i` wraps, and the values begin again with zero.
        const CYCLE: u64 = 1 << 32;
        let size = self.dtype.size();
        // Where addresses have 32 bits, no array is as long as a cycle.
        let whole = usize::try_from(CYCLE * size as u64).unwrap_or(usize::MAX);
        let mut bytes = room(count * size)?;
        let period: Vec<u8> = (0..self.modulus)
            .flat_map(|value| self.encode(value))
            .collect();
        let mut left = count * size;
        while left > 0 {
            let mut cycle = left.min(whole);
            left -= cycle;
            while cycle > 0 {
                let now = cycle.min(period.len());
                bytes.extend_from_slice(&period[..now]);
                cycle -= now;
            }
        }
        Ok(bytes)
    }
}

/// The bits of an integer below 2048 in half precision.
fn half_bits(value: u32) -> u16 {
    const BIAS: u32 = 15;
    const MANTISSA: u32 = 10;
    let Some(exponent) = value.checked_ilog2() else {
        return 0;
    };
    let mantissa = (value << (MANTISSA - exponent)) & ((1 << MANTISSA) - 1);
    let bits = (exponent + BIAS) << MANTISSA | mantissa;
    u16::try_from(bits).unwrap_or(u16::MAX)
}

/// Hashes a number. A gather's index is such a hash, modulo the size of its dimension.
pub(crate) fn lowbias32(mut hash: u32) -> u32 {
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(0x7feb_352d);
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x846c_a68b);
    hash ^ (hash >> 16)
}

/// Returns coordinate `i` of a gather's index tuples. `i` counts the coordinates of all tuples in order.
pub(crate) fn index(shape: &[usize], depth: usize, i: usize) -> usize {
    let count = u32::try_from(i & u32::MAX as usize).unwrap_or(u32::MAX);
    lowbias32(count) as usize % shape[i % depth]
}

/// Returns where box `n` of a crop begins in each cropped dimension, and in which of them it is flipped. The box lies
/// inside the array. Only the last dimension can be flipped.
pub(crate) fn crop_box(shape: &[usize], sizes: &[usize], n: usize) -> (Vec<usize>, Vec<bool>) {
    let hash =
        |i: usize| lowbias32(u32::try_from(i & u32::MAX as usize).unwrap_or(u32::MAX)) as usize;
    let dims = sizes.iter().zip(&shape[1..]).enumerate();
    let begins = dims.map(|(d, (size, dim))| hash(sizes.len() * n + d) % (dim - size + 1));
    let mut flips = vec![false; sizes.len()];
    if let Some(last) = flips.last_mut() {
        *last = hash(n + 1_000_003) % 2 == 1;
    }
    (begins.collect(), flips)
}

/// The host has too little memory for the data of a workload.
#[derive(Debug, thiserror::Error)]
#[error("no memory left on the host for {0} bytes: choose smaller workloads with --only")]
pub(crate) struct OutOfMemory(usize);

/// Returns an empty vector with room for `bytes` bytes.
fn room(bytes: usize) -> Result<Vec<u8>, OutOfMemory> {
    let mut room = Vec::new();
    let outcome = room.try_reserve_exact(bytes);
    outcome.map(|()| room).map_err(|_| OutOfMemory(bytes))
}

/// Returns bytes of 0xa5: if a run leaves some of them unwritten, the checksum of its result is most likely wrong.
pub(crate) fn garbage(bytes: usize) -> Result<Vec<u8>, OutOfMemory> {
    let mut garbage = room(bytes)?;
    garbage.resize(bytes, 0xa5);
    Ok(garbage)
}

/// Bytes that tensors share.
#[derive(Clone, Debug)]
pub(crate) struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The bytes of a result in host memory.
pub(crate) struct HostResult(Box<dyn AsRef<[u8]>>);

impl AsRef<[u8]> for HostResult {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

struct Bytes<T>(Vec<T>);

impl<T: Pod> AsRef<[u8]> for Bytes<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

/// A workload and its data on the host.
#[derive(Debug)]
pub(crate) struct Loaded<'a> {
    pub(crate) work: &'a Workload,
    pub(crate) input: Shared,
    /// The index tuples of a gather or a crop; otherwise empty.
    pub(crate) indices: Vec<i32>,
    /// The value of an update; otherwise empty.
    pub(crate) value: Shared,
    /// The expected checksum of the result, from the formula.
    pub(crate) expected: f64,
}

/// An operation and its data on the device of a backend.
#[derive(Debug)]
pub(crate) enum Tensors<'a> {
    Slice {
        input: Tensor,
        spec: &'a SliceSpec,
    },
    Gather {
        params: Tensor,
        indices: Tensor,
    },
    Transpose {
        input: Tensor,
        axes: &'a [usize],
    },
    Crop {
        input: Tensor,
        /// Begins, flips, and the index tuples that hold both.
        boxes: Box<[Tensor; 3]>,
        options: &'a CropOptions,
    },
    Update {
        input: Tensor,
        value: Tensor,
        spec: &'a SliceSpec,
    },
}

impl<'a> Loaded<'a> {
    pub(crate) fn new(work: &'a Workload) -> Result<Self, OutOfMemory> {
        let count = work.shape.iter().product();
        let input = Shared(Arc::new(work.values.elements(count)?));
        let indices = match work.operation {
            Operation::Slice { .. } | Operation::Transpose { .. } | Operation::Update { .. } => {
                Vec::new()
            }
            Operation::Crop { ref options } => (0..work.shape[0])
                .flat_map(|n| {
                    let (begins, flips) = crop_box(&work.shape, &options.sizes, n);
                    let begins = begins
                        .into_iter()
                        .map(|at| i32::try_from(at).unwrap_or(i32::MAX));
                    begins
                        .chain(flips.into_iter().map(i32::from))
                        .collect::<Vec<_>>()
                })
                .collect(),
            Operation::Gather { rows, depth } => {
                let mut indices = Vec::new();
                let count = rows * depth;
                if indices.try_reserve_exact(count).is_err() {
                    return Err(OutOfMemory(count.saturating_mul(size_of::<i32>())));
                }
                let index = |i| i32::try_from(index(&work.shape, depth, i)).unwrap_or(i32::MAX);
                indices.extend((0..count).map(index));
                indices
            }
        };
        let value = match &work.operation {
            Operation::Update { value, .. } => {
                let values = (0..value.iter().product()).map(|i| work.values.update(i));
                values.flat_map(|value| work.values.encode(value)).collect()
            }
            _ => Vec::new(),
        };
        Ok(Self {
            work,
            input,
            indices,
            value: Shared(Arc::new(value)),
            expected: checksum::expected(work),
        })
    }

    /// Returns memory for the result: a copy of the input if the workload changes the input in place, otherwise
    /// [`garbage`].
    pub(crate) fn dest(&self) -> Result<Vec<u8>, OutOfMemory> {
        let mut dest = garbage(self.work.plan.result_bytes())?;
        if self.work.plan.is_in_place() {
            dest.copy_from_slice(self.input.as_ref());
        }
        Ok(dest)
    }

    /// Compares the checksum of a result with the expected checksum.
    pub(crate) fn verify(&self, result: &[u8]) -> Result<(), Wrong> {
        checksum::verify(self.work, self.expected, result)
    }

    /// Runs the workload from host values to host values in new memory.
    pub(crate) fn host_to_host(&self, backend: &Backend) -> Result<HostResult, Error> {
        match self.work.values.dtype().size() {
            1 => self.typed::<u8>(backend),
            2 => self.typed::<u16>(backend),
            4 => self.typed::<u32>(backend),
            _ => self.typed::<u64>(backend),
        }
    }

    /// Does the work of [`Loaded::host_to_host`]. `T` is an unsigned integer of the size of an element.
    fn typed<T: Element + Pod>(&self, backend: &Backend) -> Result<HostResult, Error> {
        let work = self.work;
        // Bytes that are aligned for `T` are borrowed, as those of large vectors usually are. Other bytes are copied.
        fn cast<T: Pod>(bytes: &[u8]) -> Cow<'_, [T]> {
            bytemuck::try_cast_slice(bytes)
                .map_or_else(|_| bytemuck::pod_collect_to_vec(bytes).into(), Cow::from)
        }
        let (input, value) = (cast(self.input.as_ref()), cast(self.value.as_ref()));
        let input: (&[T], &[usize]) = (&input, &work.shape);
        let array = match &work.operation {
            Operation::Slice { spec, .. } => backend.slice((input.0, input.1), spec)?,
            &Operation::Gather { rows, depth } => {
                let indices = (&self.indices, &[rows, depth]);
                let options = GatherOptions::default();
                backend.gather_nd((input.0, input.1), indices, options)?.0
            }
            Operation::Transpose { axes } => {
                backend.run_view(input.0, &View::new(input.1)?.transpose(axes)?)?
            }
            Operation::Crop { options } => {
                let dims = options.sizes.len();
                let (begins, flips) = self.boxes(dims);
                let shape = [work.shape[0], dims];
                let flips = Some(ArrayRef::from((&flips, &shape)));
                let begins = (&begins, &shape);
                backend
                    .crop((input.0, input.1), begins, None, flips, options)?
                    .0
            }
            Operation::Update {
                spec, value: shape, ..
            } => {
                let value: (&[T], &[usize]) = (&value, shape);
                backend.slice_update((input.0, input.1), spec, (value.0, value.1))?
            }
        };
        Ok(HostResult(Box::new(Bytes(array.data))))
    }

    /// Returns the begins and the flips of all boxes of a crop. A box has `dims` begins and `dims` flips.
    fn boxes(&self, dims: usize) -> (Vec<i32>, Vec<bool>) {
        let tuples = self.indices.chunks(2 * dims.max(1));
        let begins = tuples.clone().flat_map(|tuple| &tuple[..dims]);
        let flips = tuples.flat_map(|tuple| &tuple[dims..]);
        (
            begins.copied().collect(),
            flips.map(|&flip| flip != 0).collect(),
        )
    }

    /// Uploads the data to the device of `backend`.
    pub(crate) fn upload(&self, backend: &Backend) -> Result<Tensors<'a>, Error> {
        let work = self.work;
        let input = Tensor::from_bytes(
            backend,
            self.input.clone(),
            work.values.dtype(),
            &work.shape,
        )?;
        Ok(match &work.operation {
            Operation::Slice { spec, .. } => Tensors::Slice { input, spec },
            &Operation::Gather { rows, depth } => Tensors::Gather {
                params: input,
                indices: backend.upload((&self.indices, &[rows, depth]))?,
            },
            Operation::Transpose { axes } => Tensors::Transpose { input, axes },
            Operation::Crop { options } => {
                let (count, dims) = (work.shape[0], options.sizes.len());
                let (begins, flips) = self.boxes(dims);
                Tensors::Crop {
                    input,
                    boxes: Box::new([
                        backend.upload((&begins, &[count, dims]))?,
                        backend.upload((&flips, &[count, dims]))?,
                        backend.upload((&self.indices, &[count, 2 * dims]))?,
                    ]),
                    options,
                }
            }
            Operation::Update { spec, value, .. } => Tensors::Update {
                input,
                value: Tensor::from_bytes(backend, self.value.clone(), work.values.dtype(), value)?,
                spec,
            },
        })
    }
}

impl Tensors<'_> {
    /// Runs the workload into a new tensor.
    pub(crate) fn run(&self) -> Result<Tensor, Error> {
        match self {
            Tensors::Slice { input, spec } => input.slice(spec),
            Tensors::Gather { params, indices } => params
                .gather_nd(indices, GatherOptions::default())
                .map(|gathered| gathered.0),
            Tensors::Transpose { input, axes } => input.view().transpose(axes)?.to_tensor(),
            Tensors::Crop {
                input,
                boxes,
                options,
            } => {
                let [begins, flips, _] = &**boxes;
                let cropped = input.crop(begins, None, Some(flips), options)?;
                Ok(cropped.0)
            }
            Tensors::Update { input, value, spec } => {
                // The clone shares its memory with the input, so the update copies that memory first.
                let mut changed = input.clone();
                changed.slice_update(spec, value)?;
                Ok(changed)
            }
        }
    }
}
