//! Reports of out-of-range index tuples, known at once or read back from a GPU later.

use crate::{Error, Report};
#[cfg(feature = "gpu")]
use crate::{
    OutOfRange,
    gpu::{DeviceBytes, PendingReport},
};
#[cfg(feature = "gpu")]
use std::sync::Arc;

#[derive(Clone, Debug)]
pub(super) enum LazyReport {
    Known(Report),
    /// The second field holds the bytes of the index tensor. While it does, the tensor is not changed in place, so the
    /// report reads the indices that the operation used.
    #[cfg(feature = "gpu")]
    Pending(
        Arc<PendingReport>,
        #[expect(dead_code, reason = "held, not read")] Option<DeviceBytes>,
    ),
}

impl LazyReport {
    /// Makes the report of a submitted operation. Under [`OutOfRange::Error`] waits for the device and fails if a tuple
    /// was out of range. `indices`, if given, are the bytes of the index tensor, which the report then holds.
    #[cfg(feature = "gpu")]
    pub(super) fn new(
        pending: PendingReport,
        indices: Option<DeviceBytes>,
        policy: OutOfRange,
    ) -> Result<Self, Error> {
        match policy {
            OutOfRange::Error => Ok(Self::Known(pending.wait()?)),
            OutOfRange::Zero | OutOfRange::Clamp => Ok(Self::Pending(Arc::new(pending), indices)),
        }
    }

    pub(super) fn get(&self) -> Result<Report, Error> {
        match self {
            Self::Known(report) => Ok(report.clone()),
            #[cfg(feature = "gpu")]
            Self::Pending(pending, _) => pending.wait(),
        }
    }

    #[cfg(feature = "gpu")]
    pub(super) async fn get_async(&self) -> Result<Report, Error> {
        match self {
            Self::Known(report) => Ok(report.clone()),
            Self::Pending(pending, _) => pending.ready().await,
        }
    }
}
