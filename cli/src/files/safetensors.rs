//! Reads, lists and adds tensors in `.safetensors` files. Reads only the header and the bytes of the requested tensor.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::mem::replace;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::{Value, json};
use wgslice::DType;
use wgslice_npy::{ByteOrder, Type};

use super::bytes::{Bytes, file_len};
use super::error::Problem;
use super::names::compare_naturally;
use super::order::to_native;
use super::{
    Array, Element, Entry, ForeignType, byte_len, describe_names, output::Output, quote_name,
};

/// The format's own limit on the length of the header, in bytes.
const MAX_HEADER: u64 = 100_000_000;

/// The name of the only entry in the header that is not a tensor.
const METADATA: &str = "__metadata__";

/// The names of the element types that the library also has.
const TYPE_NAMES: [(&str, DType); 14] = [
    ("BOOL", DType::Bool),
    ("I8", DType::I8),
    ("U8", DType::U8),
    ("I16", DType::I16),
    ("U16", DType::U16),
    ("F16", DType::F16),
    ("BF16", DType::BF16),
    ("I32", DType::I32),
    ("U32", DType::U32),
    ("F32", DType::F32),
    ("I64", DType::I64),
    ("U64", DType::U64),
    ("F64", DType::F64),
    ("C64", DType::Complex64),
];

/// The names of types that the library does not have. Their elements are single bytes, whose bits are moved.
const FOREIGN_TYPE_NAMES: [&str; 5] = [
    "F8_E4M3",
    "F8_E5M2",
    "F8_E8M0",
    "F8_E4M3FNUZ",
    "F8_E5M2FNUZ",
];

/// A tensor as the header describes it. A tensor of an unknown element type does not affect the other tensors.
#[derive(Debug, serde::Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (u64, u64),
}

impl Tensor {
    fn element(&self) -> Option<Element> {
        let known_type = TYPE_NAMES.iter().find(|(name, _)| *name == self.dtype);
        let foreign_name = || FOREIGN_TYPE_NAMES.iter().find(|name| **name == self.dtype);
        match known_type {
            Some(&(_, dtype)) => Some(dtype.into()),
            None => foreign_name().map(|&name| Element::safetensors(name)),
        }
    }
}

/// A tensor that is going to be written.
pub(super) struct NewTensor<'a> {
    name: &'a str,
    dtype: &'static str,
    shape: &'a [usize],
    len: usize,
}

impl<'a> NewTensor<'a> {
    /// Rejects a tensor that the format cannot hold.
    pub(super) fn new(
        name: &'a str,
        element: Element,
        shape: &'a [usize],
        len: usize,
    ) -> Result<Self, Problem> {
        let dtype = match element.foreign_type {
            None => TYPE_NAMES
                .iter()
                .find(|(_, dtype)| *dtype == element.dtype)
                .map(|&(name, _)| name),
            Some(ForeignType::Safetensors(name)) => Some(name),
            Some(ForeignType::Numpy(_)) => None,
        };
        let Some(dtype) = dtype else {
            let dtype = element.name();
            return Err(Problem::invalid(format!(
                "{dtype} has no name in .safetensors; write to .npy"
            )));
        };
        if ByteOrder::NATIVE == ByteOrder::Big && element.dtype.size() > 1 {
            return Err(Problem::invalid(
                "its numbers are little-endian, which this machine does not write; write to .npy",
            ));
        }
        if name == METADATA {
            return Err(Problem::invalid(format!("{METADATA} names no tensor")));
        }
        Ok(Self {
            name,
            dtype,
            shape,
            len,
        })
    }
}

