//! Turns errors of the device into [`Error`]s.

use super::OpenDevice;
use crate::{Error, error::Cause};
use std::{
    io,
    panic::{self, AssertUnwindSafe},
};
use wgpu::ErrorFilter;

impl OpenDevice {
    /// Runs `work`. Error messages use `doing` to describe it. Fails if the device reports an error while `work` runs.
    /// In a browser this never fails, because browsers report errors later.
    pub(in crate::gpu) fn run_guarded<R>(
        &self,
        doing: &'static str,
        work: impl FnOnce() -> R,
    ) -> Result<R, Error> {
        match run_in_error_scope(&self.wgpu, work) {
            (outcome, None) => Ok(outcome),
            (_, Some(wgpu::Error::OutOfMemory { .. })) => Err(Error::OutOfDeviceMemory { doing }),
            (_, Some(error)) => Err(device_error(self, doing, error)),
        }
    }

    /// Creates a buffer. A buffer that the host can write is mapped.
    pub(in crate::gpu) fn create_buffer(
        &self,
        doing: &'static str,
        label: &'static str,
        size: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer, Error> {
        let descriptor = wgpu::BufferDescriptor {
            label: Some(label),
            size,
            usage,
            mapped_at_creation: usage.contains(wgpu::BufferUsages::MAP_WRITE),
        };
        self.run_guarded(doing, || self.wgpu.create_buffer(&descriptor))
    }

    /// Waits for all submissions.
    pub(crate) fn wait_for_submissions(&self) -> Result<(), Error> {
        self.poll_with(wgpu::PollType::wait_indefinitely())
    }

    /// Fails if the device is lost, even if no poll has reported the loss. In a browser this never fails, because
    /// browsers report losses later.
    pub(crate) fn check_alive(&self, doing: &'static str) -> Result<(), Error> {
        let reason = match self.shared.lost.get() {
            Some(reason) => reason.clone(),
            None if cfg!(not(target_arch = "wasm32")) && makes_no_buffer(&self.wgpu) => {
                "it no longer creates buffers".into()
            }
            None => return Ok(()),
        };
        Err(Error::DeviceLost { doing, reason })
    }

    /// Fails in a browser, where a call cannot wait for `what`. The error names the call to use `instead`. Callers
    /// check this before they submit anything.
    pub(crate) fn check_may_block(
        &self,
        what: &'static str,
        instead: &'static str,
    ) -> Result<(), Error> {
        match self.may_block {
            true => Ok(()),
            false => Err(Error::WouldBlock { what, instead }),
        }
    }

    /// Waits for this submission. In a browser, where a call cannot wait, returns immediately.
    pub(in crate::gpu) fn wait_for(&self, submission: wgpu::SubmissionIndex) -> Result<(), Error> {
        self.poll_with(wgpu::PollType::Wait {
            submission_index: Some(submission),
            timeout: None,
        })
    }

    /// Runs the callbacks of finished submissions, without waiting.
    pub(crate) fn poll_callbacks(&self) -> Result<(), Error> {
        self.poll_with(wgpu::PollType::Poll)
    }

    fn poll_with(&self, poll: wgpu::PollType) -> Result<(), Error> {
        poll_catching_panics(|| self.wgpu.poll(poll))
            .map_err(|error| device_error(self, "waiting for the device", error))
    }
}

/// Runs `work`. Returns its outcome and the error that the device reports during `work`, if any. An out-of-memory error
/// takes precedence, because it leaves invalid objects that cause the other errors. Browsers report errors later, to
/// the device's handler of uncaptured errors.
pub(in crate::gpu) fn run_in_error_scope<R>(
    device: &wgpu::Device,
    work: impl FnOnce() -> R,
) -> (R, Option<wgpu::Error>) {
    if cfg!(target_arch = "wasm32") {
        return (work(), None);
    }
    let filters = [
        ErrorFilter::Internal,
        ErrorFilter::Validation,
        ErrorFilter::OutOfMemory,
    ];
    let scopes = filters.map(|filter| device.push_error_scope(filter));
    let outcome = work();
    // Scopes must be popped innermost first. Their results are ready, so `block_on` never waits.
    let errors = scopes
        .into_iter()
        .rev()
        .map(|scope| pollster::block_on(scope.pop()));
    let first_error = errors.reduce(Option::or).flatten();
    (outcome, first_error)
}

/// Polls the device with `poll`. wgpu 30 panics if the driver reports to a poll that the device is lost. This function
/// returns that panic as an error.
fn poll_catching_panics(
    poll: impl FnOnce() -> Result<wgpu::PollStatus, wgpu::PollError>,
) -> Result<(), Cause> {
    match panic::catch_unwind(AssertUnwindSafe(poll)) {
        Ok(polled) => polled.map(drop).map_err(Cause::from),
        Err(payload) => match payload.downcast::<String>() {
            Ok(why) if why.contains("Device::poll") => Err(io::Error::other(*why).into()),
            Ok(other) => panic::resume_unwind(other),
            Err(other) => panic::resume_unwind(other),
        },
    }
}

/// Returns the [`Error`] for an error that the device reported while `doing` something.
pub(in crate::gpu) fn device_error(
    device: &OpenDevice,
    doing: &'static str,
    error: impl Into<Cause>,
) -> Error {
    let source = error.into();
    let message = source.to_string();
    // wgpu reports the loss of a device to a callback, which this poll runs.
    let _ = poll_catching_panics(|| device.wgpu.poll(wgpu::PollType::Poll));
    match device.shared.lost.get() {
        Some(reason) => Error::DeviceLost {
            doing,
            reason: reason.clone(),
        },
        None if message.contains("device is lost") || makes_no_buffer(&device.wgpu) => {
            Error::DeviceLost {
                doing,
                reason: message,
            }
        }
        None => Error::Device { doing, source },
    }
}

/// Returns whether the device fails to create a buffer and reports no error, as a lost device does. The callback for
/// lost devices is not enough: it can be delayed until all submitted work has ended, and this crate sets no callback on
/// a caller's device.
fn makes_no_buffer(device: &wgpu::Device) -> bool {
    let (buffer, error) = run_in_error_scope(device, || {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("wgslice probe"),
            size: 4,
            usage: wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: true,
        })
    });
    error.is_none() && buffer.get_mapped_range(..).is_err()
}

#[cfg(test)]
mod tests {
    use super::poll_catching_panics;
    use std::panic;

    /// wgpu panics when a driver reports a lost device to a poll.
    #[test]
    fn a_panic_of_a_poll_is_an_error() {
        // The message is formatted, as in wgpu, so that the panic's payload is a `String`.
        let message = String::from("Error in Device::poll: Parent device is lost");
        let lost_device = poll_catching_panics(|| panic!("{message}"));
        assert!(
            lost_device
                .unwrap_err()
                .to_string()
                .contains("device is lost")
        );
        let other_panic =
            panic::catch_unwind(|| poll_catching_panics(|| panic!("another {}", "panic")));
        assert!(other_panic.is_err());
    }
}
