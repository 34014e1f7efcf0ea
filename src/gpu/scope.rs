//! What a device reports of some work.

#[cfg(not(target_arch = "wasm32"))]
use wgpu::ErrorFilter;

/// Runs `work`, and returns what the device reports of it beside its outcome.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn scoped<R>(
    device: &wgpu::Device,
    work: impl FnOnce() -> R,
) -> (R, Option<wgpu::Error>) {
    let filters = [
        ErrorFilter::Internal,
        ErrorFilter::Validation,
        ErrorFilter::OutOfMemory,
    ];
    let scopes = filters.map(|filter| device.push_error_scope(filter));
    let outcome = work();
    // Natively a scope has its answer as soon as it is popped; innermost first.
    let mut failure = None;
    for scope in scopes.into_iter().rev() {
        failure = pollster::block_on(scope.pop()).or(failure);
    }
    (outcome, failure)
}

/// A browser answers later than we could wait: what goes wrong reaches the device's own handler.
#[cfg(target_arch = "wasm32")]
pub(super) fn scoped<R>(
    _device: &wgpu::Device,
    work: impl FnOnce() -> R,
) -> (R, Option<wgpu::Error>) {
    (work(), None)
}
