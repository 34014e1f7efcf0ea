//! Zarr stores for the tests, and the jobs that run on them. The crate `zarrs` writes and reads each array as a whole.

use crate::random::Random;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};
use wgslice_scale::{
    job::{self, DeviceChoice, Form, How, Job, Operation, Prepared, Record, State, Summary},
    zarr::{Codec, Error, Source},
};
use zarrs::{
    array::{Array, ArrayBytes, ArrayMetadata, CodecOptions},
    filesystem::FilesystemStore,
};

/// An array and its expected elements, each as its bytes.
pub(crate) struct Known {
    pub(crate) path: PathBuf,
    pub(crate) shape: Vec<usize>,
    pub(crate) chunk_shape: Vec<usize>,
    pub(crate) elements: Vec<Vec<u8>>,
}

/// Returns the element types of random arrays in Zarr V3, each with a fill value and its bytes.
fn fills() -> [(&'static str, Value, Vec<u8>); 6] {
    [
        ("uint8", json!(7), vec![7]),
        ("int16", json!(-2), (-2_i16).to_ne_bytes().to_vec()),
        ("float32", json!("NaN"), f32::NAN.to_ne_bytes().to_vec()),
        ("uint64", json!(0), vec![0; 8]),
        (
            "complex128",
            json!([1.0, 0.0]),
            [1.0_f64, 0.0].map(f64::to_ne_bytes).concat(),
        ),
        ("bfloat16", json!(0.0), vec![0; 2]),
    ]
}

/// The format of a store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum StoreKind {
    Chunks,
    Shards,
    /// Shards after a `transpose` codec, so that a shard can only be read as a whole.
    Transposed,
    V2,
}

