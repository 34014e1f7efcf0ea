//! Reads and writes arrays in files.

mod bytes;
mod element;
mod error;
mod handles;
mod indices;
mod jpg;
mod names;
mod npy;
mod npz;
mod order;
mod output;
mod png;
mod safetensors;
mod signals;
mod source;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use wgslice::DType;
use wgslice_npy::Type;

use crate::units;
use bytes::{Bytes, Window};
use error::Problem;
use names::{describe_names, quote_name};
use output::Output;

pub(crate) use element::{Element, ForeignType};
pub(crate) use error::FileError;
pub(crate) use handles::{forget as forget_elements, resolve as resolve_handles};
pub(crate) use indices::{Indices, to_indices, unsigned_numbers};
pub(crate) use order::in_native_order;
pub(crate) use output::watch_for_signals;
pub(crate) use source::Source;

/// An array. Its elements are in row-major order and native byte order, except in an array from [`read_stored`], which
/// can have other orders.
#[derive(Debug)]
pub(crate) struct Array {
    element: Element,
    shape: Vec<usize>,
    /// The elements as stored in the file.
    bytes: Arc<Bytes>,
    /// How the elements are stored, if not in row-major order and native byte order.
    stored: Option<StoredLayout>,
    /// The handles that the library moves in place of the elements. Made on demand.
    handles: OnceLock<Vec<u8>>,
    origin: Origin,
}

/// How elements are stored in a file.
#[derive(Clone, Debug)]
pub(crate) struct StoredLayout {
    /// True if the first dimension is contiguous, instead of the last.
    pub(crate) column_major: bool,
    /// The type, with its byte order.
    element: Type,
}

impl StoredLayout {
    /// Converts elements to native byte order.
    pub(crate) fn to_native<'a>(&self, elements: &'a [u8]) -> Cow<'a, [u8]> {
        in_native_order(elements, &self.element)
    }
}

/// The origin of an array: the format, the name and the picture metadata that an output can inherit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// The format of the file. `None` if the array is not from a file.
    pub(crate) format: Option<Format>,
    array_name: Option<String>,
    image: Option<Arc<png::KeptMetadata>>,
}

impl Array {
    /// Makes an array. Returns `None` if the length of `bytes` does not match `dtype` and `shape`.
    pub(crate) fn new(dtype: DType, shape: Vec<usize>, bytes: Vec<u8>) -> Option<Self> {
        let bytes = (byte_len(dtype.size(), &shape)? == bytes.len()).then_some(bytes)?;
        Some(Self::from_elements(
            dtype.into(),
            shape,
            Bytes::Owned(bytes),
        ))
    }

    /// Makes an array of these elements.
    fn from_elements(element: Element, shape: Vec<usize>, bytes: Bytes) -> Self {
        Self {
            element,
            shape,
            bytes: Arc::new(bytes),
            stored: None,
            handles: OnceLock::new(),
            origin: Origin::default(),
        }
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    pub(crate) fn element(&self) -> Element {
        self.element
    }

    /// Returns the type that the library uses to move the elements.
    pub(crate) fn dtype(&self) -> DType {
        self.element.dtype
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the bytes that the library moves: the handles, if there are any, or else the elements.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.handles.get().map_or(&self.bytes, |handles| handles)
    }

    /// Returns how the elements are stored, if not in row-major order and native byte order.
    pub(crate) fn stored(&self) -> Option<&StoredLayout> {
        self.stored.as_ref()
    }

    /// Returns the array in row-major order and native byte order. Copies the elements if they are stored in another
    /// order.
    fn in_row_major_order(mut self) -> Result<Self, Problem> {
        if let Some(stored) = self.stored.take() {
            let mut bytes = match stored.column_major {
                true => order::row_major(&self.bytes, self.element.size(), &self.shape)?,
                false => bytes::copy_bytes(&self.bytes)?,
            };
            order::swap_bytes(&mut bytes, &stored.element);
            self.bytes = Arc::new(Bytes::Owned(bytes));
        }
        Ok(self)
    }

    /// Returns the size of all elements in bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Makes handles if the library has no type with the size of the elements.
    pub(crate) fn with_handles(self, source: &Source) -> Result<Self, FileError> {
        if self.element.has_handles() {
            let count = self.shape.iter().product();
            let handles = handles::register_elements(&self.bytes, self.element.size(), count);
            let handles =
                handles.map_err(|problem| FileError::when_reading(&source.path, problem))?;
            // `set` cannot fail, because `self.handles` is still empty.
            let _ = self.handles.set(handles);
        }
        Ok(self)
    }

    /// Returns a range of the elements' bytes. For a large range of a mapped file, the window has its own map. Dropping
    /// the window frees its pages, so that they do not accumulate.
    pub(crate) fn window(&self, range: Range<usize>) -> io::Result<Window<'_>> {
        self.bytes.window(range)
    }
}

