//! The choice of a device, and the messages about it.

use crate::support::{CommandRun, Folder, command, devices, wgslice};

#[test]
fn auto_reports_the_device_and_the_reason() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2]);
    let run = wgslice(&[
        "slice",
        &input,
        "0",
        "-o",
        &folder.path("out.npy"),
        "--json",
    ])
    .ok()
    .json();
    // Slicing two elements is not worth opening a GPU.
    assert_eq!(run["device"], "CPU");
    let reason = run["reason"].as_str().expect("a reason");
    if cfg!(feature = "gpu") {
        assert!(reason.contains("the CPU takes about"), "{run}");
    }
    let info = wgslice(&["info", "--json"]).ok().json();
    // `auto` never chooses a software adapter.
    let device = info["device"].as_str().expect("a device");
    assert!(!device.contains("software"), "{info}");
}

/// Mesa and libwayland look for a display when adapters are listed, and print errors if there is none.
#[test]
fn without_a_display_stderr_is_empty() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2]);
    let output = folder.path("out.npy");
    let mut runs = vec![vec!["info"]];
    for &device in devices() {
        runs.push(vec![
            "slice", &input, "::-1", "-o", &output, "--device", device,
        ]);
    }
    for args in runs {
        let mut command = command(&args);
        for variable in [
            "XDG_RUNTIME_DIR",
            "WAYLAND_DISPLAY",
            "DISPLAY",
            "NODEVICE_SELECT",
        ] {
            command.env_remove(variable);
        }
        let outcome: CommandRun = command.output().expect("the command starts").into();
        assert_eq!(outcome.ok().stderr, "", "{args:?}");
    }
}

#[test]
fn a_named_adapter_is_used_even_if_it_is_software() {
    if devices() == ["cpu"] {
        return;
    }
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2]);
    let info = wgslice(&["info", "--json", "--device", "gpu"]).ok().json();
    let adapters = info["adapters"].as_array().expect("adapters");
    for adapter in adapters.iter().filter(|adapter| adapter["fits"] == true) {
        let [name, api] = ["name", "api"].map(|key| adapter[key].as_str().expect("a string"));
        let output = folder.path("out.npy");
        let args = [
            "slice",
            &input,
            "0",
            "-o",
            &output,
            "--json",
            "--backend",
            api,
        ];
        let run = wgslice(&[&args[..], &["--adapter", &name.to_uppercase()]].concat())
            .ok()
            .json();
        let device = run["device"].as_str().expect("a device");
        assert!(device.starts_with(name), "{device} for {name}");
        assert!(
            device.to_lowercase().contains(api),
            "{device} through {api}"
        );
    }
}

#[test]
fn info_lists_limits_and_the_cpu() {
    let outcome = wgslice(&["info"]).ok();
    assert!(
        outcome.stdout.lines().any(|line| line == "CPU"),
        "{outcome:?}"
    );
    assert!(outcome.stdout.contains("threads"), "{outcome:?}");
    assert!(
        outcome
            .stdout
            .lines()
            .any(|line| line.starts_with("With --device auto: ")),
        "{outcome:?}"
    );
    let info = wgslice(&["info", "--json"]).ok().json();
    for adapter in info["adapters"].as_array().expect("adapters") {
        let name = adapter["name"].as_str().expect("a name");
        assert!(outcome.stdout.contains(name), "{name} in {outcome:?}");
        assert!(
            adapter["limits"]["max_buffer_size"].as_u64() > Some(0),
            "{adapter}"
        );
        assert_eq!(
            adapter["fits"] == true,
            adapter["refused"].is_null(),
            "{adapter}"
        );
    }
}

