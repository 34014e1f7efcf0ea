//! A request for a feature that this build leaves out fails with an error that names the feature, before anything is
//! written.

use std::process::Command;

#[test]
fn an_error_names_the_left_out_feature() {
    let folder = tempfile::tempdir().unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/astronaut.zarr");
    let slice = ["slice", source, "::2", "-o", "b.zarr"];
    let on_cluster = [&slice[..], &["--cluster", "df://localhost:1"]].concat();
    let on_gpu = [&slice[..], &["--device", "gpu"]].concat();
    for (feature, is_built, arguments) in [
        (
            "sql",
            cfg!(feature = "sql"),
            &["sql", "SELECT 1", "-o", "a.parquet"][..],
        ),
        (
            "cluster",
            cfg!(feature = "cluster"),
            &["executor", "--help"],
        ),
        ("cluster", cfg!(feature = "cluster"), &on_cluster),
        ("gpu", cfg!(feature = "gpu"), &on_gpu),
    ] {
        if is_built {
            continue;
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_wgslice-scale"));
        let output = command
            .args(arguments)
            .current_dir(&folder)
            .output()
            .unwrap();
        let problem = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {problem}");
        assert!(
            problem.contains(&format!("--features {feature}")),
            "{problem}"
        );
        assert_eq!(
            folder.path().read_dir().unwrap().count(),
            0,
            "{arguments:?}"
        );
    }
}
