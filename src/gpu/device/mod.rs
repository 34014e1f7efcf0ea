//! An open device: its adapter, limits, transfers, waits and failures.
//!
//! This module does not run plans: `engine` builds on it and runs them.
//!
//! | file | decides |
//! |---|---|
//! | `adapter`, `caps` | which adapter is used, and the limits of a dispatch on its device |
//! | `transfer`, `upload`, `fill`, `readback` | how bytes are transferred to the device and back |
//! | `pool` | which buffers of dropped tensors new tensors reuse |
//! | `slots` | which slots of a shared buffer are bound by dispatches, and when slots are reused |
//! | `group` | how bind groups of buffers are made |
//! | `failure` | how device errors become [`Error`](crate::Error)s |

pub(super) mod adapter;
pub(super) mod caps;
pub(super) mod failure;
pub(super) mod fill;
pub(super) mod group;
mod pool;
mod readback;
pub(super) mod slots;
pub(super) mod transfer;
mod upload;

pub(super) use failure::run_in_error_scope;
pub(crate) use transfer::DeviceBytes;

use pool::BufferPool;
use readback::MappingWatcher;
use std::sync::{Arc, OnceLock};

/// An open device. Clones refer to the same device.
#[derive(Clone, Debug)]
pub(crate) struct OpenDevice {
    pub(super) wgpu: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    /// True if a call can block until the device is done. False in a browser.
    pub(crate) may_block: bool,
    pub(super) shared: Arc<Shared>,
}

/// The state that clones of an [`OpenDevice`] share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) info: wgpu::AdapterInfo,
    pub(super) limits: wgpu::Limits,
    pub(super) pool: Arc<BufferPool>,
    watcher: MappingWatcher,
    /// The reason why the device was lost. Empty until a loss. On a caller's device it stays empty.
    pub(super) lost: OnceLock<String>,
}

impl OpenDevice {
    pub(super) fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        Self {
            wgpu: device.clone(),
            queue: queue.clone(),
            may_block: cfg!(not(target_arch = "wasm32")),
            shared: Arc::new(Shared {
                info: device.adapter_info(),
                limits: device.limits(),
                pool: Arc::default(),
                watcher: MappingWatcher::default(),
                lost: OnceLock::new(),
            }),
        }
    }
}