/// Lets `Tensor::from_bytes` take an array. On the CPU, the tensor keeps the array's memory map and copies nothing.
impl AsRef<[u8]> for Array {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

/// Reads an array from standard input or a file, as in `x.npy` or `x.safetensors#tensor-name`. The array's name is
/// optional if the file holds only one array.
pub(crate) fn read_array(source: &Source) -> Result<Array, FileError> {
    let array = read_stored(source)?.in_row_major_order();
    array.map_err(|problem| FileError::when_reading(&source.path, problem))
}

/// Does the same as [`read_array`], but keeps the order in which the elements are stored in the file.
pub(crate) fn read_stored(source: &Source) -> Result<Array, FileError> {
    let read = || {
        let (mut file, format) = open_and_detect(source)?;
        let mut array = match format {
            Format::Npy => npy::read_npy(&mut file, source.array_name.as_deref())?,
            Format::Npz => npz::read_npz(file, source.array_name.as_deref())?,
            Format::Png => png::read_png(file)?,
            Format::Jpg => jpg::read_jpg(file)?,
            Format::Safetensors => {
                safetensors::read_safetensors(&mut file, source.array_name.as_deref())?
            }
        };
        array.origin.format = Some(format);
        Ok(array)
    };
    read().map_err(|problem| FileError::when_reading(&source.path, problem))
}

/// The format and the size of a file, and a description of each array in it.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) format: Format,
    /// The size of the file in bytes.
    pub(crate) bytes: u64,
    pub(crate) arrays: Vec<Entry>,
    /// The fault of a damaged file whose arrays can still be listed.
    pub(crate) damaged: Option<String>,
}

/// The description of an array in a file.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The name of the array in the file. `None` if the file holds one array without a name.
    pub(crate) name: Option<String>,
    /// The name of the element type: the command's, or else NumPy's or the format's. `None` if the type cannot be read.
    pub(crate) dtype: Option<String>,
    /// The shape. `None` if it cannot be read.
    pub(crate) shape: Option<Vec<usize>>,
    /// The size of the elements, in bytes.
    pub(crate) bytes: u64,
    /// True if the first dimension is contiguous in the file.
    pub(crate) column_major: bool,
    /// True if numbers are stored with the highest byte first. False if elements are single bytes.
    pub(crate) big_endian: bool,
    /// Why the elements cannot be read. `None` if the array is not damaged.
    pub(crate) damaged: Option<String>,
    /// Why no operation accepts the array. `None` if some operation accepts it, or if the array is damaged.
    pub(crate) unsupported: Option<String>,
}

