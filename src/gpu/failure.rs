//! What a device reports, as errors.

use super::Gpu;
use crate::Error;
use wgpu::ErrorFilter;

impl Gpu {
    /// Runs `work` and turns what the device reports of it into an error.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn guarded<R>(
        &self,
        doing: &'static str,
        work: impl FnOnce() -> R,
    ) -> Result<R, Error> {
        let filters = [
            ErrorFilter::Internal,
            ErrorFilter::Validation,
            ErrorFilter::OutOfMemory,
        ];
        let scopes = filters.map(|filter| self.inner.device.push_error_scope(filter));
        let outcome = work();
        // Natively a scope has its answer as soon as it is popped; innermost first.
        let mut failure = None;
        for scope in scopes.into_iter().rev() {
            failure = pollster::block_on(scope.pop()).or(failure);
        }
        match failure {
            None => Ok(outcome),
            Some(wgpu::Error::OutOfMemory { .. }) => Err(Error::OutOfDeviceMemory { doing }),
            Some(error) => Err(device_error(self, doing, &error)),
        }
    }

    /// A browser answers later than we could wait: what goes wrong reaches the device's own handler.
    #[cfg(target_arch = "wasm32")]
    pub(super) fn guarded<R>(
        &self,
        _doing: &'static str,
        work: impl FnOnce() -> R,
    ) -> Result<R, Error> {
        Ok(work())
    }

    /// Waits until everything that was submitted is done.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn wait(&self) -> Result<(), Error> {
        self.poll_with(wgpu::PollType::wait_indefinitely())
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
        None if message.contains("device is lost") => Error::DeviceLost {
            doing,
            reason: message,
        },
        None => Error::Device { doing, message },
    }
}