impl Known {
    /// Writes a random array. Some of its chunks or shards can be missing.
    pub(crate) fn random(random: &mut Random, path: &Path, kind: StoreKind) -> Self {
        let rank = random.within(1, 4) as usize;
        let max_size = [0, 300, 40, 14, 8][rank];
        let shape: Vec<usize> = (0..rank)
            .map(|_| random.within(1, max_size) as usize)
            .collect();
        let chunk_shape: Vec<usize> = shape
            .iter()
            .map(|&size| random.within(1, size.min(9) as i64 + 1) as usize)
            .collect();
        let (dtype, fill, v3_fill_bytes) = fills()[random.within(0, 5) as usize].clone();
        let shard_shape: Vec<usize> = chunk_shape
            .iter()
            .map(|size| size * random.within(1, 3) as usize)
            .collect();
        // Jobs write level 3 of Zstandard, or level 5 of gzip, and copy encoded chunks only if their level is the same.
        // Level 0 of Zstandard means 3.
        let levels = [(1, 1), (0, 5), (3, 5)][random.within(0, 2) as usize];
        let compressor = [
            json!({"name": "zstd", "configuration": {"level": levels.0, "checksum": false}}),
            json!({"name": "gzip", "configuration": {"level": levels.1}}),
            json!({"name": "crc32c"}),
        ][random.within(0, 2) as usize]
            .clone();
        let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
        let big = json!({"name": "bytes", "configuration": {"endian": "big"}});
        let codecs = match kind {
            StoreKind::Chunks => {
                let bytes = [&bytes, &big][random.within(0, 1) as usize];
                json!([bytes, compressor])
            }
            StoreKind::Shards | StoreKind::Transposed => {
                let mut order: Vec<_> = (0..rank).collect();
                if kind == StoreKind::Transposed {
                    order.rotate_left(random.within(0, rank as i64 - 1) as usize);
                }
                let inner_shape: Vec<_> = order.iter().map(|&dim| chunk_shape[dim]).collect();
                let sharding = json!({"name": "sharding_indexed", "configuration": {
                    "chunk_shape": inner_shape, "codecs": [bytes, compressor],
                    "index_codecs": [bytes, {"name": "crc32c"}],
                    "index_location": (["start", "end"][random.within(0, 1) as usize])
                }});
                match kind {
                    StoreKind::Transposed => json!([
                        {"name": "transpose", "configuration": {"order": order}}, sharding
                    ]),
                    _ => json!([sharding]),
                }
            }
            StoreKind::V2 => Value::Null,
        };
        let (fill_bytes, metadata) = match kind {
            StoreKind::V2 => {
                let order = ["C", "F"][random.within(0, 1) as usize];
                let (dtype, size) =
                    [("<i4", 4), (">i2", 2), ("|u1", 1), (">f8", 8)][random.within(0, 3) as usize];
                let metadata = json!({
                    "zarr_format": 2, "shape": shape, "chunks": chunk_shape, "dtype": dtype,
                    "compressor": {"id": "zstd", "level": 1}, "fill_value": 0, "order": order,
                    "filters": null
                });
                (vec![0; size], metadata)
            }
            _ => {
                let stored_shape = if kind == StoreKind::Chunks {
                    &chunk_shape
                } else {
                    &shard_shape
                };
                let metadata = json!({
                    "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": dtype,
                    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": stored_shape}},
                    "chunk_key_encoding": {"name": "default"}, "fill_value": fill,
                    "codecs": codecs, "attributes": {}
                });
                (v3_fill_bytes, metadata)
            }
        };
        let element_count: usize = shape.iter().product();
        let mut elements: Vec<Vec<u8>> = (0..element_count)
            .map(|_| random.next().to_ne_bytes().repeat(2)[..fill_bytes.len()].to_vec())
            .collect();
        let stored_shape = if matches!(kind, StoreKind::Shards | StoreKind::Transposed) {
            &shard_shape
        } else {
            &chunk_shape
        };
        // Some chunks have only the fill value, and can be omitted, even from shards.
        let blank_remainder = random.within(0, 3) as u64;
        for (index, element) in elements.iter_mut().enumerate() {
            let at = coordinates(index, &shape);
            let chunk = at
                .iter()
                .zip(&chunk_shape)
                .map(|(at, size)| (at / size) as u64);
            if blank_remainder > 0 && chunk.sum::<u64>() % 4 == blank_remainder {
                element.clone_from(&fill_bytes);
            }
        }
        let array = write_as(path, metadata, &elements, random.within(0, 1) == 0);
        let chunk_counts: Vec<usize> = shape
            .iter()
            .zip(stored_shape)
            .map(|(n, c)| n.div_ceil(*c))
            .collect();
        for chunk_index in 0..chunk_counts.iter().product() {
            if random.within(0, 4) > 0 {
                continue;
            }
            let at = coordinates(chunk_index, &chunk_counts);
            let key: Vec<u64> = at.iter().map(|&at| at as u64).collect();
            array.erase_chunk(&key).unwrap();
            for (index, element) in elements.iter_mut().enumerate() {
                let element_at = coordinates(index, &shape);
                if element_at
                    .iter()
                    .zip(stored_shape)
                    .map(|(i, c)| i / c)
                    .eq(at.iter().copied())
                {
                    element.clone_from(&fill_bytes);
                }
            }
        }
        let chunk_shape = if kind == StoreKind::Transposed {
            shard_shape
        } else {
            chunk_shape
        };
        Self {
            path: path.to_owned(),
            shape,
            chunk_shape,
            elements,
        }
    }

    /// Returns the bytes of the elements with the order of rows reversed. A row has `row_length` elements.
    pub(crate) fn rows_reversed(&self, row_length: usize) -> Vec<u8> {
        let rows = self.elements.chunks(row_length).rev();
        rows.flat_map(<[_]>::concat).collect()
    }

    /// Writes an array of numbers in chunks that are not compressed.
    pub(crate) fn numbers(path: &Path, shape: &[usize], chunk_shape: &[usize]) -> Self {
        Self::numbers_in(path, shape, chunk_shape, None)
    }

    /// Writes an array of numbers, in shards of `shard_shape` if it is given.
    pub(crate) fn numbers_in(
        path: &Path,
        shape: &[usize],
        chunk_shape: &[usize],
        shard_shape: Option<&[usize]>,
    ) -> Self {
        let elements: Vec<_> = (0..shape.iter().product::<usize>())
            .map(|n| (n as u32).to_ne_bytes().to_vec())
            .collect();
        let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
        let codecs = match shard_shape {
            None => json!([bytes]),
            Some(_) => json!([{"name": "sharding_indexed", "configuration": {
                "chunk_shape": chunk_shape, "codecs": [bytes],
                "index_codecs": [bytes, {"name": "crc32c"}], "index_location": "end"
            }}]),
        };
        let metadata = json!({
            "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint32",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shard_shape.unwrap_or(chunk_shape)}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
            "codecs": codecs, "attributes": {}
        });
        write(path, metadata, &elements);
        Self {
            path: path.to_owned(),
            shape: shape.to_vec(),
            chunk_shape: chunk_shape.to_vec(),
            elements,
        }
    }
}