/// Lists the arrays of a file, or only the array that `source` names, without reading elements.
pub(crate) fn list_arrays(source: &Source) -> Result<Listing, FileError> {
    let list_entries = || {
        let (mut file, format) = open_and_detect(source)?;
        let bytes = bytes::file_len(&file);
        let mut damaged = None;
        let mut arrays = match format {
            Format::Npy => {
                return Ok(Listing {
                    format,
                    bytes,
                    arrays: vec![npy::describe_npy(
                        &mut file,
                        bytes,
                        source.array_name.as_deref(),
                    )?],
                    damaged,
                });
            }
            Format::Npz => {
                return Ok(Listing {
                    format,
                    bytes,
                    arrays: npz::list_npz(file, source.array_name.as_deref())?,
                    damaged,
                });
            }
            Format::Png => vec![png::describe_png(file)?],
            Format::Jpg => vec![jpg::describe_jpg(file)?],
            Format::Safetensors => {
                let (arrays, problem) = safetensors::list_safetensors(&mut file)?;
                damaged = problem;
                arrays
            }
        };
        if let Some(tensor_name) = &source.array_name {
            let names: Vec<String> = arrays
                .iter()
                .filter_map(|entry| entry.name.clone())
                .collect();
            arrays.retain(|entry| entry.name.as_ref() == Some(tensor_name));
            if arrays.is_empty() {
                return Err(Problem::invalid(format!(
                    "it holds no tensor named {}; {}",
                    quote_name(tensor_name),
                    describe_names(&names, Some(tensor_name), "tensor")
                )));
            }
        }
        Ok(Listing {
            format,
            bytes,
            arrays,
            damaged,
        })
    };
    list_entries().map_err(|problem| FileError::when_reading(&source.path, problem))
}

/// Writes an array in the format that the extension of `path` names.
#[cfg(test)]
fn write_array(path: &Path, dtype: DType, shape: &[usize], bytes: &[u8]) -> Result<(), FileError> {
    let mut writer = Writer::create(path, WriteOptions::default(), dtype.into(), shape)?;
    writer.write(bytes)?;
    writer.finish()
}

/// A text file that appears as a whole or not at all: see [`output`].
#[derive(Debug)]
pub(crate) struct Document {
    path: PathBuf,
    output: Output,
}

impl Document {
    /// Creates the temporary file. Fails if the folder is not writable.
    pub(crate) fn create(path: &Path) -> Result<Self, FileError> {
        let output = Output::create(path, false)
            .map_err(|problem| FileError::when_writing(path, problem))?;
        Ok(Self {
            path: path.to_owned(),
            output,
        })
    }

    /// Writes the text and renames the file to its final name.
    pub(crate) fn finish(self, text: &str) -> Result<(), FileError> {
        let Self { path, mut output } = self;
        let write_outcome = output.write_all(text.as_bytes());
        let outcome = write_outcome
            .map_err(Problem::from)
            .and_then(|()| output.finish());
        outcome.map_err(|problem| FileError::when_writing(&path, problem))
    }
}

/// Writes an array file piece by piece.
///
/// The file appears as a whole or not at all: see [`output`].
#[derive(Debug)]
pub(crate) struct Writer {
    path: PathBuf,
    file: WrittenFormat,
    /// The number of the elements' bytes that are still missing.
    missing_bytes: usize,
}

#[derive(Debug)]
enum WrittenFormat {
    Bytes(Output),
    Npz(Box<npz::ArchiveWriter>),
    Png(png::Image),
}

/// Options for writing a file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WriteOptions<'a> {
    /// The format. `None` chooses it by the path's extension.
    pub(crate) format: Option<Format>,
    /// True if an existing file is kept. Then [`Writer::create`] fails if the file exists.
    pub(crate) keeps_file: bool,
    /// The origin of the array, or of the input that the array is made from.
    pub(crate) origin: Option<&'a Origin>,
    /// True if the elements arrive in Fortran order, which only NumPy's formats can hold.
    pub(crate) column_major: bool,
}

impl WriteOptions<'_> {
    /// Returns the format for the file at this path.
    fn format_of(&self, path: &Path) -> Option<Format> {
        self.format
            .or_else(|| Format::with_name(&file_extension(path)))
    }
}

