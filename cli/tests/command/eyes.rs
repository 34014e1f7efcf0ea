//! Tests the texts that the command shows about files and results.

use crate::support::{Folder, bytes, devices, safetensors, wgslice};
use serde_json::{Value, json};
use std::{fs, io::Read};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
const PHOTO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/astronaut.png");

fn write_tensors(folder: &Folder) -> String {
    let header = json!({
        "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
        "new": {"dtype": "I4", "shape": [2], "data_offsets": [4, 5]},
        "b": {"dtype": "U8", "shape": [2, 2], "data_offsets": [5, 9]},
        "__metadata__": {"format": "pt"},
    });
    let header = header.to_string();
    let length = u64::try_from(header.len()).expect("a length").to_le_bytes();
    let data = [0, 0, 128, 63, 0x21, 1, 2, 3, 4];
    folder.write(
        "model.safetensors",
        [&length[..], header.as_bytes(), &data].concat(),
    )
}

#[test]
fn values_are_printed_without_an_output() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[3, 4]);
    let columns = folder.npy("columns.npy", "<i4", &[2], &bytes(&[2, 0]));
    for device in devices() {
        let slice = wgslice(&["slice", &input, "1:, ::-2", "--device", device]).ok();
        assert_eq!(slice.stdout, "[[ 7  5]\n [11  9]]\n");
        assert!(
            slice.stderr.starts_with("2 × 2 int32, 16 bytes, "),
            "{slice:?}"
        );
        let args = [
            "gather", &input, &columns, "--axis", "1", "--device", device,
        ];
        let gather = wgslice(&[&args[..], &["-q"]].concat()).ok();
        assert_eq!(gather.stdout, "[[ 2  0]\n [ 6  4]\n [10  8]]\n");
        assert_eq!(gather.stderr, "");
    }
    let json = wgslice(&["slice", &input, "1:, ::-2", "--json"])
        .ok()
        .json();
    assert_eq!(json["values"], json!([[7, 5], [11, 9]]));
    assert_eq!(json["output"], json!({"shape": [2, 2]}));
    assert_eq!(folder.names(), ["columns.npy", "in.npy"]);
    let photo = wgslice(&["slice", PHOTO, "::2"]).ok().stdout;
    assert!(
        photo.starts_with("[[[154 147 151]\n") && photo.contains("\n\n ...\n\n"),
        "{photo}"
    );
    let all = wgslice(&[
        "slice",
        &folder.write_arange("long.npy", &[2000]),
        "...",
        "--all",
    ])
    .ok();
    assert_eq!(
        all.stdout
            .split([' ', '\n', ']', '['])
            .filter(|word| !word.is_empty())
            .count(),
        2000
    );
}

/// Only the elements that are shown are kept in memory.
#[cfg(target_os = "linux")]
#[test]
fn values_of_a_large_file_take_little_memory() {
    let folder = Folder::new();
    let input = folder.write_sparse("in.npy", "<f4", &[1 << 17, 1 << 10], 1 << 29);
    let script = "ulimit -v 1000000 && exec \"$0\" slice \"$1\" ':, ::-1' --device cpu --memory 8M";
    let outcome = std::process::Command::new("bash")
        .args(["-c", script, env!("CARGO_BIN_EXE_wgslice"), &input])
        .output();
    let outcome = crate::support::CommandRun::from(outcome.expect("the shell starts")).ok();
    assert!(
        outcome.stdout.starts_with("[[0. 0. 0. ... 0. 0. 0.]\n"),
        "{outcome:?}"
    );
}

#[test]
fn info_lists_the_arrays_of_files() {
    let folder = Folder::new();
    let model = write_tensors(&folder);
    let input = folder.write_arange("in.npy", &[3, 4]);
    let damaged = folder.write("damaged.npy", "no array");
    let outcome = wgslice(&["info", &input, &damaged, PHOTO, &model]);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(
        outcome.stderr.contains("cannot read") && outcome.stderr.contains("damaged.npy"),
        "{outcome:?}"
    );
    let words: Vec<Vec<&str>> = outcome
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let cells = |at: usize| words[at][1..].join(" ");
    assert_eq!(cells(0), "3 × 4 int32 48 bytes NPY");
    assert_eq!(cells(1), "512 × 512 × 3 uint8 768 KiB PNG");
    assert!(cells(2).starts_with("3 tensors"), "{outcome:?}");
    assert_eq!(words[3].join(" "), "a 1 float32 4 bytes");
    assert_eq!(words[4].join(" "), "b 2 × 2 uint8 4 bytes");
    assert_eq!(words[5].join(" "), "new 2 I4 1 byte");
    assert_eq!(
        words[6].join(" "),
        "not sliceable: this type is not known here"
    );
    let listing = wgslice(&["info", "--json", &input, &format!("{model}#b")])
        .ok()
        .json();
    let array_json = |name| json!({"name": name, "dtype": "int32", "shape": [3, 4], "bytes": 48, "order": "C", "byte_order": "little"});
    assert_eq!(
        listing["files"][0]["arrays"],
        json!([array_json(json!(null))])
    );
    assert_eq!(listing["files"][0]["format"], "npy");
    assert_eq!(listing["files"][1]["arrays"][0]["name"], "b");
    assert_eq!(
        listing["files"][1]["arrays"].as_array().map(Vec::len),
        Some(1)
    );
    let missing_outcome = wgslice(&["info", &format!("{model}#c")]);
    assert!(
        missing_outcome.code == Some(2) && missing_outcome.stderr.contains("no tensor named \"c\""),
        "{missing_outcome:?}"
    );
}

