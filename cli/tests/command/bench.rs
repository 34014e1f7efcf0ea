//! `wgslice bench`: correct results are measured, wrong ones are noticed, and the written files can be read.

use crate::support::{Folder, Ran, command, devices, wgslice};
use serde_json::{Value, json};
use std::fs;

/// Returns the content of a workloads file: slices, gathers and a transpose that take almost no time.
pub(crate) fn small() -> Value {
    json!({"workloads": [
        {"id": "S", "what": "a slice, \"flipped\"", "op": "slice", "dtype": "f32", "e2e": true,
         "shape": [6, 5, 4], "slices": [[null, null, 2], [1, -1, 1], [null, null, -1]]},
        {"id": "G", "what": "a gather", "op": "gather_nd", "dtype": "f16", "e2e": true,
         "shape": [7, 6], "indices": [50, 1]},
        {"id": "B", "what": "bytes", "op": "slice", "dtype": "u8",
         "shape": [9, 1000], "slices": [[null, null, 1], [700, 3, -2]]},
        {"id": "D", "what": "eight bytes", "op": "gather_nd", "dtype": "f64",
         "shape": [5, 4, 3], "indices": [11, 2]},
        {"id": "T", "what": "channels first", "op": "transpose", "dtype": "u8",
         "shape": [5, 7, 3], "axes": [2, 0, 1]}
    ]})
}

/// Checksums that Python computed from the formula in the built-in set.
const CHECKSUMS: [(&str, f64); 5] = [
    ("S", 44826.0),
    ("G", 289122.0),
    ("B", 17976966.0),
    ("D", 18691.0),
    ("T", 251404.0),
];

fn bench(folder: &Folder, workloads: &Value, options: &[&str]) -> Ran {
    let path = folder.write("workloads.json", workloads.to_string());
    let args = ["bench", "--workloads", &path, "--reps", "2"];
    wgslice(&[&args[..], options].concat())
}

fn lines(path: &str) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("the lines");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a JSON line"))
        .collect()
}

#[test]
fn every_mode_leaves_a_line_with_the_right_checksum() {
    for device in devices() {
        let folder = Folder::new();
        let path = folder.path("lines.jsonl");
        let options = ["--device", device, "--jsonl", &path];
        let table = bench(&folder, &small(), &options).ok().stdout;
        let peer = format!("wgslice-{device}");
        let mut lines = lines(&path);
        let version = lines.remove(0);
        assert_eq!(
            (&version["peer"], &version["workload"]),
            (&json!(peer), &json!("version"))
        );
        for (id, checksum) in CHECKSUMS {
            assert!(table.contains(&format!("\n  {id} ")), "{id} in {table}");
            let of: Vec<&Value> = lines.iter().filter(|line| line["workload"] == id).collect();
            let mut modes: Vec<&str> = of.iter().filter_map(|line| line["mode"].as_str()).collect();
            modes.sort_unstable();
            let expected: &[&str] = match (*device, id) {
                ("cpu", _) => &["fresh", "resident"],
                (_, "S" | "G") => &["e2e", "fresh", "pipelined100", "pipelined1000", "resident"],
                _ => &["fresh", "pipelined100", "pipelined1000", "resident"],
            };
            assert_eq!(modes, expected, "{id} on {device}");
            for line in of {
                assert_eq!(line["checksum"], json!(checksum), "{line}");
                assert_eq!(line["peer"], json!(peer), "{line}");
                let times = line["times"].as_array().expect("times");
                let positive = |time: &Value| time.as_f64() > Some(0.0);
                assert!(times.len() == 2 && times.iter().all(positive), "{line}");
                assert!(line["out_bytes"].as_u64() > Some(0), "{line}");
            }
        }
        let widest = table.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(79), "{widest:?} columns in {table}");
        let verdict: Vec<&str> = table.lines().take_while(|line| !line.is_empty()).collect();
        assert!(verdict.len() >= 2 && verdict.len() < 6, "{table}");
        // No software adapter is chosen, however fast it is.
        assert!(!table.contains("is chosen"), "{table}");
        let auto = table.contains("--device auto takes the CPU");
        assert!(auto || *device == "gpu", "{table}");
    }
}

