//! `wgslice bench`: correct results are measured, wrong results are detected, and the written files can be read.

use crate::support::{CommandRun, Folder, command, devices, wgslice};
use serde_json::{Value, json};
use std::fs;

/// Returns the content of a workloads file: small slices, gathers, a transpose, a crop and an update, which take
/// almost no time.
pub(crate) fn small_workloads() -> Value {
    json!({"workloads": [
        {"id": "S", "what": "a slice, \"flipped\"", "op": "slice", "dtype": "f32",
         "shape": [6, 5, 4], "slices": [[null, null, 2], [1, -1, 1], [null, null, -1]]},
        {"id": "G", "what": "a gather", "op": "gather_nd", "dtype": "f16",
         "shape": [7, 6], "indices": [50, 1]},
        {"id": "B", "what": "bytes", "op": "slice", "dtype": "u8",
         "shape": [9, 1000], "slices": [[null, null, 1], [700, 3, -2]]},
        {"id": "D", "what": "eight bytes", "op": "gather_nd", "dtype": "f64",
         "shape": [5, 4, 3], "indices": [11, 2]},
        {"id": "T", "what": "channels first", "op": "transpose", "dtype": "u8",
         "shape": [5, 7, 3], "axes": [2, 0, 1]},
        {"id": "C", "what": "boxes", "op": "crop", "dtype": "u8",
         "shape": [4, 6, 7, 3], "size": [3, 4]},
        {"id": "U", "what": "an update", "op": "update", "dtype": "f32",
         "shape": [3, 8, 5], "slices": [[null, null, 1], [5, 2, -1], [1, null, 2]]}
    ]})
}

/// Checksums of some of these workloads. Python computed them from the formulas in `src/bench/workloads.json`.
const CHECKSUMS: [(&str, f64); 5] = [
    ("S", 44826.0),
    ("G", 289122.0),
    ("B", 17976966.0),
    ("D", 18691.0),
    ("T", 251404.0),
];

fn run_bench(folder: &Folder, workloads: &Value, options: &[&str]) -> CommandRun {
    let path = folder.write("workloads.json", workloads.to_string());
    let args = ["bench", "--workloads", &path, "--reps", "2"];
    wgslice(&[&args[..], options].concat())
}

#[test]
fn a_verdict_and_a_table_fit_a_terminal() {
    for device in devices() {
        let folder = Folder::new();
        let table = run_bench(&folder, &small_workloads(), &["--device", device])
            .ok()
            .stdout;
        let widest = table.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(79), "{widest:?} columns in {table}");
        let verdict: Vec<&str> = table.lines().take_while(|line| !line.is_empty()).collect();
        assert_eq!(verdict.len(), 3, "{table}");
        assert!(verdict[0].contains("% of the speed of a copy"), "{table}");
        // A software adapter is no reason to judge the choices of `--device auto`, even if it is fast.
        assert!(!table.contains("takes the faster"), "{table}");
        for id in ["S", "G", "B", "D", "T", "C", "U"] {
            let row = table
                .lines()
                .find(|line| line.starts_with(&format!("  {id} ")));
            let row = row.unwrap_or_else(|| panic!("{id} in {table}"));
            assert!(row.contains("% ") && row.ends_with('s'), "{row}");
        }
    }
}

