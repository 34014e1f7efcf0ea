//! Chooses an adapter.
//!
//! [`AdapterOptions`] take precedence over wgpu's environment variables `WGPU_BACKEND`, `WGPU_ADAPTER_NAME` and
//! `WGPU_POWER_PREF`. Among the adapters that fit, hardware ranks before software. A discrete GPU ranks before an
//! integrated GPU, or after it if the options prefer low power. If no adapter fits, the error lists all adapters that
//! were found.

use crate::Error;
use std::fmt;
use wgpu::{Backend, Backends, DeviceType, PowerPreference};

/// Whether to use software adapters (lavapipe, llvmpipe, SwiftShader, WARP).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SoftwareAdapters {
    /// Use a software adapter only if no hardware GPU fits.
    #[default]
    Allow,
    /// Use only software adapters.
    Require,
    /// Never use a software adapter.
    Refuse,
}

/// Options that restrict which adapter is used.
///
/// On Linux without a display, listing adapters can print `error: XDG_RUNTIME_DIR is invalid or not set in the
/// environment.` The cause is Mesa's Vulkan layer `device_select`, which looks for the GPU of a Wayland display. The
/// environment variable `NODEVICE_SELECT=1` turns the layer off.
#[derive(Clone, Debug, Default)]
pub struct AdapterOptions {
    /// A part of the adapter's name; case is ignored. Default: `WGPU_ADAPTER_NAME`, or any name.
    pub name: Option<String>,
    /// The graphics APIs to search. Default: `WGPU_BACKEND`. If it is not set, Vulkan, Metal, Direct3D 12 and WebGPU
    /// are searched, and OpenGL only if these have no adapter.
    pub backends: Option<Backends>,
    /// Whether to prefer low power or high performance. Default: `WGPU_POWER_PREF`, or high performance.
    pub power: Option<PowerPreference>,
    /// Whether to use software adapters.
    pub software: SoftwareAdapters,
}

/// The maximum number of storage buffers that a shader binds, not counting a buffer of conversion tables and a buffer
/// of uniforms.
pub(in crate::gpu) const STORAGE_BUFFERS: u32 = 4;

impl AdapterOptions {
    /// Returns these options, with the values of wgpu's environment variables for options that are `None`. Fails if
    /// `backends` is `None` and `WGPU_BACKEND` is set but names no graphics API.
    fn with_environment(&self) -> Result<Self, Error> {
        let mut options = self.clone();
        if options.backends.is_none()
            && let Ok(list) = std::env::var("WGPU_BACKEND")
        {
            let backends = Backends::from_comma_list(&list);
            if backends.is_empty() {
                return Err(Error::NoAdapter(format!(
                    "WGPU_BACKEND={list} names no graphics API: use vulkan, metal, dx12, gl or noop"
                )));
            }
            options.backends = Some(backends);
        }
        let name = options
            .name
            .or_else(|| std::env::var("WGPU_ADAPTER_NAME").ok());
        options.name = name.filter(|name| !name.is_empty());
        options.power = options.power.or_else(PowerPreference::from_env);
        Ok(options)
    }

    /// Returns the machine's adapters for the searched graphics APIs, best first. If an adapter does not fit these
    /// options, its entry has the reason.
    ///
    /// # Errors
    ///
    /// [`Error::NoAdapter`] if `backends` is `None` and `WGPU_BACKEND` is set but names no graphics API.
    pub async fn adapters(&self) -> Result<Vec<FoundAdapter>, Error> {
        Ok(self.with_environment()?.find_adapters().await)
    }

    async fn find_adapters(&self) -> Vec<FoundAdapter> {
        match self.backends {
            Some(backends) => self.list_adapters(backends).await,
            // OpenGL is searched only if the other APIs have no adapter, because it usually lists the same adapters.
            None => match self.list_adapters(Backends::PRIMARY).await {
                adapters if adapters.is_empty() => self.list_adapters(Backends::SECONDARY).await,
                adapters => adapters,
            },
        }
    }

    async fn list_adapters(&self, backends: Backends) -> Vec<FoundAdapter> {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
        descriptor.backends = backends;
        let instance = wgpu::Instance::new(descriptor);
        #[cfg(not(target_arch = "wasm32"))]
        let adapters = instance.enumerate_adapters(backends).await;
        // A browser returns one adapter and cannot list all of them.
        #[cfg(target_arch = "wasm32")]
        let adapters = Vec::from_iter(
            instance
                .request_adapter(&wgpu::RequestAdapterOptions {
                    power_preference: self.power.unwrap_or_default(),
                    force_fallback_adapter: self.software == SoftwareAdapters::Require,
                    ..Default::default()
                })
                .await,
        );
        let mut candidates: Vec<FoundAdapter> = adapters
            .into_iter()
            .map(|adapter| FoundAdapter::new(adapter, self))
            .collect();
        candidates.sort_by_key(|candidate| candidate.sort_key(self.power));
        candidates
    }