impl Writer {
    /// Creates the temporary file. Fails if the format cannot hold the array or if the folder is not writable. The path
    /// `-` is standard output.
    pub(crate) fn create(
        path: &Path,
        options: WriteOptions<'_>,
        element: Element,
        shape: &[usize],
    ) -> Result<Self, FileError> {
        let target = Source::from(path.as_os_str().to_owned());
        let Source {
            path, array_name, ..
        } = &target;
        let create = || {
            let extension = file_extension(path);
            let len = claimed_len(element.name(), element.size(), shape)?;
            // If the path names an array, that array is added to the file, so an existing file is opened. Only regular
            // files are opened, because opening a named pipe would block.
            let is_file = || fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
            let existing_file = match array_name {
                Some(_) if is_file() => Some(File::open(path)?),
                _ => None,
            };
            let old_metadata = existing_file.as_ref().map(File::metadata).transpose()?;
            let create_output = || {
                let output = Output::create(path, options.keeps_file)?;
                Ok(match array_name {
                    Some(_) => output.adds_to(old_metadata),
                    None => output,
                })
            };
            // The path can name the array. Otherwise the array is named after its input, or else after the file.
            let choose_array_name = || {
                let chosen_name = array_name
                    .clone()
                    .or_else(|| options.origin?.array_name.clone());
                let chosen_name =
                    chosen_name.or_else(|| Some(path.file_stem()?.to_string_lossy().into()));
                chosen_name.unwrap_or_default()
            };
            let file = match options.format_of(path) {
                Some(Format::Npy) if extension == "npy" && array_name.is_some() => {
                    return Err(Problem::invalid(
                        "a field cannot be written; leave out the # and its name",
                    ));
                }
                Some(Format::Npy) => WrittenFormat::Bytes(npy::create_npy(
                    create_output,
                    element,
                    shape,
                    options.column_major,
                )?),
                Some(Format::Png) => {
                    let metadata = options.origin.and_then(|origin| origin.image.clone());
                    WrittenFormat::Png(png::Image::create(create_output, element, shape, metadata)?)
                }
                Some(Format::Safetensors) => {
                    let tensor_name = choose_array_name();
                    let tensor = safetensors::NewTensor::new(&tensor_name, element, shape, len)?;
                    WrittenFormat::Bytes(safetensors::create_safetensors(
                        create_output,
                        tensor,
                        existing_file,
                    )?)
                }
                Some(Format::Npz) => {
                    let header = npy::header_bytes(element, shape, options.column_major)?;
                    let writer = npz::create_npz(
                        create_output,
                        &choose_array_name(),
                        &header,
                        len,
                        existing_file,
                    )?;
                    WrittenFormat::Npz(Box::new(writer))
                }
                Some(Format::Jpg) => {
                    return Err(Problem::invalid(format!(
                        ".jpg is read, but not written; {WRITABLE_FORMATS}"
                    )));
                }
                None if path.is_dir() => {
                    return Err(Problem::invalid(
                        "it is a folder; give it by --to, or name a file in it",
                    ));
                }
                None => return Err(unknown_extension(&extension, WRITABLE_FORMATS)),
            };
            Ok((file, len))
        };
        let (file, missing_bytes) =
            create().map_err(|problem| FileError::when_writing(path, problem))?;
        Ok(Self {
            path: path.clone(),
            file,
            missing_bytes,
        })
    }

    /// Appends elements in native byte order: in Fortran order with [`WriteOptions::column_major`], otherwise in
    /// row-major order.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        let outcome = match (self.missing_bytes.checked_sub(bytes.len()), &mut self.file) {
            (None, _) => Err(Problem::invalid("more bytes than the shape says")),
            (Some(missing_bytes), file) => {
                self.missing_bytes = missing_bytes;
                match file {
                    WrittenFormat::Bytes(output) => output.write_all(bytes).map_err(Problem::from),
                    WrittenFormat::Npz(archive) => archive.write_all(bytes).map_err(Problem::from),
                    WrittenFormat::Png(image) => image.write(bytes),
                }
            }
        };
        outcome.map_err(|problem| FileError::when_writing(&self.path, problem))
    }

    /// Completes the file and renames it to its final name. Fails if bytes are missing.
    pub(crate) fn finish(self) -> Result<(), FileError> {
        let outcome = match (self.missing_bytes, self.file) {
            (0, WrittenFormat::Bytes(output)) => output.finish(),
            (0, WrittenFormat::Npz(archive)) => npz::finish_npz(*archive),
            (0, WrittenFormat::Png(image)) => image.finish(),
            (missing_bytes, _) => Err(Problem::invalid(format!(
                "{missing_bytes} bytes are missing"
            ))),
        };
        outcome.map_err(|problem| FileError::when_writing(&self.path, problem))
    }
}

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Npy,
    Npz,
    Png,
    Jpg,
    Safetensors,
}

