//! Tests that stores in the forms of other programs are opened, sliced and converted. The stores are in
//! `data/stores.json`, which `data/stores.py` writes.

use crate::{
    metadata::result_metadata,
    random::{Random, Slice},
    zarr::{HOW, read, run, slice},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};
use wgslice::DType;
use wgslice_scale::{
    job::{Form, Job, to_npy},
    zarr::{Error, Source},
};

#[derive(Deserialize)]
struct Stores {
    files: BTreeMap<String, Content>,
    arrays: BTreeMap<String, Known>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Content {
    Text(String),
    Hex(String),
}

#[derive(Deserialize)]
struct Known {
    data_type: String,
    shape: Vec<usize>,
    /// The bytes of all elements, in hexadecimal.
    elements: String,
}

impl Known {
    /// Returns the bytes of each element.
    fn elements(&self) -> Vec<Vec<u8>> {
        let bytes = decode_hex(&self.elements);
        let element_count: usize = self.shape.iter().product();
        let elements = bytes.chunks(bytes.len() / element_count);
        elements.map(<[u8]>::to_vec).collect()
    }
}

fn decode_hex(hex: &str) -> Vec<u8> {
    let digits = (0..hex.len()).step_by(2);
    let bytes = digits.map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
    bytes.collect()
}

/// Writes the stores to a folder and returns them.
fn write_stores(folder: &Path) -> Stores {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/stores.json");
    let stores: Stores = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    for (name, content) in &stores.files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let content = match content {
            Content::Text(text) => text.clone().into_bytes(),
            Content::Hex(hex) => decode_hex(hex),
        };
        fs::write(path, content).unwrap();
    }
    stores
}

#[test]
fn stores_of_all_writers_are_opened_sliced_and_converted() {
    let folder = tempfile::tempdir().unwrap();
    let stores = write_stores(folder.path());
    let mut random = Random::new(53);
    let mut types = BTreeSet::new();
    for (name, known) in &stores.arrays {
        let path = folder.path().join(name);
        let elements = known.elements();
        let source = Source::open(&path).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!(source.data_type(), known.data_type, "{name}");
        assert_eq!(source.shape(), known.shape, "{name}");
        types.insert(source.data_type().to_owned());
        let whole_slice = Slice::aligned(&mut random, &known.shape, &known.shape);
        let random_slices = (0..3).map(|_| Slice::of(&mut random, &known.shape));
        for spec in std::iter::once(whole_slice).chain(random_slices.collect::<Vec<_>>()) {
            let (shape, expected) = spec.naive(&elements, &known.shape);
            let result = folder.path().join("result.zarr");
            let whole_shape: Vec<usize> = shape.iter().map(|&size| size.max(1)).collect();
            let form = Form {
                shard: Some(whole_shape.clone()),
                chunk: Some(whole_shape),
                codec: None,
            };
            let job = Job::new(slice(&spec.text), &path, &result, &form).unwrap();
            run(&job, HOW).unwrap_or_else(|error| panic!("{name}[{}]: {error:?}", spec.text));
            assert_eq!(job.metadata["data_type"], *known.data_type, "{name}");
            // This crate opens the result. `zarrs` reads its elements, except 8-bit floats, which this crate reads.
            let result_source = Source::open(&result).unwrap();
            assert_eq!(result_source.data_type(), known.data_type, "{name}");
            if !known.data_type.starts_with("float8") {
                assert_eq!(
                    read(&result),
                    (shape, expected.concat()),
                    "{name}[{}]",
                    spec.text
                );
            } else if shape.iter().product::<usize>() > 0 {
                let mut reader = result_source.reader();
                let chunk = reader.chunk(&vec![0; shape.len()]).unwrap();
                assert_eq!(chunk.as_ref(), expected.concat(), "{name}[{}]", spec.text);
            }
            fs::remove_dir_all(&result).unwrap();
        }
        let file = folder.path().join("result.npy");
        match to_npy(&path, &file, 1, None, false) {
            Ok(_) => {
                assert!(
                    fs::read(&file).unwrap().ends_with(&elements.concat()),
                    "{name}"
                );
                fs::remove_file(file).unwrap();
            }
            // NumPy has no name for these types.
            Err(error) => {
                let name = &known.data_type;
                assert!(
                    name == "bfloat16" || name.starts_with("float8"),
                    "{name}: {error:?}"
                );
                assert!(format!("{error:?}").contains(&**name), "{error:?}");
            }
        }
    }
    for dtype in DType::ALL {
        assert!(types.contains(dtype.name()), "{dtype} is in no store");
    }
    let float8_types = types.iter().filter(|name| name.starts_with("float8_"));
    assert_eq!(float8_types.count(), 5);
}

