//! Runs one case on devices of the machine and compares the results with the naive reference.
//!
//! The devices are the CPU path and up to four for each adapter: one with the adapter's own limits, one with WebGPU's
//! default limits, and two with limits so low that even small data needs many dispatches. `draw` chooses the devices
//! that run a case. On GPUs, unless a plan runs on tensors, the result is a part of a longer buffer that is filled with
//! a pattern. So the harness notices bytes of the result that are not written and bytes outside of it that are written.

mod call;
mod combine;
mod crop;
mod draw;
mod gather;
#[cfg(feature = "gpu")]
pub(crate) mod gpu;
#[cfg(feature = "gpu")]
pub(crate) mod read_buffer;
mod scatter;
#[cfg(feature = "gpu")]
pub(crate) mod texture;
mod values;
mod view;
mod write;

pub(crate) use call::check_case;
pub(crate) use combine::{Float, combined};
pub(crate) use crop::{boxes_of, check_crop};
pub(crate) use draw::{
    SEED, Sizes, devices, draw_count, print_cases, with_draw_count, with_strict_one_in,
};
pub(crate) use gather::{
    GatherForm, check_gather, check_gather_from_view, check_gather_on_cpu, check_policies,
};
pub(crate) use scatter::{
    ScatterCase, check_scatter, check_scatter_of, check_scatter_of_bytes, naive_scatter,
};
pub(crate) use values::{Indices, run_bytes, run_tensors, step_count};
pub(crate) use view::{broadcast, check_view, slice, transpose};
pub(crate) use wgslice_vectors::kind;
pub(crate) use write::{check_block, check_grad, check_update};

use std::{borrow::Cow, env, sync::LazyLock};
use wgslice::{Backend, DType, Error, Plan, Report, SliceSpec, Tensor, spec::TfStridedSlice};
use wgslice_vectors::reference::{self, ReferenceError};
use wgslice_vectors::spec_of;

/// Returns the message and the report of an outcome that must be the error for tuples out of range.
#[track_caller]
pub(crate) fn refused<T>(outcome: Result<T, Error>) -> (String, Report) {
    match outcome {
        Err(Error::InvalidIndices(report)) => {
            (Error::InvalidIndices(report.clone()).to_string(), *report)
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("no error"),
    }
}

/// One element type for each element size, from 1 to 16 bytes.
pub(crate) const DTYPE_OF_EACH_SIZE: [DType; 5] = [
    DType::U8,
    DType::F16,
    DType::F32,
    DType::Complex64,
    DType::Complex128,
];

/// A device that runs plans: the CPU path or a GPU.
#[derive(Clone)]
pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) backend: Backend,
    /// True if plans run on tensors rather than on the caller's buffers.
    uses_tensors: bool,
}

impl Device {
    /// Returns the start of the device's name, which is the same for all devices of an adapter.
    fn adapter_name(&self) -> &str {
        self.name
            .rsplit_once(", ")
            .map_or(&self.name, |(adapter, _)| adapter)
    }
}

static DEVICES: LazyLock<Vec<Device>> = LazyLock::new(|| {
    let cpu = Device {
        name: "CPU".into(),
        backend: Backend::cpu(),
        uses_tensors: false,
    };
    #[cfg(feature = "gpu")]
    let gpus = gpu::gpus().into_iter().map(|opened| Device {
        name: opened.name,
        backend: opened.gpu.into(),
        uses_tensors: opened.uses_tensors,
    });
    #[cfg(not(feature = "gpu"))]
    let gpus = [];
    let all_devices = [cpu].into_iter().chain(gpus);
    // `WGSLICE_TEST_DEVICES` chooses devices by a part of their names. The CPU is always the first device.
    let name_part = env::var("WGSLICE_TEST_DEVICES").unwrap_or_default();
    let chosen_devices: Vec<Device> = all_devices
        .filter(|device| device.name == "CPU" || device.name.contains(&name_part))
        .collect();
    assert!(
        name_part.is_empty() || name_part == "CPU" || chosen_devices.len() > 1,
        "WGSLICE_TEST_DEVICES={name_part}, but no device has that in its name"
    );
    chosen_devices
});