/// A tensor of an unknown type does not affect the other tensors.
#[test]
fn an_unknown_type_does_not_hide_other_tensors() {
    let folder = Folder::new();
    let model = write_tensors(&folder);
    let b = wgslice(&["slice", &format!("{model}#b"), "1", "-q"]).ok();
    assert_eq!(b.stdout, "[3 4]\n");
    let outcome = wgslice(&["slice", &format!("{model}#new"), "0"]);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(
        outcome.stderr.contains("dtype \"I4\" is not supported"),
        "{outcome:?}"
    );
    let damaged = folder.write("x.safetensors", safetensors("x", "F32", &[2], &[0; 7]));
    let listing = wgslice(&["info", &damaged]).ok();
    assert!(
        listing.stdout.contains("damaged: its length"),
        "{listing:?}"
    );
    let json = wgslice(&["info", &damaged, "--json"]).ok().json();
    assert!(
        json["files"][0]["arrays"][0]["damaged"].is_string(),
        "{json}"
    );
    let outcome = wgslice(&["slice", &damaged, "0"]);
    assert!(
        outcome.code == Some(2) && outcome.stderr.contains("damaged"),
        "{outcome:?}"
    );
}

/// A header describes the array even if the command cannot slice it. The expected texts are NumPy's.
#[test]
fn info_lists_the_types_of_numpy() {
    let folder = Folder::new();
    let descriptions = fs::read_to_string(format!("{DATA}/types.json")).expect("the types");
    let descriptions: Value = serde_json::from_str(&descriptions).expect("JSON");
    let archive = format!("{DATA}/types.npz");
    let json = wgslice(&["info", &archive, "--json"]).ok().json();
    let arrays = json["files"][0]["arrays"].as_array().expect("arrays");
    assert_eq!(arrays.len(), descriptions.as_object().expect("types").len());
    let table = wgslice(&["info", &archive]).ok().stdout;
    // The first line has the path, so it can be longer.
    assert!(
        table.lines().skip(1).all(|line| line.chars().count() < 80),
        "{table}"
    );
    let mut zip_archive =
        zip::ZipArchive::new(fs::File::open(&archive).expect("the archive")).expect("an archive");
    for array in arrays {
        let name = array["name"].as_str().expect("a name");
        let mut expected = descriptions[name].clone();
        // For aligned fields, NumPy also prints offsets. For objects, it counts pointers, not the pickled bytes.
        if name == "aligned" {
            expected["dtype"] = json!("[('a', 'u1'), ('', 'V7'), ('b', '<f8')]");
        }
        let keys: &[&str] = match name.contains("objects") {
            true => &["shape", "dtype", "order", "byte_order"],
            false => &["shape", "dtype", "order", "byte_order", "bytes"],
        };
        for &key in keys {
            assert_eq!(array[key], expected[key], "{key} of {name}");
        }
        // Lists the same array in its own file.
        let mut member = zip_archive
            .by_name(&format!("{name}.npy"))
            .expect("the member");
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).expect("its bytes");
        let alone = wgslice(&["info", &folder.write("x.npy", &bytes), "--json"]);
        let alone = alone.ok().json()["files"][0]["arrays"][0].clone();
        for &key in keys {
            assert_eq!(alone[key], expected[key], "{key} of {name}");
        }
    }
    // An unknown type does not hide the shape, and a damaged file shows no shape.
    let unknown = folder.npy("e5.npy", "<f1", &[2, 3], &[0; 6]);
    let json = wgslice(&["info", &unknown, "--json"]).ok().json();
    let array = &json["files"][0]["arrays"][0];
    assert_eq!(
        (&array["shape"], &array["dtype"]),
        (&json!([2, 3]), &json!("<f1"))
    );
    assert_eq!(array["bytes"], 6);
    let mut damaged = fs::read(&archive).expect("the archive");
    let name_start = damaged
        .windows(8)
        .position(|bytes| bytes == b"date.npy")
        .expect("a name");
    damaged[name_start + 40..name_start + 60].fill(0xff);
    let json = wgslice(&["info", &folder.write("x.npz", &damaged), "--json"])
        .ok()
        .json();
    let array = &json["files"][0]["arrays"][0];
    assert_eq!(
        (&array["shape"], &array["dtype"]),
        (&json!(null), &json!(null))
    );
    assert!(array["damaged"].is_string(), "{array}");
}
