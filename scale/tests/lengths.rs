//! An uncompressed chunk has exactly one correct length. Every command rejects a chunk of another length, even if all
//! bytes that the command needs exist.

use crate::{
    gather::save,
    zarr::{read, write},
};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The shape of the array. Its rows are so long that a slice does not read the rows between the rows that it needs.
const SHAPE: [usize; 2] = [16, 4500];
const CHUNK_SHAPE: [usize; 2] = [8, 4500];

/// A store of uncompressed chunks, and the value that contains its first chunk.
pub(crate) struct RawStore {
    pub(crate) name: &'static str,
    pub(crate) path: PathBuf,
    /// The path of the value's file in the folder of the stores. Errors name it.
    pub(crate) key: String,
    file: PathBuf,
    value: Vec<u8>,
    is_sharded: bool,
}

impl RawStore {
    /// Returns values in which the first chunk has another length, each with a name.
    pub(crate) fn damages(&self) -> Vec<(&'static str, Vec<u8>)> {
        let chunk_bytes = CHUNK_SHAPE[0] * CHUNK_SHAPE[1] * 4;
        let row_bytes = CHUNK_SHAPE[1] * 4;
        if self.is_sharded {
            // In its shard, the chunk is followed by the other chunk, so no length exceeds the shard's end.
            let lengths = [
                ("one byte too long", chunk_bytes + 1),
                ("twice as long", 2 * chunk_bytes),
                ("one byte too short", chunk_bytes - 1),
                ("without its last row", chunk_bytes - row_bytes),
                ("half as long", chunk_bytes / 2),
                ("empty", 0),
            ];
            let damaged = lengths.map(|(name, length)| {
                let mut value = self.value.clone();
                let end = value.len() - 4;
                // The index has 2 pairs of an offset and a length, with 16 bytes each.
                let index_start = end - 2 * 16;
                value[index_start + 8..][..8].copy_from_slice(&(length as u64).to_le_bytes());
                let checksum = crc32c::crc32c(&value[index_start..end]);
                value[end..].copy_from_slice(&checksum.to_le_bytes());
                (name, value)
            });
            return damaged.into();
        }
        let value = &self.value;
        vec![
            ("one byte too long", [&value[..], &[0]].concat()),
            ("a row too long", [&value[..], &value[..row_bytes]].concat()),
            // Writers that do not divide an array into its chunks write the whole array to each chunk's file.
            ("as long as the array", value.repeat(2)),
            ("one byte too short", value[..value.len() - 1].to_vec()),
            (
                "without its last row",
                value[..value.len() - row_bytes].to_vec(),
            ),
            ("half as long", value[..value.len() / 2].to_vec()),
            ("empty", Vec::new()),
        ]
    }

    /// Returns whether a part of a chunk can be read without the rest.
    pub(crate) fn is_read_in_parts(&self) -> bool {
        ["v2", "v3", "shards"].contains(&self.name)
    }

    pub(crate) fn store(&self, value: &[u8]) {
        fs::write(&self.file, value).unwrap();
    }

    pub(crate) fn restore(&self) {
        self.store(&self.value);
    }
}

/// Writes stores of the same numbers with uncompressed chunks, in all forms in which the length of a chunk is known.
pub(crate) fn write_raw_stores(folder: &Path) -> Vec<RawStore> {
    let elements: Vec<_> = (0..SHAPE[0] * SHAPE[1])
        .map(|n| (n as i32).to_ne_bytes().to_vec())
        .collect();
    let v2 = |order: &str, dtype: &str| {
        json!({
            "zarr_format": 2, "shape": SHAPE, "chunks": CHUNK_SHAPE, "dtype": dtype, "compressor": null,
            "fill_value": 0, "order": order, "filters": null
        })
    };
    let v3 = |chunk_shape: &[usize], codecs: Value| {
        json!({
            "zarr_format": 3, "node_type": "array", "shape": SHAPE, "data_type": "int32",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk_shape}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
            "codecs": codecs, "attributes": {}
        })
    };
    let little = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let big = json!({"name": "bytes", "configuration": {"endian": "big"}});
    let transpose = json!({"name": "transpose", "configuration": {"order": [1, 0]}});
    let sharding = |codecs: Value| {
        json!([{"name": "sharding_indexed", "configuration": {
            "chunk_shape": CHUNK_SHAPE, "codecs": codecs,
            "index_codecs": [little, {"name": "crc32c"}], "index_location": "end"
        }}])
    };
    let stores = [
        ("v2", "0.0", v2("C", "<i4")),
        ("v2-f", "0.0", v2("F", "<i4")),
        ("v2-big", "0.0", v2("C", ">i4")),
        ("v3", "c/0/0", v3(&CHUNK_SHAPE, json!([little]))),
        ("v3-big", "c/0/0", v3(&CHUNK_SHAPE, json!([big]))),
        (
            "v3-f",
            "c/0/0",
            v3(&CHUNK_SHAPE, json!([transpose, little])),
        ),
        ("shards", "c/0/0", v3(&SHAPE, sharding(json!([little])))),
        (
            "shards-f",
            "c/0/0",
            v3(&SHAPE, sharding(json!([transpose, little]))),
        ),
    ];
    let written = stores.into_iter().map(|(name, key, metadata)| {
        let path = folder.join(format!("{name}.zarr"));
        write(&path, metadata, &elements);
        let file = path.join(key);
        RawStore {
            name,
            key: format!("{name}.zarr/{key}"),
            value: fs::read(&file).unwrap(),
            path,
            file,
            is_sharded: name.starts_with("shards"),
        }
    });
    written.collect()
}

