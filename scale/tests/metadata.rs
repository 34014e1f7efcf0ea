//! A result has the attributes of its source, and names of dimensions that have followed them.

use crate::{
    gather::save,
    zarr::{HOW, run, slice},
};
use serde_json::{Value, json};
use std::{fs, path::Path};
use wgslice_scale::job::{Fingerprint, Form, Job, Operation, OutOfRange};

/// Runs a job, and returns its `zarr.json`.
pub(crate) fn made(operation: Operation, source: &Path, result: &Path) -> Value {
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

/// Writes arrays of shape [2, 3, 4] whose chunks are all missing: of V3, with names, and of V2, as xarray writes it.
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
        let metadata = made(slice(spec), source, &result);
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
        // Tuples of two: no dimension of the source is the one that numbers them.
        (&[3, 2], None, json!([null, "x"])),
        (&[1, 2, 2], None, json!([null, null, "x"])),
    ] {
        let indices = save(folder.path(), shape, &vec![1; shape.iter().product()], true);
        let operation = axis.map_or_else(|| gather_nd(&indices), |axis| gather(&indices, axis));
        let result = folder.path().join("result.zarr");
        let metadata = made(operation, &source, &result);
        assert_eq!(metadata["dimension_names"], names, "{shape:?} {axis:?}");
        assert_eq!(metadata["attributes"]["units"], "K");
        fs::remove_dir_all(&result).unwrap();
        fs::remove_dir_all(folder.path().join("indices.zarr")).unwrap();
        fs::remove_file(&indices).unwrap();
    }
}
