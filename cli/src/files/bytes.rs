//! The bytes of an array: in memory, or in the file itself through a memory map.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use memmap2::{Mmap, MmapOptions};

use super::error::Problem;

/// The minimum length, in bytes, of a range that is mapped. A shorter range is cheaper to read than to map.
pub(super) const MIN_MAPPED_BYTES: usize = 1 << 20;

/// The bytes of an array.
#[derive(Debug)]
pub(crate) enum Bytes {
    Owned(Vec<u8>),
    MappedBytes(MappedBytes),
}

/// A mapped range of a file. The range begins at byte `offset` of the file.
#[derive(Debug)]
pub(crate) struct MappedBytes {
    map: Mmap,
    file: File,
    offset: u64,
}

impl Bytes {
    /// Returns `len` bytes of `file`, starting at byte `offset`. Maps ranges of at least [`MIN_MAPPED_BYTES`] bytes and
    /// reads shorter ranges.
    ///
    /// A mapped file must not be made shorter while the command runs. If another program does so, the command ends with
    /// an error when it touches the missing part (SIGBUS on Unix, see `signals`) and leaves no output. Replacing the
    /// file by renaming another file over it, as this command does when it writes, is safe: the map keeps the old
    /// content.
    pub(super) fn from_file(file: &mut File, offset: u64, len: usize) -> Result<Self, Problem> {
        if len >= MIN_MAPPED_BYTES {
            return Ok(Self::MappedBytes(MappedBytes {
                map: map_file(file, offset, len)?,
                file: file.try_clone()?,
                offset,
            }));
        }
        check_range(file, offset, len)?;
        let mut bytes = zeroed_bytes(len)?;
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(&mut bytes)?;
        Ok(Self::Owned(bytes))
    }

    /// Returns a range of the bytes. If the bytes are mapped and the range is large, the window has its own map, which
    /// is removed with the window.
    pub(super) fn window(&self, range: Range<usize>) -> io::Result<Window<'_>> {
        match self {
            Self::MappedBytes(MappedBytes { file, offset, .. })
                if range.len() >= MIN_MAPPED_BYTES =>
            {
                let begin = offset + range.start as u64;
                Ok(Window::MappedBytes(map_file(file, begin, range.len())?))
            }
            _ => Ok(Window::Borrowed(&self[range])),
        }
    }

    pub(super) fn into_vec(self) -> Result<Vec<u8>, Problem> {
        match self {
            Self::Owned(bytes) => Ok(bytes),
            Self::MappedBytes(MappedBytes { map, .. }) => copy_bytes(&map),
        }
    }
}

impl std::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => bytes,
            Self::MappedBytes(MappedBytes { map, .. }) => map,
        }
    }
}

/// A range of the bytes of an array.
#[derive(Debug)]
pub(crate) enum Window<'a> {
    Borrowed(&'a [u8]),
    MappedBytes(Mmap),
}

impl AsRef<[u8]> for Window<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::MappedBytes(map) => map,
        }
    }
}

fn map_file(file: &File, offset: u64, len: usize) -> io::Result<Mmap> {
    check_range(file, offset, len)?;
    // SAFETY: `Mmap` hands out `&[u8]`, so the mapped bytes must exist and must not change while the slice lives. They
    // exist now: the range was just checked against the file's length. This command never writes to or shortens an
    // existing file. It only renames a new file over an existing file. No portable way exists to keep other programs
    // from writing to or shortening the file. The documentation of `from_file` asks the user to prevent it. The bytes
    // are only copied as plain numbers of any bit pattern, so a change by another program shows as changed numbers. A
    // copy would avoid the map, at the price of reading a whole large file to take a small slice of it.
    unsafe { MmapOptions::new().offset(offset).len(len).map(file) }
}

fn check_range(file: &File, offset: u64, len: usize) -> io::Result<()> {
    let end = u64::try_from(len).ok().and_then(|n| offset.checked_add(n));
    if end.is_none_or(|end| end > file_len(file)) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

/// Returns the current length of `file` in bytes, or 0 if it is unknown.
pub(super) fn file_len(file: &File) -> u64 {
    file.metadata().map_or(0, |metadata| metadata.len())
}

/// Returns `len` zero bytes. The length can come from a file, so lack of memory is an error, not an abort.
pub(super) fn zeroed_bytes(len: usize) -> Result<Vec<u8>, Problem> {
    let mut bytes = reserve_bytes(len)?;
    bytes.resize(len, 0);
    Ok(bytes)
}

/// Copies bytes. Lack of memory is an error, as in [`zeroed_bytes`].
pub(super) fn copy_bytes(bytes: &[u8]) -> Result<Vec<u8>, Problem> {
    let mut copy = reserve_bytes(bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

fn reserve_bytes(len: usize) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).map_err(|_| {
        Problem::invalid(format!(
            "the array needs {len} bytes, more than the memory that is free"
        ))
    })?;
    Ok(bytes)
}