/// The error for an unsupported codec lists the supported codecs. Each of these has a store in the tests' data and is
/// in the README.
#[test]
fn every_codec_that_is_read_has_a_store_and_is_documented() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    fs::create_dir(&path).unwrap();
    let metadata = json!({
        "zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<i4", "fill_value": 0, "order": "C",
        "compressor": {"id": "lzma"}, "filters": null
    });
    fs::write(path.join(".zarray"), metadata.to_string()).unwrap();
    let error = slice_error(folder.path(), &path);
    let (_, list) = error.split_once("lzma is not supported, but ").unwrap();
    let (list, _) = list.split_once(" are: ").unwrap();
    let stores = write_stores(folder.path());
    let texts = stores.files.values().filter_map(|content| match content {
        Content::Text(text) => Some(&text[..]),
        Content::Hex(_) => None,
    });
    let texts = texts.collect::<Vec<_>>().concat();
    let readme = include_str!("../README.md");
    let names: Vec<_> = list.split(", ").collect();
    assert!(names.len() > 10, "{error}");
    for name in names {
        let is_stored = ["", "numcodecs."]
            .iter()
            .any(|prefix| texts.contains(&format!("\"{prefix}{name}\"")));
        assert!(is_stored, "{name} is in no store");
        assert!(readme.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn names_and_attributes_of_other_writers_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    write_stores(folder.path());
    let result = folder.path().join("result.zarr");
    for (name, dims, expected) in [
        (
            "xarray-v2/t2m",
            json!(["time", "lon"]),
            json!({"units": "K", "missing": "NaN", "range": ["-Infinity", 1.5]}),
        ),
        (
            "xarray-v3/t2m",
            json!(["time", "lon"]),
            json!({"units": "K", "missing": "NaN", "range": ["-Infinity", 1.5]}),
        ),
        (
            "netcdf/zlib",
            json!(["y", "x"]),
            json!({"units": "m", "_FillValue": -99}),
        ),
        ("gdal-zarr_v2/gdal-zarr_v2", json!(["Y", "X"]), json!({})),
        ("gdal-zarr_v3/gdal-zarr_v3", json!(["Y", "X"]), json!({})),
        ("zarrita", json!(["y", "x"]), json!({})),
    ] {
        let metadata = result_metadata(slice("1:, ::-1"), &folder.path().join(name), &result);
        assert_eq!(metadata["dimension_names"], dims, "{name}");
        let attributes = metadata["attributes"].as_object().unwrap();
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(attributes[field], *value, "{name}: {field}");
        }
        // These attributes describe how NetCDF has stored the source.
        assert!(
            !attributes.keys().any(|key| key.starts_with("_nczarr")),
            "{attributes:?}"
        );
        fs::remove_dir_all(&result).unwrap();
    }
}

/// Returns the error of a slice.
fn slice_error(folder: &Path, source: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_wgslice-scale"))
        .arg("slice")
        .arg(source)
        .args([":", "-o"])
        .arg(folder.join("refused.zarr"))
        .output()
        .unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains(&source.display().to_string()), "{errors}");
    errors
}

#[test]
fn groups_of_all_writers_are_called_groups() {
    let folder = tempfile::tempdir().unwrap();
    write_stores(folder.path());
    for name in [
        "xarray-v2",
        "xarray-v3",
        "netcdf",
        "gdal-zarr_v2",
        "gdal-zarr_v3",
        "stale-v2",
        "stale-v3",
    ] {
        let error = slice_error(folder.path(), &folder.path().join(name));
        assert!(
            error.contains("it is a group; name an array in it"),
            "{error}"
        );
    }
}