/// Returns the arguments before `-o`, and the extension of the result's name, for each command's use of an array. All
/// uses need a part of the first chunk.
pub(crate) fn uses(folder: &Path, array: &str) -> Vec<(Vec<String>, &'static str)> {
    let indices = |name: &str, shape: &[usize], values: &[i64]| {
        let folder = folder.join(name);
        // If the folder exists, an earlier call has written the indices.
        if fs::create_dir(&folder).is_ok() {
            save(&folder, shape, values, true);
        }
        folder.join("indices.npy").display().to_string()
    };
    let rows = indices("rows", &[2], &[3, 1]);
    let table = folder.join("rows/indices.zarr").display().to_string();
    let points = indices("points", &[2, 2], &[0, 0, 3, 7]);
    let begins = indices("begins", &[2, 2], &[0, 0, 2, 9]);
    let uses: [(&[&str], &str); 16] = [
        (&["slice", array, "5:6, :"], "zarr"),
        (&["slice", array, "0, 0, ..."], "zarr"),
        (&["slice", array, "0, :2"], "zarr"),
        (&["slice", array, "::2"], "zarr"),
        (&["slice", array, "::-3, 7:4000"], "zarr"),
        (&["slice", array, ":"], "zarr"),
        (&["slice", array, ":", "--codec", "gzip"], "zarr"),
        (&["slice", array, ":2", "--transpose", "1,0"], "zarr"),
        (&["concat", array, array], "zarr"),
        (&["stack", array, array, "--axis", "1"], "zarr"),
        (&["index", array, "[0, 2], :3"], "zarr"),
        (&["gather", array, &rows], "zarr"),
        (&["gather-nd", array, &points], "zarr"),
        (&["crop", array, &begins, "--size", "1,5"], "zarr"),
        // In this use, the array contains the indices.
        (&["gather", &table, array, "--out-of-range", "zero"], "zarr"),
        (&["convert", array], "npy"),
    ];
    let uses = uses.map(|(arguments, extension)| {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned());
        (arguments.collect(), extension)
    });
    uses.into()
}

/// Checks that each use of an array fails because of its first chunk, and leaves no result.
pub(crate) fn check_failures(
    command: impl Fn() -> Command,
    uses: &[(Vec<String>, &'static str)],
    folder: &Path,
    key: &str,
    description: &str,
) {
    for (number, (arguments, extension)) in uses.iter().enumerate() {
        let result = folder.join(format!("refused-{number}.{extension}"));
        let output = command()
            .args(arguments)
            .arg("-o")
            .arg(&result)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        let is_named = errors.contains(key) && errors.contains("corrupt");
        assert!(
            output.status.code() == Some(1) && is_named,
            "{description}: {arguments:?}: {output:?}"
        );
        let has_result = match *extension {
            "npy" => result.exists(),
            _ => result.join("zarr.json").exists(),
        };
        assert!(!has_result, "{description}: {arguments:?}");
        let _ = fs::remove_dir_all(&result);
    }
}

#[test]
fn a_chunk_of_another_length_is_rejected_by_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let command = || Command::new(env!("CARGO_BIN_EXE_wgslice-scale"));
    for raw in write_raw_stores(folder.path()) {
        let uses = uses(folder.path(), &raw.path.display().to_string());
        for (number, (arguments, extension)) in uses.iter().enumerate() {
            let result = folder
                .path()
                .join(format!("{}-{number}.{extension}", raw.name));
            let mut command = command();
            let output = command.args(arguments).arg("-o").arg(&result).output();
            let output = output.unwrap();
            assert!(output.status.success(), "{}: {output:?}", raw.name);
            if arguments[0] == "slice" && arguments[2] == ":" {
                assert_eq!(read(&result), read(&raw.path), "{}", raw.name);
            }
        }
        // If chunks are always read as a whole, a third of the damages is enough.
        let step = if raw.is_read_in_parts() { 1 } else { 3 };
        for (damage, value) in raw.damages().into_iter().step_by(step) {
            raw.store(&value);
            let description = format!("{}, {damage}", raw.name);
            check_failures(command, &uses, folder.path(), &raw.key, &description);
        }
        raw.restore();
    }
}
