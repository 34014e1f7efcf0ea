//! `wgslice info`: lists the devices of the machine and shows which one would be used.
//!
//! This command opens the device, so that a driver that fails is noticed. With `--device auto`, other commands also
//! compare costs, so they can choose the CPU although this command shows a GPU.

use crate::{
    args::{DeviceChoice, Global},
    device,
    failure::Failure,
    print, units,
};
use clap::ValueEnum;
use serde::Serialize;
use std::{num::NonZero, process::ExitCode, thread};

#[derive(Debug, Serialize)]
struct Info {
    adapters: Vec<Adapter>,
    cpu: Cpu,
    /// The value of `--device`, or `gpu` if it is `auto` and `--adapter` or `--backend` is given.
    asked: String,
    /// The device that the options select. `None` if it cannot be opened. In both cases, `reason` explains why.
    device: Option<String>,
    reason: String,
}

#[derive(Debug, Serialize)]
struct Cpu {
    threads: usize,
}

#[derive(Debug, Serialize)]
struct Adapter {
    name: String,
    kind: &'static str,
    api: &'static str,
    driver: String,
    limits: Limits,
    immediates: bool,
    fits: bool,
    /// Why the adapter cannot be used. `None` if it fits.
    refused: Option<&'static str>,
}

/// The limits on arrays and dispatches, under wgpu's names.
#[derive(Debug, Serialize)]
struct Limits {
    max_buffer_size: u64,
    max_storage_buffer_binding_size: u64,
    min_storage_buffer_offset_alignment: u32,
    max_compute_workgroups_per_dimension: u32,
}

pub(crate) fn run(global: &Global) -> Result<ExitCode, Failure> {
    let choice = device::device_choice(global, DeviceChoice::Auto)?;
    let adapters = adapters(global, choice)?;
    let backend = device::open_backend(global);
    let (device, reason) = match &backend {
        Ok(backend) => (
            Some(backend.to_string()),
            units::space_units(backend.reason()),
        ),
        Err(failure) => (None, failure.to_string()),
    };
    let info = Info {
        adapters,
        cpu: Cpu {
            threads: thread::available_parallelism().map_or(1, NonZero::get),
        },
        asked: choice
            .to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned()),
        device,
        reason,
    };
    if global.json {
        print::print_json(&info)?;
    } else {
        info.print();
    }
    backend.map(|_| ExitCode::SUCCESS)
}

impl Info {
    fn print(&self) {
        for adapter in &self.adapters {
            adapter.print();
        }
        if self.adapters.is_empty() {
            print::print_line("No adapter");
        }
        print::print_line("CPU");
        print_row("threads", self.cpu.threads);
        let Self { asked, reason, .. } = self;
        match &self.device {
            Some(device) => {
                print::print_line(format_args!("With --device {asked}: {device}"));
                print::print_line(format_args!("  because {reason}"));
            }
            // The command then also fails, with an error that gives the reason.
            None => print::print_line(format_args!("With --device {asked}: nothing")),
        }
    }
}

impl Adapter {
    fn print(&self) {
        let Self {
            name,
            kind,
            api,
            driver,
            limits,
            ..
        } = self;
        print::print_line(name);
        print_row("kind", kind);
        print_row("API", api);
        print_row("driver", driver);
        print_row("max_buffer_size", limits.max_buffer_size);
        print_row(
            "max_storage_buffer_binding_size",
            limits.max_storage_buffer_binding_size,
        );
        print_row(
            "min_storage_buffer_offset_alignment",
            limits.min_storage_buffer_offset_alignment,
        );
        print_row(
            "max_compute_workgroups_per_dimension",
            limits.max_compute_workgroups_per_dimension,
        );
        print_row("immediates", if self.immediates { "yes" } else { "no" });
        match self.refused {
            None => print_row("fits", "yes"),
            Some(why) => print_row("fits", format_args!("no: {why}")),
        }
    }
}

fn print_row(name: &str, value: impl std::fmt::Display) {
    print::print_line(format_args!("  {name:<38}{value}"));
}

#[cfg(feature = "gpu")]
fn adapters(global: &Global, choice: DeviceChoice) -> Result<Vec<Adapter>, Failure> {
    use wgslice::gpu::SoftwareAdapters;

    let software = match choice {
        DeviceChoice::Auto => SoftwareAdapters::Refuse,
        _ => SoftwareAdapters::Allow,
    };
    let adapters = device::list_candidates(global, software)?;
    Ok(adapters.iter().map(Adapter::from).collect())
}

#[cfg(not(feature = "gpu"))]
fn adapters(_: &Global, _: DeviceChoice) -> Result<Vec<Adapter>, Failure> {
    Ok(Vec::new())
}

#[cfg(feature = "gpu")]
impl From<&wgslice::gpu::FoundAdapter> for Adapter {
    fn from(candidate: &wgslice::gpu::FoundAdapter) -> Self {
        use wgpu::DeviceType;

        let limits = candidate.adapter.limits();
        let info = candidate.adapter.get_info();
        Self {
            name: info.name.clone(),
            kind: match info.device_type {
                DeviceType::DiscreteGpu => "discrete GPU",
                DeviceType::IntegratedGpu => "integrated GPU",
                DeviceType::VirtualGpu => "virtual GPU",
                DeviceType::Cpu => "software",
                DeviceType::Other => "unknown",
            },
            api: info.backend.to_str(),
            driver: format!("{} {}", info.driver, info.driver_info)
                .trim()
                .to_owned(),
            limits: Limits {
                max_buffer_size: limits.max_buffer_size,
                max_storage_buffer_binding_size: limits.max_storage_buffer_binding_size,
                min_storage_buffer_offset_alignment: limits.min_storage_buffer_offset_alignment,
                max_compute_workgroups_per_dimension: limits.max_compute_workgroups_per_dimension,
            },
            immediates: candidate
                .adapter
                .features()
                .contains(wgpu::Features::IMMEDIATES),
            fits: candidate.refused.is_none(),
            refused: candidate.refused,
        }
    }
}