    /// Chooses the best adapter that fits these options.
    pub(in crate::gpu) async fn choose_adapter(&self) -> Result<wgpu::Adapter, Error> {
        let options = self.with_environment()?;
        let mut candidates = options.find_adapters().await;
        match candidates.iter().position(|found| found.refused.is_none()) {
            Some(best) => Ok(candidates.swap_remove(best).adapter),
            None => Err(Error::NoAdapter(options.no_fit_message(&candidates))),
        }
    }

    fn no_fit_message(&self, candidates: &[FoundAdapter]) -> String {
        let name = self.name.as_ref();
        if candidates.is_empty() {
            let name_condition =
                name.map_or_else(String::new, |name| format!(" with the name {name:?}"));
            let remedy = match cfg!(target_arch = "wasm32") {
                true => "use a browser with WebGPU",
                false => {
                    "install a Vulkan driver (on Debian and Ubuntu mesa-vulkan-drivers has a software one)"
                }
            };
            return format!("no adapter found{name_condition}: {remedy}, or use the CPU");
        }
        let name_condition = name.map_or_else(String::new, |name| format!(" the name {name:?}"));
        let software_condition = match self.software {
            SoftwareAdapters::Allow => "",
            SoftwareAdapters::Require => " (only software adapters may be used)",
            SoftwareAdapters::Refuse => " (software adapters may not be used)",
        };
        let mut message =
            format!("no adapter fits{name_condition}{software_condition}; this machine has:");
        for candidate in candidates {
            message += &format!("\n  {candidate}");
        }
        message
    }
}

/// An adapter of this machine, and the reason if it does not fit the options.
#[derive(Debug)]
pub struct FoundAdapter {
    /// The adapter.
    pub adapter: wgpu::Adapter,
    /// The reason why the adapter is rejected: it cannot run the shaders, or it does not fit the options. `None` if it
    /// fits.
    pub refused: Option<&'static str>,
}

impl FoundAdapter {
    fn new(adapter: wgpu::Adapter, options: &AdapterOptions) -> Self {
        let info = adapter.get_info();
        let flags = adapter.get_downlevel_capabilities().flags;
        let is_named = |name: &String| info.name.to_lowercase().contains(&name.to_lowercase());
        let is_software_adapter = is_software(&info);
        let refused = if !flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS)
            || adapter.limits().max_storage_buffers_per_shader_stage < STORAGE_BUFFERS
        {
            Some("it cannot run compute shaders on storage buffers")
        } else if !options.name.as_ref().is_none_or(is_named) {
            Some("its name does not match")
        } else if is_software_adapter && options.software == SoftwareAdapters::Refuse {
            Some("it is a software adapter")
        } else if !is_software_adapter && options.software == SoftwareAdapters::Require {
            Some("it is not a software adapter")
        } else {
            None
        };
        Self { adapter, refused }
    }

    /// Returns whether the adapter is a software adapter, which runs shaders on the CPU.
    pub fn is_software(&self) -> bool {
        is_software(&self.adapter.get_info())
    }

    /// Returns the sort key of a candidate: smaller is better.
    fn sort_key(&self, power: Option<PowerPreference>) -> (u8, u8) {
        let prefers_low_power = power == Some(PowerPreference::LowPower);
        let info = self.adapter.get_info();
        let type_rank = match info.device_type {
            DeviceType::DiscreteGpu => u8::from(prefers_low_power),
            DeviceType::IntegratedGpu => u8::from(!prefers_low_power),
            DeviceType::VirtualGpu => 2,
            DeviceType::Other => 3,
            DeviceType::Cpu => 4,
        };
        let api_rank = match info.backend {
            Backend::Vulkan | Backend::Metal | Backend::Dx12 | Backend::BrowserWebGpu => 0,
            Backend::Gl => 1,
            Backend::Noop => 2,
        };
        (type_rank, api_rank)
    }
}

impl fmt::Display for FoundAdapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&describe_adapter(&self.adapter.get_info()))
    }
}

/// Returns whether an adapter runs shaders on the CPU.
pub(crate) fn is_software(info: &wgpu::AdapterInfo) -> bool {
    info.device_type == DeviceType::Cpu
}

/// Formats an adapter as `name (kind, API)`.
pub(crate) fn describe_adapter(info: &wgpu::AdapterInfo) -> String {
    let kind = match info.device_type {
        DeviceType::DiscreteGpu => "discrete GPU",
        DeviceType::IntegratedGpu => "integrated GPU",
        DeviceType::VirtualGpu => "virtual GPU",
        DeviceType::Other => "unknown kind",
        DeviceType::Cpu => "software",
    };
    // Browsers give an empty name.
    let name = match info.name.as_str() {
        "" => "unnamed adapter",
        name => name,
    };
    format!("{name} ({kind}, {:?})", info.backend)
}