#[test]
fn lines_are_appended() {
    let folder = Folder::new();
    let path = folder.write("lines.jsonl", "{\"peer\": \"another\"}\n");
    let options = ["--device", "cpu", "--only", "G", "--jsonl", &path];
    for _ in 0..2 {
        bench(&folder, &small(), &options).ok();
    }
    let lines = lines(&path);
    assert_eq!(lines[0]["peer"], "another");
    assert_eq!(lines.len(), 1 + 2 * 3);
}

#[test]
fn a_wrong_checksum_is_an_error_line_and_exit_code_1() {
    for device in devices() {
        let folder = Folder::new();
        let path = folder.path("lines.jsonl");
        let mut workloads = small();
        workloads["workloads"][0]["checksum"] = json!(CHECKSUMS[0].1 + 1.0);
        workloads["workloads"][1]["checksum"] = json!(CHECKSUMS[1].1);
        let ran = bench(&folder, &workloads, &["--device", device, "--jsonl", &path]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stdout.contains("S: error: wrong result"), "{ran:?}");
        let lines = lines(&path);
        let of = |id: &str| -> Vec<&Value> {
            lines.iter().filter(|line| line["workload"] == id).collect()
        };
        let wrong = of("S");
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        let error = wrong[0]["error"].as_str().expect("an error");
        assert!(error.contains("workloads file says"), "{error}");
        assert!(wrong[0].get("times").is_none(), "{wrong:?}");
        assert!(of("G").iter().all(|line| line["times"].is_array()));
    }
}