#[test]
fn errors_for_unsupported_stores_name_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    fs::create_dir(&path).unwrap();
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let error_after_change = |change: &dyn Fn(&mut Value)| {
        let mut metadata = json!({
            "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int32",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
            "codecs": [bytes], "attributes": {}
        });
        change(&mut metadata);
        fs::write(path.join("zarr.json"), metadata.to_string()).unwrap();
        slice_error(folder.path(), &path)
    };
    let assert_unsupported = |error: &str, name: &str| {
        let is_listed = ["blosc", "bz2", "gzip", "lz4", "zlib", "zstd"]
            .iter()
            .all(|it| error.contains(it));
        assert!(
            error.contains(&format!("codec {name} is not supported")) && is_listed,
            "{error}"
        );
        assert!(error.contains("zarr.create_array"), "{error}");
    };
    for (codec, name) in [
        (
            json!({"name": "numcodecs.lzma", "configuration": {}}),
            "lzma",
        ),
        (json!("zfp"), "zfp"),
        (
            json!({"name": "made.up", "must_understand": false}),
            "made.up",
        ),
    ] {
        assert_unsupported(
            &error_after_change(&|metadata| metadata["codecs"] = json!([bytes, codec])),
            name,
        );
        let sharding = json!([{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [2], "codecs": [bytes, codec], "index_codecs": [bytes]
        }}]);
        assert_unsupported(
            &error_after_change(&|metadata| metadata["codecs"] = sharding.clone()),
            name,
        );
    }
    let cases: [(&str, Value, &str); 9] = [
        (
            "codecs",
            json!([bytes, {"name": "gzip", "configuration": {"level": 11}}]),
            "gzip",
        ),
        (
            "codecs",
            json!([{"name": "numcodecs.delta", "configuration": {"dtype": "<f2"}}, bytes]),
            "delta",
        ),
        (
            "codecs",
            json!([{"name": "numcodecs.delta", "configuration": {}}, bytes]),
            "dtype",
        ),
        (
            "codecs",
            json!([bytes, {"name": "numcodecs.crc32", "configuration": {"location": 3}}]),
            "location",
        ),
        ("codecs", json!(7), "codecs"),
        ("fill_value", json!(0.5), "0.5"),
        ("data_type", json!("int4"), "int4"),
        (
            "data_type",
            json!({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}),
            "datetime64",
        ),
        (
            "from_the_future",
            json!({"must_understand": true}),
            "from_the_future",
        ),
    ];
    for (field, value, expected_text) in cases {
        let error = error_after_change(&|metadata| metadata[field] = value.clone());
        assert!(
            error.contains(expected_text) && !error.contains("panic"),
            "{field}: {error}"
        );
    }
    for value in [json!(7), json!("sharding_indexed"), json!([]), json!(null)] {
        for name in [
            "sharding_indexed",
            "transpose",
            "numcodecs.blosc",
            "numcodecs.delta",
            "blosc",
        ] {
            let codec = json!({"name": name, "configuration": value});
            error_after_change(&|metadata| metadata["codecs"] = json!([bytes, codec]));
        }
        error_after_change(&|metadata| metadata["codecs"] = json!([bytes, value]));
        for field in [
            "zarr_format",
            "node_type",
            "shape",
            "chunk_grid",
            "chunk_key_encoding",
        ] {
            error_after_change(&|metadata| metadata[field] = value.clone());
        }
        for text in [value.to_string(), "{}".to_owned(), "{".to_owned()] {
            fs::write(path.join("zarr.json"), text).unwrap();
            slice_error(folder.path(), &path);
        }
    }
    fs::remove_file(path.join("zarr.json")).unwrap();
    for text in ["7", "[]", "null", "{}", "[", "\"a\""] {
        fs::write(path.join(".zarray"), text).unwrap();
        slice_error(folder.path(), &path);
    }
    for (dtype, compressor, expected_text) in [
        (
            json!("<i4"),
            json!({"id": "lzma"}),
            "codec lzma is not supported",
        ),
        (json!("<i4"), json!({"level": 1}), "codec"),
        (json!("<i4"), json!(7), "codec"),
        (json!(7), Value::Null, "7"),
        (json!("int4"), Value::Null, "int4"),
        (json!("|S5"), Value::Null, "S5"),
        (json!("<M8[ns]"), Value::Null, "<M8[ns]"),
        (json!([["a", "<i4"], ["b", "<f8"]]), Value::Null, "a"),
    ] {
        let metadata = json!({
            "zarr_format": 2, "shape": [4], "chunks": [4], "dtype": dtype, "fill_value": null, "order": "C",
            "compressor": compressor, "filters": null
        });
        fs::write(path.join(".zarray"), metadata.to_string()).unwrap();
        let error = slice_error(folder.path(), &path);
        assert!(error.contains(expected_text), "{dtype}: {error}");
    }
}

