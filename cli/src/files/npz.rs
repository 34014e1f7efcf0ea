//! NumPy's `.npz`: a ZIP archive of `.npy` files.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};

use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, ZipArchive, ZipWriter, result::ZipError};

use super::error::Problem;
use super::{Array, Entry, npy, output::Output};

/// More bytes than the header of an `.npy` file takes.
const HEADER: u64 = 1 << 17;

/// Longer members need the 64-bit form.
const SHORT: usize = u32::MAX as usize - (1 << 20);

type Archive = ZipArchive<BufReader<File>>;

/// Reads the array of this name, or the only one.
pub(super) fn read(file: File, name: Option<&str>) -> Result<Array, Problem> {
    let mut archive = open(file)?;
    let names = names(&archive)?;
    let name = match (name, &names[..]) {
        (Some(name), _) if names.iter().any(|there| there == name) => name,
        (None, [only]) => only,
        (Some(name), _) => {
            return Err(Problem::invalid(format!(
                "it holds no array named {name:?}; {}",
                super::listing(names.iter())
            )));
        }
        (None, _) => {
            return Err(Problem::invalid(format!(
                "which array? name it after a #, as in x.npz#name; {}",
                super::listing(names.iter())
            )));
        }
    };
    let mut array = npy::read(&mut member(&mut archive, name, u64::MAX)?)?;
    array.origin.tensor = Some(name.to_owned());
    Ok(array)
}

/// Lists the arrays. One that cannot be read does not hide the others.
pub(super) fn list(file: File) -> Result<Vec<Entry>, Problem> {
    let mut archive = open(file)?;
    let names = names(&archive)?;
    let entry = |name: String| {
        let bytes = size(&mut archive, &name);
        let described = member(&mut archive, &name, HEADER);
        let described = described.and_then(|mut file| npy::entry(&mut file, bytes));
        let unreadable = |problem: Problem| Entry {
            name: None,
            dtype: None,
            shape: None,
            bytes,
            column_major: false,
            big_endian: false,
            damaged: Some(problem.to_string()),
            unsupported: None,
        };
        Entry {
            name: Some(name),
            ..described.unwrap_or_else(unreadable)
        }
    };
    Ok(names.into_iter().map(entry).collect())
}

fn open(file: File) -> Result<Archive, Problem> {
    ZipArchive::new(BufReader::new(file)).map_err(damaged)
}

/// The names of the arrays, without their extension.
fn names(archive: &Archive) -> Result<Vec<String>, Problem> {
    let names = archive.file_names().map(|name| name.map_err(damaged));
    let names = names.collect::<Result<Vec<_>, _>>()?;
    let arrays = names.iter().filter_map(|name| name.strip_suffix(".npy"));
    Ok(arrays.map(str::to_owned).collect())
}

/// The bytes of a member that is unpacked, as the archive says.
fn size(archive: &mut Archive, name: &str) -> u64 {
    let member = archive.index_for_name(&format!("{name}.npy"));
    let member = member.and_then(|at| archive.by_index_raw(at).ok());
    member.map_or(0, |member| member.size())
}

/// Unpacks the begin of a member to a nameless file.
fn member(archive: &mut Archive, name: &str, most: u64) -> Result<File, Problem> {
    let packed = archive.by_name(&format!("{name}.npy")).map_err(damaged)?;
    let mut file = tempfile::tempfile()?;
    io::copy(&mut packed.take(most), &mut file)?;
    file.rewind()?;
    Ok(file)
}

fn damaged(error: ZipError) -> Problem {
    match error {
        ZipError::Io(error) if error.kind() != io::ErrorKind::UnexpectedEof => Problem::Io(error),
        error => Problem::invalid(format!("{error}; not an .npz file, or a damaged one")),
    }
}

/// An archive of one array that is being written.
pub(super) type Packed = ZipWriter<StreamWriter<Output>>;

/// Creates an archive and writes everything that comes before the data: the other members of the file that is there, as
/// they are, and the header of the array.
pub(super) fn create(
    output: impl FnOnce() -> Result<Output, Problem>,
    name: &str,
    header: &[u8],
    len: usize,
    present: Option<File>,
) -> Result<Packed, Problem> {
    let member = format!("{name}.npy");
    let present = present.map(open).transpose()?;
    let mut archive = ZipWriter::new_stream(output()?);
    if let Some(mut present) = present {
        archive
            .set_raw_comment(present.comment().into())
            .map_err(damaged)?;
        for at in 0..present.len() {
            let other = present.by_index_raw(at).map_err(damaged)?;
            if other.name_raw() != member.as_bytes() {
                archive.raw_copy_file(other).map_err(damaged)?;
            }
        }
    }
    // As `numpy.savez` does, without compression.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .large_file(len > SHORT);
    archive.start_file(member, options).map_err(damaged)?;
    archive.write_all(header)?;
    Ok(archive)
}

pub(super) fn finish(archive: Packed) -> Result<(), Problem> {
    archive.finish().map_err(damaged)?.into_inner().finish()
}
