//! Reads and writes PNG images as arrays of height × width × channels, of uint8 or uint16.
//!
//! Palettes are read as their colours, and grey images of fewer than 8 bits as images of 8 bits. A transparent colour
//! (tRNS) becomes an alpha channel. Of an animation, only the first picture is read.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::sync::Arc;

use png::{BitDepth, ColorType, Compression, Decoder, DecodingError, Encoder, EncodingError};
use png::{Info, Limits, Reader, Transformations};
use wgslice::DType;
use wgslice_npy::{ByteOrder, Type};

use super::bytes::{Bytes, file_len, zeroed_bytes};
use super::error::Problem;
use super::order::to_native;
use super::{Array, Element, Entry, ForeignType, output::Output};
use crate::{print, units};

/// The maximum memory of the decoder in bytes, in addition to the image: for a few rows and metadata.
const DECODER_MEMORY: usize = 256 << 20;

/// The maximum size of an image's pixels in bytes. This admits 20 000 × 20 000 pixels of 8 bytes.
const MAX_IMAGE: u64 = 4 << 30;

/// The largest factor by which DEFLATE data can expand. A header that claims more is wrong.
const MAX_INFLATION: u128 = 1032;

pub(super) fn read_png(file: File) -> Result<Array, Problem> {
    let (mut reader, len) = open_png(file)?;
    let (width, height) = reader.info().size();
    let is_animated = reader.info().animation_control.is_some();
    let mut pixels = zeroed_bytes(len)?;
    let frame = reader.next_frame(&mut pixels).map_err(damaged_png)?;
    // Reads to the end to detect a file that is truncated after its pixels and to get the metadata that follows them.
    reader.finish().map_err(damaged_png)?;
    if is_animated {
        print::print_note("note: this PNG is animated; only its first picture is read");
    }
    let metadata = KeptMetadata::from_info(reader.info(), frame.color_type);
    if (frame.width, frame.height) != (width, height) {
        return Err(Problem::invalid(
            "the first frame of this animation is smaller than the image; save it as a still PNG",
        ));
    }
    let dtype = dtype_of_depth(frame.bit_depth);
    let shape = vec![
        to_usize(height)?,
        to_usize(width)?,
        frame.color_type.samples(),
    ];
    let pixels = to_native(
        Bytes::Owned(pixels),
        &Type::number_in(dtype, ByteOrder::Big),
    )?;
    let mut array = Array::from_elements(dtype.into(), shape, pixels);
    array.origin.image = Some(Arc::new(metadata));
    Ok(array)
}

/// Reads the header and returns the number of bytes of the pixels. Fails if this number exceeds `MAX_IMAGE`, or if the
/// file is too short for the pixels.
fn open_png(file: File) -> Result<(Reader<BufReader<File>>, usize), Problem> {
    let file_len = file_len(&file);
    let limits = Limits {
        bytes: DECODER_MEMORY,
    };
    let mut decoder = Decoder::new_with_limits(BufReader::new(file), limits);
    decoder.set_transformations(Transformations::EXPAND);
    let reader = decoder.read_info().map_err(damaged_png)?;

    let (width, height) = reader.info().size();
    let len = reader
        .output_buffer_size()
        .filter(|&len| u64::try_from(len).is_ok_and(|len| len <= MAX_IMAGE));
    let Some(len) = len else {
        return Err(Problem::invalid(format!(
            "an image of {width} × {height} takes more than {MAX_IMAGE} bytes; save it as .npy"
        )));
    };
    if stored_bytes(reader.info()) > u128::from(file_len) * MAX_INFLATION {
        return Err(Problem::invalid(format!(
            "the header claims {width} × {height} pixels, which a file of {file_len} bytes cannot \
             hold; it is damaged or cut short"
        )));
    }
    Ok((reader, len))
}

/// Describes the array that reading the file would return, from the header.
pub(super) fn describe_png(file: File) -> Result<Entry, Problem> {
    let (reader, len) = open_png(file)?;
    let (width, height) = reader.info().size();
    let (color, depth) = reader.output_color_type();
    Ok(Entry {
        name: None,
        dtype: Some(dtype_of_depth(depth).name().to_owned()),
        shape: Some(vec![to_usize(height)?, to_usize(width)?, color.samples()]),
        bytes: len as u64,
        column_major: false,
        // The array's byte order, which is native, not the file's.
        big_endian: false,
        damaged: None,
        unsupported: None,
    })
}

