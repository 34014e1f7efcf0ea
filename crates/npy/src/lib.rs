//! Reads and writes the headers of NumPy's `.npy` files, versions 1.0 to 3.0, for arrays of any element type.
//!
//! This crate is part of wgslice's commands. In your own program, read `.npy` files with `npyz` or `ndarray-npy`, and
//! pass their values to wgslice. The commands do not use these crates, because both reject headers that NumPy accepts,
//! such as `'i4'`, `'float32'` and `u'<i4'`. In addition, `ndarray-npy` rejects strings, dates and structured types.
//! Apart from parsing the header's text, this crate does little: it limits the header's length and finds the offset of
//! the elements.
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

mod literal;
mod text;
mod types;

pub use types::{Field, Kind, Type, Unit};

use std::io::{self, Read, Seek, SeekFrom};
use wgslice::DType;

const MAGIC: &[u8] = b"\x93NUMPY";

/// The length in bytes of the longest accepted header. The header of a plain array has about 100 bytes. NumPy itself
/// accepts 10,000 bytes unless `max_header_size` or `allow_pickle` says otherwise.
const MAX_HEADER: u32 = 1 << 16;

/// The header of a file with elements of any type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The type of the elements.
    pub element: Type,
    /// True if the elements are in Fortran order: the first dimension is contiguous.
    pub column_major: bool,
    /// The shape of the array.
    pub shape: Vec<usize>,
}

/// The header of a file with numbers or booleans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The type of the elements.
    pub dtype: DType,
    /// The byte order of the elements. [`ByteOrder::NATIVE`] for elements of one byte.
    pub byte_order: ByteOrder,
    /// True if the elements are in Fortran order: the first dimension is contiguous.
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

/// The reason why a header cannot be read or written. Except for errors of the operating system, most messages say what
/// to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error of the operating system.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file does not begin with a supported header, or an `.npy` file cannot store the array.
    #[error("{0}")]
    Invalid(String),
}

impl Error {
    fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }
}

impl Described {
    /// Reads the header of a file, or of its bytes in memory, and leaves `file` at its first element. Does not check
    /// whether the file has all elements.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the file does not begin with a header, or if the header is too long, is malformed or has
    /// an unknown version; [`Error::Io`] if the file cannot be read.
    pub fn read(file: &mut (impl Read + Seek)) -> Result<Self, Error> {
        text::parse_header(&read_text(file)?)
    }

    /// Returns the bytes before the elements of a file. Their number is a multiple of 64, as in NumPy's files. The
    /// version of the format is 1.0 or, for names that are not in Latin-1, 3.0.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the header is too long for the version.
    pub fn bytes(&self) -> Result<Vec<u8>, Error> {
        let text = text::write_header(self);
        let latin_text: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c).ok()).collect();
        let (version, prefix_len) = if latin_text.is_some() {
            (1, 10)
        } else {
            (3, 12)
        };
        let mut text = latin_text.unwrap_or_else(|| text.into_bytes());
        let len = (prefix_len + text.len() + 1).next_multiple_of(64) - prefix_len;
        text.resize(len - 1, b' ');
        text.push(b'\n');
        let too_long = || {
            Error::invalid(format!(
                "the header takes {len} bytes, which are too many for an .npy file: the array has too \
                 many dimensions or fields"
            ))
        };
        let mut bytes = MAGIC.to_vec();
        bytes.extend([version, 0]);
        match version {
            1 => bytes.extend(u16::try_from(len).map_err(|_| too_long())?.to_le_bytes()),
            _ => bytes.extend(u32::try_from(len).map_err(|_| too_long())?.to_le_bytes()),
        }
        bytes.extend(text);
        Ok(bytes)
    }
}

impl Header {
    /// Reads the header of a file, or of its bytes in memory, and leaves `file` at its first element. Does not check
    /// whether the file has all elements.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the file does not begin with the header of an array of numbers, or if the header is
    /// too long; [`Error::Io`] if the file cannot be read.
    pub fn read(file: &mut (impl Read + Seek)) -> Result<Self, Error> {
        let Described {
            element,
            column_major,
            shape,
        } = Described::read(file)?;
        Ok(Self {
            dtype: element.number().ok_or_else(|| unsupported_type(&element))?,
            byte_order: element.byte_order,
            column_major,
            shape,
        })
    }

