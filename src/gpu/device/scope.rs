//! Error scopes around work on a device.

#[cfg(not(target_arch = "wasm32"))]
use wgpu::ErrorFilter;

/// Runs `work`. Returns its outcome and an error that the device reports meanwhile, if any. Lack of memory comes before
/// other errors, because objects that it leaves invalid cause those.
#[cfg(not(target_arch = "wasm32"))]
pub(in crate::gpu) fn scoped<R>(
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
    // Scopes must be popped innermost first. Outside of browsers their results are ready, so `block_on` never waits.
    let mut failure = None;
    for scope in scopes.into_iter().rev() {
        let error = pollster::block_on(scope.pop());
        failure = failure.or(error);
    }
    (outcome, failure)
}

/// Runs `work`, and returns no error: browsers report errors later, to the device's handler of uncaptured errors.
#[cfg(target_arch = "wasm32")]
pub(in crate::gpu) fn scoped<R>(
    _device: &wgpu::Device,
    work: impl FnOnce() -> R,
) -> (R, Option<wgpu::Error>) {
    (work(), None)
}
