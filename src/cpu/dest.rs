//! The memory of a result: initialized memory, or new memory that is not initialized yet.
//!
//! The loops of this folder write to `&mut [u8]`, and in Rust such a slice cannot refer to uninitialized bytes. If a
//! thread set all of a large new result to zero first, the zeros would leave the cache before the thread overwrites
//! them. So a thread sets a block of new memory to zero just before it writes the block. Long pieces, reversed rows, and
//! the lanes of transposes, are written to new memory without zeros.

use super::{
    memory::{NewMemory, Slices, in_new_memory},
    threads::{self, Threads},
};
use crate::prelude::*;
use crate::{DType, Error, element::zeroed};
use core::iter;
#[cfg(any(test, feature = "test-seams"))]
use core::sync::atomic::{AtomicBool, Ordering};

/// The size in bytes of the largest result that is set to zero before it is written, because this takes no longer.
const MAX_ZEROED_BYTES: usize = 1 << 10;
/// The size in bytes of the smallest result of [`Pieces::WithZeros`] that gets zeros from `calloc`. glibc does not keep
/// freed blocks of this size or more, so `calloc` gets new pages from the system and need not write the zeros.
const MIN_CALLOC_BYTES: usize = 32 << 20;

/// Whether the loops set the memory of a new result to zero before they write pieces to it. This decides only where the
/// memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pieces {
    /// Long pieces, and pieces of reversed rows and of transposes. Results of more than 1 KiB get uninitialized memory.
    /// An allocator that keeps large freed blocks, such as mimalloc or jemalloc, would write zeros for `calloc`: crops
    /// and gathers of 64 MiB then take 1.4 to 1.6 times as long (Intel Xeon, model 207, and glibc with a threshold of 1
    /// GiB for `mmap`).
    WithoutZeros,
    /// Anything else.
    WithZeros,
}

impl Pieces {
    /// Returns whether a result of `bytes` bytes gets uninitialized memory.
    fn need_no_zeros(self, bytes: usize) -> bool {
        bytes > MAX_ZEROED_BYTES && (bytes < MIN_CALLOC_BYTES || self == Self::WithoutZeros)
    }

    /// Calls `find` for a result of at least [`MIN_CALLOC_BYTES`]. The memory of smaller results does not depend on
    /// their pieces, and finding these would take a part of the time of a small result.
    pub(crate) fn of_result(len: usize, dtype: DType, find: impl FnOnce() -> Self) -> Self {
        match len.saturating_mul(dtype.size()) {
            MIN_CALLOC_BYTES.. => find(),
            _ => Self::WithZeros,
        }
    }
}

/// The number of bytes of a short part that are set to zero at a time. They fit the first-level cache of most
/// processors, which has 32 KiB or more. Results of 64 KiB take 2.5 µs in blocks of 8 or 16 KiB, 3.9 µs in blocks of 4
/// KiB, and 3.4 µs in blocks of 32 KiB (Intel Xeon, model 207). They take 4.0 µs if all bytes are set to zero first,
/// and 2.0 µs in initialized memory.
const ZEROED_BLOCK_BYTES: usize = 16 << 10;
/// The number of bytes of a long part that are set to zero at a time. Byte shuffles that reverse 8 and 16 MiB into zeros
/// take 20 to 25 % less time than with blocks of 16 KiB on an AMD EPYC (family 26, model 2). On an Intel Xeon (model
/// 207), blocks of 16 to 256 KiB take the same time within 5 %.
const LONG_ZEROED_BLOCK_BYTES: usize = 64 << 10;
/// The size in bytes of the shortest long part.
const MIN_LONG_PART_BYTES: usize = 1 << 20;

/// True if even a small result gets uninitialized memory, which is set to zero in the smallest possible blocks. Tests
/// set it.
#[cfg(any(test, feature = "test-seams"))]
pub(crate) static ALWAYS_UNINITIALIZED: AtomicBool = AtomicBool::new(false);

fn always_uninitialized() -> bool {
    #[cfg(any(test, feature = "test-seams"))]
    return ALWAYS_UNINITIALIZED.load(Ordering::Relaxed);
    #[cfg(not(any(test, feature = "test-seams")))]
    false
}