#[test]
fn damage_is_found_by_the_codecs_that_can_find_it() {
    let folder = tempfile::tempdir().unwrap();
    write_stores(folder.path());
    let result = folder.path().join("result.zarr");
    let check_failure = |path: &Path, name: &str| {
        let job = Job::new(slice(":"), path, &result, &Form::default()).unwrap();
        let error = run(&job, HOW).unwrap_err();
        assert!(
            matches!(&error, Error::Data(text) if text.contains("corrupt") && text.contains(name)),
            "{name}: {error:?}"
        );
        fs::remove_dir_all(&result).unwrap();
    };
    let checksum_stores = [
        "crc32",
        "crc32-end",
        "crc32-filter",
        "crc32c",
        "crc32c-start",
        "adler32",
        "fletcher32",
    ];
    let compressed_stores = ["lz4", "lz4-wide", "zlib", "bz2", "gzip", "blosc"];
    let length_checking_stores = compressed_stores
        .iter()
        .chain(&["delta-C", "shuffle-zlib-C"]);
    for name in checksum_stores.iter().chain(length_checking_stores) {
        let name = format!("v2/{name}");
        let path = folder.path().join(&name);
        let chunk = path.join("0.0");
        let value = fs::read(&chunk).unwrap();
        for end in [0, 3, value.len() / 2, value.len() - 1] {
            fs::write(&chunk, &value[..end]).unwrap();
            check_failure(&path, &name);
        }
        if checksum_stores.iter().any(|codec| name.ends_with(codec)) {
            for byte in [0, 5, value.len() - 1] {
                let mut value = value.clone();
                value[byte] ^= 1;
                fs::write(&chunk, &value).unwrap();
                check_failure(&path, &name);
            }
        }
    }
}

/// Jobs copy the bytes of 8-bit floats and compute nothing from them.
#[test]
fn floats_of_8_bits_are_not_taken_for_numbers() {
    let folder = tempfile::tempdir().unwrap();
    write_stores(folder.path());
    let array = |name: &str| {
        folder
            .path()
            .join("tensorstore-v3")
            .join(name)
            .display()
            .to_string()
    };
    let float = array("float8_e5m2");
    let other = array("float8_e4m3fn");
    let table = array("transposed");
    for arguments in [
        &["slice", &float, ":", "--as", "f32"][..],
        &["concat", &float, &other],
        &["gather", &table, &float],
        &["crop", &table, &float, "--size", "1,1"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_wgslice-scale"))
            .args(arguments)
            .arg("-o")
            .arg(folder.path().join("refused.zarr"))
            .output()
            .unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(2) && errors.contains("float8_e"),
            "{arguments:?}: {errors}"
        );
    }
    let concat = wgslice_scale::job::Operation::Concat {
        others: vec![(
            float.clone().into(),
            wgslice_scale::job::Fingerprint::Metadata(0),
        )],
        axis: 0,
        is_new: false,
    };
    let metadata = result_metadata(concat, Path::new(&float), &folder.path().join("twice.zarr"));
    assert_eq!(metadata["data_type"], "float8_e5m2");
}
