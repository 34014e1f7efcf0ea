//! The text of an `.npy` header: a Python dict that names the element type, the layout and the shape.
//!
//! The header is not read by a crate for Python literals: the known crates take exponential time in the depth of
//! brackets, and panic on some numbers. The header of a plain array nests no deeper than one tuple, so one pass
//! without recursion reads it. All other headers are refused.

use crate::{ByteOrder, Error, Header};
use wgslice::DType;

pub(super) fn parse(text: &[u8]) -> Result<Header, Error> {
    let mut scan = Scan { rest: text };
    let (mut descr, mut column_major, mut shape) = (None, None, None);
    scan.expect(b'{')?;
    while !scan.take(b'}') {
        let key = scan.string()?;
        scan.expect(b':')?;
        match key {
            b"descr" => descr = Some(element_type(scan.descr()?)?),
            b"fortran_order" => column_major = Some(scan.boolean()?),
            b"shape" => shape = Some(scan.shape()?),
            _ => return Err(scan.malformed()),
        }
        if !scan.take(b',') {
            scan.expect(b'}')?;
            break;
        }
    }
    scan.skip_space();
    match (descr, column_major, shape, scan.rest) {
        (Some((dtype, byte_order)), Some(column_major), Some(shape), []) => Ok(Header {
            dtype,
            byte_order,
            column_major,
            shape,
        }),
        _ => Err(scan.malformed()),
    }
}

/// Writes the text that `parse` reads, as NumPy does, for a row-major array in this machine's byte order.
pub(super) fn write(dtype: DType, shape: &[usize]) -> Result<String, Error> {
    let order = match ByteOrder::NATIVE {
        _ if dtype.size() == 1 => '|',
        ByteOrder::Little => '<',
        ByteOrder::Big => '>',
    };
    let kind = match dtype {
        DType::Bool => 'b',
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => 'i',
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => 'u',
        DType::F16 | DType::F32 | DType::F64 => 'f',
        DType::Complex64 | DType::Complex128 => 'c',
        _ => {
            return Err(Error::invalid(format!(
                "{} has no name in .npy; convert the array to float32, or store the same bits as \
                 uint16, before it is read",
                dtype.name()
            )));
        }
    };
    let lengths: String = match shape {
        [n] => format!("{n},"),
        _ => shape
            .iter()
            .map(usize::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    };
    let size = dtype.size();
    Ok(format!(
        "{{'descr': '{order}{kind}{size}', 'fortran_order': False, 'shape': ({lengths}), }}"
    ))
}

fn element_type(descr: &[u8]) -> Result<(DType, ByteOrder), Error> {
    let (order, kind) = descr.split_at_checked(1).unwrap_or_default();
    let dtype = match kind {
        b"b1" => DType::Bool,
        b"i1" => DType::I8,
        b"u1" => DType::U8,
        b"i2" => DType::I16,
        b"u2" => DType::U16,
        b"f2" => DType::F16,
        b"i4" => DType::I32,
        b"u4" => DType::U32,
        b"f4" => DType::F32,
        b"i8" => DType::I64,
        b"u8" => DType::U64,
        b"f8" => DType::F64,
        b"c8" => DType::Complex64,
        b"c16" => DType::Complex128,
        _ => return Err(unsupported(descr)),
    };
    match order {
        b"|" | b"<" | b">" if dtype.size() == 1 => Ok((dtype, ByteOrder::NATIVE)),
        b"<" => Ok((dtype, ByteOrder::Little)),
        b">" => Ok((dtype, ByteOrder::Big)),
        _ => Err(unsupported(descr)),
    }
}

fn unsupported(descr: &[u8]) -> Error {
    let what = match descr.get(1) {
        Some(b'V') if descr.ends_with(b"V2") => {
            return Error::invalid(
                "dtype 'V2' is two bytes without a meaning: NumPy writes bfloat16 this way, but \
                 does not say so in the file; save it as .safetensors, or as uint16 with \
                 .view('uint16')",
            );
        }
        Some(b'O') => " (Python objects)",
        Some(b'S' | b'U' | b'a') => " (strings)",
        Some(b'M' | b'm') => " (dates and times)",
        Some(b'V') => " (raw or structured bytes)",
        Some(b'f' | b'c') => " (extended precision)",
        _ => "",
    };
    let descr = descr.escape_ascii();
    Error::invalid(format!("dtype '{descr}'{what} is not supported; {SAVE_AS}"))
}

const SAVE_AS: &str = "save the array as bool, int8 to int64, uint8 to uint64, float16 to float64, \
                       complex64 or complex128";

/// Reads the text from its beginning to its end. `rest` is the part that is not read yet.
struct Scan<'a> {
    rest: &'a [u8],
}

impl<'a> Scan<'a> {
    fn malformed(&self) -> Error {
        Error::invalid(match self.rest {
            [] => "the header ends too early or lacks descr, fortran_order or shape; save the \
                   array again with numpy.save"
                .to_owned(),
            rest => format!(
                "the header is not one of a plain array, at '{}'; save the array again with \
                 numpy.save",
                rest[..rest.len().min(20)].escape_ascii()
            ),
        })
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn take(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.rest.first() == Some(&byte);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), Error> {
        if self.take(byte) {
            Ok(())
        } else {
            Err(self.malformed())
        }
    }

    /// Reads a string in single or double quotes. The header of a plain array needs no escapes.
    fn string(&mut self) -> Result<&'a [u8], Error> {
        self.skip_space();
        let (quote, inside) = match self.rest {
            [quote @ (b'\'' | b'"'), inside @ ..] => (quote, inside),
            _ => return Err(self.malformed()),
        };
        let len = inside.iter().position(|byte| byte == quote);
        let (string, rest) = inside.split_at(len.ok_or_else(|| self.malformed())?);
        self.rest = &rest[1..];
        Ok(string)
    }

    fn descr(&mut self) -> Result<&'a [u8], Error> {
        self.skip_space();
        if let [b'[' | b'(', ..] = self.rest {
            let start = self.rest[..self.rest.len().min(60)].escape_ascii();
            return Err(Error::invalid(format!(
                "structured dtype {start}… is not supported; save one field at a time, and {SAVE_AS}"
            )));
        }
        self.string()
    }

    fn boolean(&mut self) -> Result<bool, Error> {
        self.skip_space();
        for (word, value) in [(&b"True"[..], true), (b"False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.malformed())
    }

    fn shape(&mut self) -> Result<Vec<usize>, Error> {
        let close = if self.take(b'[') {
            b']'
        } else {
            self.expect(b'(')?;
            b')'
        };
        let mut shape = Vec::new();
        while !self.take(close) {
            shape.push(self.length()?);
            if !self.take(b',') {
                self.expect(close)?;
                break;
            }
        }
        Ok(shape)
    }

    fn length(&mut self) -> Result<usize, Error> {
        self.skip_space();
        let digits = self.rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let (number, rest) = self.rest.split_at(digits);
        let number = str::from_utf8(number).unwrap_or_default();
        let length = number.parse().map_err(|_| self.malformed())?;
        // Python 2 wrote its long integers as `3L`.
        self.rest = rest.strip_prefix(b"L").unwrap_or(rest);
        Ok(length)
    }
}
