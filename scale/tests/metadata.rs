//! A result inherits the attributes of its source, and the names of dimensions that it keeps.

use crate::{
    gather::save,
    zarr::{HOW, run, slice},
};
use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};
use wgslice_scale::job::{Fingerprint, Form, Job, Operation, OutOfRange};

/// Runs a job, and returns its `zarr.json`.
pub(crate) fn result_metadata(operation: Operation, source: &Path, result: &Path) -> Value {
    let job = Job::new(operation, source, result, &Form::default()).unwrap();
    run(&job, HOW).unwrap();
    serde_json::from_slice(&fs::read(result.join("zarr.json")).unwrap()).unwrap()
}

fn gather(indices: &Path, axis: isize) -> Operation {
    Operation::Gather {
        indices: indices.to_owned(),
        indices_fingerprint: Fingerprint::Metadata(0),
        axis: Some(axis),
        batch_dims: 0,
        out_of_range: OutOfRange::Error,
        wrap: false,
    }
}

fn gather_nd(indices: &Path) -> Operation {
    Operation::GatherNd {
        indices: indices.to_owned(),
        indices_fingerprint: Fingerprint::Metadata(0),
        batch_dims: 0,
        out_of_range: OutOfRange::Error,
        wrap: false,
    }
}

/// Writes arrays of shape [2, 3, 4] whose chunks are all missing: one of V3, with names of two dimensions, and
/// one of V2, as xarray writes it.
pub(crate) fn sources(folder: &Path) -> [std::path::PathBuf; 2] {
    let [v3, v2] = ["v3.zarr", "v2.zarr"].map(|name| folder.join(name));
    fs::create_dir(&v3).unwrap();
    let metadata = json!({
        "zarr_format": 3, "node_type": "array", "shape": [2, 3, 4], "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 3, 4]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 1.5,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {"units": "K", "wgslice": "of an earlier job"},
        "dimension_names": ["time", null, "x"]
    });
    fs::write(v3.join("zarr.json"), metadata.to_string()).unwrap();
    fs::create_dir(&v2).unwrap();
    let metadata = json!({
        "zarr_format": 2, "shape": [2, 3, 4], "chunks": [1, 3, 4], "dtype": "<f4", "fill_value": 1.5,
        "order": "C", "compressor": null, "filters": null
    });
    fs::write(v2.join(".zarray"), metadata.to_string()).unwrap();
    let attributes = json!({"units": "K", "_ARRAY_DIMENSIONS": ["time", "y", "x"]});
    fs::write(v2.join(".zattrs"), attributes.to_string()).unwrap();
    [v3, v2]
}

#[test]
fn slices_keep_attributes_and_the_names_of_the_dimensions_that_stay() {
    let folder = tempfile::tempdir().unwrap();
    let [v3, v2] = sources(folder.path());
    for (source, spec, names) in [
        (&v3, "::-1", json!(["time", null, "x"])),
        (&v3, "0, None, ..., ::2", json!([null, null, "x"])),
        (&v3, ":, :, 1", json!(["time", null])),
        (&v3, "1:, :, 0:1", json!(["time", null, "x"])),
        (&v3, "0, :, 1", Value::Null),
        (&v2, ":, 1:, 1:", json!(["time", "y", "x"])),
        (&v2, "..., 0, None", json!(["time", "y", null])),
    ] {
        let result = folder.path().join("result.zarr");
        let metadata = result_metadata(slice(spec), source, &result);
        assert_eq!(metadata["dimension_names"], names, "{spec}");
        let attributes = metadata["attributes"].as_object().unwrap();
        let keys: Vec<_> = attributes.keys().map(String::as_str).collect();
        assert_eq!(
            (keys, &attributes["units"]),
            (vec!["units", "wgslice"], &json!("K"))
        );
        assert_eq!(attributes["wgslice"]["operation"]["name"], "slice");
        fs::remove_dir_all(&result).unwrap();
    }
}

