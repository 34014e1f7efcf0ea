//! A cache of bind groups, for buffers that are recorded more than once.
//!
//! A bind group keeps its buffers alive, and wgpu neither reports when the caller drops a buffer nor has weak
//! references. So a group is kept only for buffers that recur: their first use stores only a hash, and their second
//! use stores the group. A group is dropped when it has not been [used recently](Recent), or by
//! [`Gpu::trim`](crate::Gpu::trim). Groups of tensors and of the scratch memory of scatters are not kept, since they
//! would keep alive memory that is otherwise freed. Operations on tensors are submitted one by one anyway, which takes
//! longer than creating a group.

use super::{
    program::Kernel,
    recent::{Recent, WordHasher},
};
use crate::lock::lock;
use std::{
    hash::{Hash, Hasher},
    sync::Mutex,
};

/// The range of a buffer that a binding holds, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range<'a> {
    pub(super) buffer: &'a wgpu::Buffer,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// The bind groups of a device that are kept for reuse.
#[derive(Debug, Default)]
pub(super) struct Groups(Mutex<Recent<Entry>>);

#[derive(Debug)]
enum Entry {
    /// The buffers were used once; no group is kept yet.
    Seen,
    Kept(Key, wgpu::BindGroup),
}

/// The kernel, which determines the layout, and for each binding the buffer, and the offset and the size of the
/// bound range in bytes.
#[derive(Debug)]
struct Key {
    kernel: Kernel,
    bound: Box<[(wgpu::Buffer, u64, u64)]>,
}

impl Key {
    fn is(&self, kernel: Kernel, bound: &[Range<'_>]) -> bool {
        let same = |((buffer, offset, bytes), other): (&(wgpu::Buffer, u64, u64), &Range<'_>)| {
            (*offset, *bytes) == (other.offset, other.bytes) && buffer == other.buffer
        };
        self.kernel == kernel
            && self.bound.len() == bound.len()
            && self.bound.iter().zip(bound).all(same)
    }
}

impl Groups {
    /// Returns the group of these bindings for a kernel: the kept one, or one that `make` creates.
    pub(super) fn get(
        &self,
        kernel: Kernel,
        bound: &[Range<'_>],
        make: impl FnOnce() -> wgpu::BindGroup,
    ) -> wgpu::BindGroup {
        let mut hasher = WordHasher::default();
        hasher.write_u8(kernel as u8);
        for Range {
            buffer,
            offset,
            bytes,
        } in bound
        {
            buffer.hash(&mut hasher);
            hasher.write_u64(*offset);
            hasher.write_u64(*bytes);
        }
        let hash = hasher.finish();
        let mut recent = lock(&self.0);
        match recent.find(hash) {
            Some(Entry::Kept(key, group)) if key.is(kernel, bound) => group.clone(),
            Some(entry) => {
                let group = make();
                let bound = bound
                    .iter()
                    .map(|bound| (bound.buffer.clone(), bound.offset, bound.bytes));
                let bound = bound.collect();
                *entry = Entry::Kept(Key { kernel, bound }, group.clone());
                group
            }
            None => {
                recent.keep(hash, Entry::Seen);
                make()
            }
        }
    }

    /// Empties the cache.
    pub(super) fn clear(&self) {
        *lock(&self.0) = Recent::default();
    }

    /// The number of groups that are kept.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        let recent = self.0.lock().unwrap();
        let kept = recent.values();
        kept.filter(|entry| matches!(entry, Entry::Kept(..)))
            .count()
    }
}
