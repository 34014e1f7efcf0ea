//! Bind groups of buffers that were seen before.
//!
//! A bind group keeps its buffers alive, and wgpu does not tell when the caller has dropped one. So
//! a group is kept only for buffers that come back: at the first sight nothing but a number is
//! remembered, at the second the group is kept, and it goes when a while of recording went by
//! without it, or with [`Gpu::trim`](crate::Gpu::trim).

use super::window::Span;
use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{Mutex, PoisonError},
};

/// Recorded dispatches after which a group that none of them used is dropped.
const IDLE: u64 = 256;

/// The most groups that are kept, and twice that many numbers.
const MOST: usize = 1024;

/// What a group binds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) buffers: [Option<wgpu::Buffer>; 3],
    pub(crate) spans: [Span; 3],
}

/// The groups that are kept.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    state: Mutex<State>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct State {
    kept: HashMap<Key, (wgpu::BindGroup, u64)>,
    seen: HashMap<u64, u64>,
    clock: u64,
}

impl Groups {
    /// The group for `key`, made by `make` unless it is kept.
    pub(crate) fn get(
        &self,
        key: Key,
        make: impl FnOnce(&Key) -> wgpu::BindGroup,
    ) -> wgpu::BindGroup {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.clock += 1;
        let now = state.clock;
        if now.is_multiple_of(IDLE) {
            state.kept.retain(|_, (_, used)| now - *used < IDLE);
            state.seen.retain(|_, seen| now - *seen < 2 * IDLE);
        }
        if let Some((group, used)) = state.kept.get_mut(&key) {
            *used = now;
            return group.clone();
        }
        let group = make(&key);
        let number = self.hasher.hash_one(&key);
        if state.seen.remove(&number).is_some() && state.kept.len() < MOST {
            state.kept.insert(key, (group.clone(), now));
        } else if state.seen.len() < 2 * MOST {
            state.seen.insert(number, now);
        }
        group
    }

    /// Drops them all.
    pub(crate) fn clear(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::default();
    }
}
