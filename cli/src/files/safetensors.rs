//! Reads one tensor of a `.safetensors` file, or lists all. Only the header and the bytes of this tensor are read.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Read;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use wgslice::DType;
use wgslice_npy::ByteOrder;

use super::bytes::{Bytes, file_len};
use super::error::Problem;
use super::order::to_native;
use super::{Array, Entry, byte_len};

/// The format's own limit on the length of the header, in bytes.
const MAX_HEADER: u64 = 100_000_000;

/// The most names that an error lists.
const LISTED: usize = 10;

/// The names of the element types that this command reads.
const TYPES: [(&str, DType); 14] = [
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

/// A tensor, as the header describes it. Its element type may be unknown here: that is no problem of the others.
#[derive(Debug, serde::Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (u64, u64),
}

impl Tensor {
    fn dtype(&self) -> Option<DType> {
        let mut types = TYPES.iter();
        types
            .find(|(name, _)| *name == self.dtype)
            .map(|&(_, dtype)| dtype)
    }
}

pub(super) fn read(file: &mut File, name: Option<&str>) -> Result<Array, Problem> {
    let (header, data_start) = read_header(file)?;
    let tensor = choose(&header, name)?;
    let Some(dtype) = tensor.dtype() else {
        return Err(Problem::invalid(format!(
            "dtype {} is not supported; save the tensor as BOOL, I8 to I64, U8 to U64, F16 to F64, \
             BF16 or C64, or the same bits as U8",
            quoted(&tensor.dtype)
        )));
    };
    // `read_header` has checked that the data ends where the file ends, and that this tensor has the length of its shape.
    let len = byte_len(dtype, &tensor.shape).ok_or_else(damaged)?;
    let bytes = Bytes::of_file(file, data_start + tensor.data_offsets.0, len)?;
    Ok(Array {
        dtype,
        shape: tensor.shape.clone(),
        bytes: to_native(bytes, dtype, ByteOrder::Little)?,
        format: None,
    })
}

/// Lists the tensors in the order of their names.
pub(super) fn list(file: &mut File) -> Result<Vec<Entry>, Problem> {
    let (Header(tensors), _) = read_header(file)?;
    let entry = |(name, tensor): (String, Tensor)| Entry {
        name: Some(name),
        dtype: match tensor.dtype() {
            Some(dtype) => dtype.name().to_owned(),
            None => tensor.dtype,
        },
        shape: tensor.shape,
        bytes: tensor.data_offsets.1 - tensor.data_offsets.0,
        column_major: false,
        big_endian: false,
    };
    Ok(tensors.into_iter().map(entry).collect())
}

fn damaged() -> Problem {
    Problem::invalid("not a .safetensors file, damaged or cut short; copy or save it again")
}

/// Reads the header, and returns it with the offset of the data in the file, in bytes. The tensors fill the data without
/// gaps, and each that has a known element type has the length of its shape.
fn read_header(file: &mut File) -> Result<(Header, u64), Problem> {
    let mut len = [0; 8];
    file.read_exact(&mut len).map_err(|_| damaged())?;
    let len = u64::from_le_bytes(len);
    if len > MAX_HEADER || len > file_len(file) {
        return Err(damaged());
    }
    let mut text = Vec::new();
    (&mut *file).take(len).read_to_end(&mut text)?;
    let header: Header = serde_json::from_slice(&text)
        .map_err(|error| Problem::invalid(format!("the header is damaged: {error}")))?;
    let data_start = 8 + len;
    let there = file_len(file).saturating_sub(data_start);
    let data = header.data_len()?;
    if data != there {
        return Err(Problem::invalid(format!(
            "the header describes {data} bytes of data, but {there} follow; the file is cut short \
             or damaged, copy or save it again"
        )));
    }
    Ok((header, data_start))
}

/// The tensors by their names, which all differ.
struct Header(BTreeMap<String, Tensor>);

impl Header {
    /// Checks the offsets and the lengths of the tensors, and returns the length of all.
    fn data_len(&self) -> Result<u64, Problem> {
        let mut tensors: Vec<_> = self.0.iter().collect();
        tensors.sort_by_key(|(_, tensor)| tensor.data_offsets);
        let mut end = 0;
        for (name, tensor) in tensors {
            let wrong = |what: &str| {
                let name = quoted(name);
                Problem::invalid(format!("the header is damaged: tensor {name} {what}"))
            };
            let (from, to) = tensor.data_offsets;
            if from != end || to < from {
                return Err(wrong("does not begin where the one before it ends"));
            }
            if let Some(dtype) = tensor.dtype()
                && byte_len(dtype, &tensor.shape).and_then(|len| u64::try_from(len).ok())
                    != Some(to - from)
            {
                return Err(wrong("has not the length of its shape"));
            }
            end = to;
        }
        Ok(end)
    }
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(header: D) -> Result<Self, D::Error> {
        header.deserialize_map(Tensors)
    }
}

struct Tensors;

impl<'de> Visitor<'de> for Tensors {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the names of tensors")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut header: M) -> Result<Header, M::Error> {
        const METADATA: &str = "__metadata__";
        let (mut tensors, mut metadata) = (BTreeMap::new(), false);
        while let Some(name) = header.next_key::<String>()? {
            if tensors.contains_key(&name) || metadata && name == METADATA {
                let problem = format!("the name {} stands in it twice", quoted(&name));
                return Err(M::Error::custom(problem));
            }
            if name == METADATA {
                metadata = true;
                header.next_value::<IgnoredAny>()?;
            } else {
                tensors.insert(name, header.next_value::<Tensor>()?);
            }
        }
        Ok(Header(tensors))
    }
}

fn choose<'a>(header: &'a Header, name: Option<&str>) -> Result<&'a Tensor, Problem> {
    if let Some(name) = name {
        return header.0.get(name).ok_or_else(|| {
            Problem::invalid(format!(
                "it holds no tensor named {}; {}",
                quoted(name),
                listing(header)
            ))
        });
    }
    match header.0.values().collect::<Vec<_>>()[..] {
        [only] => Ok(only),
        _ => Err(Problem::invalid(format!(
            "which tensor? name it after a #, as in x.safetensors#name; {}",
            listing(header)
        ))),
    }
}

fn listing(header: &Header) -> String {
    let names = header.0.keys().take(LISTED);
    let listed = names.map(|name| quoted(name)).collect::<Vec<_>>();
    let listed = listed.join(", ");
    match header.0.len() {
        0 => "the file holds no tensor".to_owned(),
        n if n > LISTED => format!(
            "it holds {listed} and {} more, which `wgslice info FILE` lists",
            n - LISTED
        ),
        _ => format!("it holds {listed}"),
    }
}

/// Quotes a name for an error. Only the beginning of a long name is shown.
fn quoted(name: &str) -> String {
    const SHOWN: usize = 100;
    match name.char_indices().nth(SHOWN) {
        None => format!("{name:?}"),
        Some((end, _)) => format!("{:?}…", &name[..end]),
    }
}