fn dtype_of_depth(depth: BitDepth) -> DType {
    match depth {
        BitDepth::Sixteen => DType::U16,
        _ => DType::U8,
    }
}

/// The metadata of a picture, such as its colour profile and its resolution.
#[derive(Debug)]
pub(crate) struct KeptMetadata {
    info: Info<'static>,
    is_grey: bool,
    /// The names of metadata that is not kept.
    dropped_names: Vec<&'static str>,
}

impl KeptMetadata {
    fn from_info(source: &Info<'_>, color: ColorType) -> Self {
        let to_owned_bytes =
            |bytes: &Option<Cow<'_, [u8]>>| bytes.as_deref().map(|bytes| bytes.to_vec().into());
        let mut info = Info::default();
        info.icc_profile = to_owned_bytes(&source.icc_profile);
        info.exif_metadata = to_owned_bytes(&source.exif_metadata);
        info.source_gamma = source.gama_chunk;
        info.source_chromaticities = source.chrm_chunk;
        info.srgb = source.srgb;
        info.pixel_dims = source.pixel_dims;
        info.uncompressed_latin1_text
            .clone_from(&source.uncompressed_latin1_text);
        info.compressed_latin1_text
            .clone_from(&source.compressed_latin1_text);
        info.utf8_text.clone_from(&source.utf8_text);
        let dropped_chunks = [
            (source.coding_independent_code_points.is_some(), "cICP"),
            (source.mastering_display_color_volume.is_some(), "mDCV"),
            (source.content_light_level.is_some(), "cLLI"),
        ];
        let dropped_chunks = dropped_chunks
            .into_iter()
            .filter(|(is_present, _)| *is_present);
        Self {
            info,
            is_grey: is_grey(color),
            dropped_names: dropped_chunks.map(|(_, name)| name).collect(),
        }
    }

    /// Returns the metadata of a JPEG picture.
    pub(super) fn from_jpg(profile: Option<Vec<u8>>, exif: Option<Vec<u8>>, is_grey: bool) -> Self {
        let mut info = Info::default();
        info.icc_profile = profile.map(Cow::Owned);
        info.exif_metadata = exif.map(Cow::Owned);
        let dropped_names = Vec::new();
        Self {
            info,
            is_grey,
            dropped_names,
        }
    }

    /// Returns the metadata that also fits a picture with these colours, and prints a note about the rest.
    fn for_colors(&self, color: ColorType) -> Info<'static> {
        let mut info = self.info.clone();
        let mut dropped_names = self.dropped_names.clone();
        // A colour profile fits either grey or coloured pictures.
        if self.is_grey != is_grey(color) && info.icc_profile.take().is_some() {
            dropped_names.push("the colour profile");
        }
        if !dropped_names.is_empty() {
            let dropped_names = dropped_names.join(", ");
            print::print_note(format_args!(
                "note: not kept from the picture: {dropped_names}"
            ));
        }
        info
    }
}

fn is_grey(color: ColorType) -> bool {
    matches!(color, ColorType::Grayscale | ColorType::GrayscaleAlpha)
}

/// Returns the size in bytes of the decompressed pixels, before they are expanded to whole bytes and colours. The size
/// is approximate if the image is interlaced.
fn stored_bytes(info: &Info<'_>) -> u128 {
    info.raw_row_length() as u128 * u128::from(info.height)
}

fn to_usize(length: u32) -> Result<usize, Problem> {
    usize::try_from(length).map_err(|_| Problem::invalid("the image is larger than any memory"))
}

fn damaged_png(error: DecodingError) -> Problem {
    match error {
        DecodingError::IoError(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
            Problem::Io(error)
        }
        error => {
            let text = error.to_string();
            let text = text.trim_end_matches('.');
            Problem::invalid(format!("{text}; the image is damaged or cut short"))
        }
    }
}

