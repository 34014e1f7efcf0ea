//! `wgslice verify`: the vectors pass, and an altered case fails.

use crate::support::{CommandRun, Folder, command, devices, wgslice};
use serde_json::{Value, json};
use std::fs;

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors/seed1.jsonl");

/// Returns the first case of the vectors that satisfies `is_wanted`.
fn find_case(is_wanted: impl Fn(&Value) -> bool) -> Value {
    let text = fs::read_to_string(VECTORS).expect("the vectors");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a case"))
        .find(is_wanted)
        .expect("such a case")
}

fn run_verify(folder: &Folder, cases: &[Value], options: &[&str]) -> CommandRun {
    let text: String = cases.iter().map(|case| format!("{case}\n")).collect();
    let path = folder.write("cases.jsonl", text);
    wgslice(&[&["verify", &path], options].concat())
}

fn last_line(outcome: &CommandRun) -> &str {
    outcome.stdout.lines().last().expect("a summary")
}

/// This test uses only the CPU. `tests/run` runs the vectors on every device.
#[test]
fn all_vectors_and_random_cases_pass() {
    let outcome = wgslice(&["verify", "--random", "20", VECTORS, "--device", "cpu"]).ok();
    assert_eq!(last_line(&outcome), "2020 passed, 0 failed");
}

#[test]
fn random_cases_pass_on_every_device() {
    for device in devices() {
        let outcome = wgslice(&[
            "verify", "--random", "150", "--seed", "3", "--device", device,
        ])
        .ok();
        assert_eq!(last_line(&outcome), "150 passed, 0 failed", "{device}");
    }
}

#[test]
fn zero_random_cases_are_rejected() {
    let outcome = wgslice(&["verify", "--random", "0", "--device", "cpu"]);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("--random"), "{outcome:?}");
}

#[cfg(feature = "strict")]
#[test]
fn strict_rejects_options_that_select_a_device() {
    let rows = [["--device", "cpu"], ["--adapter", "x"], ["--backend", "gl"]];
    for options in rows {
        let outcome = wgslice(&[&["verify", "--random", "1", "--strict"], &options[..]].concat());
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        let names_both_options =
            outcome.stderr.contains(options[0]) && outcome.stderr.contains("--strict");
        assert!(names_both_options, "{outcome:?}");
    }
}

#[test]
fn an_altered_value_is_detected() {
    let folder = Folder::new();
    let mut case = find_case(|case| {
        case["op"] == "strided_slice" && case["expected"]["shape"] == json!([2, 2])
    });
    let correct_value = case["expected"]["data"][3].as_i64().expect("a value");
    case["expected"]["data"][3] = json!(correct_value + 1);
    for device in devices() {
        let outcome = run_verify(&folder, &[json!(case)], &["--device", device]);
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert_eq!(last_line(&outcome), "0 passed, 1 failed");
        let place = format!("{}:1: strided_slice on ", folder.path("cases.jsonl"));
        let problem = format!(
            "element [1, 1]: expected {}, got {correct_value}",
            correct_value + 1
        );
        let line = outcome.stdout.lines().find(|line| line.starts_with(&place));
        assert!(
            line.is_some_and(|line| line.ends_with(&problem)),
            "{problem} in {outcome:?}"
        );
    }
}

#[test]
fn the_option_first_stops_at_the_first_failure() {
    let folder = Folder::new();
    let good = find_case(|case| case["op"] == "slice" && case["expected"]["shape"] == json!([2]));
    let mut bad = good.clone();
    bad["expected"]["data"][1] = json!(12345);
    let cases = [&good, &bad, &bad, &good].map(|case| json!(case));
    let run_to_last_line = |options: &[&str]| {
        let outcome = run_verify(&folder, &cases, &[&["--device", "cpu"], options].concat());
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        last_line(&outcome).to_owned()
    };
    assert_eq!(run_to_last_line(&["--random", "5"]), "7 passed, 2 failed");
    assert_eq!(
        run_to_last_line(&["--random", "5", "--first"]),
        "1 passed, 1 failed"
    );
}

