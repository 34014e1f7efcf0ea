//! The works that a GPU prepared for a plan. A work has the dispatches of a move, which are computed in advance.

#[cfg(feature = "gpu")]
use alloc::sync::Arc;
#[cfg(feature = "gpu")]
use core::any::Any;
use core::{
    hash::{Hash, Hasher},
    panic::{RefUnwindSafe, UnwindSafe},
};

/// The works that a GPU prepared for a plan, if there are any. They do not affect results, so plans that differ only in
/// their works are equal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Works {
    /// The type of the works is in the module `gpu`. It is erased because plans do not depend on this module.
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

// Nothing changes the works after they are made, so a panic cannot leave them half changed.
impl UnwindSafe for Works {}
impl RefUnwindSafe for Works {}
