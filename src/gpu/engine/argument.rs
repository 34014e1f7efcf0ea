//! The arguments of a plan, and the checks before they are passed to wgpu.

use super::caps::BufferParts;
use crate::{Error, gpu::DeviceBytes};
use std::slice;
use wgpu::{BufferSlice, BufferUsages};

/// An argument of a plan: its name in error messages, its buffers, and its location in them.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) struct Argument<'a> {
    pub(in crate::gpu) name: &'static str,
    pub(in crate::gpu) buffers: &'a [wgpu::Buffer],
    pub(in crate::gpu) parts: BufferParts,
    /// The size in bytes of the range that was passed.
    pub(in crate::gpu) passed_bytes: u64,
    /// The number of bytes that the plan needs.
    pub(in crate::gpu) needed_bytes: u64,
    /// True if bind groups of the buffers can be kept: see [`Cache`](super::cache::Cache). False for the buffers of
    /// tensors, for the scratch memory of scatters, and for buffers that no later recording uses.
    pub(in crate::gpu) keeps_groups: bool,
    /// The tensor that owns the buffers. `None` if no tensor owns them.
    pub(in crate::gpu) tensor: Option<&'a DeviceBytes>,
}

impl<'a> Argument<'a> {
    /// An argument without bytes, for moves that read nothing.
    pub(in crate::gpu) const EMPTY_ARGUMENT: Self = Self {
        name: "source",
        buffers: &[],
        parts: BufferParts::ONE_PART,
        passed_bytes: 0,
        needed_bytes: 0,
        keeps_groups: false,
        tensor: None,
    };

    pub(in crate::gpu) fn passed_buffer(
        name: &'static str,
        buffer_slice: BufferSlice<'a>,
        needed_bytes: usize,
    ) -> Self {
        Self {
            name,
            buffers: slice::from_ref(buffer_slice.buffer()),
            parts: BufferParts {
                offset: buffer_slice.offset(),
                ..BufferParts::ONE_PART
            },
            passed_bytes: buffer_slice.size(),
            needed_bytes: needed_bytes as u64,
            keeps_groups: true,
            tensor: None,
        }
    }

    /// Like [`Argument::passed_buffer`], but for memory of this crate. Its bind groups are not kept.
    pub(in crate::gpu) fn own_memory(
        name: &'static str,
        buffer_slice: BufferSlice<'a>,
        needed_bytes: usize,
    ) -> Self {
        Self {
            keeps_groups: false,
            ..Self::passed_buffer(name, buffer_slice, needed_bytes)
        }
    }

    /// Makes an argument from a tensor.
    pub(in crate::gpu) fn from_tensor(name: &'static str, tensor: &'a DeviceBytes) -> Self {
        let bytes = tensor.bytes as u64;
        Self {
            name,
            buffers: tensor.buffers(),
            parts: tensor.parts,
            passed_bytes: bytes,
            needed_bytes: bytes,
            keeps_groups: false,
            tensor: Some(tensor),
        }
    }

    /// Returns the ranges of the buffers that contain bytes `at..at + bytes` of the argument.
    pub(in crate::gpu) fn buffer_slices(
        &self,
        at: u64,
        bytes: u64,
    ) -> impl Iterator<Item = BufferSlice<'a>> {
        self.parts.buffer_slices(self.buffers, at, bytes)
    }

    /// Checks that this argument and `dest` are long enough, and that the last word of each is completely in its
    /// buffer.
    pub(in crate::gpu) fn check_sizes(&self, dest: &Self) -> Result<(), Error> {
        self.check_words()?;
        dest.check_words()
    }

    /// Checks that this argument is long enough, and that its last word of 4 bytes is completely in its buffer.
    pub(super) fn check_words(&self) -> Result<(), Error> {
        self.check_length()?;
        let needed_bytes = self.needed_bytes;
        let Some(last_buffer) = self.buffers.last() else {
            return Ok(());
        };
        let bytes_in_last = match self.buffers.len() {
            1 => needed_bytes.max(1),
            _ => (needed_bytes.max(1) - 1) % self.parts.bytes + 1,
        };
        let end = self.parts.offset + bytes_in_last;
        if end.next_multiple_of(4) > last_buffer.size() {
            let problem = format!(
                "ends at byte {end} of {}, in the middle of a word: \
                 make the buffer a multiple of 4 bytes long",
                last_buffer.size()
            );
            return Err(self.argument_error(problem));
        }
        Ok(())
    }

    /// Checks that this argument is long enough.
    pub(in crate::gpu) fn check_length(&self) -> Result<(), Error> {
        let Self {
            passed_bytes,
            needed_bytes,
            ..
        } = self;
        if passed_bytes >= needed_bytes {
            return Ok(());
        }
        let problem = format!(
            "has {passed_bytes} bytes, but the plan needs {needed_bytes}: pass a longer one"
        );
        Err(self.argument_error(problem))
    }

    /// Checks the arguments of a gather or scatter: `source`, `dest`, and the index tuples, which are `self`. In
    /// addition to the checks of [`Argument::check_sizes`], the tuples must begin at a multiple of 4 bytes, and all
    /// buffers need the usage `STORAGE`.
    pub(in crate::gpu) fn check_tuples(&self, source: &Self, dest: &Self) -> Result<(), Error> {
        source.check_sizes(dest)?;
        self.check_words()?;
        self.check_word_aligned()?;
        [source, self, dest]
            .into_iter()
            .try_for_each(Self::check_storage)
    }

    /// Checks that this argument and `other` share no buffer.
    pub(in crate::gpu) fn check_apart(&self, other: &Self) -> Result<(), Error> {
        let mut buffers = self.buffers.iter();
        if !buffers.any(|buffer| other.buffers.contains(buffer)) {
            return Ok(());
        }
        Err(self.argument_error(format!(
            "is also {}, and wgpu lets no buffer be read and written at once: pass a buffer of its own",
            other.name
        )))
    }

    /// Checks that this argument begins at a multiple of 4 bytes.
    pub(in crate::gpu) fn check_word_aligned(&self) -> Result<(), Error> {
        if self.parts.offset.is_multiple_of(4) {
            return Ok(());
        }
        let problem = "begins in the middle of a word: its offset must be a multiple of 4";
        Err(self.argument_error(problem.into()))
    }

    /// Checks that this argument begins at a multiple of `alignment` bytes. In the error message, `changed` describes
    /// how its elements change.
    pub(super) fn check_multiple(&self, alignment: usize, changed: &str) -> Result<(), Error> {
        let offset = self.parts.offset;
        if offset.is_multiple_of(alignment as u64) {
            return Ok(());
        }
        Err(self.argument_error(format!(
            "begins at byte {offset}: where elements are {changed} it must be a multiple of {alignment}"
        )))
    }

    pub(in crate::gpu) fn check_storage(&self) -> Result<(), Error> {
        let is_storage = |buffer: &wgpu::Buffer| buffer.usage().contains(BufferUsages::STORAGE);
        if self.buffers.iter().all(is_storage) {
            return Ok(());
        }
        let problem = "lacks the usage STORAGE: create it with BufferUsages::STORAGE";
        Err(self.argument_error(problem.into()))
    }

    pub(in crate::gpu) fn argument_error(&self, problem: String) -> Error {
        Error::Buffer {
            argument: self.name,
            problem,
        }
    }
}