/// Creates a file and writes the header and the other tensors of the existing file. The caller then writes the data of
/// the new tensor, which is the last tensor.
pub(super) fn create_safetensors(
    output: impl FnOnce() -> Result<Output, Problem>,
    tensor: NewTensor<'_>,
    mut existing_file: Option<File>,
) -> Result<Output, Problem> {
    let (mut header, mut other_ranges, mut start) = (serde_json::Map::new(), Vec::new(), 0);
    if let Some(file) = &mut existing_file {
        let (Header { tensors, metadata }, data_start) = read_whole_header(file)?;
        if let Some((name, why)) =
            damaged_tensors(&tensors, file_len(file) - data_start).pop_first()
        {
            let name = quote_name(&name);
            return Err(Problem::invalid(format!(
                "tensor {name} of the existing file is damaged: {why}; write to another file"
            )));
        }
        header.extend(metadata.map(|metadata| (METADATA.to_owned(), metadata)));
        let mut tensors: Vec<_> = tensors.into_iter().collect();
        tensors.sort_by_key(|(_, tensor)| tensor.data_offsets);
        for (
            name,
            Tensor {
                dtype,
                shape,
                data_offsets: (from, to),
            },
        ) in tensors
        {
            if name != tensor.name {
                let end = start + (to - from);
                let offsets = [replace(&mut start, end), end];
                header.insert(
                    name,
                    json!({"dtype": dtype, "shape": shape, "data_offsets": offsets}),
                );
                other_ranges.push(data_start + from..data_start + to);
            }
        }
    }
    let NewTensor {
        name,
        dtype,
        shape,
        len,
    } = tensor;
    let offsets = [start, start + len as u64];
    header.insert(
        name.to_owned(),
        json!({"dtype": dtype, "shape": shape, "data_offsets": offsets}),
    );
    let mut header = serde_json::to_vec(&header).map_err(io::Error::from)?;
    // The data starts at a multiple of 8 bytes, as in files from other programs.
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut output = output()?;
    output.write_all(&(header.len() as u64).to_le_bytes())?;
    output.write_all(&header)?;
    if let Some(file) = &mut existing_file {
        for bytes in other_ranges {
            file.seek(SeekFrom::Start(bytes.start))?;
            let len = bytes.end - bytes.start;
            if io::copy(&mut (&mut *file).take(len), &mut output)? < len {
                return Err(Problem::Io(io::ErrorKind::UnexpectedEof.into()));
            }
        }
    }
    Ok(output)
}

pub(super) fn read_safetensors(file: &mut File, name: Option<&str>) -> Result<Array, Problem> {
    let (header, data_start) = read_whole_header(file)?;
    let (name, tensor) = choose_tensor(&header, name)?;
    if let Some(why) = damaged_tensors(&header.tensors, file_len(file) - data_start).remove(name) {
        return Err(Problem::invalid(format!(
            "tensor {} is damaged: {why}; copy or save the file again",
            quote_name(name)
        )));
    }
    let Some(element) = tensor.element() else {
        return Err(Problem::invalid(format!(
            "dtype {} is not supported; save the tensor as BOOL, I8 to I64, U8 to U64, F8 to F64, \
             BF16 or C64, or the same bits as U8",
            quote_name(&tensor.dtype)
        )));
    };
    // `damaged_tensors` has checked that the data is in the file and that its length matches the shape.
    let len = byte_len(element.size(), &tensor.shape).ok_or_else(damaged_safetensors)?;
    let mut bytes = Bytes::from_file(file, data_start + tensor.data_offsets.0, len)?;
    if element.foreign_type.is_none() {
        bytes = to_native(bytes, &Type::number_in(element.dtype, ByteOrder::Little))?;
    }
    let mut array = Array::from_elements(element, tensor.shape.clone(), bytes);
    array.origin.array_name = Some(name.to_owned());
    Ok(array)
}

/// Lists the tensors in the order of their names. Also describes the fault of the file, if it has one.
pub(super) fn list_safetensors(file: &mut File) -> Result<(Vec<Entry>, Option<String>), Problem> {
    let (header, data_start, surplus_note) = read_header(file)?;
    let mut faults = damaged_tensors(&header.tensors, file_len(file) - data_start);
    let entry = |(name, tensor): (String, Tensor)| Entry {
        damaged: faults.remove(&name),
        name: Some(name),
        unsupported: match tensor.element() {
            Some(_) => None,
            None => Some("this type is not known here".into()),
        },
        dtype: Some(match tensor.element() {
            Some(element) => element.name().to_owned(),
            None => tensor.dtype,
        }),
        shape: Some(tensor.shape),
        bytes: tensor.data_offsets.1.saturating_sub(tensor.data_offsets.0),
        column_major: false,
        big_endian: false,
    };
    let mut entries: Vec<Entry> = header.tensors.into_iter().map(entry).collect();
    let name_of = |entry: &Entry| entry.name.clone().unwrap_or_default();
    entries.sort_by(|a, b| compare_naturally(&name_of(a), &name_of(b)));
    Ok((entries, surplus_note))
}

fn damaged_safetensors() -> Problem {
    Problem::invalid("not a .safetensors file, damaged or cut short; copy or save it again")
}

