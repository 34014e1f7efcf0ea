//! Opens the backend that the global options select.
//!
//! Naming an adapter or a graphics API turns `auto` into `gpu`. The named adapter is then used even if it is a
//! software adapter, and the command fails if it does not exist.

use crate::{
    args::{DeviceChoice, Global},
    failure::Failure,
    print,
};
use std::{env, num::NonZero};
use wgslice::{Backend, Error, Plan};

/// Returns the device that the options select. `default` applies without `--device`.
pub(crate) fn device_choice(
    global: &Global,
    default: DeviceChoice,
) -> Result<DeviceChoice, Failure> {
    match (global.device.unwrap_or(default), adapter_option(global)) {
        (DeviceChoice::Auto, Some(_)) => Ok(DeviceChoice::Gpu),
        (DeviceChoice::Cpu, Some(option)) => Err(Failure::usage(format_args!(
            "{option} chooses among GPUs, but --device cpu asks for the CPU: drop one of them"
        ))),
        (choice, _) => Ok(choice),
    }
}

/// Returns the option that names an adapter or a graphics API, if the user gave one.
pub(crate) fn adapter_option(global: &Global) -> Option<&'static str> {
    match (&global.adapter, global.backend) {
        (Some(_), _) => Some("--adapter"),
        (None, Some(_)) => Some("--backend"),
        (None, None) => None,
    }
}

/// Returns whether the CPU may finish the work after this error: only after an error of the device, and only if the
/// user left the choice of device to the command.
pub(crate) fn may_fall_back(global: &Global, error: &Error) -> Result<bool, Failure> {
    Ok(error.is_device_error() && device_choice(global, DeviceChoice::Auto)? == DeviceChoice::Auto)
}

/// Opens the backend for a command without a plan, so the choice of the device cannot depend on the work.
pub(crate) fn open_backend(global: &Global) -> Result<Backend, Failure> {
    open_by(global, auto_backend)
}

/// Opens the backend for a plan on data in files.
pub(crate) fn open_for(global: &Global, plan: &Plan) -> Result<Backend, Failure> {
    open_by(global, |global| auto_backend_for_plan(global, plan))
}

/// Returns the CPU backend. The options limit its threads.
pub(crate) fn cpu_backend(global: &Global) -> Backend {
    with_thread_limit(global, Backend::cpu())
}

fn with_thread_limit(global: &Global, backend: Backend) -> Backend {
    backend.with_threads(global.threads.map_or(0, NonZero::get))
}

fn open_by(
    global: &Global,
    open_auto: impl FnOnce(&Global) -> Backend,
) -> Result<Backend, Failure> {
    match device_choice(global, DeviceChoice::Auto)? {
        DeviceChoice::Cpu => Ok(cpu_backend(global)),
        DeviceChoice::Auto => Ok(with_thread_limit(global, open_auto(global).with_fallback())),
        DeviceChoice::Gpu => gpu_backend(global),
        DeviceChoice::All => Err(Failure::usage(
            "--device all is for verify and bench: use auto, gpu or cpu",
        )),
    }
}

/// Opens the devices for `verify` and `bench`: the device that the options select, or else the CPU and every adapter
/// that fits. `participle` is the command's verb for notes, such as `measured`.
pub(crate) fn open_each(global: &Global, participle: &str) -> Result<Vec<Backend>, Failure> {
    if device_choice(global, DeviceChoice::All)? != DeviceChoice::All {
        return Ok(vec![open_backend(global)?]);
    }
    let adapters = open_all_adapters(global)?;
    if adapters.is_empty() {
        if adapter_option(global).is_some() {
            // No adapter fits, so this fails with an error that lists the adapters.
            gpu_backend(global)?;
        }
        if env::var_os("WGSLICE_REQUIRE_GPU").is_some_and(|value| value == "1") {
            return Err(Failure::device(
                "WGSLICE_REQUIRE_GPU=1, but no adapter fits: `wgslice info` lists the adapters",
            ));
        }
        print::print_note(format_args!(
            "note: no adapter fits, so only the CPU is {participle}"
        ));
    }
    Ok([cpu_backend(global)].into_iter().chain(adapters).collect())
}

#[cfg(feature = "gpu")]
pub(crate) use with_gpu::{
    auto_backend, auto_backend_for_plan, gpu_backend, list_candidates, open_all_adapters,
};

#[cfg(feature = "gpu")]
mod with_gpu {
    use super::*;
    use crate::args::Api;
    use wgpu::Backends;
    use wgslice::{
        Gpu,
        gpu::{AdapterOptions, FoundAdapter, SoftwareAdapters},
    };

