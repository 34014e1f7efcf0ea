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
    let equal_outcome = wgslice(&["compare", &a, &a]).ok();
    assert_eq!(equal_outcome.stdout, "equal: 3 × 4 int32\n");
    let outcome = wgslice(&["compare", &a, &b]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert_eq!(
        outcome.stdout,
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
    // Compares a slice of both arrays, then a slice with a tolerance.
    wgslice(&["compare", &a, &b, "--slice", ":2, :2"]).ok();
    let within_tolerance = wgslice(&["compare", &a, &b, "--slice", ":2", "--tolerance", "1"]).ok();
    assert_eq!(
        within_tolerance.stdout,
        "equal within 1: 2 × 4\nthe largest difference, 1, at [1, 2]: 6 and 7\n"
    );
    let beyond_tolerance = wgslice(&["compare", &a, &b, "--tolerance", "1"]);
    assert_eq!(beyond_tolerance.code, Some(1), "{beyond_tolerance:?}");
    assert!(
        beyond_tolerance
            .stdout
            .starts_with("1 of 12 elements differ by more than 1\nthe first at [2, 3]"),
        "{beyond_tolerance:?}"
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
    let outcome = wgslice(&["compare", &a, &short]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(
        outcome.stdout.contains("a.npy is 3 × 4, ") && outcome.stdout.contains("short.npy is 3\n"),
        "{outcome:?}"
    );
    let outcome = wgslice(&["compare", &short, &wide]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(
        outcome.stdout.contains("short.npy holds int32, "),
        "{outcome:?}"
    );
    let json = wgslice(&["compare", &short, &wide, "--json"]).json();
    assert_eq!(
        (&json["equal"], &json["elements"]),
        (&json!(false), &json!(null))
    );
    wgslice(&["compare", &short, &wide, "--tolerance", "0.5"]).ok();
    let outcome = wgslice(&["compare", &short, &wide, "--tolerance", "0.25"]);
    assert!(
        outcome.code == Some(1) && outcome.stdout.contains("the first at [2]: 2 and 2.5"),
        "{outcome:?}"
    );
    // Wrong files, slices and arguments cause an error, not a difference.
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
fn bits_or_values_are_compared() {
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
    let outcome = wgslice(&["compare", &a, &b]);
    assert_eq!(
        outcome.stdout,
        "1 of 4 elements differ\nthe first at [1]: 0.0 and -0.0\n"
    );
    wgslice(&["compare", &a, &b, "--tolerance", "0"]).ok();
    let outcome = wgslice(&["compare", &a, &c, "--tolerance", "9"]);
    assert_eq!(
        outcome.stdout,
        "3 of 4 elements differ by more than 9\nthe first at [0]: nan and 1.0\n\
         the largest difference, inf, at [3]: inf and -inf\n"
    );
    let json = wgslice(&["compare", &a, &c, "--json"]).json();
    assert_eq!(json["largest"]["difference"], "inf");
    // The order of elements and bytes in the file does not matter.
    let big_endian_bytes: Vec<u8> = float_bytes(&[nan, 0.0, 1.0, f32::INFINITY])
        .chunks(4)
        .flat_map(|x| x.iter().rev().copied())
        .collect();
    wgslice(&[
        "compare",
        &a,
        &folder.npy("big.npy", ">f4", &[4], &big_endian_bytes),
    ])
    .ok();
    // Compares types that are not numbers, and 8-bit numbers.
    let write_text = |name, text: &[u8]| folder.npy(name, "|S3", &[2], text);
    let (x, y) = (
        write_text("x.npy", b"abcdef"),
        write_text("y.npy", b"abcdeg"),
    );
    let outcome = wgslice(&["compare", &x, &y]);
    assert_eq!(
        outcome.stdout,
        "1 of 2 elements differ\nthe first at [1]: b'def' and b'deg'\n"
    );
    let write_f8 = |name, byte| folder.write(name, safetensors("x", "F8_E4M3", &[1], &[byte]));
    let (x, y) = (
        write_f8("x.safetensors", 0x38),
        write_f8("y.safetensors", 0x40),
    );
    wgslice(&["compare", &x, &y, "--tolerance", "1"]).ok();
    assert_eq!(
        wgslice(&["compare", &x, &y, "--tolerance", "0.5"]).code,
        Some(1)
    );
}

/// Large arrays are compared piece by piece.
#[test]
fn differences_in_later_pieces_have_correct_positions() {
    let folder = Folder::new();
    let zeros = vec![0u8; 3_000_000];
    let a = folder.npy("a.npy", "|u1", &[3, 1000, 1000], &zeros);
    let mut changed_bytes = zeros.clone();
    changed_bytes[2_345_678] = 1;
    changed_bytes[2_999_999] = 3;
    let b = folder.npy("b.npy", "|u1", &[3, 1000, 1000], &changed_bytes);
    let outcome = wgslice(&["compare", &a, &b]);
    assert_eq!(
        outcome.stdout,
        "2 of 3000000 elements differ\nthe first at [2, 345, 678]: 0 and 1\n\
         the largest difference, 3, at [2, 999, 999]: 0 and 3\n"
    );
    let wide: Vec<u8> = changed_bytes
        .iter()
        .flat_map(|&byte| f64::from(byte).to_le_bytes())
        .collect();
    let wide = folder.npy("wide.npy", "<f8", &[3, 1000, 1000], &wide);
    wgslice(&["compare", &b, &wide, "--tolerance", "0"]).ok();
    let outcome = wgslice(&["compare", &wide, &a, "--tolerance", "2"]);
    assert!(
        outcome
            .stdout
            .contains("the first at [2, 999, 999]: 3.0 and 0"),
        "{outcome:?}"
    );
}
