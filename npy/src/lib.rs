//! Headers of NumPy's `.npy` files, versions 1.0 to 3.0, of arrays of plain numbers.
//!
//! This crate is part of the commands and is not published: in your own program, `npyz` or `ndarray-npy` reads `.npy`
//! files, and their values go to wgslice. The commands map files and move the bytes of any element type, so that they
//! need the header, its offset and a bound on its length, and no elements. Those crates read and write elements of Rust
//! types, one by one or as arrays of ndarray; of their headers, the element type and its byte order would still have to
//! be read here.
//!
//! ```
//! use wgslice::DType;
//! use wgslice_npy::{ByteOrder, Header};
//!
//! let path = std::env::temp_dir().join(format!("wgslice-npy-{}.npy", std::process::id()));
//! std::fs::write(&path, Header::bytes(DType::F32, &[2, 3])?)?;
//! let header = Header::read(&mut std::fs::File::open(&path)?)?;
//! assert_eq!((header.dtype, header.shape), (DType::F32, vec![2, 3]));
//! assert!(header.byte_order == ByteOrder::NATIVE && !header.column_major);
//! # std::fs::remove_file(path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod text;

use std::{
    io::{self, Read, Seek, SeekFrom},
    iter,
};
use wgslice::DType;

const MAGIC: &[u8] = b"\x93NUMPY";

/// The length in bytes of the longest accepted header. The header of a plain array has about 100 bytes. NumPy itself
/// accepts 10,000 bytes unless `max_header_size` or `allow_pickle` says otherwise.
const MAX_HEADER: u32 = 1 << 16;

/// The header of a file, which describes the elements that follow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The type of the elements.
    pub dtype: DType,
    /// The byte order of the elements. [`ByteOrder::NATIVE`] for elements of one byte.
    pub byte_order: ByteOrder,
    /// Whether the elements are in Fortran order: the first dimension is contiguous.
    pub column_major: bool,
    /// The shape of the array.
    pub shape: Vec<usize>,
}

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// The lowest byte first.
    Little,
    /// The highest byte first.
    Big,
}

impl ByteOrder {
    /// The byte order of this machine.
    pub const NATIVE: Self = if cfg!(target_endian = "little") {
        Self::Little
    } else {
        Self::Big
    };
}

/// Why a header cannot be read or written. Except for errors of the operating system, most messages say what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error of the operating system.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is not an `.npy` file of plain numbers, or such a file cannot store the array.
    #[error("{0}")]
    Invalid(String),
}

impl Error {
    fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }
}

impl Header {
    /// Reads the header of a file, or of its bytes in memory, and leaves `file` at its first element. Does not check
    /// whether the file has all elements.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the file does not begin with the header of an array of plain numbers, or if the header is
    /// too long; [`Error::Io`] if the file cannot be read.
    pub fn read(file: &mut (impl Read + Seek)) -> Result<Self, Error> {
        text::parse(&text(file)?)
    }

    /// Returns the bytes before the elements of a row-major array in this machine's byte order, in version 1.0 of the
    /// format. The number of bytes is a multiple of 64, as in NumPy's files.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if NumPy has no such element type, or if the shape has too many dimensions for the version.
    pub fn bytes(dtype: DType, shape: &[usize]) -> Result<Vec<u8>, Error> {
        const FIXED: usize = 10;
        let mut text = text::write(dtype, shape)?;
        let len = (FIXED + text.len() + 1).next_multiple_of(64) - FIXED;
        let short = u16::try_from(len).map_err(|_| {
            Error::invalid(format!(
                "rank {} is too high for an .npy header",
                shape.len()
            ))
        })?;
        text.extend(iter::repeat_n(' ', len - 1 - text.len()));
        text.push('\n');
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend(short.to_le_bytes());
        bytes.extend(text.into_bytes());
        Ok(bytes)
    }
}

/// Reads what comes before the elements, and returns the header's text.
fn text(file: &mut (impl Read + Seek)) -> Result<Vec<u8>, Error> {
    let cut = || Error::invalid("the file ends within its header; copy or save it again");
    let other = || {
        Error::invalid(
            "not an .npy file (it does not begin with \\x93NUMPY); save it with numpy.save",
        )
    };
    let mut start = [0; 8];
    fill(file, &mut start, other)?;
    if !start.starts_with(MAGIC) {
        return Err(other());
    }
    let len = match [start[6], start[7]] {
        [1, 0] => {
            let mut len = [0; 2];
            fill(file, &mut len, cut)?;
            u16::from_le_bytes(len).into()
        }
        [2 | 3, 0] => {
            let mut len = [0; 4];
            fill(file, &mut len, cut)?;
            u32::from_le_bytes(len)
        }
        [major, minor] => {
            return Err(Error::invalid(format!(
                ".npy version {major}.{minor} is unknown; versions 1.0, 2.0 and 3.0 can be read"
            )));
        }
    };
    let at = file.stream_position()?;
    let left = file.seek(SeekFrom::End(0))?.saturating_sub(at);
    file.seek(SeekFrom::Start(at))?;
    if u64::from(len) > left {
        return Err(Error::invalid(format!(
            "the header should take {len} bytes, but the file ends before; copy or save it again"
        )));
    }
    if len > MAX_HEADER {
        return Err(Error::invalid(format!(
            "a header of {len} bytes; plain arrays have short ones, at most {MAX_HEADER} are read"
        )));
    }
    let mut text = vec![0; len as usize];
    fill(file, &mut text, cut)?;
    Ok(text)
}

/// Fills `bytes` from the file. If the file ends before, the error is `end()`.
fn fill(file: &mut impl Read, bytes: &mut [u8], end: impl FnOnce() -> Error) -> Result<(), Error> {
    file.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => end(),
        _ => error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    /// A file that ends too early is invalid, but a read that fails for another reason is an error of the system.
    #[test]
    #[cfg(unix)]
    fn a_file_that_cannot_be_read_is_no_invalid_file() {
        let mut folder = File::open("/").unwrap();
        assert!(matches!(Header::read(&mut folder), Err(Error::Io(_))));
        let mut empty = File::open("/dev/null").unwrap();
        assert!(matches!(Header::read(&mut empty), Err(Error::Invalid(_))));
    }
}