/// The formats that can be read, and the formats that can be written, for messages and help.
macro_rules! read_formats {
    () => {
        ".npy, .npz, .png, .jpg and .safetensors"
    };
}
macro_rules! written_formats {
    () => {
        ".npy, .npz, .png and .safetensors"
    };
}
pub(crate) const READ_FORMATS: &str = read_formats!();
pub(crate) const WRITTEN_FORMATS: &str = written_formats!();
const READABLE_FORMATS: &str = concat!(read_formats!(), " can be read");
const WRITABLE_FORMATS: &str = concat!(written_formats!(), " can be written");

impl Format {
    /// Returns the format with this extension or name.
    pub(crate) fn with_name(name: &str) -> Option<Self> {
        match name {
            "npy" => Some(Self::Npy),
            "npz" => Some(Self::Npz),
            "png" => Some(Self::Png),
            "jpg" | "jpeg" => Some(Self::Jpg),
            "safetensors" => Some(Self::Safetensors),
            _ => None,
        }
    }

    /// Returns the extension, with an article.
    fn with_article(self) -> String {
        let article = match self {
            Self::Npy | Self::Npz => "an",
            Self::Png | Self::Jpg | Self::Safetensors => "a",
        };
        format!("{article} .{}", self.name())
    }

    /// Returns the format that matches the extension of a path.
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        let source = Source::from(path.as_os_str().to_owned());
        Self::with_name(&file_extension(&source.path))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Npy => "npy",
            Self::Npz => "npz",
            Self::Png => "png",
            Self::Jpg => "jpg",
            Self::Safetensors => "safetensors",
        }
    }

    /// Returns the format of an output that is named after a file of this format: this format if it can hold the array,
    /// otherwise `.npy` or `.safetensors`.
    pub(crate) fn that_holds(self, element: Element, shape: &[usize]) -> Self {
        let formats = [self, Self::Npy, Self::Safetensors];
        let suitable_format = formats
            .into_iter()
            .find(|format| format.can_hold(element, shape));
        suitable_format.unwrap_or(self)
    }

    /// Returns whether this format can hold an array of this element type and shape.
    fn can_hold(self, element: Element, shape: &[usize]) -> bool {
        match self {
            Self::Npy | Self::Npz => npy::header_bytes(element, shape, false).is_ok(),
            Self::Png => png::picture_format(element, shape).is_ok(),
            Self::Jpg => false,
            Self::Safetensors => safetensors::NewTensor::new("", element, shape, 0).is_ok(),
        }
    }

    /// Returns whether this format can hold arrays in Fortran order.
    pub(crate) fn holds_fortran_order(self) -> bool {
        matches!(self, Self::Npy | Self::Npz)
    }

    /// Returns the default format for results from a file of this format.
    pub(crate) fn for_results(self) -> Self {
        match self {
            Self::Jpg => Self::Png,
            other => other,
        }
    }

    /// Returns the format of a file that starts with these bytes.
    fn from_file_start(start: &[u8]) -> Option<Self> {
        match start {
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Some(Self::Npy),
            [0x89, b'P', b'N', b'G', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpg),
            [b'P', b'K', 3, 4, ..] => Some(Self::Npz),
            // The first 8 bytes are the header's length, which is below 2^32; then the header begins.
            [_, _, _, _, 0, 0, 0, 0, b'{', ..] => Some(Self::Safetensors),
            _ => None,
        }
    }
}