/// `info` and `verify` see the same adapters.
#[cfg(feature = "gpu")]
#[test]
fn all_commands_see_the_same_adapters() {
    let info = wgslice(&["info", "--json", "--device", "gpu"]);
    let info: serde_json::Value = serde_json::from_str(&info.stdout).expect("JSON");
    let fitting_adapters = info["adapters"].as_array().expect("adapters").iter();
    let fitting_adapters: Vec<_> = fitting_adapters
        .filter(|adapter| adapter["fits"] == true)
        .collect();
    let verify = wgslice(&["verify", "--random", "1", "--json"]).ok().json();
    let devices = verify["devices"].as_array().expect("devices");
    assert_eq!(
        devices.len(),
        1 + fitting_adapters.len(),
        "{verify} for {info}"
    );
    let auto = wgslice(&["info", "--json"]).ok().json();
    let count = auto["adapters"].as_array().map(Vec::len);
    assert_eq!(count, info["adapters"].as_array().map(Vec::len));
}

#[cfg(feature = "gpu")]
#[test]
fn an_absent_adapter_is_a_device_error() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2]);
    let output = folder.path("out.npy");
    let name = "no adapter has this name";
    let outcome = wgslice(&["slice", &input, "0", "-o", &output, "--adapter", name]);
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    assert!(outcome.stderr.contains(name), "{outcome:?}");
    assert_eq!(folder.names(), ["in.npy"]);
    // Other graphics APIs might have adapters.
    let api = if cfg!(target_os = "macos") {
        "dx12"
    } else {
        "metal"
    };
    let outcome = wgslice(&["slice", &input, "0", "--backend", api]);
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    let alternatives = match wgslice(&["info", "--device", "gpu"]).code {
        Some(0) => "; this machine has:\n  ",
        _ => "this machine has no adapter",
    };
    let messages = ["no adapter for Metal", "no adapter for Direct3D 12"];
    assert!(
        messages
            .iter()
            .any(|message| outcome.stderr.contains(message)),
        "{outcome:?}"
    );
    assert!(outcome.stderr.contains(alternatives), "{outcome:?}");
    let outcome = wgslice(&["info", "--adapter", name]);
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    assert!(
        outcome
            .stdout
            .lines()
            .any(|line| line == "With --device gpu: nothing"),
        "{outcome:?}"
    );
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2]);
    let output = folder.path("out.npy");
    let rows: [(&[&str], &str); 4] = [
        (&["--device", "cpu", "--adapter", "x"], "--adapter"),
        (&["--device", "cpu", "--backend", "vulkan"], "--backend"),
        (&["--device", "all"], "--device all"),
        (&["--backend", "vulcan"], "vulkan, metal, dx12, gl"),
    ];
    for (options, message_part) in rows {
        let outcome = wgslice(&[&["slice", &input, "0", "-o", &output], options].concat());
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(
            outcome.stderr.contains(message_part),
            "{message_part} in {outcome:?}"
        );
        assert_eq!(folder.names(), ["in.npy"]);
    }
}

#[test]
fn a_reader_that_stops_reading_causes_no_panic() {
    let mut child = command(&["info"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the command starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && !stderr.contains("panicked"),
        "{stderr}"
    );
}

#[test]
fn the_limit_on_threads_is_kept() {
    let folder = Folder::new();
    let input = folder.write_sparse("in.npy", "<f4", &[4096, 4096], 64 << 20);
    let args = [
        "slice",
        &input,
        ":, ::-1",
        "--explain",
        "-v",
        "--device",
        "cpu",
    ];
    let explain = |more: &[&str]| wgslice(&[&args[..], more].concat()).ok().stdout;
    let one_thread = explain(&["--threads", "1"]);
    assert!(one_thread.contains(" on 1 thread,"), "{one_thread}");
    let all_threads = explain(&[]);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    assert!(
        cores == 1 || all_threads.contains(" threads,"),
        "{all_threads}"
    );
    assert_eq!(wgslice(&["bench", "--threads", "1"]).code, Some(2));
    assert_eq!(
        wgslice(&[&args[..], &["--threads", "0"]].concat()).code,
        Some(2)
    );
}