/// Writes an array, including chunks with only the fill value.
pub(crate) fn write(path: &Path, metadata: Value, elements: &[Vec<u8>]) -> Array<FilesystemStore> {
    write_as(path, metadata, elements, true)
}

/// Writes an array. Chunks with only the fill value are stored if `stores_fill_chunks` is true.
fn write_as(
    path: &Path,
    metadata: Value,
    elements: &[Vec<u8>],
    stores_fill_chunks: bool,
) -> Array<FilesystemStore> {
    let store = Arc::new(FilesystemStore::new(path).unwrap());
    let metadata: ArrayMetadata = serde_json::from_value(metadata).unwrap();
    let array = Array::new_with_metadata(store, "/", metadata).unwrap();
    array.store_metadata().unwrap();
    let options = CodecOptions::default().with_store_empty_chunks(stores_fill_chunks);
    let elements = ArrayBytes::from(elements.concat());
    array
        .store_array_subset_opt(&array.subset_all(), elements, &options)
        .unwrap();
    array
}

/// Returns the shape of an array, and the bytes of its elements, as `zarrs` reads them.
pub(crate) fn read(path: &Path) -> (Vec<usize>, Vec<u8>) {
    let store = Arc::new(FilesystemStore::new(path).unwrap());
    let array = Array::open(store, "/").unwrap();
    let bytes: ArrayBytes<'static> = array.retrieve_array_subset(&array.subset_all()).unwrap();
    let shape = array.shape().iter().map(|&size| size as usize).collect();
    (shape, bytes.into_fixed().unwrap().into_owned())
}

pub(crate) fn coordinates(mut index: usize, shape: &[usize]) -> Vec<usize> {
    let mut at = vec![0; shape.len()];
    for (at, &size) in at.iter_mut().zip(shape).rev() {
        *at = index % size;
        index /= size;
    }
    at
}

/// Returns the contents of all files in a folder and its subfolders, by their paths in the folder.
pub(crate) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn visit(root: &Path, folder: &Path, contents: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                visit(root, &path, contents);
            } else {
                contents.insert(
                    path.strip_prefix(root).unwrap().to_owned(),
                    fs::read(&path).unwrap(),
                );
            }
        }
    }
    let mut contents = BTreeMap::new();
    visit(folder, folder, &mut contents);
    contents
}

pub(crate) const HOW: How = How {
    device: DeviceChoice::Cpu,
    threads: 1,
    attempts: 1,
    memory: None,
    cache: 0,
    ahead: 0,
};

/// Returns the CPU and, with the feature `gpu`, a GPU if the machine has one. With `WGSLICE_REQUIRE_GPU=1`, the machine
/// must have one.
#[cfg(feature = "gpu")]
pub(crate) fn devices() -> Vec<DeviceChoice> {
    match wgslice::Backend::open_gpu(&wgslice::gpu::AdapterOptions::default()) {
        Ok(_) => vec![DeviceChoice::Cpu, DeviceChoice::Gpu],
        Err(error) if std::env::var_os("WGSLICE_REQUIRE_GPU").is_some_and(|value| value == "1") => {
            panic!("WGSLICE_REQUIRE_GPU=1: {error}")
        }
        Err(error) => {
            println!("no test on a GPU: {error}");
            vec![DeviceChoice::Cpu]
        }
    }
}

#[cfg(not(feature = "gpu"))]
pub(crate) fn devices() -> Vec<DeviceChoice> {
    vec![DeviceChoice::Cpu]
}

/// Begins or continues a job that is not complete, and opens its arrays.
pub(crate) fn open(job: &Job, how: How) -> (Record, Arc<Prepared>) {
    let State::Open(record) = Record::begin(job, false).unwrap() else {
        panic!("the job is done");
    };
    let order_text = serde_json::to_string(&record.order(job.clone(), how)).unwrap();
    (record, Prepared::of(&order_text).unwrap())
}

/// Runs a job that is not complete, on two threads.
pub(crate) fn run(job: &Job, how: How) -> Result<Summary, Error> {
    let (record, prepared) = open(job, how);
    let missing = record.missing(&prepared)?;
    job::run(record, &prepared, &missing, 2, 3)
}

