//! Reads one tensor of a `.safetensors` file. Only the header and the bytes of this tensor are read.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::Read;

use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use wgslice::DType;
use wgslice_npy::ByteOrder;

use super::bytes::{Bytes, file_len};
use super::error::Problem;
use super::order::to_native;
use super::{Array, claimed_len};

/// The format's own limit on the length of the header, in bytes.
const MAX_HEADER: u64 = 100_000_000;

/// The most names that an error lists.
const LISTED: usize = 10;

pub(super) fn read(file: &mut File, name: Option<&str>) -> Result<Array, Problem> {
    let (metadata, data_start) = read_header(file)?;
    let info = choose(&metadata, name)?;
    let dtype = element_type(info.dtype)?;
    let shape = info.shape.clone();
    let len = claimed_len(dtype, &shape)?;
    // The offset is within the data, and `read_header` has checked that the data ends where the file ends.
    let start = u64::try_from(info.data_offsets.0)
        .ok()
        .and_then(|offset| data_start.checked_add(offset))
        .ok_or_else(damaged)?;
    let bytes = Bytes::of_file(file, start, len)?;
    Ok(Array {
        dtype,
        shape,
        bytes: to_native(bytes, dtype, ByteOrder::Little)?,
    })
}

fn damaged() -> Problem {
    Problem::invalid("not a .safetensors file, damaged or cut short; copy or save it again")
}

/// Reads the header, and returns it with the offset of the data in the file, in bytes.
///
/// The `safetensors` crate checks that the tensors fill the data without gaps and that each has the length of its
/// shape. The crate's own reader of whole files adds offsets without overflow checks, so this function computes the end
/// of the data itself.
fn read_header(file: &mut File) -> Result<(Metadata, u64), Problem> {
    let mut len = [0; 8];
    file.read_exact(&mut len).map_err(|_| damaged())?;
    let len = u64::from_le_bytes(len);
    if len > MAX_HEADER || len > file_len(file) {
        return Err(damaged());
    }
    let mut text = Vec::new();
    (&mut *file).take(len).read_to_end(&mut text)?;
    let header_problem = |error| Problem::invalid(format!("the header is damaged: {error}"));
    let DifferentNames = serde_json::from_slice(&text).map_err(header_problem)?;
    let metadata: Metadata = serde_json::from_slice(&text).map_err(header_problem)?;
    let data_start = 8 + len;
    let end = u64::try_from(metadata.data_len())
        .ok()
        .and_then(|data| data.checked_add(data_start));
    if end != Some(file_len(file)) {
        return Err(Problem::invalid(format!(
            "the header describes {} bytes of data, but {} follow; the file is cut short or \
             damaged, copy or save it again",
            metadata.data_len(),
            file_len(file).saturating_sub(data_start)
        )));
    }
    Ok((metadata, data_start))
}

/// A header in which all names differ. If several tensors have one name, the crate itself would take the last of them.
struct DifferentNames;

impl<'de> Deserialize<'de> for DifferentNames {
    fn deserialize<D: Deserializer<'de>>(header: D) -> Result<Self, D::Error> {
        header.deserialize_map(Self)
    }
}

impl<'de> Visitor<'de> for DifferentNames {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the names of tensors")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut header: M) -> Result<Self, M::Error> {
        let mut names = HashSet::new();
        while let Some((name, IgnoredAny)) = header.next_entry::<String, _>()? {
            if let Some(name) = names.replace(name) {
                let problem = format!("the name {} stands in it twice", quoted(&name));
                return Err(M::Error::custom(problem));
            }
        }
        Ok(self)
    }
}

fn choose<'a>(metadata: &'a Metadata, name: Option<&str>) -> Result<&'a TensorInfo, Problem> {
    if let Some(name) = name {
        return metadata.info(name).ok_or_else(|| {
            Problem::invalid(format!(
                "it holds no tensor named {}; {}",
                quoted(name),
                listing(metadata)
            ))
        });
    }
    match metadata.offset_keys().as_slice() {
        [only] => metadata.info(only).ok_or_else(damaged),
        _ => Err(Problem::invalid(format!(
            "which tensor? name it after a #, as in x.safetensors#name; {}",
            listing(metadata)
        ))),
    }
}

fn listing(metadata: &Metadata) -> String {
    let mut names = metadata.offset_keys();
    names.sort_unstable();
    let listed = names
        .iter()
        .take(LISTED)
        .map(|name| quoted(name))
        .collect::<Vec<_>>()
        .join(", ");
    match names.len() {
        0 => "the file holds no tensor".to_owned(),
        n if n > LISTED => format!("it holds {listed} and {} more", n - LISTED),
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

fn element_type(dtype: Dtype) -> Result<DType, Problem> {
    Ok(match dtype {
        Dtype::BOOL => DType::Bool,
        Dtype::I8 => DType::I8,
        Dtype::U8 => DType::U8,
        Dtype::I16 => DType::I16,
        Dtype::U16 => DType::U16,
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        Dtype::I32 => DType::I32,
        Dtype::U32 => DType::U32,
        Dtype::F32 => DType::F32,
        Dtype::I64 => DType::I64,
        Dtype::U64 => DType::U64,
        Dtype::F64 => DType::F64,
        Dtype::C64 => DType::Complex64,
        other => {
            return Err(Problem::invalid(format!(
                "dtype {other} is not supported; save the tensor as BOOL, I8 to I64, U8 to U64, \
                 F16 to F64, BF16 or C64, or the same bits as U8"
            )));
        }
    })
}