/// Opens a file and finds its format: by its extension or, if that is unknown, by its first bytes.
fn open_and_detect(source: &Source) -> Result<(File, Format), Problem> {
    let path = &source.path;
    let extension = file_extension(path);
    let mut file = if source.is_stdin() {
        source::spool_stdin()?
    } else {
        // The file is checked before it is opened, because opening a named pipe would block.
        let metadata = fs::metadata(path)?;
        if metadata.is_dir() && !extension.is_empty() && Format::with_name(&extension).is_none() {
            return Err(unknown_extension(&extension, READABLE_FORMATS));
        }
        if !metadata.is_file() {
            return Err(Problem::invalid(
                "not a regular file; pipes and folders cannot be read, save to a file first, or \
                 give - for standard input",
            ));
        }
        File::open(path)?
    };
    let mut first_bytes = Vec::new();
    (&mut file).take(9).read_to_end(&mut first_bytes)?;
    file.rewind()?;
    if let Some(format) = Format::with_name(&extension) {
        let detected_name = Format::from_file_start(&first_bytes).map(Format::name);
        return match detected_name {
            Some(detected_name) if detected_name != format.name() => {
                Err(Problem::invalid(format!(
                    "not {} file: it begins as .{detected_name}; rename it",
                    format.with_article()
                )))
            }
            None if format == Format::Png => Err(Problem::invalid("not a PNG file")),
            _ => Ok((file, format)),
        };
    }
    match Format::from_file_start(&first_bytes) {
        Some(format) => Ok((file, format)),
        None if source.is_stdin() => Err(Problem::invalid(format!(
            "it begins as no known format; {READABLE_FORMATS}"
        ))),
        None => Err(unknown_extension(&extension, READABLE_FORMATS)),
    }
}

fn file_extension(path: &Path) -> String {
    let extension = path.extension().unwrap_or_default();
    extension.to_string_lossy().to_ascii_lowercase()
}

fn unknown_extension(extension: &str, rule: &str) -> Problem {
    Problem::invalid(match extension {
        "" => format!("the name has no extension to tell the format; {rule}"),
        "zarr" => "Zarr stores are for wgslice-scale, as in `wgslice-scale slice x.zarr SPEC y.zarr`".into(),
        "tif" | "tiff" | "webp" | "bmp" | "gif" | "heic" | "avif" if rule == WRITABLE_FORMATS => {
            format!("pictures are written as .png; write one and convert it, as by `magick x.png x.{extension}`")
        }
        "tif" | "tiff" | "webp" | "bmp" | "gif" | "heic" | "avif" => format!(
            "pictures are .png or .jpg here; convert it, as by `magick x.{extension} x.png`, or \
             `python3 -c \"import imageio as i; i.imwrite('x.png', i.imread('x.{extension}'))\"`"
        ),
        "h5" | "hdf5" | "nc" => format!(
            "save the array as .npy, as by `python3 -c \"import h5py, numpy; \
             numpy.save('x.npy', h5py.File('x.{extension}')['NAME'])\"`"
        ),
        "parquet" | "arrow" | "feather" => format!(
            "tables are for `wgslice-scale sql`; or save a column as .npy, as by `python3 -c \"import pandas, numpy; \
             numpy.save('x.npy', pandas.read_{}('x.{extension}')['NAME'])\"`",
            if extension == "parquet" { "parquet" } else { "feather" }
        ),
        "pt" | "pth" | "bin" | "ckpt" => "save tensors as .safetensors, as by `python3 -c \"import torch, safetensors.torch as s; \
             s.save_file(torch.load('x.pt'), 'x.safetensors')\"`".into(),
        _ => format!("unknown extension .{extension}; {rule}"),
    })
}

/// Returns the number of bytes of an array, or `None` if they cannot be addressed. An array with a dimension of size 0
/// can also be too large: as in NumPy, the product of the other dimensions must be addressable, because strides are
/// products of sizes.
fn byte_len(size: usize, shape: &[usize]) -> Option<usize> {
    let spanned_bytes = shape
        .iter()
        .filter(|&&n| n != 0)
        .try_fold(size, |product, &n| product.checked_mul(n))?;
    isize::try_from(spanned_bytes).ok()?;
    Some(if shape.contains(&0) { 0 } else { spanned_bytes })
}

/// Returns [`byte_len`], or an error if the array is too large.
fn claimed_len(name: impl Display, size: usize, shape: &[usize]) -> Result<usize, Problem> {
    byte_len(size, shape).ok_or_else(|| {
        Problem::invalid(format!(
            "{} of {name} is larger than any memory; the file is damaged",
            units::format_shape(shape)
        ))
    })
}
