//! What a GPU prepared for a plan.

#[cfg(feature = "gpu")]
use alloc::sync::Arc;
#[cfg(feature = "gpu")]
use core::any::Any;
use core::{
    hash::{Hash, Hasher},
    panic::{RefUnwindSafe, UnwindSafe},
};

/// What a GPU prepared for a plan, if one did. It changes no result, so plans that differ in it are equal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Works {
    /// Of a type of the GPU's, which plans know nothing of.
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

// Nothing changes it after it was made.
impl UnwindSafe for Works {}
impl RefUnwindSafe for Works {}
