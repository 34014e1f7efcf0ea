//! Compares the arrays that are read from files with known values. Checks that hostile files cause no panic.

mod fuzz;
mod indices;
mod npy;
mod output;
mod png;
mod safetensors;

use std::fs;
use std::path::{Path, PathBuf};

use wgslice::DType;

use super::{Array, read_array, write_array};

fn data_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// Reads a file made by `tests/data/make.py`.
fn read_fixture(source: &str) -> Array {
    read_at(&data_folder().join(source)).unwrap()
}

fn fixture_error(source: &str) -> String {
    read_at(&data_folder().join(source)).unwrap_err()
}

fn read_at(path: &Path) -> Result<Array, String> {
    read_array(&path.as_os_str().to_owned().into()).map_err(|error| error.to_string())
}

/// Reads `content` from a file called `name`.
fn read_content(name: &str, content: &[u8]) -> Result<Array, String> {
    let folder = tempfile::tempdir().unwrap();
    // The part after `#` is the name of an array.
    let file = name.split('#').next().unwrap_or(name);
    fs::write(folder.path().join(file), content).unwrap();
    read_at(&folder.path().join(name))
}

fn assert_says(error: &str, parts: &[&str]) {
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in {error:?}");
    }
}

#[test]
fn array_bytes_must_fit_the_shape() {
    assert!(Array::new(DType::F32, vec![2, 3], vec![0; 24]).is_some());
    assert!(Array::new(DType::F32, vec![2, 3], vec![0; 23]).is_none());
    assert!(Array::new(DType::U8, vec![usize::MAX, 2], vec![]).is_none());
    assert!(Array::new(DType::U8, vec![0, usize::MAX, 2], vec![]).is_none());
}

#[test]
fn errors_about_extensions_list_the_formats() {
    let folder = tempfile::tempdir().unwrap();
    for (name, message) in [("x.csv", "unknown extension .csv"), ("x", "no extension")] {
        let path = folder.path().join(name);
        fs::write(&path, "1,2").unwrap();
        let error = read_at(&path).unwrap_err();
        assert_says(
            &error,
            &[
                message,
                ".npy, .npz, .png, .jpg and .safetensors can be read",
            ],
        );
        let error = write_array(&path, DType::U8, &[1], &[1]).unwrap_err();
        assert_says(
            &error.to_string(),
            &[message, ".npy, .npz, .png and .safetensors can be written"],
        );
    }
}

#[test]
fn extensions_in_capitals_are_recognized() {
    let content = fs::read(data_folder().join("rank_0.npy")).unwrap();
    assert_eq!(
        read_content("X.NPY", &content).unwrap().bytes(),
        2.5f32.to_ne_bytes()
    );
}

#[test]
fn missing_files_and_folders_are_named() {
    let error = fixture_error("missing.npy");
    assert_says(&error, &["cannot read", "missing.npy: "]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("folder.npy");
    fs::create_dir(&path).unwrap();
    assert_says(
        &read_at(&path).unwrap_err(),
        &["folder.npy", "not a regular file"],
    );
}