/// Calls `fill` to write the bytes of `len` values: to `values` if it has this length, otherwise to new memory. Returns
/// the values and the result of `fill`. Fails if there is not enough memory or if `fill` fails.
pub(crate) fn fill_values<T: bytemuck::Pod, R>(
    mut values: Vec<T>,
    len: usize,
    pieces: Pieces,
    fill: impl FnOnce(Dest<'_>) -> Result<R, Error>,
) -> Result<(Vec<T>, R), Error> {
    if values.len() != len {
        let bytes = len.saturating_mul(size_of::<T>());
        if pieces.need_no_zeros(bytes) || always_uninitialized() {
            return in_new_memory(len, |memory| fill(Dest::New(memory)));
        }
        values = zeroed(len)?;
    }
    let outcome = fill(Dest::Old(bytemuck::cast_slice_mut(&mut values)))?;
    Ok((values, outcome))
}

/// The memory of a result.
#[derive(Debug)]
pub enum Dest<'a> {
    /// Initialized memory.
    Old(&'a mut [u8]),
    /// Memory that is not initialized yet.
    New(NewMemory<'a>),
}

impl<'a> From<&'a mut [u8]> for Dest<'a> {
    fn from(bytes: &'a mut [u8]) -> Self {
        Self::Old(bytes)
    }
}

impl Default for Dest<'_> {
    fn default() -> Self {
        Self::Old(&mut [])
    }
}

impl<'a> Dest<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Old(bytes) => bytes.len(),
            Self::New(memory) => memory.len(),
        }
    }

    /// Returns all bytes. Sets new memory to zero.
    pub(crate) fn all(self) -> &'a mut [u8] {
        match self {
            Self::Old(bytes) => bytes,
            Self::New(memory) => memory.fill_with_zeros(),
        }
    }

    /// Copies `bytes` to this memory, which has the same length.
    pub(crate) fn copy_from(self, bytes: &[u8], threads: Threads) {
        let threads = threads.count_for(bytes.len(), 0);
        threads::write_dest_in_parts(self, 1, threads, &|first, mut part| {
            part.copy_to_front(&bytes[first..][..part.len()]);
        });
    }

    /// Copies like [`Self::copy_from`] and returns the bytes of this memory.
    pub(crate) fn filled_from(self, bytes: &[u8], threads: Threads) -> &'a mut [u8] {
        match self {
            Self::Old(all) => {
                Dest::Old(all).copy_from(bytes, threads);
                all
            }
            Self::New(memory) => {
                memory.filled(|memory| Dest::New(memory).copy_from(bytes, threads))
            }
        }
    }

    /// Copies `from` to the first bytes. Afterwards `self` is the remaining memory.
    #[inline(always)]
    pub(super) fn copy_to_front(&mut self, from: &[u8]) {
        match self {
            Self::Old(bytes) => take_front(bytes, from.len()).copy_from_slice(from),
            Self::New(memory) => memory.copy_to_front(from),
        }
    }

    /// Returns the first `count` bytes. Afterwards `self` is the remaining memory.
    pub(super) fn take_front_part(&mut self, count: usize) -> Self {
        match self {
            Self::Old(bytes) => Self::Old(take_front(bytes, count)),
            Self::New(memory) => Self::New(memory.take_front_part(count)),
        }
    }

    /// Cuts the memory into parts of `size` bytes. The last part can be shorter.
    pub(super) fn parts(mut self, size: usize) -> impl Iterator<Item = Self> {
        iter::from_fn(move || (self.len() > 0).then(|| self.take_front_part(size.min(self.len()))))
    }

    /// Cuts the memory into slices of `slice_bytes` bytes and adds them to `slices`. The last slice can be shorter.
    pub(super) fn cut_into(self, slice_bytes: usize, slices: &mut Slices<'a>) {
        match self {
            Self::Old(bytes) => slices.push_old(bytes, slice_bytes),
            Self::New(memory) => slices.push_new(memory, slice_bytes),
        }
    }

    /// Returns how many bytes a loop should write at a time. For new memory, the number is small enough that the bytes
    /// are still in the cache after they were set to zero.
    pub(super) fn bytes_per_write(&self) -> usize {
        match self {
            Self::Old(_) => usize::MAX,
            Self::New(_) if always_uninitialized() => 1,
            Self::New(memory) if memory.len() >= MIN_LONG_PART_BYTES => LONG_ZEROED_BLOCK_BYTES,
            Self::New(_) => ZEROED_BLOCK_BYTES,
        }
    }

    /// Calls `write` with each block's offset in the memory and the block's bytes. Initialized memory is one block. In
    /// new memory, blocks begin at multiples of `grain` bytes.
    pub(super) fn for_each_block(self, grain: usize, write: &mut dyn FnMut(usize, &mut [u8])) {
        let min_block_bytes = self.bytes_per_write();
        match self {
            Self::Old(bytes) => write(0, bytes),
            Self::New(_) => {
                let block_bytes = min_block_bytes.div_ceil(grain) * grain;
                for (number, block) in self.parts(block_bytes).enumerate() {
                    write(number * block_bytes, block.all());
                }
            }
        }
    }
}

