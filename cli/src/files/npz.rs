//! Reads and writes NumPy's `.npz`: a ZIP archive of `.npy` files.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};

use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, ZipArchive, ZipWriter, read::ZipFile, result::ZipError};

use super::error::Problem;
use super::{Array, Entry, Format, describe_names, npy, output::Output, quote_name};

/// The extension of members. It is not part of the arrays' names.
const EXTENSION: &str = ".npy";

/// An upper bound of the length of an `.npy` header, in bytes.
const MAX_HEADER_BYTES: u64 = 1 << 17;

/// The maximum length of an array in a member without ZIP64, in bytes. The rest of the 4 GiB is for its `.npy` header.
const MAX_IN_32_BITS: usize = u32::MAX as usize - (1 << 20);

type Archive = ZipArchive<BufReader<File>>;

/// Reads the array with this name, or the only array. As in NumPy, the name can include the member's extension.
pub(super) fn read_npz(file: File, name: Option<&str>) -> Result<Array, Problem> {
    let mut archive = open_npz(file)?;
    let members = list_members(&mut archive)?;
    let (member, field) = choose_member(&members, name)?;
    let mut array = npy::read_npy(&mut unpack_start(&mut archive, member, u64::MAX)?, field)?;
    array.origin.array_name = Some(member.name.clone());
    Ok(array)
}

/// Returns the array with this name, or the only array. If the name ends with `#` and the name of a field, also returns
/// this field's name.
fn choose_member<'a>(
    members: &'a [Member],
    name: Option<&'a str>,
) -> Result<(&'a Member, Option<&'a str>), Problem> {
    let names = |requested_name| {
        describe_names(
            members.iter().map(|member| &member.name),
            requested_name,
            "array",
        )
    };
    let find = |name: &str| members.iter().find(|member| is_named(&member.name, name));
    // The name of a field can follow the array's name.
    let with_field = |name: &'a str| {
        let (name, field) = name.rsplit_once('#')?;
        Some((find(name)?, Some(field)))
    };
    match (name, members) {
        (Some(name), _) => {
            let whole_member = find(name).map(|member| (member, None));
            whole_member.or_else(|| with_field(name)).ok_or_else(|| {
                Problem::invalid(format!(
                    "it holds no array named {}; {}",
                    quote_name(name),
                    names(Some(name))
                ))
            })
        }
        (None, [member]) => Ok((member, None)),
        (None, _) => Err(Problem::invalid(format!(
            "which array? name it after a #, as in x.npz#name; {}",
            names(None)
        ))),
    }
}

/// Returns whether `requested_name` names this array, with or without the extension.
fn is_named(name: &str, requested_name: &str) -> bool {
    name == requested_name || requested_name.strip_suffix(EXTENSION) == Some(name)
}

/// Lists all arrays, or only the array with this name. An unreadable array does not hide the other arrays.
pub(super) fn list_npz(file: File, name: Option<&str>) -> Result<Vec<Entry>, Problem> {
    let mut archive = open_npz(file)?;
    let members = list_members(&mut archive)?;
    if name.is_some() {
        let (member, field) = choose_member(&members, name)?;
        let member_entry = describe_member(&mut archive, member, field)?;
        let name = [Some(&member.name[..]), field];
        return Ok(vec![Entry {
            name: Some(name.into_iter().flatten().collect::<Vec<_>>().join("#")),
            ..member_entry
        }]);
    }
    let entry = |member: Member| Entry {
        name: Some(member.name.clone()),
        ..describe_member(&mut archive, &member, None)
            .unwrap_or_else(|problem| unreadable_entry(&member, &problem))
    };
    Ok(members.into_iter().map(entry).collect())
}

/// Describes an array, or one of its fields, by its header.
fn describe_member(
    archive: &mut Archive,
    member: &Member,
    field: Option<&str>,
) -> Result<Entry, Problem> {
    match unpack_start(archive, member, MAX_HEADER_BYTES) {
        Ok(mut file) => npy::describe_npy(&mut file, member.bytes, field),
        Err(problem) => Ok(unreadable_entry(member, &problem)),
    }
}

/// Returns the entry for an array with an unreadable header.
fn unreadable_entry(member: &Member, problem: &Problem) -> Entry {
    let reason = Some(problem.to_string());
    let (damaged, unsupported) = match member.unsupported_method {
        None => (reason, None),
        Some(_) => (None, reason),
    };
    Entry {
        name: None,
        dtype: None,
        shape: None,
        bytes: member.bytes,
        column_major: false,
        big_endian: false,
        damaged,
        unsupported,
    }
}

