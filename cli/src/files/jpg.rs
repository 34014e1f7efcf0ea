//! JPEG pictures as arrays of height × width × channels of uint8: 1 channel for grey, else 3.

use std::fs::File;
use std::io::Read;

use wgslice::DType;
use zune_jpeg::zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions};
use zune_jpeg::{JpegDecoder, errors::DecodeErrors};

use super::bytes::{Bytes, file_len, zeroed_bytes};
use super::error::Problem;
use super::{Array, Entry, png::KeptMetadata};

/// The maximum size of a file that is read, in bytes.
const MAX_FILE: u64 = 1 << 30;

/// The maximum number of bytes of pixels for each byte of a file. A block of 64 pixels takes at least one bit, and the
/// two colour channels of up to 16 such blocks take at least two more bits.
const MAX_INFLATION: u64 = 2048;

type Decoder = JpegDecoder<ZCursor<Vec<u8>>>;

pub(super) fn read_jpg(file: File) -> Result<Array, Problem> {
    let (mut decoder, shape) = open_jpg(file)?;
    let mut pixels = zeroed_bytes(shape.iter().product())?;
    decoder.decode_into(&mut pixels).map_err(damaged_jpg)?;
    let exif = decoder.exif().cloned();
    let metadata = KeptMetadata::from_jpg(decoder.icc_profile(), exif, shape[2] == 1);
    let mut array = Array::from_elements(DType::U8.into(), shape, Bytes::Owned(pixels));
    array.origin.image = Some(metadata.into());
    Ok(array)
}

/// Describes the array that reading the file would return.
pub(super) fn describe_jpg(file: File) -> Result<Entry, Problem> {
    let (_, shape) = open_jpg(file)?;
    Ok(Entry {
        name: None,
        dtype: Some(DType::U8.name().to_owned()),
        bytes: shape.iter().product::<usize>() as u64,
        shape: Some(shape),
        column_major: false,
        big_endian: false,
        damaged: None,
        unsupported: None,
    })
}

/// Reads a file and decodes its headers. Returns the decoder, which continues after the headers, and the picture's
/// shape.
fn open_jpg(file: File) -> Result<(Decoder, Vec<usize>), Problem> {
    let len = file_len(&file);
    if len > MAX_FILE {
        return Err(Problem::invalid(
            "a .jpg of more than 1 GiB; save it as .npy",
        ));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut bytes)?;
    let max_size = usize::from(u16::MAX);
    // In strict mode, a truncated picture is an error.
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(max_size)
        .set_max_height(max_size);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(damaged_jpg)?;
    let (color, channels) = match decoder.input_colorspace() {
        Some(ColorSpace::Luma) => (ColorSpace::Luma, 1),
        _ => (ColorSpace::RGB, 3),
    };
    decoder.set_options(options.jpeg_set_out_colorspace(color));
    let info = decoder
        .info()
        .ok_or_else(|| Problem::invalid("it has no size"))?;
    let shape = vec![info.height.into(), info.width.into(), channels];
    if shape.iter().map(|&n| n as u64).product::<u64>() > len * MAX_INFLATION {
        let (width, height) = (info.width, info.height);
        return Err(Problem::invalid(format!(
            "the header claims {width} × {height} pixels, which a file of {len} bytes cannot hold; \
             the picture is damaged or cut short"
        )));
    }
    Ok((decoder, shape))
}

fn damaged_jpg(error: DecodeErrors) -> Problem {
    let text = error.to_string();
    let text = text.trim();
    Problem::invalid(format!("{text}; the picture is damaged or cut short"))
}
