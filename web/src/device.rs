//! The device of the page: a GPU through WebGPU, or the CPU.

use wasm_bindgen::prelude::*;
use wgslice::{Backend, gpu::AdapterOptions};

/// A backend of the library.
#[wasm_bindgen]
pub struct Device {
    pub(crate) backend: Backend,
}

#[wasm_bindgen]
impl Device {
    /// Opens the browser's GPU through WebGPU. Also accepts a software adapter, because people want to see the shaders
    /// run.
    pub async fn webgpu() -> Result<Self, JsError> {
        let backend = Backend::open_gpu_async(&AdapterOptions::default()).await?;
        Ok(Self::new(backend))
    }

    /// Returns the CPU, on which the library runs in WebAssembly.
    pub fn cpu() -> Self {
        Self::new(Backend::cpu())
    }

    /// Returns the device's name and kind, as the library displays them.
    #[wasm_bindgen(getter)]
    pub fn name(&self) -> String {
        self.backend.to_string()
    }
}

impl Device {
    fn new(backend: Backend) -> Self {
        // In a browser, a call must not wait for the GPU, so the report returns the error of indices out of range, not
        // the call.
        let backend = backend.with_late_errors();
        Self { backend }
    }
}
