//! [`Cause`], the error of another crate that led to an [`Error`](crate::Error).

use crate::prelude::*;
use alloc::sync::Arc;
use core::{error::Error, fmt, ops::Deref};

/// The error of another crate, usually of wgpu, that led to an [`Error`](crate::Error). A cause dereferences to that
/// error, and clones share it. Two causes are equal if their messages are equal.
///
/// ```
/// use wgslice::error::Cause;
///
/// let cause = Cause::from(std::io::Error::other("no memory"));
/// assert_eq!(cause.to_string(), "no memory");
/// assert!(cause.is::<std::io::Error>());
/// ```
#[derive(Clone)]
pub struct Cause(Arc<dyn Error + Send + Sync>);

impl<E: Error + Send + Sync + 'static> From<E> for Cause {
    fn from(error: E) -> Self {
        Self(Arc::new(error))
    }
}

impl Deref for Cause {
    type Target = dyn Error + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