/// Reads the header. Returns the header, the offset of the data in bytes, and a message if bytes follow the data of all
/// tensors.
fn read_header(file: &mut File) -> Result<(Header, u64, Option<String>), Problem> {
    let mut len = [0; 8];
    file.read_exact(&mut len)
        .map_err(|_| damaged_safetensors())?;
    let len = u64::from_le_bytes(len);
    if len > MAX_HEADER || len > file_len(file) {
        return Err(damaged_safetensors());
    }
    let mut text = Vec::new();
    (&mut *file).take(len).read_to_end(&mut text)?;
    let header: Header = serde_json::from_slice(&text)
        .map_err(|error| Problem::invalid(format!("the header is damaged: {error}")))?;
    let data_start = 8 + len;
    let data_bytes = file_len(file)
        .checked_sub(data_start)
        .ok_or_else(damaged_safetensors)?;
    let ends = header.tensors.values().map(|tensor| tensor.data_offsets.1);
    let described_bytes = ends.max().unwrap_or(0);
    let surplus_note = (described_bytes < data_bytes).then(|| {
        format!(
            "the header describes {described_bytes} bytes of data, but {data_bytes} follow; the file is damaged, \
             copy or save it again"
        )
    });
    Ok((header, data_start, surplus_note))
}

/// Does the same as [`read_header`], but fails if bytes follow the data of all tensors.
fn read_whole_header(file: &mut File) -> Result<(Header, u64), Problem> {
    let (header, data_start, surplus_note) = read_header(file)?;
    match surplus_note {
        Some(problem) => Err(Problem::invalid(problem)),
        None => Ok((header, data_start)),
    }
}

/// The metadata and the tensors by their unique names.
struct Header {
    tensors: BTreeMap<String, Tensor>,
    metadata: Option<Value>,
}

/// Returns the damaged tensors, each with a description of its fault. `data_bytes` is the number of bytes of data in
/// the file. The data of the tensors must have no gaps and no overlaps.
fn damaged_tensors(
    tensors: &BTreeMap<String, Tensor>,
    data_bytes: u64,
) -> BTreeMap<String, String> {
    let mut tensors: Vec<_> = tensors.iter().collect();
    tensors.sort_by_key(|(_, tensor)| tensor.data_offsets);
    let (mut faults, mut end) = (BTreeMap::new(), 0);
    for (name, tensor) in tensors {
        let (from, to) = tensor.data_offsets;
        let len = tensor.element().map(|element| {
            let len = byte_len(element.dtype.size(), &tensor.shape);
            len.and_then(|len| u64::try_from(len).ok())
        });
        let reason = if from != end || to < from {
            Some("it does not begin where the one before it ends".into())
        } else if len.is_some_and(|len| len != Some(to - from)) {
            Some("its length does not fit its shape".into())
        } else if to > data_bytes {
            Some(format!(
                "it ends at byte {to} of the data, but the file has only {data_bytes}: it is cut short"
            ))
        } else {
            None
        };
        faults.extend(reason.map(|reason| (name.clone(), reason)));
        end = to;
    }
    faults
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(header: D) -> Result<Self, D::Error> {
        header.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the names of tensors")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut header: M) -> Result<Header, M::Error> {
        let (mut tensors, mut metadata) = (BTreeMap::new(), None);
        while let Some(name) = header.next_key::<String>()? {
            if tensors.contains_key(&name) || metadata.is_some() && name == METADATA {
                let problem = format!("it uses the name {} twice", quote_name(&name));
                return Err(M::Error::custom(problem));
            }
            if name == METADATA {
                metadata = Some(header.next_value()?);
            } else {
                tensors.insert(name, header.next_value::<Tensor>()?);
            }
        }
        Ok(Header { tensors, metadata })
    }
}

fn choose_tensor<'a>(
    header: &'a Header,
    name: Option<&str>,
) -> Result<(&'a String, &'a Tensor), Problem> {
    if let Some(name) = name {
        return header.tensors.get_key_value(name).ok_or_else(|| {
            Problem::invalid(format!(
                "it holds no tensor named {}; {}",
                quote_name(name),
                describe_names(header.tensors.keys(), Some(name), "tensor")
            ))
        });
    }
    match header.tensors.iter().collect::<Vec<_>>()[..] {
        [entry] => Ok(entry),
        _ => Err(Problem::invalid(format!(
            "which tensor? name it after a #, as in x.safetensors#name; {}",
            describe_names(header.tensors.keys(), None, "tensor")
        ))),
    }
}