/// An image that is being written. `finish` compresses all pixels together, so they are kept until then.
#[derive(Debug)]
pub(super) struct Image {
    output: Output,
    depth: BitDepth,
    size: (u32, u32),
    color: ColorType,
    /// The metadata that the picture inherits from another picture.
    inherited_metadata: Option<Arc<KeptMetadata>>,
    pixels: Vec<u8>,
}

impl Image {
    pub(super) fn create(
        output: impl FnOnce() -> Result<Output, Problem>,
        element: Element,
        shape: &[usize],
        inherited_metadata: Option<Arc<KeptMetadata>>,
    ) -> Result<Self, Problem> {
        let (depth, size, color) = picture_format(element, shape)?;
        Ok(Self {
            output: output()?,
            depth,
            size,
            color,
            inherited_metadata,
            pixels: Vec::new(),
        })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.pixels.try_reserve(bytes.len()).map_err(|_| {
            Problem::invalid("the image is larger than the memory that is free; write to .npy")
        })?;
        self.pixels.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(), Problem> {
        let big_endian = Type::number_in(dtype_of_depth(self.depth), ByteOrder::Big);
        let pixels = to_native(Bytes::Owned(self.pixels), &big_endian)?;
        let (width, height) = self.size;
        let metadata = self
            .inherited_metadata
            .map(|metadata| metadata.for_colors(self.color));
        let mut info = metadata.unwrap_or_default();
        (info.width, info.height) = (width, height);
        (info.color_type, info.bit_depth) = (self.color, self.depth);
        let output = BufWriter::new(&mut self.output);
        let mut encoder = Encoder::with_info(output, info).map_err(encoding_problem)?;
        encoder.set_compression(Compression::Fast);
        let mut writer = encoder.write_header().map_err(encoding_problem)?;
        writer.write_image_data(&pixels).map_err(encoding_problem)?;
        writer.finish().map_err(encoding_problem)?;
        self.output.finish()
    }
}

fn encoding_problem(error: EncodingError) -> Problem {
    match error {
        EncodingError::IoError(error) => Problem::Io(error),
        error => Problem::invalid(format!("{error}; write to .npy")),
    }
}

/// Returns the bit depth, the size and the colours of the picture for an array of this element type and shape. Fails if
/// PNG cannot hold the array.
pub(super) fn picture_format(
    element: Element,
    shape: &[usize],
) -> Result<(BitDepth, (u32, u32), ColorType), Problem> {
    let depth = match (element.dtype, element.foreign_type) {
        (DType::U8, None) => BitDepth::Eight,
        (DType::U16, None) => BitDepth::Sixteen,
        _ => {
            let name = element.name();
            let conversion_hint = match (element.dtype, element.foreign_type) {
                (DType::Complex64 | DType::Complex128, _) | (_, Some(_)) => "",
                _ => ", or make it uint8 by `wgslice convert --as uint8`",
            };
            let alternative = match element.foreign_type {
                Some(ForeignType::Numpy(_)) => ".npy",
                _ => ".npy or .safetensors",
            };
            return Err(Problem::invalid(format!(
                "PNG holds uint8 or uint16, not {name}; write to {alternative} (--format npy){conversion_hint}"
            )));
        }
    };
    let (height, width, color) = picture_size(shape)?;
    Ok((depth, (width, height), color))
}

fn picture_size(shape: &[usize]) -> Result<(u32, u32, ColorType), Problem> {
    let (sides, color) = match *shape {
        [height, width] | [height, width, 1] => ([height, width], ColorType::Grayscale),
        [height, width, 2] => ([height, width], ColorType::GrayscaleAlpha),
        [height, width, 3] => ([height, width], ColorType::Rgb),
        [height, width, 4] => ([height, width], ColorType::Rgba),
        _ => {
            return Err(Problem::invalid(format!(
                "PNG holds height × width, or height × width × 1 to 4 channels, not {}; write to .npy",
                units::format_shape(shape)
            )));
        }
    };
    match sides.map(|n| i32::try_from(n).ok().filter(|&n| n > 0)) {
        [Some(height), Some(width)] => Ok((height.unsigned_abs(), width.unsigned_abs(), color)),
        _ => Err(Problem::invalid(format!(
            "height and width of a PNG are 1 to {}, not {}; write to .npy",
            i32::MAX,
            units::format_shape(shape)
        ))),
    }
}