pub(crate) fn slice(spec: &str) -> Operation {
    Operation::Slice {
        spec: spec.to_owned(),
        axes: None,
        conversion: None,
    }
}

/// Draws the shapes of shards and chunks, and the compression, of a result of this shape.
pub(crate) fn form(random: &mut Random, shape: &[usize]) -> Form {
    let sizes = |random: &mut Random| -> Vec<usize> {
        shape
            .iter()
            .map(|&size| random.within(1, size.min(6) as i64 + 1) as usize)
            .collect()
    };
    let chunk = sizes(random);
    let codecs = [Codec::None, Codec::Gzip, Codec::Zstd, Codec::Blosc];
    let (shard, chunk) = match random.within(0, 3) {
        0 => (None, None),
        1 => (Some(chunk), None),
        2 => (None, Some(chunk)),
        _ => {
            let shard = chunk.iter().map(|size| size * random.within(1, 3) as usize);
            (Some(shard.collect()), Some(chunk))
        }
    };
    let codec_index = random.within(0, 4) as usize;
    Form {
        shard,
        chunk,
        codec: codecs.get(codec_index).copied(),
    }
}

/// Returns the coordinates of the chunks that contain the elements with these indices.
pub(crate) fn chunks_of(
    indices: impl Iterator<Item = usize>,
    shape: &[usize],
    chunk_shape: &[usize],
) -> std::collections::BTreeSet<Vec<usize>> {
    indices
        .map(|index| {
            let at = coordinates(index, shape);
            at.iter()
                .zip(chunk_shape)
                .map(|(at, size)| at / size)
                .collect()
        })
        .collect()
}

/// Returns the indices of the elements in each shard of an array, by the shard's coordinates.
pub(crate) fn shards(shape: &[usize], shard_shape: &[usize]) -> BTreeMap<Vec<usize>, Vec<usize>> {
    let mut shards: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for index in 0..shape.iter().product() {
        let at = coordinates(index, shape);
        let shard_at = at
            .iter()
            .zip(shard_shape)
            .map(|(at, size)| at / size)
            .collect();
        shards.entry(shard_at).or_default().push(index);
    }
    shards
}

fn opening_error(path: &Path) -> String {
    match Source::open(path) {
        Err(error @ Error::Usage(_)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn arrays_that_cannot_be_sliced_are_rejected_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    assert!(opening_error(&path.join("nowhere")).contains("no such folder"));
    assert!(opening_error(path).contains("neither zarr.json nor .zarray"));
    let write_metadata = |text: &str| fs::write(path.join("zarr.json"), text).unwrap();
    write_metadata(r#"{"zarr_format": 3, "node_type": "group"}"#);
    let error = opening_error(path);
    assert!(
        error.contains("name an array in it") || error.contains("group"),
        "{error}"
    );
    write_metadata("{");
    assert!(opening_error(path).contains("cannot open"));
    let array_metadata = |dtype: &str, fill: &str, grid: &str| {
        format!(
            r#"{{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "{dtype}",
            "chunk_grid": {grid}, "chunk_key_encoding": {{"name": "default"}},
            "fill_value": {fill}, "codecs": [{{"name": "bytes"}}]}}"#
        )
    };
    let regular = r#"{"name": "regular", "configuration": {"chunk_shape": [2]}}"#;
    write_metadata(
        &array_metadata("int4", "0", regular)
            .replace(r#"{"name": "bytes"}"#, r#"{"name": "packbits"}"#),
    );
    let error = opening_error(path);
    assert!(
        error.contains("int4") && error.contains("bfloat16"),
        "{error}"
    );
    let rectangular = r#"{"name": "rectangular", "configuration": {"chunk_shape": [[1, 3]]}}"#;
    write_metadata(&array_metadata("uint8", "0", rectangular));
    let error = opening_error(path);
    assert!(
        error.contains("rectangular") && error.contains("regular"),
        "{error}"
    );
}

#[test]
fn a_result_in_its_source_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    Known::numbers(&path, &[4], &[2]);
    for result in [path.clone(), path.join("b.zarr"), folder.path().to_owned()] {
        let refused = Job::new(slice(":"), &path, &result, &Form::default());
        assert!(
            refused
                .unwrap_err()
                .to_string()
                .contains("overlaps its source")
        );
    }
}