#[test]
fn altered_shapes_error_kinds_and_zeros_are_detected() {
    let folder = Folder::new();
    let out_of_range =
        |case: &Value| case["op"] == "gather_nd" && case["error_kind"] == "out_of_range";
    let mut shape_case = find_case(|case| {
        case["op"] == "strided_slice" && case["expected"]["shape"] == json!([2, 3])
    });
    shape_case["expected"]["shape"] = json!([3, 2]);
    let mut kind_case = find_case(|case| case["error_kind"] == "stride_zero");
    kind_case["error_kind"] = json!("shrink_stride");
    let mut filling_case = find_case(|case| {
        out_of_range(case)
            && case["zero_fill"]["data"]
                .as_array()
                .is_some_and(|d| !d.is_empty())
    });
    filling_case["zero_fill"]["data"][0] = json!(12345);
    let mut unreported_case = find_case(out_of_range);
    unreported_case["expected"] = unreported_case["zero_fill"].clone();
    unreported_case
        .as_object_mut()
        .expect("an object")
        .remove("error");
    let mut missed_case =
        find_case(|case| case["op"] == "gather_nd" && case["expected"]["shape"].is_array());
    missed_case["error"] = json!(true);
    missed_case["error_kind"] = json!("out_of_range");
    missed_case["zero_fill"] = missed_case["expected"].clone();
    missed_case
        .as_object_mut()
        .expect("an object")
        .remove("expected");

    let cases = [
        shape_case,
        kind_case,
        filling_case,
        unreported_case,
        missed_case,
    ];
    let problems = [
        "expected the shape [3, 2], got [2, 3]",
        "expected the error shrink_stride, got stride_zero",
        "expected 12345, got ",
        "got the error out_of_range",
        "expected the error out_of_range",
    ];
    for device in devices() {
        let outcome = run_verify(&folder, &cases, &["--device", device]);
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert_eq!(last_line(&outcome), "0 passed, 5 failed", "{outcome:?}");
        for (line, problem) in (1..).zip(problems) {
            let place = format!("cases.jsonl:{line}: ");
            let found = outcome.stdout.lines().find(|line| line.contains(&place));
            assert!(
                found.is_some_and(|line| line.contains(problem)),
                "{problem} in {outcome:?}"
            );
        }
    }
}

#[test]
fn only_the_first_failures_are_printed() {
    let folder = Folder::new();
    let mut case = find_case(|case| case["error_kind"] == "stride_zero");
    case["error_kind"] = json!("spec_vectors");
    let cases = vec![case; 23];
    let outcome = run_verify(&folder, &cases, &["--device", "cpu"]);
    assert_eq!(outcome.code, Some(1));
    assert_eq!(outcome.stdout.matches("expected the error").count(), 20);
    assert!(outcome.stdout.contains("and 3 more"), "{outcome:?}");
    let json = run_verify(&folder, &cases, &["--device", "cpu", "--json"]);
    assert_eq!(json.code, Some(1));
    assert_eq!(json.json()["failures"].as_array().map(Vec::len), Some(23));
}

#[test]
fn json_has_the_counts_and_the_failures() {
    let folder = Folder::new();
    let good = find_case(|case| case["op"] == "gather_nd" && case["expected"].is_object());
    let mut bad = find_case(|case| case["error_kind"] == "index_depth");
    bad["error_kind"] = json!("batch_shape");
    let outcome = run_verify(&folder, &[good, bad], &["--device", "cpu", "--json"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let summary = outcome.json();
    assert_eq!([&summary["passed"], &summary["failed"]], [1, 1]);
    assert_eq!(summary["devices"], json!(["CPU"]));
    let failure = &summary["failures"][0];
    assert_eq!(
        (&failure["line"], &failure["op"]),
        (&json!(2), &json!("gather_nd"))
    );
    assert_eq!(failure["device"], "CPU");
}

#[test]
fn files_without_vectors_are_rejected() {
    let folder = Folder::new();
    let good = find_case(|case| case["op"] == "gather_nd").to_string();
    let negative = good.replace(r#""batch_dims":0"#, r#""batch_dims":-1"#);
    assert_ne!(good, negative);
    let rows = [
        (format!("{good}\nnot json"), "line 2"),
        (
            format!("{good}\n\n{negative}"),
            "line 3: argument `batch_dims` is -1",
        ),
        (r#"{"op":"gather_nd"}"#.to_owned(), "line 1"),
        (
            good.replace("gather_nd", "gather_md"),
            "line 1: there is no operation `gather_md`",
        ),
        (String::new(), "no case"),
    ];
    for (text, message_part) in rows {
        let path = folder.write("cases.jsonl", text);
        let outcome = wgslice(&["verify", &path, "--device", "cpu"]);
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(
            outcome.stderr.contains("cases.jsonl") && outcome.stderr.contains(message_part),
            "{outcome:?}"
        );
    }
    assert_eq!(
        wgslice(&["verify", &folder.path("absent.jsonl")]).code,
        Some(2)
    );
}

#[test]
fn without_an_adapter_a_note_says_that_only_the_cpu_is_verified() {
    let folder = Folder::new();
    let case = find_case(|case| case["op"] == "gather_nd" && case["expected"].is_object());
    let path = folder.write("cases.jsonl", case.to_string());
    let run = |required: &str| -> CommandRun {
        command(&["verify", &path])
            .env("WGPU_ADAPTER_NAME", "no adapter has this name")
            .env("WGSLICE_REQUIRE_GPU", required)
            .output()
            .expect("the command starts")
            .into()
    };
    let outcome = run("0").ok();
    assert_eq!(last_line(&outcome), "1 passed, 0 failed");
    assert!(
        outcome.stderr.contains("only the CPU is verified"),
        "{outcome:?}"
    );
    let outcome = run("1");
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    assert!(
        outcome.stderr.contains("WGSLICE_REQUIRE_GPU=1"),
        "{outcome:?}"
    );
}