fn open_npz(file: File) -> Result<Archive, Problem> {
    ZipArchive::new(BufReader::new(file)).map_err(damaged_npz)
}

/// An array in an archive.
struct Member {
    /// The name without the extension.
    name: String,
    index: usize,
    /// The unpacked size of the `.npy` file, in bytes.
    bytes: u64,
    /// The name of the compression method, if this command cannot unpack it.
    unsupported_method: Option<String>,
}

/// Returns the arrays: members with the extension, and members without it that begin like `.npy` files.
fn list_members(archive: &mut Archive) -> Result<Vec<Member>, Problem> {
    let mut members = Vec::new();
    for index in 0..archive.len() {
        let raw_member = archive.by_index_raw(index).map_err(damaged_npz)?;
        let (name, bytes) = (
            raw_member.name().map_err(damaged_npz)?.into_owned(),
            raw_member.size(),
        );
        let unsupported_method = match raw_member.compression() {
            CompressionMethod::Stored | CompressionMethod::Deflated => None,
            other => Some(match other.to_string() {
                name if name == "Unknown" => "an unknown method".into(),
                name => name,
            }),
        };
        drop(raw_member);
        let name = match name.strip_suffix(EXTENSION) {
            Some(name) => name.to_owned(),
            None if begins_as_npy(archive, index) => name,
            None => continue,
        };
        members.push(Member {
            name,
            index,
            bytes,
            unsupported_method,
        });
    }
    Ok(members)
}

fn begins_as_npy(archive: &mut Archive, index: usize) -> bool {
    let mut first_bytes = [0; 9];
    let read = |mut member: ZipFile<'_, _>| member.read_exact(&mut first_bytes).is_ok();
    archive.by_index(index).is_ok_and(read)
        && Format::from_file_start(&first_bytes) == Some(Format::Npy)
}

/// Unpacks the first `max_bytes` bytes of a member into an unnamed temporary file.
fn unpack_start(archive: &mut Archive, member: &Member, max_bytes: u64) -> Result<File, Problem> {
    if let Some(unsupported_method) = &member.unsupported_method {
        return Err(Problem::invalid(format!(
            "its array {} is packed by {unsupported_method}, which is not supported: save it by numpy.savez or \
             numpy.savez_compressed",
            quote_name(&member.name)
        )));
    }
    let packed_member = archive.by_index(member.index).map_err(damaged_npz)?;
    let mut file = tempfile::tempfile()?;
    io::copy(&mut packed_member.take(max_bytes), &mut file)?;
    file.rewind()?;
    Ok(file)
}

fn damaged_npz(error: ZipError) -> Problem {
    match error {
        ZipError::Io(error) if error.kind() != io::ErrorKind::UnexpectedEof => Problem::Io(error),
        error => Problem::invalid(format!("{error}; not an .npz file, or a damaged one")),
    }
}

/// An archive to which one array is being written.
pub(super) type ArchiveWriter = ZipWriter<StreamWriter<Output>>;

/// Creates an archive and writes the other members of the existing file, unchanged, and then the array's header.
pub(super) fn create_npz(
    output: impl FnOnce() -> Result<Output, Problem>,
    name: &str,
    header: &[u8],
    len: usize,
    existing_file: Option<File>,
) -> Result<ArchiveWriter, Problem> {
    let name = name.strip_suffix(EXTENSION).unwrap_or(name);
    let member = format!("{name}{EXTENSION}");
    let old_archive = existing_file.map(open_npz).transpose()?;
    let mut archive = ZipWriter::new_stream(output()?);
    if let Some(mut old_archive) = old_archive {
        archive
            .set_raw_comment(old_archive.comment().into())
            .map_err(damaged_npz)?;
        for index in 0..old_archive.len() {
            let other_member = old_archive.by_index_raw(index).map_err(damaged_npz)?;
            if ![name, &member]
                .map(str::as_bytes)
                .contains(&other_member.name_raw())
            {
                archive.raw_copy_file(other_member).map_err(damaged_npz)?;
            }
        }
    }
    // Like `numpy.savez`, this writes without compression.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .large_file(len > MAX_IN_32_BITS);
    archive.start_file(member, options).map_err(damaged_npz)?;
    archive.write_all(header)?;
    Ok(archive)
}

pub(super) fn finish_npz(archive: ArchiveWriter) -> Result<(), Problem> {
    archive.finish().map_err(damaged_npz)?.into_inner().finish()
}
