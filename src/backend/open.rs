//! Makes backends.

use super::{Backend, Device};
use crate::{cpu::Threads, host_pool::HostPool};
use alloc::sync::Arc;

#[cfg(feature = "gpu")]
use crate::{
    Error, Gpu,
    gpu::{AdapterOptions, SoftwareAdapters},
};
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
use crate::{Plan, cost::CostModel};

/// Constructors. See the table above.
impl Backend {
    /// Makes a backend that runs on the CPU.
    pub fn cpu() -> Self {
        Self::new(Device::Cpu, "the CPU was asked for")
    }

    fn new(device: Device, reason: impl Into<Arc<str>>) -> Self {
        Self {
            device,
            reason: reason.into(),
            fallback: None,
            #[cfg(feature = "gpu")]
            late_errors: false,
            #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
            costs: None,
            threads: Threads::default(),
            host_pool: HostPool::default(),
        }
    }
}

#[cfg(not(feature = "gpu"))]
impl Backend {
    /// Makes a backend that runs on the CPU, because the crate was built without the feature `gpu`.
    pub fn auto() -> Self {
        Self::new(Device::Cpu, "this build has no GPU support")
    }
}

#[cfg(feature = "gpu")]
impl Backend {
    /// Opens a hardware GPU if the machine has a suitable one, otherwise uses the CPU. The function never chooses a
    /// software adapter, because a software adapter is not faster than the CPU. [`Backend::reason`] returns the reason
    /// for the choice.
    ///
    /// Tensors are stored on the chosen device. An operation on host values runs on the CPU if the CPU is faster
    /// according to the [typical costs of such a device](crate::cost::CostModel::of); see [`Backend::with_costs`] and
    /// [`Backend::estimate`]. If the device fails, the call returns an error, unless you ask for a
    /// [fallback](Backend::with_fallback).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn auto() -> Self {
        Self::auto_with(&AdapterOptions::default())
    }

    /// Like [`Backend::auto`], with options that restrict the choice of hardware GPUs.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn auto_with(options: &AdapterOptions) -> Self {
        pollster::block_on(Self::auto_async(options))
    }

    /// Like [`Backend::auto_with`], but without blocking, for programs that run in a browser or in an async runtime.
    pub async fn auto_async(options: &AdapterOptions) -> Self {
        let hardware_options = AdapterOptions {
            software: SoftwareAdapters::Refuse,
            ..options.clone()
        };
        match Gpu::open_async(&hardware_options).await {
            Ok(gpu) => Self {
                #[cfg(not(target_arch = "wasm32"))]
                costs: Some(CostModel::of(&gpu)),
                ..Self::new(Device::Gpu(gpu), "it is the best hardware GPU here")
            },
            Err(Error::NoAdapter(_)) => Self::new(
                Device::Cpu,
                "no hardware GPU fits, and a software adapter is no faster than the CPU",
            ),
            Err(error) => Self::new(
                Device::Cpu,
                format!("the hardware GPU could not be opened: {error}"),
            ),
        }
    }

    /// Opens a GPU, or a software adapter if the options allow one.
    ///
    /// # Errors
    ///
    /// [`Error::NoAdapter`] if no adapter fits the options; its message lists the machine's adapters. [`Error::Device`]
    /// if the driver cannot open a device.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open_gpu(options: &AdapterOptions) -> Result<Self, Error> {
        pollster::block_on(Self::open_gpu_async(options))
    }

    /// Like [`Backend::open_gpu`], with the same errors, but without blocking, for programs that run in a browser or in
    /// an async runtime.
    pub async fn open_gpu_async(options: &AdapterOptions) -> Result<Self, Error> {
        let gpu = Gpu::open_async(options).await?;
        let reason = if gpu.is_software() && options.software != SoftwareAdapters::Require {
            "a GPU was asked for, and there is no hardware GPU that fits"
        } else {
            "it is the best adapter that fits what was asked for"
        };
        Ok(Self::new(Device::Gpu(gpu), reason))
    }

    /// Like [`Backend::auto_with`], for a program that runs one operation on host values and then ends. Opens a GPU
    /// only if the estimated time to open it and run the operation there is shorter than the estimated time on the CPU.
    ///
    /// ```
    /// use wgslice::{gpu::AdapterOptions, slice, Backend, DType, Plan};
    ///
    /// let plan = Plan::slice(&[64, 64], &slice![..; -1], DType::F32)?;
    /// let backend = Backend::auto_for_plan(&plan, &AdapterOptions::default());
    /// assert!(backend.is_cpu());
    /// println!("on the CPU: {}", backend.reason()); // ... takes about 2.4µs and ... 200.1ms
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    #[cfg(not(target_arch = "wasm32"))]
    pub fn auto_for_plan(plan: &Plan, options: &AdapterOptions) -> Self {
        let costs = CostModel::HARDWARE;
        let mut estimate = costs.estimate(plan);
        estimate.device += costs.opening;
        let explanation = format!("for this work {estimate}, which has to be opened first");
        if estimate.prefers_cpu() {
            return Self::new(Device::Cpu, explanation);
        }
        let auto_backend = Self::auto_with(options);
        if auto_backend.is_cpu() {
            return auto_backend;
        }
        let reason = format!("{}, and {explanation}", auto_backend.reason).into();
        Self {
            reason,
            ..auto_backend
        }
    }
}

#[cfg(feature = "gpu")]
impl From<Gpu> for Backend {
    fn from(gpu: Gpu) -> Self {
        Self::new(Device::Gpu(gpu), "the caller's device was given")
    }
}
