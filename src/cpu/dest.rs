//! Where a result goes: to memory that has values, or to new memory.
//!
//! The loops write slices of bytes, and Rust has such slices only of memory whose bytes have values. If all of a new result
//! became zeros first, it would be written twice, and would have left the cache before the second time. So new memory
//! becomes zeros [`ZEROED`] bytes at a time, when a thread is about to write them, and gets long pieces without zeros before.

use super::memory::{NewMemory, in_new_memory};
use crate::prelude::*;
use crate::{Error, element::zeroed};
#[cfg(any(test, feature = "test-seams"))]
use core::sync::atomic::{AtomicBool, Ordering};
use core::{iter, ops::Range};

/// The sizes in bytes of results that get new memory without values. Smaller ones take no longer if all of them becomes
/// zeros first. Larger ones are zeros already, since they are new from the system: glibc keeps no memory of 32 MiB or more.
const WITHOUT_VALUES: Range<usize> = (1 << 10) + 1..32 << 20;

/// The bytes that become zeros at once: a part of the nearest cache of most processors, which have 32 KiB or more.
/// Results of 64 KiB take 2.5 µs in blocks of 8 or 16 KiB, 3.9 in blocks of 4 KiB, and 3.4 in blocks of 32 KiB (Intel
/// Xeon of model 207; 4.0 if all becomes zeros first, 2.0 in memory that has values).
const ZEROED: usize = 16 << 10;

/// Whether even a small result gets memory without values, which becomes zeros in the smallest blocks. Tests set it.
#[cfg(any(test, feature = "test-seams"))]
pub(crate) static FOR_ANY_RESULT: AtomicBool = AtomicBool::new(false);

fn for_any_result() -> bool {
    #[cfg(any(test, feature = "test-seams"))]
    return FOR_ANY_RESULT.load(Ordering::Relaxed);
    #[cfg(not(any(test, feature = "test-seams")))]
    false
}

/// Fills `values` or, if they are not `len` values, new memory for as many with the bytes that `fill` writes. Returns the
/// values and what `fill` returned.
pub(crate) fn filled<T: bytemuck::Pod, R>(
    mut values: Vec<T>,
    len: usize,
    fill: impl FnOnce(Dest<'_>) -> Result<R, Error>,
) -> Result<(Vec<T>, R), Error> {
    if values.len() != len {
        let bytes = len.saturating_mul(size_of::<T>());
        if WITHOUT_VALUES.contains(&bytes) || for_any_result() {
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
    /// Memory with values.
    Old(&'a mut [u8]),
    /// Memory without values.
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

    /// All of it at once. New memory becomes zeros.
    pub(crate) fn all(self) -> &'a mut [u8] {
        match self {
            Self::Old(bytes) => bytes,
            Self::New(memory) => memory.zeros(),
        }
    }

    /// Writes these bytes, as many as it has.
    pub(crate) fn copy_from(mut self, bytes: &[u8]) {
        self.copy(bytes);
    }

    /// Copies `from` to its first bytes, and takes these out.
    #[inline(always)]
    pub(super) fn copy(&mut self, from: &[u8]) {
        match self {
            Self::Old(bytes) => cut(bytes, from.len()).copy_from_slice(from),
            Self::New(memory) => memory.copy(from),
        }
    }

    /// Takes the first `count` bytes out.
    pub(super) fn take(&mut self, count: usize) -> Self {
        match self {
            Self::Old(bytes) => Self::Old(cut(bytes, count)),
            Self::New(memory) => Self::New(memory.take(count)),
        }
    }

    /// Parts of `size` bytes. The last one can have fewer.
    pub(super) fn parts(mut self, size: usize) -> impl Iterator<Item = Self> {
        iter::from_fn(move || (self.len() > 0).then(|| self.take(size.min(self.len()))))
    }

    /// How many bytes should be written at once, so that they are still in the nearest cache if they become zeros first.
    pub(super) fn together(&self) -> usize {
        match self {
            Self::Old(_) => usize::MAX,
            Self::New(_) if for_any_result() => 1,
            Self::New(_) => ZEROED,
        }
    }

    /// Calls `write` for memory with values at once, for new memory block by block. The blocks begin at multiples of
    /// `grain` bytes, which `write` gets.
    pub(super) fn each(self, grain: usize, write: &mut dyn FnMut(usize, &mut [u8])) {
        let size = self.together();
        match self {
            Self::Old(bytes) => write(0, bytes),
            Self::New(_) => {
                let size = size.div_ceil(grain) * grain;
                for (number, block) in self.parts(size).enumerate() {
                    write(number * size, block.all());
                }
            }
        }
    }
}

/// Cuts the first `count` bytes off.
fn cut<'a>(bytes: &mut &'a mut [u8], count: usize) -> &'a mut [u8] {
    bytes
        .split_off_mut(..count)
        .expect("a result has room for its parts")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::threads;

    /// Threads write each byte of new memory once, whatever the grain.
    #[test]
    fn blocks_make_up_the_whole() {
        for (bytes, grain) in [
            (0, 1),
            (1, 1),
            (ZEROED, 3),
            (5 * ZEROED + 1, 1),
            (70_001, 7),
        ] {
            for many in [1, 2, 5] {
                let fill = |dest: Dest<'_>| {
                    threads::spread(dest, grain, many, |first, part| {
                        assert!(first.is_multiple_of(grain));
                        for (at, byte) in (first..).zip(part) {
                            *byte += u8::try_from(at % 251).unwrap() + 1;
                        }
                    });
                    Ok(())
                };
                let (values, ()) = filled::<u8, ()>(Vec::new(), bytes, fill).unwrap();
                let expected = (0..bytes).map(|at| u8::try_from(at % 251).unwrap() + 1);
                assert!(values.into_iter().eq(expected), "{bytes} {grain} {many}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "each byte of a result is written")]
    fn a_part_without_values_is_never_a_result() {
        let fill = |dest: Dest<'_>| {
            dest.parts(10).step_by(2).for_each(|part| {
                part.all();
            });
            Ok(())
        };
        drop(filled::<u32, ()>(Vec::new(), ZEROED, fill));
    }

    #[test]
    fn an_error_leaves_no_result() {
        let error = || Error::OutOfHostMemory { bytes: 1 };
        let failed = filled::<u64, ()>(Vec::new(), ZEROED, |_| Err(error())).unwrap_err();
        assert_eq!(failed.to_string(), error().to_string());
        let failed = filled::<u64, ()>(Vec::new(), usize::MAX, |_| Ok(())).unwrap_err();
        assert!(matches!(failed, Error::OutOfHostMemory { .. }), "{failed}");
    }
}
