//! Reads the indices of a gather and the starts of a crop's boxes: an array in a store or in an `.npy` file.

use super::{
    copy::{Dim, copy_box},
    walk::{self, AxisWalk},
};
use crate::zarr::{
    Error, Reader, Source,
    allocate::{Purpose, zeros},
    is_store,
    npy::NpyFile,
    product, strides,
};
use serde::{Deserialize, Serialize};
use std::{ops::Range, path::Path};
use wgslice::DType;

/// An array in a store or in an `.npy` file, which can be read box by box.
#[derive(Debug)]
pub(super) enum Input {
    Zarr(Box<Source>),
    Npy(NpyFile),
}

/// The properties that show whether a file, or the metadata of a store, has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fingerprint {
    /// A checksum of an array's metadata in a store. A change of the elements alone does not change it.
    Metadata(u32),
    /// The length of a file in bytes, and the time of its last change in nanoseconds since 1970.
    File(u64, u64),
}

/// Describes the memory for a box in errors.
const BOX_PURPOSE: Purpose<&str> = Purpose {
    content: "a box of the array that one task reads",
    way_out: "make smaller shards with --shard, or write the array anew with smaller chunks",
};

impl Fingerprint {
    pub(super) fn of_store(source: &Source) -> Self {
        Self::Metadata(source.fingerprint())
    }

    pub(super) fn of_file(file: &NpyFile) -> Result<Self, Error> {
        let (length, change_time) = file.identity()?;
        Ok(Self::File(length, change_time))
    }
}

impl Input {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        if is_store(path) {
            return Ok(Self::Zarr(Box::new(Source::open(path)?)));
        }
        Ok(Self::Npy(NpyFile::open(path)?))
    }

    pub(super) fn shape(&self) -> &[usize] {
        match self {
            Self::Zarr(source) => source.shape(),
            Self::Npy(file) => file.shape(),
        }
    }

    pub(super) fn dtype(&self) -> DType {
        match self {
            Self::Zarr(source) => source.dtype(),
            Self::Npy(file) => file.dtype(),
        }
    }

    pub(super) fn fingerprint(&self) -> Result<Fingerprint, Error> {
        match self {
            Self::Zarr(source) => Ok(Fingerprint::of_store(source)),
            Self::Npy(file) => Fingerprint::of_file(file),
        }
    }

    /// Returns the bytes of the elements of a box, in row-major order.
    fn read(&self, ranges: &[Range<usize>]) -> Result<Vec<u8>, Error> {
        match self {
            Self::Zarr(source) => read_box(source, &mut source.reader(), ranges),
            Self::Npy(file) => {
                let shape: Vec<usize> = ranges.iter().map(Range::len).collect();
                let mut bytes = zeros(product(&shape) * file.dtype().size(), BOX_PURPOSE)?;
                file.read_box(ranges, &mut bytes, &strides(&shape))?;
                Ok(bytes)
            }
        }
    }
}

/// Returns the bytes of the elements of a box of an array in a store, in row-major order.
pub(super) fn read_box(
    source: &Source,
    reader: &mut Reader<'_>,
    ranges: &[Range<usize>],
) -> Result<Vec<u8>, Error> {
    let shape: Vec<usize> = ranges.iter().map(Range::len).collect();
    let element_bytes = source.dtype().size();
    let mut bytes = zeros(product(&shape) * element_bytes, BOX_PURPOSE)?;
    let (from, to) = (strides(source.chunk()), strides(&shape));
    let dims = (0..shape.len()).zip(source.chunk());
    let segments: Vec<_> = dims
        .map(|(dim, &chunk)| AxisWalk::whole(dim).segments(ranges, chunk))
        .collect();
    walk::product(&segments, |segments| {
        let at: Vec<usize> = segments.iter().map(|segment| segment.chunk).collect();
        let chunk = reader.chunk(&at)?;
        let place = segments.iter().zip(from.iter().zip(&to));
        let read_start = place
            .clone()
            .map(|(segment, (from, _))| segment.begin * from)
            .sum();
        let written_start = place
            .clone()
            .map(|(segment, (_, to))| segment.result_index * to)
            .sum();
        let dims = place.map(|(segment, (&from, &to))| Dim {
            size: segment.count,
            from: from.cast_signed(),
            to,
        });
        copy_box(
            (chunk.as_ref(), read_start),
            (&mut bytes, written_start),
            dims,
            element_bytes,
        );
        Ok(())
    })?;
    Ok(bytes)
}

/// An array of indices.
#[derive(Debug)]
pub(super) struct IndexArray(Input);

impl IndexArray {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let input = Input::open(path)?;
        if let Input::Zarr(source) = &input {
            source.numeric_dtype()?;
        }
        let dtype = input.dtype();
        let is_integer = !matches!(
            dtype,
            DType::Bool
                | DType::F16
                | DType::BF16
                | DType::F32
                | DType::F64
                | DType::Complex64
                | DType::Complex128
        );
        if !is_integer {
            let dtype = dtype.name();
            return Err(Error::usage(format_args!(
                "indices in {} are {dtype}, but must be integers: convert them",
                path.display()
            )));
        }
        Ok(Self(input))
    }

    pub(super) fn shape(&self) -> &[usize] {
        self.0.shape()
    }

    pub(super) fn fingerprint(&self) -> Result<Fingerprint, Error> {
        self.0.fingerprint()
    }

    /// Returns the indices of a box, in row-major order.
    pub(super) fn read(&self, ranges: &[Range<usize>]) -> Result<Vec<i64>, Error> {
        let bytes = self.0.read(ranges)?;
        Ok(match self.0.dtype() {
            DType::I8 => map_numbers(&bytes, |b| i8::from_ne_bytes(b).into()),
            DType::U8 => map_numbers(&bytes, |b| u8::from_ne_bytes(b).into()),
            DType::I16 => map_numbers(&bytes, |b| i16::from_ne_bytes(b).into()),
            DType::U16 => map_numbers(&bytes, |b| u16::from_ne_bytes(b).into()),
            DType::I32 => map_numbers(&bytes, |b| i32::from_ne_bytes(b).into()),
            DType::U32 => map_numbers(&bytes, |b| u32::from_ne_bytes(b).into()),
            DType::I64 => map_numbers(&bytes, i64::from_ne_bytes),
            // An index that does not fit an `i64` becomes the largest `i64`. Both are out of range, because no array
            // has that many elements.
            _ => map_numbers(&bytes, |b| {
                u64::from_ne_bytes(b).try_into().unwrap_or(i64::MAX)
            }),
        })
    }
}

fn map_numbers<const N: usize>(bytes: &[u8], to_i64: impl Fn([u8; N]) -> i64) -> Vec<i64> {
    bytes
        .as_chunks()
        .0
        .iter()
        .map(|&bytes| to_i64(bytes))
        .collect()
}
