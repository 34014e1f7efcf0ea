//! The works that a GPU prepared for a plan.

#[cfg(feature = "gpu")]
use alloc::sync::Arc;
#[cfg(feature = "gpu")]
use core::any::Any;
use core::{
    hash::{Hash, Hasher},
    panic::{RefUnwindSafe, UnwindSafe},
};

/// The works that a GPU prepared for a plan, if there are any. They do not affect results, so plans that differ only in
/// them are equal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Works {
    /// The works have a type of `gpu`, which plans do not know.
    #[cfg(feature = "gpu")]
    pub(crate) made: Option<Arc<dyn Any + Send + Sync>>,
}

impl PartialEq for Works {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Works {}

impl Hash for Works {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

// The works never change after they were made.
impl UnwindSafe for Works {}
impl RefUnwindSafe for Works {}