    fn adapter_options(global: &Global) -> AdapterOptions {
        AdapterOptions {
            name: global.adapter.clone(),
            backends: global.backend.map(|api| match api {
                Api::Vulkan => Backends::VULKAN,
                Api::Metal => Backends::METAL,
                Api::Dx12 => Backends::DX12,
                Api::Gl => Backends::GL,
            }),
            ..AdapterOptions::default()
        }
    }

    pub(crate) fn auto_backend(global: &Global) -> Backend {
        Backend::auto_with(&adapter_options(global))
    }

    pub(crate) fn auto_backend_for_plan(global: &Global, plan: &Plan) -> Backend {
        Backend::auto_for_plan(plan, &adapter_options(global))
    }

    pub(crate) fn gpu_backend(global: &Global) -> Result<Backend, Failure> {
        Backend::open_gpu(&adapter_options(global)).map_err(|error| match (global.backend, error) {
            (Some(api), Error::NoAdapter(_)) => no_adapter_error(api, global),
            (_, error) => Failure::device(error),
        })
    }

    /// Returns the error for a graphics API without an adapter that fits. It lists the adapters of the other APIs.
    fn no_adapter_error(api: Api, global: &Global) -> Failure {
        let name_condition = match &global.adapter {
            Some(name) => format!(" with a name that contains {name:?}"),
            None => String::new(),
        };
        let all_apis = AdapterOptions {
            backends: Some(Backends::all()),
            ..AdapterOptions::default()
        };
        let adapters = list_adapters(&all_apis).unwrap_or_default();
        let adapters: Vec<String> = adapters.iter().map(|found| format!("  {found}")).collect();
        let alternatives = match &adapters[..] {
            [] => "; this machine has no adapter: use --device cpu".into(),
            adapters => format!("; this machine has:\n{}", adapters.join("\n")),
        };
        let api = match api {
            Api::Vulkan => "Vulkan",
            Api::Metal => "Metal",
            Api::Dx12 => "Direct3D 12",
            Api::Gl => "OpenGL",
        };
        Failure::device(format_args!(
            "no adapter for {api}{name_condition}{alternatives}"
        ))
    }

    /// Lists the adapters of this machine, best first. Each entry shows whether the adapter fits `options`.
    fn list_adapters(options: &AdapterOptions) -> Result<Vec<FoundAdapter>, Failure> {
        pollster::block_on(options.adapters()).map_err(Failure::device)
    }

    /// Lists the adapters of this machine, best first. The options or the environment can limit the search to some
    /// graphics APIs.
    pub(crate) fn list_candidates(
        global: &Global,
        software: SoftwareAdapters,
    ) -> Result<Vec<FoundAdapter>, Failure> {
        // If no API is named, OpenGL is searched too. By default wgpu tries OpenGL only if no other API has an adapter.
        let mut options = adapter_options(global);
        options.software = software;
        options.backends = options
            .backends
            .or_else(Backends::from_env)
            .or(Some(Backends::all()));
        list_adapters(&options)
    }

    /// Opens every adapter that fits. If an adapter cannot be opened, a note on stderr explains why. If no adapter can
    /// be opened, returns the last error.
    pub(crate) fn open_all_adapters(global: &Global) -> Result<Vec<Backend>, Failure> {
        let candidates = list_candidates(global, SoftwareAdapters::Allow)?;
        let mut backends = Vec::new();
        let mut last_failure = None;
        for candidate in candidates
            .iter()
            .filter(|candidate| candidate.refused.is_none())
        {
            match pollster::block_on(Gpu::from_adapter(&candidate.adapter)) {
                Ok(gpu) => backends.push(Backend::from(gpu)),
                Err(error) => {
                    print::print_note(format_args!("note: not used: {candidate}: {error}"));
                    last_failure = Some(Failure::with_context(candidate)(error));
                }
            }
        }
        match last_failure {
            Some(failure) if backends.is_empty() => Err(failure),
            _ => Ok(backends),
        }
    }
}

#[cfg(not(feature = "gpu"))]
pub(crate) fn auto_backend(_: &Global) -> Backend {
    Backend::auto()
}

#[cfg(not(feature = "gpu"))]
pub(crate) fn auto_backend_for_plan(_: &Global, _: &Plan) -> Backend {
    Backend::auto()
}

#[cfg(not(feature = "gpu"))]
pub(crate) fn gpu_backend(_: &Global) -> Result<Backend, Failure> {
    Err(Failure::device(
        "this wgslice was built without GPU support: use --device cpu, or build it with the \
         feature `gpu`",
    ))
}

#[cfg(not(feature = "gpu"))]
pub(crate) fn open_all_adapters(_: &Global) -> Result<Vec<Backend>, Failure> {
    Ok(Vec::new())
}
