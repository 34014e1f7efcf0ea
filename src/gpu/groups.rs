//! A cache of bind groups.
//!
//! A bind group keeps its buffers alive, and wgpu neither reports when the caller drops a buffer nor has weak
//! references. So a group is kept only for buffers that recur: the first use stores only a hash, and the second keeps
//! the group. A group is dropped after 2,048 to 4,096 dispatches without it, or by [`Gpu::trim`](crate::Gpu::trim).
//! Groups of tensors are not kept, so that only the pool holds their memory: their operations are submitted one by one,
//! which takes longer than creating a group.

use super::{caps::Span, maps::Op, recent::Recent};
use std::{
    hash::{BuildHasher, RandomState},
    sync::{Mutex, PoisonError},
};

/// The contents of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key<'a> {
    /// The operation whose layout the group has.
    pub(super) op: Op,
    pub(super) buffers: [Option<&'a wgpu::Buffer>; 4],
    pub(super) spans: [Span; 4],
}

/// The cache of a device.
#[derive(Debug, Default)]
pub(super) struct Groups {
    state: Mutex<State>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct State {
    kept: Recent<Kept>,
    seen: Recent<()>,
}

#[derive(Debug)]
struct Kept {
    op: Op,
    buffers: [Option<wgpu::Buffer>; 4],
    spans: [Span; 4],
    group: wgpu::BindGroup,
}

impl Kept {
    fn new(key: &Key<'_>, group: wgpu::BindGroup) -> Self {
        Self {
            op: key.op,
            buffers: key.buffers.map(|buffer| buffer.cloned()),
            spans: key.spans,
            group,
        }
    }

    fn is_for(&self, key: &Key<'_>) -> bool {
        let buffers = self.buffers.each_ref().map(Option::as_ref);
        let (op, spans) = (self.op, self.spans);
        Key { op, buffers, spans } == *key
    }
}

impl Groups {
    /// The group for `key`, created by `make` if it is not in the cache.
    pub(super) fn get(
        &self,
        key: &Key<'_>,
        make: impl FnOnce() -> wgpu::BindGroup,
    ) -> wgpu::BindGroup {
        let hash = self.hasher.hash_one(key);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = state.kept.find(hash)
            && kept.is_for(key)
        {
            return kept.group.clone();
        }
        let group = make();
        if state.seen.find(hash).is_some() {
            state.kept.keep(hash, Kept::new(key, group.clone()));
        } else {
            state.seen.keep(hash, ());
        }
        group
    }

    /// Empties the cache.
    pub(super) fn clear(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::default();
    }

    /// The number of groups created: each creation looks up `seen` once.
    #[cfg(test)]
    pub(super) fn made(&self) -> usize {
        self.state.lock().unwrap().seen.uses()
    }

    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.state.lock().unwrap().kept.len()
    }
}
