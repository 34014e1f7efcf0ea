//! `wgslice compare`.

use crate::support::{Folder, bytes, safetensors, wgslice};
use serde_json::json;

fn float_bytes(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

#[test]
fn differences_are_counted_and_shown() {
    let folder = Folder::new();
    let a = folder.write_arange("a.npy", &[3, 4]);
    let b = folder.npy(
        "b.npy",
        "<i4",
        &[3, 4],
        &bytes(&[0, 1, 2, 3, 4, 5, 7, 7, 8, 9, 10, -11]),
    );
    let same = wgslice(&["compare", &a, &a]).ok();
    assert_eq!(same.stdout, "equal: 3 × 4 int32\n");
    let ran = wgslice(&["compare", &a, &b]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(
        ran.stdout,
        "2 of 12 elements differ\nthe first at [1, 2]: 6 and 7\nthe largest difference, 22, at [2, 3]: 11 and -11\n"
    );
    let quiet = wgslice(&["compare", &a, &b, "-q"]);
    assert_eq!((quiet.code, &quiet.stdout[..]), (Some(1), ""));
    let json = wgslice(&["compare", &a, &b, "--json"]);
    assert_eq!(json.code, Some(1), "{json:?}");
    assert_eq!(
        json.json(),
        json!({
            "inputs": [
                {"path": a, "shape": [3, 4], "dtype": "int32"},
                {"path": b, "shape": [3, 4], "dtype": "int32"},
            ],
            "equal": false,
            "elements": 12,
            "different": 2,
            "first": {"position": [1, 2], "values": [6, 7]},
            "largest": {"position": [2, 3], "values": [11, -11], "difference": 22.0},
        })
    );
    // Compares a slice of both arrays, then with a tolerance.
    wgslice(&["compare", &a, &b, "--slice", ":2, :2"]).ok();
    let within = wgslice(&["compare", &a, &b, "--slice", ":2", "--tolerance", "1"]).ok();
    assert_eq!(
        within.stdout,
        "equal within 1: 2 × 4\nthe largest difference, 1, at [1, 2]: 6 and 7\n"
    );
    let beyond = wgslice(&["compare", &a, &b, "--tolerance", "1"]);
    assert_eq!(beyond.code, Some(1), "{beyond:?}");
    assert!(
        beyond
            .stdout
            .starts_with("1 of 12 elements differ by more than 1\nthe first at [2, 3]"),
        "{beyond:?}"
    );
    // `diff` is an alias, because many people try this name first.
    assert_eq!(wgslice(&["diff", &a, &b, "-q"]).code, Some(1));
}

#[test]
fn shapes_and_types_are_differences() {
    let folder = Folder::new();
    let a = folder.write_arange("a.npy", &[3, 4]);
    let short = folder.write_arange("short.npy", &[3]);
    let wide = folder.npy(
        "wide.npy",
        "<f8",
        &[3],
        &[0.0f64, 1.0, 2.5].map(f64::to_le_bytes).concat(),
    );
    let ran = wgslice(&["compare", &a, &short]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stdout.contains("a.npy is 3 × 4, ") && ran.stdout.contains("short.npy is 3\n"),
        "{ran:?}"
    );
    let ran = wgslice(&["compare", &short, &wide]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("short.npy holds int32, "), "{ran:?}");
    let json = wgslice(&["compare", &short, &wide, "--json"]).json();
    assert_eq!(
        (&json["equal"], &json["elements"]),
        (&json!(false), &json!(null))
    );
    wgslice(&["compare", &short, &wide, "--tolerance", "0.5"]).ok();
    let ran = wgslice(&["compare", &short, &wide, "--tolerance", "0.25"]);
    assert!(
        ran.code == Some(1) && ran.stdout.contains("the first at [2]: 2 and 2.5"),
        "{ran:?}"
    );
    // Arrays that cannot be compared are an error.
    for args in [
        &["compare", &a, &folder.path("absent.npy")][..],
        &["compare", &a, &short, "--slice", "0, 0"],
        &["compare", &a, &a, "--tolerance", "-1"],
        &["compare", &a],
    ] {
        assert_eq!(wgslice(args).code, Some(2), "{args:?}");
    }
}

#[test]
fn bits_are_compared_or_values() {
    let folder = Folder::new();
    let nan = f32::NAN;
    let a = folder.npy(
        "a.npy",
        "<f4",
        &[4],
        &float_bytes(&[nan, 0.0, 1.0, f32::INFINITY]),
    );
    let b = folder.npy(
        "b.npy",
        "<f4",
        &[4],
        &float_bytes(&[nan, -0.0, 1.0, f32::INFINITY]),
    );
    let c = folder.npy(
        "c.npy",
        "<f4",
        &[4],
        &float_bytes(&[1.0, 0.0, nan, f32::NEG_INFINITY]),
    );
    wgslice(&["compare", &a, &a]).ok();
    let ran = wgslice(&["compare", &a, &b]);
    assert_eq!(
        ran.stdout,
        "1 of 4 elements differ\nthe first at [1]: 0.0 and -0.0\n"
    );
    wgslice(&["compare", &a, &b, "--tolerance", "0"]).ok();
    let ran = wgslice(&["compare", &a, &c, "--tolerance", "9"]);
    assert_eq!(
        ran.stdout,
        "3 of 4 elements differ by more than 9\nthe first at [0]: nan and 1.0\n\
         the largest difference, inf, at [3]: inf and -inf\n"
    );
    let json = wgslice(&["compare", &a, &c, "--json"]).json();
    assert_eq!(json["largest"]["difference"], "inf");
    // The order of elements and bytes in the file does not matter.
    let big: Vec<u8> = float_bytes(&[nan, 0.0, 1.0, f32::INFINITY])
        .chunks(4)
        .flat_map(|x| x.iter().rev().copied())
        .collect();
    wgslice(&["compare", &a, &folder.npy("big.npy", ">f4", &[4], &big)]).ok();
    // Compares types that are not numbers, and 8-bit numbers.
    let text = |name, text: &[u8]| folder.npy(name, "|S3", &[2], text);
    let (x, y) = (text("x.npy", b"abcdef"), text("y.npy", b"abcdeg"));
    let ran = wgslice(&["compare", &x, &y]);
    assert_eq!(
        ran.stdout,
        "1 of 2 elements differ\nthe first at [1]: b'def' and b'deg'\n"
    );
    let eight = |name, byte| folder.write(name, safetensors("x", "F8_E4M3", &[1], &[byte]));
    let (x, y) = (eight("x.safetensors", 0x38), eight("y.safetensors", 0x40));
    wgslice(&["compare", &x, &y, "--tolerance", "1"]).ok();
    assert_eq!(
        wgslice(&["compare", &x, &y, "--tolerance", "0.5"]).code,
        Some(1)
    );
}

/// Large arrays are compared piece by piece.
#[test]
fn positions_in_later_pieces() {
    let folder = Folder::new();
    let zeros = vec![0u8; 3_000_000];
    let a = folder.npy("a.npy", "|u1", &[3, 1000, 1000], &zeros);
    let mut ones = zeros.clone();
    ones[2_345_678] = 1;
    ones[2_999_999] = 3;
    let b = folder.npy("b.npy", "|u1", &[3, 1000, 1000], &ones);
    let ran = wgslice(&["compare", &a, &b]);
    assert_eq!(
        ran.stdout,
        "2 of 3000000 elements differ\nthe first at [2, 345, 678]: 0 and 1\n\
         the largest difference, 3, at [2, 999, 999]: 0 and 3\n"
    );
    let wide: Vec<u8> = ones
        .iter()
        .flat_map(|&one| f64::from(one).to_le_bytes())
        .collect();
    let wide = folder.npy("wide.npy", "<f8", &[3, 1000, 1000], &wide);
    wgslice(&["compare", &b, &wide, "--tolerance", "0"]).ok();
    let ran = wgslice(&["compare", &wide, &a, "--tolerance", "2"]);
    assert!(
        ran.stdout.contains("the first at [2, 999, 999]: 3.0 and 0"),
        "{ran:?}"
    );
}