/// Returns every GPU on which plans run on the caller's buffers.
#[cfg(feature = "gpu")]
pub(crate) fn gpu_devices() -> impl Iterator<Item = &'static wgslice::Gpu> {
    let with_buffers = DEVICES.iter().filter(|device| !device.uses_tensors);
    with_buffers.filter_map(|device| device.backend.gpu())
}

/// The maximum sum of source bytes and result bytes of a case that runs on a strict device. A strict device interprets
/// the shaders and moves only one or two megabytes per second.
const MAX_STRICT_BYTES: usize = 128 << 10;

/// The byte that fills results before a plan writes them.
const UNWRITTEN: u8 = 0xa5;
#[cfg(feature = "gpu")]
const GUARD_BYTES: usize = 64;

/// Returns `count` elements that mostly differ, even in their lowest bytes. None of them is 0 at any element size.
pub(crate) fn elements(count: usize) -> Vec<u128> {
    const ODD_FACTOR: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    (0..count as u128)
        .map(|i| (i + 1).wrapping_mul(ODD_FACTOR) | 1)
        .collect()
}

/// Returns the lowest `size` bytes of each element, in little-endian order.
pub(crate) fn to_bytes(elements: &[u128], size: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(elements.len() * size);
    for element in elements {
        bytes.extend_from_slice(&element.to_le_bytes()[..size]);
    }
    bytes
}

impl Device {
    /// Returns whether the device's limits are so low that even small data needs many dispatches.
    pub(crate) fn is_tiny(&self) -> bool {
        ["Tiny", "Parts"]
            .iter()
            .any(|kind| self.name.ends_with(kind))
    }

    /// Returns whether one tuple of `depth` indices can be cut between two buffers, which the library rejects. On
    /// devices with buffers of 1 KiB, the parts of a tensor have 256, 512, 768 or 1,024 bytes. A depth with an odd
    /// factor above 4 divides none of these.
    fn splits_tuples(&self, depth: usize, index_count: usize) -> bool {
        let odd_factor = depth.max(1) >> depth.max(1).trailing_zeros();
        self.uses_tensors && odd_factor > 4 && index_count * 8 > 1024
    }

    /// Returns whether a case with this many bytes of source and of result runs on this device. If not, the case is not
    /// counted. Devices with low limits run only small data, because they need a number of dispatches that grows with
    /// the product of both sizes. Devices that interpret shaders also run only small data.
    pub(crate) fn can_run(&self, source_bytes: usize, result_bytes: usize) -> bool {
        let is_strict = self.name.starts_with("strict");
        let fits_strict = !is_strict || source_bytes + result_bytes <= MAX_STRICT_BYTES;
        let can_run = fits_strict
            && (!self.is_tiny() || (source_bytes / 512 + 1) * (result_bytes / 512 + 1) <= 100);
        if !can_run {
            draw::uncount_case();
        }
        can_run
    }

    /// Runs a slice of an array with these bytes, and returns the bytes of the result.
    pub(crate) fn slice(
        &self,
        dtype: DType,
        shape: &[usize],
        spec: &SliceSpec,
        source: &[u8],
    ) -> Result<Vec<u8>, Error> {
        if self.uses_tensors {
            let tensor = Tensor::from_bytes(&self.backend, source.to_vec(), dtype, shape)?;
            return tensor.slice(spec)?.bytes().map(Cow::into_owned);
        }
        let plan = Plan::slice(shape, spec, dtype)?;
        self.run(&plan, source, None).map(|(bytes, _)| bytes)
    }

    /// Runs a plan on the caller's memory. On a GPU, also checks the bytes around the result.
    pub(crate) fn run(
        &self,
        plan: &Plan,
        source: &[u8],
        indices: Option<Indices<'_>>,
    ) -> Result<(Vec<u8>, Option<Report>), Error> {
        let dest = vec![UNWRITTEN; plan.outputs()[0].bytes()];
        self.run_into(plan, source, indices, &dest, 0)
    }

