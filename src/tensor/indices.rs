//! Index tensors: their element type, and their values in host memory.

use super::Tensor;
use crate::{DType, Error, Indices, Plan, Report, ops::index::IndexType};
use std::borrow::Cow;

impl Tensor {
    /// Checks that `indices` live on the same device as this tensor, and returns their type.
    pub(super) fn index_type(&self, indices: &Self) -> Result<IndexType, Error> {
        self.check_same_device("indices", indices)?;
        match indices.dtype {
            DType::I32 => Ok(IndexType::I32),
            DType::U32 => Ok(IndexType::U32),
            DType::I64 => Ok(IndexType::I64),
            found => Err(Error::IndexDType { found }),
        }
    }

    pub(super) fn check_same_device(
        &self,
        argument: &'static str,
        other: &Self,
    ) -> Result<(), Error> {
        match other.backend.device == self.backend.device {
            true => Ok(()),
            false => Err(Error::DeviceMismatch { argument }),
        }
    }
}

/// Runs the plan of a gather or a scatter on the CPU. The indices are given as their type and their bytes.
pub(super) fn run_with(
    plan: &Plan,
    source: &[u8],
    (index, bytes): (IndexType, &[u8]),
    dest: &mut [u8],
) -> Result<Report, Error> {
    match index {
        IndexType::I32 => plan.run_cpu_with(source, Indices::I32(&integers(bytes)), dest),
        IndexType::U32 => plan.run_cpu_with(source, Indices::U32(&integers(bytes)), dest),
        IndexType::I64 => plan.run_cpu_with(source, Indices::I64(&integers(bytes)), dest),
    }
}

/// Casts bytes to integers. Misaligned bytes are copied: [`Backend::adopt`](crate::Backend::adopt) takes bytes at any
/// address.
fn integers<T: bytemuck::AnyBitPattern + bytemuck::NoUninit>(bytes: &[u8]) -> Cow<'_, [T]> {
    match bytemuck::try_cast_slice(bytes) {
        Ok(integers) => Cow::Borrowed(integers),
        Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(bytes)),
    }
}
