//! The device that the page runs on: a GPU by WebGPU, or the CPU.

use wasm_bindgen::prelude::*;
use wgslice::{Backend, gpu::AdapterOptions};

/// A backend of the library.
#[wasm_bindgen]
pub struct Device {
    pub(crate) backend: Backend,
}

#[wasm_bindgen]
impl Device {
    /// Opens the browser's GPU, by WebGPU. A software adapter is accepted too, since people want to see the shaders
    /// run.
    pub async fn webgpu() -> Result<Self, JsError> {
        let backend = Backend::open_gpu_async(&AdapterOptions::default()).await?;
        Ok(Self::new(backend))
    }

    /// Returns the CPU, on which the library runs in WebAssembly.
    pub fn cpu() -> Self {
        Self::new(Backend::cpu())
    }

    /// Returns whether the device is the CPU.
    #[wasm_bindgen(getter)]
    pub fn is_cpu(&self) -> bool {
        self.backend.is_cpu()
    }

    /// Returns the device's name and kind, in the library's words.
    #[wasm_bindgen(getter)]
    pub fn name(&self) -> String {
        self.backend.to_string()
    }
}

impl Device {
    fn new(backend: Backend) -> Self {
        // No call may wait for the GPU in a browser, so indices out of range are an error of the report, not of the
        // call.
        let backend = backend.with_late_errors();
        Self { backend }
    }
}