/// Runs the benchmark in a tmux terminal of 80 columns, if tmux is installed, and checks that no line wraps.
#[cfg(unix)]
#[test]
fn no_line_wraps_at_80_columns() {
    let tmux = |args: &[&str]| std::process::Command::new("tmux").args(args).output();
    if tmux(&["-V"]).is_err() {
        eprintln!("skipped: there is no tmux");
        return;
    }
    let folder = Folder::new();
    let workloads = folder.write("workloads.json", small_workloads().to_string());
    let (socket, done_file) = (folder.path("tmux"), folder.path("done"));
    let program = env!("CARGO_BIN_EXE_wgslice");
    let run = format!(
        "'{program}' bench --workloads '{workloads}' --reps 2 --device cpu; touch '{done_file}'; sleep 60"
    );
    let size = ["-x", "80", "-y", "50"];
    let new_session = ["-S", &socket, "-f", "/dev/null", "new-session", "-d"];
    let started = tmux(&[&new_session[..], &size, &[&run]].concat()).expect("tmux starts");
    assert!(started.status.success(), "{started:?}");
    for _ in 0..600 {
        if fs::exists(&done_file).expect("the folder") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    // With -J, tmux joins lines that wrapped.
    let capture = |options: &[&str]| {
        let args = [&["-S", &socket, "capture-pane", "-p"][..], options].concat();
        String::from_utf8(tmux(&args).expect("tmux").stdout).expect("UTF-8")
    };
    let trim_lines = |text: String| -> Vec<String> {
        text.lines()
            .map(|line| line.trim_end().to_owned())
            .collect()
    };
    let (screen_lines, joined_lines) = (trim_lines(capture(&[])), trim_lines(capture(&["-J"])));
    tmux(&["-S", &socket, "kill-server"]).expect("tmux");
    assert!(screen_lines[0].starts_with("CPU: "), "{screen_lines:#?}");
    assert_eq!(screen_lines, joined_lines);
}

#[test]
fn a_wrong_checksum_is_an_error_and_exit_code_1() {
    for device in devices() {
        let folder = Folder::new();
        let mut workloads = small_workloads();
        for (workload, (id, checksum)) in CHECKSUMS.iter().enumerate() {
            assert_eq!(workloads["workloads"][workload]["id"], json!(id));
            workloads["workloads"][workload]["checksum"] = json!(checksum);
        }
        run_bench(&folder, &workloads, &["--device", device]).ok();
        workloads["workloads"][0]["checksum"] = json!(CHECKSUMS[0].1 + 1.0);
        let outcome = run_bench(&folder, &workloads, &["--device", device, "--json"]);
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        let rows = &outcome.json()["devices"][0]["rows"];
        let error = rows[0]["error"].as_str().expect("an error");
        assert!(
            error.contains("wrong result") && error.contains("workloads file says"),
            "{error}"
        );
        assert_eq!(
            (&rows[0]["wrong"], &rows[0]["seconds"]),
            (&json!(true), &json!({}))
        );
        assert_eq!(
            (&rows[1]["wrong"], &rows[1]["error"]),
            (&json!(false), &Value::Null)
        );
        let outcome = run_bench(&folder, &workloads, &["--device", device]);
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert!(
            outcome.stdout.contains("S: error: wrong result"),
            "{outcome:?}"
        );
    }
}

#[test]
fn absent_or_wrong_workloads_are_bad_input() {
    let folder = Folder::new();
    let rows: [(Value, &[&str], &str); 4] = [
        (small_workloads(), &["--only", "S,X"], "\"X\""),
        (small_workloads(), &["--reps", "0"], "--reps"),
        (json!({"workloads": []}), &[], "no workload"),
        (
            json!({"workloads": [{"id": "S"}]}),
            &[],
            "workloads.json: missing field",
        ),
    ];
    for (workloads, options, message_part) in rows {
        let path = folder.write("workloads.json", workloads.to_string());
        let args = ["bench", "--device", "cpu", "--workloads", &path];
        let outcome = wgslice(&[&args[..], options].concat());
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(
            outcome.stderr.contains(message_part),
            "{message_part} in {outcome:?}"
        );
    }
    // No machine has enough memory for this workload.
    let huge = json!({"workloads": [{
        "id": "C", "op": "transpose", "dtype": "u8", "shape": [1u64 << 40, 1 << 18], "axes": [1, 0]
    }]});
    let outcome = run_bench(&folder, &huge, &["--device", "cpu"]);
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    assert!(
        outcome.stdout.contains("C: error: no memory left"),
        "{outcome:?}"
    );
    let absent = folder.path("absent.json");
    let outcome = wgslice(&["bench", "--workloads", &absent]);
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("absent.json"), "{outcome:?}");
    let output = folder.path("no/such/folder");
    let outcome = run_bench(
        &folder,
        &small_workloads(),
        &["--device", "cpu", "--html", &output],
    );
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(
        outcome.stdout.is_empty() && outcome.stderr.contains("no/such"),
        "{outcome:?}"
    );
    assert_eq!(folder.names(), ["workloads.json"]);
}

