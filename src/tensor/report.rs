//! Reports of out-of-range index tuples, known at once or read back from a GPU later.

use crate::{Error, Report};
#[cfg(feature = "gpu")]
use {
    crate::{gpu::PendingReport, options::OutOfRange},
    std::sync::Arc,
};

#[derive(Clone, Debug)]
pub(super) enum LazyReport {
    Known(Report),
    #[cfg(feature = "gpu")]
    Pending(Arc<PendingReport>),
}

impl LazyReport {
    /// Makes the report of a submitted operation. Under [`OutOfRange::Error`] waits for the device and fails if a tuple
    /// was out of range.
    #[cfg(feature = "gpu")]
    pub(super) fn new(pending: PendingReport, policy: OutOfRange) -> Result<Self, Error> {
        match policy {
            OutOfRange::Error => Ok(Self::Known(pending.wait()?)),
            OutOfRange::Zero | OutOfRange::Clamp => Ok(Self::Pending(Arc::new(pending))),
        }
    }

    pub(super) fn get(&self) -> Result<Report, Error> {
        match self {
            Self::Known(report) => Ok(report.clone()),
            #[cfg(feature = "gpu")]
            Self::Pending(pending) => pending.wait(),
        }
    }

    #[cfg(feature = "gpu")]
    pub(super) async fn get_async(&self) -> Result<Report, Error> {
        match self {
            Self::Known(report) => Ok(report.clone()),
            Self::Pending(pending) => pending.ready().await,
        }
    }
}