/// Returns the first `count` bytes. Afterwards `bytes` has the remaining bytes.
fn take_front<'a>(bytes: &mut &'a mut [u8], count: usize) -> &'a mut [u8] {
    bytes
        .split_off_mut(..count)
        .expect("a result has room for its parts")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads write each byte of new memory exactly once. The grain, a number of bytes, divides the offsets of all
    /// parts.
    #[test]
    fn blocks_cover_the_whole_result() {
        for (bytes, grain) in [
            (0, 1),
            (1, 1),
            (ZEROED_BLOCK_BYTES, 3),
            (5 * ZEROED_BLOCK_BYTES + 1, 1),
            (70_001, 7),
            (MIN_LONG_PART_BYTES + 5, 3),
        ] {
            for thread_count in [1, 2, 5] {
                let fill = |dest: Dest<'_>| {
                    threads::spread(dest, grain, thread_count, |first, part| {
                        assert!(first.is_multiple_of(grain));
                        for (at, byte) in (first..).zip(part) {
                            *byte += u8::try_from(at % 251).unwrap() + 1;
                        }
                    });
                    Ok(())
                };
                let (values, ()) =
                    fill_values::<u8, ()>(Vec::new(), bytes, Pieces::WithZeros, fill).unwrap();
                let expected = (0..bytes).map(|at| u8::try_from(at % 251).unwrap() + 1);
                assert!(
                    values.into_iter().eq(expected),
                    "{bytes} {grain} {thread_count}"
                );
            }
        }
    }

    /// Threads copy an array to a result, and the bytes of the result can then be changed.
    #[test]
    fn copies_initialize_the_whole_result() {
        for bytes in [1, ZEROED_BLOCK_BYTES, 3 * ZEROED_BLOCK_BYTES + 5] {
            let from: Vec<u8> = (0..=250).cycle().take(bytes).collect();
            let mut threads = Threads::at_most(3);
            threads.for_any_work = true;
            let fill = |dest: Dest<'_>| {
                let all = dest.filled_from(&from, threads);
                assert_eq!(all, from);
                all[0] = 77;
                Ok(())
            };
            let (values, ()) =
                fill_values::<u8, ()>(Vec::new(), bytes, Pieces::WithZeros, fill).unwrap();
            assert_eq!((values[0], &values[1..]), (77, &from[1..]));
        }
    }

    #[test]
    fn large_results_of_short_pieces_begin_as_zeros() {
        for (bytes, [short, long]) in [
            (MAX_ZEROED_BYTES, [false, false]),
            (MAX_ZEROED_BYTES + 1, [true, true]),
            (MIN_CALLOC_BYTES - 1, [true, true]),
            (MIN_CALLOC_BYTES, [false, true]),
        ] {
            assert_eq!(Pieces::WithZeros.need_no_zeros(bytes), short, "{bytes}");
            assert_eq!(Pieces::WithoutZeros.need_no_zeros(bytes), long, "{bytes}");
        }
    }

    #[test]
    #[should_panic(expected = "each byte of a result is written")]
    fn filling_panics_if_bytes_are_missing() {
        let fill = |dest: Dest<'_>| {
            if let Dest::New(memory) = dest {
                memory.filled(|mut memory| memory.copy_to_front(&[1; 10]));
            }
            Ok(())
        };
        drop(fill_values::<u32, ()>(
            Vec::new(),
            ZEROED_BLOCK_BYTES,
            Pieces::WithZeros,
            fill,
        ));
    }

    #[test]
    #[should_panic(expected = "each byte of a result is written")]
    fn new_memory_panics_if_parts_are_missing() {
        let fill = |dest: Dest<'_>| {
            dest.parts(10).step_by(2).for_each(|part| {
                part.all();
            });
            Ok(())
        };
        drop(fill_values::<u32, ()>(
            Vec::new(),
            ZEROED_BLOCK_BYTES,
            Pieces::WithZeros,
            fill,
        ));
    }

    #[test]
    fn an_error_leaves_no_result() {
        let error = || Error::OutOfHostMemory { bytes: 1 };
        let failed =
            fill_values::<u64, ()>(Vec::new(), ZEROED_BLOCK_BYTES, Pieces::WithZeros, |_| {
                Err(error())
            })
            .unwrap_err();
        assert_eq!(failed.to_string(), error().to_string());
        let failed = fill_values::<u64, ()>(Vec::new(), usize::MAX, Pieces::WithZeros, |_| Ok(()))
            .unwrap_err();
        assert!(matches!(failed, Error::OutOfHostMemory { .. }), "{failed}");
    }
}