    /// Runs a plan as [`Device::run`] does. Before the run, the result contains `dest`. On a GPU, source and result
    /// begin `shift` bytes after an aligned position in their buffers.
    fn run_into(
        &self,
        plan: &Plan,
        source: &[u8],
        indices: Option<Indices<'_>>,
        dest: &[u8],
        shift: usize,
    ) -> Result<(Vec<u8>, Option<Report>), Error> {
        #[cfg(feature = "gpu")]
        if let Some(gpu) = self.backend.gpu() {
            return gpu::run(gpu, plan, source, indices, dest, shift);
        }
        #[cfg(not(feature = "gpu"))]
        let _ = shift;
        let mut dest = dest.to_vec();
        let report = match indices {
            None => run_bytes(plan, source, None, &mut dest).map(|_| None)?,
            Some(indices) => run_bytes(plan, source, Some(indices.into()), &mut dest).map(Some)?,
        };
        Ok((dest, report))
    }
}

/// Panics with the first differing element if the bytes differ. Elements have `size` bytes, and `describe` returns the
/// text at the start of the message.
#[track_caller]
pub(crate) fn assert_same(expected: &[u8], got: &[u8], size: usize, describe: &dyn Fn() -> String) {
    if expected == got {
        return;
    }
    let first_differing = expected
        .chunks(size)
        .zip(got.chunks(size))
        .position(|(e, g)| e != g);
    let element_of =
        |bytes: &[u8]| first_differing.and_then(|i| bytes.chunks(size).nth(i).map(<[u8]>::to_vec));
    panic!(
        "{}\n first differing element: {first_differing:?}, expected {:x?}, got {:x?} ({} and {} bytes)",
        describe(),
        element_of(expected),
        element_of(got),
        expected.len(),
        got.len()
    );
}

/// Returns the reference's result of a slice.
pub(crate) fn naive_slice(
    input: &[u128],
    shape: &[usize],
    encoded: &TfStridedSlice,
) -> Result<(Vec<usize>, Vec<u128>), ReferenceError> {
    reference::strided_slice(input, shape, &spec_of(encoded))
}

/// Checks a slice on the drawn devices against the reference.
#[track_caller]
pub(crate) fn check_slice(shape: &[usize], encoded: &TfStridedSlice, sizes: Sizes) {
    check_slice_on(sizes.draw_devices(), shape, encoded);
}

/// Checks a slice on the CPU path at every element size against the reference.
#[track_caller]
pub(crate) fn check_slice_on_cpu(shape: &[usize], encoded: &TfStridedSlice) {
    check_slice_on(|_| vec![&DEVICES[0]], shape, encoded);
}

#[track_caller]
fn check_slice_on(
    devices: impl Fn(DType) -> Vec<&'static Device>,
    shape: &[usize],
    encoded: &TfStridedSlice,
) {
    let input = elements(shape.iter().product());
    let expected = naive_slice(&input, shape, encoded);
    for dtype in DTYPE_OF_EACH_SIZE {
        let spec = SliceSpec::try_from(encoded);
        let planned = spec.and_then(|spec| Ok((Plan::slice(shape, &spec, dtype)?, spec)));
        let ((plan, spec), expected) = match (planned, &expected) {
            (Ok(planned), Ok(expected)) => (planned, expected),
            (Err(error), Err(expected)) => {
                assert_eq!(kind(&error), expected.kind, "{shape:?} {encoded:?}");
                continue;
            }
            (planned, expected) => panic!("{shape:?} {encoded:?}: {planned:?}, {expected:?}"),
        };
        assert_eq!(plan.shape(), expected.0, "{shape:?} {encoded:?}");
        let expected = to_bytes(&expected.1, dtype.size());
        let source = to_bytes(&input, dtype.size());
        let can_run = |device: &&Device| device.can_run(source.len(), expected.len());
        for device in devices(dtype).into_iter().filter(can_run) {
            let describe = || format!("{}: {shape:?} {encoded:?}: {plan}", device.name);
            match device.slice(dtype, shape, &spec, &source) {
                Ok(got) => assert_same(&expected, &got, dtype.size(), &describe),
                Err(error) => panic!("{}: {error}", describe()),
            }
        }
    }
}
