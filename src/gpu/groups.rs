//! Bind groups of buffers that were seen before.
//!
//! A bind group keeps its buffers alive, and wgpu neither tells when the caller has dropped a buffer
//! nor lends one without keeping it. So a group is kept only for buffers that come back: at the first
//! sight nothing but a number is remembered, at the second the group is kept, and it goes when some
//! thousand dispatches were recorded without it, or with [`Gpu::trim`](crate::Gpu::trim). Of tensors
//! none is kept, so that nothing but the pool holds their memory: their operations are submitted one by
//! one, which takes longer than to make a group anew.

use super::{caps::Span, maps::Op, recent::Recent};
use std::{
    hash::{BuildHasher, RandomState},
    sync::{Mutex, PoisonError},
};

/// What a group binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key<'a> {
    /// Whose layout it has.
    pub(super) op: Op,
    pub(super) buffers: [Option<&'a wgpu::Buffer>; 4],
    pub(super) spans: [Span; 4],
}

/// The groups that are kept.
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
    /// The group for `key`, made by `make` unless it is kept.
    pub(super) fn get(
        &self,
        key: &Key<'_>,
        make: impl FnOnce() -> wgpu::BindGroup,
    ) -> wgpu::BindGroup {
        let number = self.hasher.hash_one(key);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = state.kept.find(number)
            && kept.is_for(key)
        {
            return kept.group.clone();
        }
        let group = make();
        if state.seen.find(number).is_some() {
            state.kept.keep(number, Kept::new(key, group.clone()));
        } else {
            state.seen.keep(number, ());
        }
        group
    }

    /// Drops them all.
    pub(super) fn clear(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::default();
    }

    /// How many were made; as many as were looked for among those that were seen.
    #[cfg(test)]
    pub(super) fn made(&self) -> usize {
        self.state.lock().unwrap().seen.uses()
    }

    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.state.lock().unwrap().kept.len()
    }
}
