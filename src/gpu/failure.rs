//! What a device reports, as errors.

use super::{Gpu, scope::scoped};
use crate::Error;

impl Gpu {
    /// Runs `work` and turns what the device reports of it into an error.
    pub(super) fn guarded<R>(
        &self,
        doing: &'static str,
        work: impl FnOnce() -> R,
    ) -> Result<R, Error> {
        match scoped(&self.inner.device, work) {
            (outcome, None) => Ok(outcome),
            (_, Some(wgpu::Error::OutOfMemory { .. })) => Err(Error::OutOfDeviceMemory { doing }),
            (_, Some(error)) => Err(device_error(self, doing, &error)),
        }
    }

    /// Waits until everything that was submitted is done.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn wait(&self) -> Result<(), Error> {
        self.poll_with(wgpu::PollType::wait_indefinitely())
    }

    /// A browser lets nobody wait.
    #[cfg(target_arch = "wasm32")]
    pub(crate) fn wait(&self) -> Result<(), Error> {
        Err(Error::WouldBlock {
            what: "the device",
            instead: "Tensor::to_array_async",
        })
    }

    /// Waits until this submission is done.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn wait_for(&self, submission: wgpu::SubmissionIndex) -> Result<(), Error> {
        self.poll_with(wgpu::PollType::Wait {
            submission_index: Some(submission),
            timeout: None,
        })
    }

    /// Runs the callbacks of what is done.
    pub(crate) fn poll(&self) -> Result<(), Error> {
        self.poll_with(wgpu::PollType::Poll)
    }

    fn poll_with(&self, poll: wgpu::PollType) -> Result<(), Error> {
        match self.inner.device.poll(poll) {
            Ok(_) => Ok(()),
            Err(error) => Err(device_error(self, "waiting for the device", &error)),
        }
    }
}

/// The error for what the device said while `doing` something.
pub(super) fn device_error(gpu: &Gpu, doing: &'static str, error: &dyn std::error::Error) -> Error {
    let message = error.to_string();
    // That a device is lost is told by a callback, and errors of a lost device are hardly told at all:
    // give the callback its chance.
    let _ = gpu.inner.device.poll(wgpu::PollType::Poll);
    match gpu.inner.lost.get() {
        Some(reason) => Error::DeviceLost {
            doing,
            reason: reason.clone(),
        },
        None if message.contains("device is lost") || makes_no_buffer(&gpu.inner.device) => {
            Error::DeviceLost {
                doing,
                reason: message,
            }
        }
        None => Error::Device { doing, message },
    }
}

/// Whether the device is lost: it then makes no buffer, and reports nothing of it. Its callback may
/// come much later, when what was under way has ended, and on the caller's device it is not ours.
fn makes_no_buffer(device: &wgpu::Device) -> bool {
    let (buffer, error) = scoped(device, || {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("wgslice probe"),
            size: 4,
            usage: wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: true,
        })
    });
    error.is_none() && buffer.get_mapped_range(..).is_err()
}