#[test]
fn what_is_not_there_or_makes_no_sense_is_bad_input() {
    let folder = Folder::new();
    let rows: [(Value, &[&str], &str); 5] = [
        (small(), &["--only", "S,X"], "\"X\""),
        (small(), &["--reps", "0"], "--reps"),
        (json!({"workloads": []}), &[], "no workload"),
        (
            json!({"workloads": [{"id": "S"}]}),
            &[],
            "workloads.json: missing field",
        ),
        (
            json!({"workloads": [{"id": "C", "op": "turn", "dtype": "u8", "shape": [4, 4]}]}),
            &[],
            "workloads.json: unknown variant `turn`",
        ),
    ];
    for (workloads, options, named) in rows {
        let path = folder.write("workloads.json", workloads.to_string());
        let args = ["bench", "--device", "cpu", "--workloads", &path];
        let ran = wgslice(&[&args[..], options].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(named), "{named} in {ran:?}");
    }
    let absent = folder.path("absent.json");
    let ran = wgslice(&["bench", "--workloads", &absent]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("absent.json"), "{ran:?}");
    for option in ["--jsonl", "--json-out", "--csv", "--html"] {
        let output = folder.path("no/such/folder");
        let ran = bench(&folder, &small(), &["--device", "cpu", option, &output]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(
            ran.stdout.is_empty() && ran.stderr.contains("no/such"),
            "{ran:?}"
        );
    }
    assert_eq!(folder.names(), ["workloads.json"]);
}

#[test]
fn files_hold_what_was_measured() {
    for device in devices() {
        let folder = Folder::new();
        let [json, csv, html] = ["out.json", "out.csv", "out.html"].map(|name| folder.path(name));
        let options = [
            "--device",
            device,
            "--sweep-to",
            "256KiB",
            "--json",
            "--json-out",
            &json,
            "--csv",
            &csv,
            "--html",
            &html,
        ];
        let printed = bench(&folder, &small(), &options).ok().json();
        let written = fs::read_to_string(&json).expect("the file");
        let written: Value = serde_json::from_str(&written).expect("JSON");
        assert_eq!(printed, written);
        assert_eq!(written["results"].as_array().map(Vec::len), Some(5));
        // The sweep has two operations at two sizes.
        assert_eq!(written["sweep"].as_array().map(Vec::len), Some(4));
        let measured = &written["results"][0];
        assert_eq!(measured["checksum"], json!(CHECKSUMS[0].1));
        assert_eq!(measured["bytes"], 2 * 3 * 3 * 4 * 4);
        for quantity in ["first", "resident", "fresh"] {
            let seconds = &measured["seconds"][quantity];
            let [min, median, max] =
                ["min", "median", "max"].map(|name| seconds[name].as_f64().expect(quantity));
            assert!(0.0 < min && min <= median && median <= max, "{seconds}");
        }
        for part in ["upload", "encode", "wait", "readback", "e2e"] {
            let there = measured["seconds"][part].is_object();
            assert_eq!(there, *device == "gpu", "{part}");
        }
        if cfg!(target_os = "linux") {
            assert!(measured["peak_memory"].as_u64() > Some(0));
        }

        let csv = fs::read_to_string(&csv).expect("the file");
        let (header, rows) = csv.split_once('\n').expect("lines");
        assert!(header.starts_with("part,workload,what,device,quantity,bytes,"));
        assert!(
            rows.contains("workloads,S,\"a slice, \"\"flipped\"\"\","),
            "{rows}"
        );
        let plain = rows.lines().filter(|row| !row.contains('"'));
        let fields = header.split(',').count();
        assert!(
            plain.clone().all(|row| row.split(',').count() == fields),
            "{rows}"
        );
        let times: usize = [&written["results"], &written["sweep"]]
            .iter()
            .flat_map(|part| part.as_array().expect("a list"))
            .map(|measured| measured["seconds"].as_object().expect("times").len())
            .sum();
        assert_eq!(rows.lines().count(), times);

        let html = fs::read_to_string(&html).expect("the file");
        assert!(html.starts_with("<!DOCTYPE html>") && html.trim_end().ends_with("</html>"));
        assert!(html.contains("a slice, &quot;flipped&quot;"), "escaped");
        for tag in ["svg", "table", "figure", "section"] {
            let opened = html.matches(&format!("<{tag}")).count();
            assert!(opened > 0, "{tag}");
            assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        // The page is self-contained: it loads nothing.
        assert!(!html.contains("src=") && !html.contains("<link"));
    }
}

#[test]
fn an_empty_result_is_right_too() {
    let empty = json!({"workloads": [{
        "id": "E", "op": "slice", "dtype": "f32", "shape": [4, 3], "checksum": 0, "e2e": true,
        "slices": [[3, 1, 1], [null, null, 1]]
    }]});
    for device in devices() {
        let folder = Folder::new();
        let html = folder.path("out.html");
        let ran = bench(
            &folder,
            &empty,
            &["--device", device, "--html", &html, "--json"],
        )
        .ok();
        let measured = &ran.json()["results"][0];
        assert_eq!(
            (&measured["bytes"], &measured["checksum"]),
            (&json!(0), &json!(0.0))
        );
        assert!(
            fs::read_to_string(&html)
                .expect("the file")
                .contains("<svg")
        );
    }
}

#[cfg(feature = "gpu")]
#[test]
fn both_devices_are_compared_by_size() {
    if devices() == ["cpu"] {
        return;
    }
    let folder = Folder::new();
    let options = ["--only", "S", "--sweep-to", "64KiB", "--json"];
    let report = bench(&folder, &small(), &options).ok().json();
    let devices = report["devices"].as_array().expect("devices");
    assert_eq!(devices[0]["peer"], "wgslice-cpu");
    assert_eq!(devices[1]["peer"], "wgslice-gpu");
    assert!(devices[1]["cold"]["first_result"].as_f64() > Some(0.0));
    let crossovers = report["crossovers"].as_array().expect("crossovers");
    // The sweep has two operations, each with the data on the host and on the device.
    assert_eq!(crossovers.len(), 4 * (devices.len() - 1));
    for crossover in crossovers {
        assert_eq!(crossover["measured"], json!([64 << 10, 64 << 10]));
        let from = &crossover["from"];
        assert!(from.is_null() || *from == 64 << 10, "{crossover}");
    }
}

#[test]
fn without_an_adapter_only_the_cpu_is_measured_and_never_unnoticed() {
    let folder = Folder::new();
    let path = folder.write("workloads.json", small().to_string());
    let run = |device: &str, required: &str| -> Ran {
        command(&[
            "bench",
            "--workloads",
            &path,
            "--reps",
            "1",
            "--device",
            device,
        ])
        .env("WGPU_ADAPTER_NAME", "no adapter has this name")
        .env("WGSLICE_REQUIRE_GPU", required)
        .output()
        .expect("the command starts")
        .into()
    };
    let ran = run("all", "0").ok();
    assert!(ran.stderr.contains("only the CPU is measured"), "{ran:?}");
    assert!(ran.stdout.contains("\n\nCPU ("), "{ran:?}");
    assert_eq!(run("all", "1").code, Some(3));
    assert_eq!(run("gpu", "0").code, Some(3));
    assert!(run("auto", "0").ok().stdout.contains("\n\nCPU ("));
}