#[test]
fn json_and_the_page_have_all_measurements() {
    for device in devices() {
        let folder = Folder::new();
        let html = folder.path("out.html");
        let options = ["--device", device, "--json", "--html", &html];
        let report = run_bench(&folder, &small_workloads(), &options).ok().json();
        assert_eq!(report["workloads"][0]["bytes"], 2 * 3 * 3 * 4 * 4);
        assert_eq!(report["workloads"][4]["result_shape"], json!([3, 5, 7]));
        assert_eq!(report["auto"], Value::Null);
        let rows = report["devices"][0]["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), 7);
        let common_quantities = ["resident", "copy", "host_to_host"];
        let own_quantities: &[&str] = match *device {
            "cpu" => &["loop"],
            _ => &["upload", "readback"],
        };
        for row in rows {
            for quantity in common_quantities.iter().chain(own_quantities) {
                let seconds = &row["seconds"][quantity];
                let times = seconds["times"].as_array().expect(quantity);
                let [first_time, second_time] =
                    [0, 1].map(|at: usize| times[at].as_f64().expect("a time"));
                assert!(
                    times.len() == 2 && first_time > 0.0 && second_time > 0.0,
                    "{row}"
                );
                // The JSON parser can be off by one bit.
                let median = seconds["median"].as_f64().expect("a number");
                assert!(
                    (median - (first_time + second_time) / 2.0).abs() < 1e-9 * median,
                    "{row}"
                );
                assert!(report["quantities"][quantity].is_string(), "{report}");
            }
            let has_tensors = *device == "cpu" && row["workload"] != "U";
            assert_eq!(row["seconds"]["tensors"].is_object(), has_tensors, "{row}");
            assert!(row["percent_of_copy"].as_f64() > Some(0.0), "{row}");
            assert_eq!(
                row["seconds"]["first"]["times"].as_array().map(Vec::len),
                Some(1)
            );
        }

        let html = fs::read_to_string(&html).expect("the file");
        assert!(html.starts_with("<!DOCTYPE html>") && html.trim_end().ends_with("</html>"));
        assert!(html.contains("a slice, &quot;flipped&quot;"), "escaped");
        for tag in [
            "table", "section", "div", "p", "i", "h1", "h2", "dl", "style",
        ] {
            let opened = [">", " "].map(|end| html.matches(&format!("<{tag}{end}")).count());
            let opened: usize = opened.iter().sum();
            assert!(opened > 0, "{tag}");
            assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        assert!(html.contains("prefers-color-scheme: dark") && html.contains("max-width: 40rem"));
        let begin = html.find("<h1>").expect("a headline");
        assert!(html[begin..].starts_with("<h1>") && html.contains("% of the speed of a copy"));
        // The page is self-contained: it loads nothing, and has the JSON in a link.
        assert!(!html.contains("src=") && !html.contains("<link") && !html.contains("<script"));
        let json = html.split("application/json,").nth(1).expect("a link");
        let json = json.split('"').next().expect("an address");
        let json = json
            .replace("%22", "\"")
            .replace("%20", " ")
            .replace("%25", "%");
        let json: Value = serde_json::from_str(&json.replace("%27", "'")).expect("JSON");
        assert_eq!(json, report);
    }
}

/// Shows the page in headless Chromium, if it is installed, in frames as wide as a phone and a screen. The page must
/// not be wider than its frame.
#[cfg(unix)]
#[test]
fn the_page_needs_no_sideways_scroll() {
    let names = [
        "chromium",
        "google-chrome-stable",
        "google-chrome",
        "chromium-browser",
    ];
    let is_installed = |name: &&&str| {
        std::process::Command::new(name)
            .arg("--version")
            .output()
            .is_ok()
    };
    let Some(browser) = names.iter().find(is_installed) else {
        eprintln!("skipped: there is no Chromium");
        return;
    };
    let folder = Folder::new();
    let html = folder.path("out.html");
    run_bench(
        &folder,
        &small_workloads(),
        &["--device", devices()[devices().len() - 1], "--html", &html],
    )
    .ok();
    let page = fs::read_to_string(&html).expect("the file");
    let page = page.replace('&', "&amp;").replace('"', "&quot;");
    for width in [360, 400, 1280] {
        let frame = format!(
            "<iframe style=\"width: {width}px; border: 0\" srcdoc=\"{page}\"></iframe><script>
             onload = () => {{
                 const {{scrollWidth, clientWidth}} = frames[0].document.documentElement;
                 document.title = `${{scrollWidth}} of ${{clientWidth}}`;
             }}</script>"
        );
        let path = folder.write("frame.html", frame);
        let output = std::process::Command::new(browser)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
            ])
            .args(["--hide-scrollbars", "--dump-dom"])
            .arg(format!("--user-data-dir={}", folder.path("profile")))
            .arg(format!("file://{path}"))
            .output()
            .expect("it starts");
        let dom = String::from_utf8_lossy(&output.stdout);
        assert!(
            dom.contains(&format!("<title>{width} of {width}</title>")),
            "{width}: {output:?}"
        );
    }
}