    /// Returns the bytes before the elements of a row-major array in this machine's byte order, as
    /// [`Described::bytes`] does.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if NumPy has no such element type, or if the shape has too many dimensions for version 1.0
    /// of the format.
    pub fn bytes(dtype: DType, shape: &[usize]) -> Result<Vec<u8>, Error> {
        if dtype == DType::BF16 {
            return Err(Error::invalid(format!(
                "{} has no name in .npy; convert the array to float32, or store the same bits as \
                 uint16, before wgslice reads it",
                dtype.name()
            )));
        }
        let array = Described {
            element: Type::number_in(dtype, ByteOrder::NATIVE),
            column_major: false,
            shape: shape.to_vec(),
        };
        array.bytes()
    }
}

/// Returns the error for a type that is not a type of numbers.
fn unsupported_type(element: &Type) -> Error {
    let remark = element.remark();
    if element.kind == Kind::Void && element.size == 2 {
        return Error::invalid(
            "dtype 'V2' is two bytes without a meaning: NumPy writes bfloat16 this way, but \
             does not say so in the file; save it as .safetensors, or as uint16 with \
             .view('uint16')",
        );
    }
    let remedy = match element.is_fixed() {
        true => {
            "; save the array as bool, int8 to int64, uint8 to uint64, float16 to float64, complex64 \
             or complex128"
        }
        false => "",
    };
    Error::invalid(format!(
        "dtype {element} is not supported: {remark}{remedy}"
    ))
}

/// Reads the bytes before the elements and returns the header's text. In versions before 3.0, the text is encoded in
/// Latin-1.
fn read_text(file: &mut (impl Read + Seek)) -> Result<String, Error> {
    let truncated_header =
        || Error::invalid("the file ends within its header; copy or save it again");
    let not_an_npy_file = || {
        Error::invalid(
            "not an .npy file (it does not begin with \\x93NUMPY); save it with numpy.save",
        )
    };
    let mut first_bytes = [0; 8];
    read_exactly(file, &mut first_bytes, not_an_npy_file)?;
    if !first_bytes.starts_with(MAGIC) {
        return Err(not_an_npy_file());
    }
    let len = match [first_bytes[6], first_bytes[7]] {
        [1, 0] => {
            let mut len = [0; 2];
            read_exactly(file, &mut len, truncated_header)?;
            u16::from_le_bytes(len).into()
        }
        [2 | 3, 0] => {
            let mut len = [0; 4];
            read_exactly(file, &mut len, truncated_header)?;
            u32::from_le_bytes(len)
        }
        [major, minor] => {
            return Err(Error::invalid(format!(
                ".npy version {major}.{minor} is unknown; versions 1.0, 2.0 and 3.0 can be read"
            )));
        }
    };
    let text_offset = file.stream_position()?;
    let bytes_left = file.seek(SeekFrom::End(0))?.saturating_sub(text_offset);
    file.seek(SeekFrom::Start(text_offset))?;
    if u64::from(len) > bytes_left {
        return Err(Error::invalid(format!(
            "the header should take {len} bytes, but the file ends before that; copy or save it again"
        )));
    }
    if len > MAX_HEADER {
        return Err(Error::invalid(format!(
            "a header of {len} bytes; plain arrays have short ones, at most {MAX_HEADER} are read"
        )));
    }
    let mut text = vec![0; len as usize];
    read_exactly(file, &mut text, truncated_header)?;
    match first_bytes[6] {
        3 => String::from_utf8(text).map_err(|_| {
            Error::invalid("the header is not UTF-8; save the array again with numpy.save")
        }),
        _ => Ok(text.into_iter().map(char::from).collect()),
    }
}

/// Fills `bytes` from the file. If the file ends too early, the error is `end_error()`.
fn read_exactly(
    file: &mut impl Read,
    bytes: &mut [u8],
    end_error: impl FnOnce() -> Error,
) -> Result<(), Error> {
    file.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => end_error(),
        _ => error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    /// A file that ends too early is [`Error::Invalid`]. A read that fails for another reason is [`Error::Io`].
    #[test]
    #[cfg(unix)]
    fn a_file_that_cannot_be_read_is_not_an_invalid_file() {
        let mut folder = File::open("/").unwrap();
        assert!(matches!(Header::read(&mut folder), Err(Error::Io(_))));
        let mut empty = File::open("/dev/null").unwrap();
        assert!(matches!(Header::read(&mut empty), Err(Error::Invalid(_))));
    }
}