#[test]
fn an_index_vector_keeps_the_name_of_its_dimension() {
    let folder = tempfile::tempdir().unwrap();
    let [_, source] = sources(folder.path());
    for (shape, axis, names) in [
        (&[2][..], Some(1), json!(["time", "y", "x"])),
        (&[2], Some(-1), json!(["time", "y", "x"])),
        (&[2, 2], Some(1), json!(["time", null, null, "x"])),
        (&[], Some(0), json!(["y", "x"])),
        (&[2, 1], None, json!(["time", "y", "x"])),
        // The tuples have two indices each, so the dimension along which the tuples differ has no name.
        (&[3, 2], None, json!([null, "x"])),
        (&[1, 2, 2], None, json!([null, null, "x"])),
    ] {
        let indices = save(folder.path(), shape, &vec![1; shape.iter().product()], true);
        let operation = axis.map_or_else(|| gather_nd(&indices), |axis| gather(&indices, axis));
        let result = folder.path().join("result.zarr");
        let metadata = result_metadata(operation, &source, &result);
        assert_eq!(metadata["dimension_names"], names, "{shape:?} {axis:?}");
        assert_eq!(metadata["attributes"]["units"], "K");
        fs::remove_dir_all(&result).unwrap();
        fs::remove_dir_all(folder.path().join("indices.zarr")).unwrap();
        fs::remove_file(&indices).unwrap();
    }
}

/// Returns the lines on standard error when the command writes an array to this place.
fn warnings_of_command(source: &Path, result: &Path) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_wgslice-scale"))
        .args(["slice", "--overwrite"])
        .arg(source)
        .args([":", "-o"])
        .arg(result)
        .output()
        .unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    errors.lines().map(str::to_owned).collect()
}

#[test]
fn groups_whose_readers_do_not_find_the_result_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let [source, _] = sources(folder.path());
    let [root, middle] = ["g", "g/middle"].map(|name| folder.path().join(name));
    fs::create_dir_all(&middle).unwrap();
    let result = middle.join("a.zarr");
    let group = json!({"zarr_format": 3, "node_type": "group", "attributes": {}});
    for path in [&root, &middle] {
        fs::write(path.join("zarr.json"), group.to_string()).unwrap();
    }
    // zarr-python 3.1.6 writes this for a group with this array and another one.
    let consolidate = |array: &Value| {
        let mut group = group.clone();
        group["consolidated_metadata"] = json!({
            "kind": "inline", "must_understand": false,
            "metadata": {"middle": group, "middle/a.zarr": array, "middle/b": {"node_type": "array"}}
        });
        fs::write(root.join("zarr.json"), group.to_string()).unwrap();
    };
    assert!(warnings_of_command(&source, &result).is_empty());
    let mut metadata: Value =
        serde_json::from_slice(&fs::read(result.join("zarr.json")).unwrap()).unwrap();
    metadata["storage_transformers"] = json!([]);
    consolidate(&metadata);
    assert!(warnings_of_command(&source, &result).is_empty());
    metadata["shape"] = json!([2, 3, 5]);
    for array in [&metadata, &Value::Null] {
        consolidate(array);
        let warnings = warnings_of_command(&source, &result);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        let expected = format!("{} does not describe middle/a.zarr ", root.display());
        assert!(
            warnings[0].starts_with("warning: ") && warnings[0].contains(&expected),
            "{warnings:?}"
        );
    }
    // An array outside of the group gives no warning.
    assert!(warnings_of_command(&source, &folder.path().join("a.zarr")).is_empty());

    let v2 = folder.path().join("v2");
    fs::create_dir(&v2).unwrap();
    fs::write(v2.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    let warnings = warnings_of_command(&source, &v2.join("a"));
    assert!(
        warnings.len() == 1
            && warnings[0].contains("of Zarr V2")
            && !warnings[0].contains(".zmetadata"),
        "{warnings:?}"
    );
    let consolidated = json!({"zarr_consolidated_format": 1, "metadata": {"a/.zarray": {}}});
    fs::write(v2.join(".zmetadata"), consolidated.to_string()).unwrap();
    let warnings = warnings_of_command(&source, &v2.join("a"));
    assert!(
        warnings.len() == 1 && warnings[0].contains(".zmetadata still describes"),
        "{warnings:?}"
    );
}