#[test]
fn an_empty_result_is_correct() {
    let empty = json!({"workloads": [{
        "id": "E", "op": "slice", "dtype": "f32", "shape": [4, 3], "checksum": 0,
        "slices": [[3, 1, 1], [null, null, 1]]
    }]});
    for device in devices() {
        let folder = Folder::new();
        let html = folder.path("out.html");
        let options = ["--device", device, "--html", &html, "--json"];
        let report = run_bench(&folder, &empty, &options).ok().json();
        assert_eq!(report["workloads"][0]["bytes"], 0);
        assert!(
            fs::read_to_string(&html)
                .expect("the file")
                .contains("<div class=\"row\">")
        );
    }
}

#[cfg(feature = "gpu")]
#[test]
fn the_cpu_and_every_adapter_are_compared() {
    if devices() == ["cpu"] {
        return;
    }
    let folder = Folder::new();
    let report = run_bench(&folder, &small_workloads(), &["--only", "S", "--json"])
        .ok()
        .json();
    let devices = report["devices"].as_array().expect("devices");
    assert_eq!(devices[0]["kind"], "cpu");
    assert!(devices.len() > 1, "{report}");
    let kinds = devices[1..].iter().map(|device| device["kind"].as_str());
    assert!(
        kinds
            .clone()
            .all(|kind| matches!(kind, Some("gpu" | "software")))
    );
    // `auto` is judged only if there is a hardware GPU to choose.
    let is_judged = kinds.clone().any(|kind| kind == Some("gpu"));
    assert_eq!(report["auto"].is_object(), is_judged, "{report}");
    let table = run_bench(&folder, &small_workloads(), &["--only", "S"])
        .ok()
        .stdout;
    let verdict = table.lines().nth(1).expect("a second line");
    assert!(
        verdict.contains(": beats the CPU on ") && verdict.contains(" of 1, "),
        "{table}"
    );
}

#[test]
fn without_an_adapter_a_note_says_that_only_the_cpu_is_measured() {
    let folder = Folder::new();
    let path = folder.write("workloads.json", small_workloads().to_string());
    let run = |device: &str, required: &str| -> CommandRun {
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
    let outcome = run("all", "0").ok();
    assert!(
        outcome.stderr.contains("only the CPU is measured"),
        "{outcome:?}"
    );
    assert!(outcome.stdout.contains("\n\nCPU ("), "{outcome:?}");
    assert_eq!(run("all", "1").code, Some(3));
    assert_eq!(run("gpu", "0").code, Some(3));
    assert!(run("auto", "0").ok().stdout.contains("\n\nCPU ("));
}
