//! Runs AMD's compiler without an AMD GPU.
//!
//! RADV, Mesa's Vulkan driver for AMD, compiles for the family of GPUs in `RADV_FORCE_FAMILY` without running
//! anything, and `RADV_DEBUG` makes it print the code. RADV reads both variables once, when it is loaded, so each
//! family needs its own process: this program starts itself again ([`compile_here`]) and reads RADV's output.

mod code;
mod driver;
mod report;

pub(crate) use code::CountedPath;
#[cfg(test)]
pub(crate) use report::Statistics;
pub(crate) use report::{Compiled, Report};

use code::LoadCounter;
use driver::Driver;
use report::MarkLine;
use std::{
    env,
    io::BufReader,
    path::PathBuf,
    process::{Command, Stdio},
};
use strict_gpu::PipelineRequest;

/// A family of GPUs that RADV compiles for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Family {
    /// The value of `RADV_FORCE_FAMILY`.
    pub(crate) name: &'static str,
    pub(crate) architecture: &'static str,
    counter: LoadCounter,
}

/// The families of RDNA 2, RDNA 3 and GCN 5. CDNA derives from GCN 5.
pub(crate) const FAMILIES: [Family; 3] = [
    Family {
        name: "navi21",
        architecture: "RDNA 2",
        counter: LoadCounter::Loads,
    },
    Family {
        name: "gfx1100",
        architecture: "RDNA 3",
        counter: LoadCounter::Loads,
    },
    Family {
        name: "vega10",
        architecture: "GCN 5",
        counter: LoadCounter::LoadsAndStores,
    },
];

/// Returns the path of the manifest with which the Vulkan loader finds RADV, or `None` if RADV is not installed.
fn installed_manifest() -> Option<PathBuf> {
    let folders = ["/etc", "/usr/local/share", "/usr/share"];
    let files = folders.iter().filter_map(|folder| {
        let files = std::fs::read_dir(format!("{folder}/vulkan/icd.d")).ok()?;
        files.flatten().map(|file| file.path()).find(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with("radeon_icd") && name.ends_with(".json"))
        })
    });
    files.into_iter().next()
}

/// The error of [`compile`] if the driver is not installed.
pub(crate) const NOT_INSTALLED: &str =
    "RADV is not installed (on Debian and Ubuntu it is in mesa-vulkan-drivers)";

/// Compiles kernels for a family in another process. `kernel_set` is `cases` or `vectors`, as on the command line.
/// `names` has the names of the cases, or is empty for all cases.
///
/// # Errors
///
/// Fails with the reason why there is no report.
pub(crate) fn compile(family: Family, kernel_set: &str, names: &[&str]) -> Result<Report, String> {
    let driver = installed_manifest().ok_or(NOT_INSTALLED)?;
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let mut compiler = Command::new(program)
        .args(["compile", kernel_set])
        .args(names)
        .env("VK_ICD_FILENAMES", &driver)
        .env("VK_DRIVER_FILES", &driver)
        .env("RADV_FORCE_FAMILY", family.name)
        .env("RADV_DEBUG", "shaders,shaderstats,nocache")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("could not start: {error}"))?;
    let output = compiler.stderr.take().ok_or("no standard error")?;
    let report = Report::read(BufReader::new(output), family.counter);
    let status = compiler.wait().map_err(|error| error.to_string())?;
    match report {
        Ok(report) if status.success() => Ok(report),
        Ok(_) => Err(format!("the compiler ended with {status}")),
        Err(problem) => Err(format!("{problem}: {status}")),
    }
}

/// Compiles kernels in this process. Before each kernel, prints a line with its case and label to standard error.
///
/// # Errors
///
/// Fails with the reason why RADV cannot be used.
pub(crate) fn compile_here(
    kernels: impl IntoIterator<Item = (String, PipelineRequest)>,
) -> Result<(), String> {
    let driver = Driver::open()?;
    MarkLine::Driver(driver.version.clone()).write();
    for (case, kernel) in kernels {
        let label = kernel.label.clone();
        MarkLine::Kernel { case, label }.write();
        if let Err(problem) = driver.compile(&kernel) {
            MarkLine::Refused(problem).write();
        }
    }
    MarkLine::End.write();
    Ok(())
}
