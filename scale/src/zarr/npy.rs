//! Reads arrays of numbers or booleans in `.npy` files of versions 1.0 to 3.0, if they are in row-major order and the
//! machine's byte order.

use super::{Error, product, strides};
use crate::job::copy::{Dim, copy_box};
use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    ops::Range,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};
use wgslice::DType;
use wgslice_npy::{ByteOrder, Header};

/// An array in a file, which is read box by box.
#[derive(Debug)]
pub struct NpyFile {
    path: PathBuf,
    dtype: DType,
    shape: Vec<usize>,
    /// The offset in the file where the elements begin, in bytes.
    start: u64,
}

impl NpyFile {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the file cannot be read, is truncated, or is not an `.npy` file of numbers or booleans in
    /// row-major order and the machine's byte order.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let unfit =
            |problem: &str| Error::usage(format_args!("cannot read {}: {problem}", path.display()));
        let mut file = File::open(path).map_err(|error| unfit(&error.to_string()))?;
        let Header {
            dtype,
            byte_order,
            column_major,
            shape,
        } = Header::read(&mut file).map_err(|error| unfit(&error.to_string()))?;
        if byte_order != ByteOrder::NATIVE {
            let dtype = dtype.name();
            return Err(unfit(&format!(
                "its {dtype} elements have another byte order than this machine: save it again \
                 after .astype('{dtype}')"
            )));
        }
        if column_major && shape.iter().filter(|&&size| size > 1).count() > 1 {
            return Err(unfit(
                "its elements are in Fortran order, which cannot be read in pieces: save it again \
                 after numpy.ascontiguousarray",
            ));
        }
        let bytes = shape
            .iter()
            .try_fold(dtype.size(), |n, &size| n.checked_mul(size));
        let start = file
            .stream_position()
            .map_err(|error| unfit(&error.to_string()))?;
        let length = file
            .metadata()
            .map_err(|error| unfit(&error.to_string()))?
            .len();
        let end = bytes.and_then(|bytes| start.checked_add(bytes as u64));
        if end.is_none_or(|end| end > length) {
            let dtype = dtype.name();
            return Err(unfit(&format!(
                "shape {shape:?} of {dtype} takes more than the {length} bytes of the file: it is \
                 cut short, copy or save it again"
            )));
        }
        Ok(Self {
            path: path.to_owned(),
            dtype,
            shape,
            start,
        })
    }

    /// Returns the type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the shape of the array.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the file's length in bytes, and the time of its last change in nanoseconds since 1970.
    pub(crate) fn identity(&self) -> Result<(u64, u64), Error> {
        let failed = |error| Error::io(format_args!("cannot read {}", self.path.display()), &error);
        let metadata = self.path.metadata().map_err(failed)?;
        let change_time = metadata.modified().map_err(failed)?;
        let change_time = change_time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok((
            metadata.len(),
            u64::try_from(change_time.as_nanos()).unwrap_or(u64::MAX),
        ))
    }

    /// Writes the elements of a box to the beginning of `dest`. For each dimension, `dest_strides` has the distance in
    /// elements between neighbouring positions in `dest`. Returns the number of bytes that were read from the file,
    /// which can include bytes between the elements of the box.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn read_box(
        &self,
        ranges: &[Range<usize>],
        dest: &mut [u8],
        dest_strides: &[usize],
    ) -> Result<u64, Error> {
        let failed = |error| Error::io(format_args!("cannot read {}", self.path.display()), &error);
        if ranges.iter().any(Range::is_empty) {
            return Ok(0);
        }
        let mut file = File::open(&self.path).map_err(failed)?;
        let element_bytes = self.dtype.size();
        let from = strides(&self.shape);
        let sizes: Vec<usize> = ranges.iter().map(Range::len).collect();
        // Returns the number of file elements from the first to the last element of a part of the box. The part has one
        // position in each dimension before `dim`, and all of the box's positions in `dim` and the later dimensions.
        let span = |dim: usize| -> usize {
            let spans = sizes[dim..].iter().zip(&from[dim..]);
            spans
                .map(|(size, stride)| (size - 1) * stride)
                .sum::<usize>()
                + 1
        };
        let piece_count = |dim: usize| product(&sizes[..dim]);
        let dim = (0..=sizes.len())
            .filter(|&dim| dim == sizes.len() || span(dim) * element_bytes <= MAX_SPAN_BYTES)
            .min_by_key(|&dim| {
                piece_count(dim).saturating_mul(span(dim) * element_bytes + READ_COST_BYTES)
            })
            .unwrap_or(sizes.len());
        let mut piece = vec![0; span(dim) * element_bytes];
        let dims: Vec<Dim> = (dim..sizes.len())
            .map(|dim| Dim {
                size: sizes[dim],
                from: from[dim].cast_signed(),
                to: dest_strides[dim],
            })
            .collect();
        let origin: usize = ranges
            .iter()
            .zip(&from)
            .map(|(range, stride)| range.start * stride)
            .sum();
        for number in 0..piece_count(dim) {
            let at = super::coordinates(number, &sizes[..dim]);
            let read_offset: usize = at.iter().zip(&from).map(|(at, stride)| at * stride).sum();
            let written_offset = at
                .iter()
                .zip(dest_strides)
                .map(|(at, stride)| at * stride)
                .sum();
            file.seek(SeekFrom::Start(
                self.start + ((origin + read_offset) * element_bytes) as u64,
            ))
            .map_err(failed)?;
            file.read_exact(&mut piece).map_err(failed)?;
            copy_box(
                (&piece, 0),
                (dest, written_offset),
                dims.iter().copied(),
                element_bytes,
            );
        }
        Ok((piece_count(dim) * piece.len()) as u64)
    }
}

/// The maximum number of bytes of the file that one read covers.
pub(crate) const MAX_SPAN_BYTES: usize = 4 << 20;
/// The cost of one more read, expressed as the number of bytes that could be read in the same time.
const READ_COST_BYTES: usize = 4 << 10;
