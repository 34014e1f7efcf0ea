//! Prefetches, large pages, stores that bypass the caches, and results in new memory. This file has all unsafe code of
//! this crate.

use crate::Error;
use crate::prelude::*;
use core::{
    marker::PhantomData,
    mem::{self, MaybeUninit},
    slice,
    sync::atomic::{AtomicUsize, Ordering},
};

/// The size of a cache line in bytes, on x86-64 and most ARM64 processors.
pub(super) const LINE: usize = 64;

/// The size in bytes of the smallest result for which stores that bypass the caches save time: more than a core's share
/// of the last-level cache in most processors. After such a result is written, at most its end is in a cache.
pub(super) const MIN_STREAMED_BYTES: usize = 32 << 20;

/// Tells the processor that byte `at` of `bytes` will soon be read or written. `at` can be beyond the end. Does nothing
/// on processors other than x86-64.
#[inline(always)]
pub(super) fn prefetch(bytes: &[u8], at: usize) {
    instructions::prefetch(bytes, at);
}

/// Asks Linux to map the unused pages of this memory as pages of 2 MiB. Linux maps and clears a page when it is first
/// used, and new results of 4 MiB or more take 30 to 100 % more time with pages of 4 KiB than with pages of 2 MiB. The
/// bytes keep their values. Does nothing for memory of less than [`HUGE_PAGES_MIN_BYTES`] bytes, on other systems, and
/// without the standard library.
pub(crate) fn map_in_large_pages<T>(memory: &mut [T]) {
    if size_of_val(memory) >= HUGE_PAGES_MIN_BYTES {
        system::advise_huge_pages(memory);
    }
}

/// The size in bytes of the smallest memory that gets large pages. NumPy has the same limit.
const HUGE_PAGES_MIN_BYTES: usize = 4 << 20;

#[cfg(all(feature = "std", target_os = "linux", not(miri)))]
mod system {
    use core::ffi::{c_int, c_void};

    /// The size in bytes of the largest ordinary page of Linux on x86-64, ARM64 and POWER. `madvise` takes whole pages.
    const MAX_SMALL_PAGE: usize = 64 << 10;
    /// `MADV_HUGEPAGE` of Linux's `madvise`.
    const HUGE_PAGES_ADVICE: c_int = 14;

    #[expect(
        unsafe_code,
        reason = "the C library, which the standard library links, has this function"
    )]
    unsafe extern "C" {
        fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    }

    pub(super) fn advise_huge_pages<T>(memory: &mut [T]) {
        let unaligned_bytes = memory.as_ptr().addr().wrapping_neg() % MAX_SMALL_PAGE;
        let Some(bytes) = size_of_val(memory).checked_sub(unaligned_bytes) else {
            return;
        };
        let first_page = memory
            .as_mut_ptr()
            .cast::<u8>()
            .wrapping_add(unaligned_bytes);
        // SAFETY: the pages are within `memory`, and this advice changes the contents of no page. If Linux refuses the
        // advice, pages stay small.
        #[expect(unsafe_code, reason = "a call of a C function")]
        unsafe {
            madvise(
                first_page.cast(),
                bytes / MAX_SMALL_PAGE * MAX_SMALL_PAGE,
                HUGE_PAGES_ADVICE,
            );
        }
    }
}

#[cfg(not(all(feature = "std", target_os = "linux", not(miri))))]
mod system {
    pub(super) fn advise_huge_pages<T>(_: &mut [T]) {}
}

/// New memory for a result. Its bytes are not initialized. [`in_new_memory`] allocates it.
#[derive(Debug)]
pub struct NewMemory<'a> {
    /// The bytes that are not initialized yet.
    bytes: &'a mut [MaybeUninit<u8>],
    /// The number of initialized bytes before `bytes` that are not counted in `initialized_count` yet.
    uncounted_bytes: usize,
    /// The number of initialized bytes of the whole result.
    initialized_count: &'a AtomicUsize,
}

impl<'a> NewMemory<'a> {
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Splits off the first `count` bytes and returns them.
    pub(super) fn take_front_part(&mut self, count: usize) -> Self {
        let (bytes, remaining_bytes) = mem::take(&mut self.bytes).split_at_mut(count);
        self.bytes = remaining_bytes;
        Self {
            bytes,
            uncounted_bytes: 0,
            ..*self
        }
    }

    /// Copies `from` to the first bytes and removes these bytes from `self`.
    #[inline(always)]
    pub(super) fn copy_to_front(&mut self, from: &[u8]) {
        let (bytes, remaining_bytes) = mem::take(&mut self.bytes).split_at_mut(from.len());
        // SAFETY: initialized bytes are valid as `MaybeUninit` bytes, and nothing writes to them here.
        #[expect(
            unsafe_code,
            reason = "`write_copy_of_slice` needs Rust 1.93, and without optimization a loop takes 2.6 times as long"
        )]
        let from = unsafe { slice::from_raw_parts(from.as_ptr().cast(), from.len()) };
        bytes.copy_from_slice(from);
        self.bytes = remaining_bytes;
        self.uncounted_bytes += from.len();
    }

    pub(super) fn fill_with_zeros(self) -> &'a mut [u8] {
        #[cfg(all(test, feature = "std"))]
        tests::ZEROED_BYTES.with(|bytes| bytes.set(bytes.get() + self.len()));
        self.bytes.fill(MaybeUninit::new(0));
        // SAFETY: `fill` has initialized each byte.
        #[expect(unsafe_code, reason = "see `assume_filled`")]
        unsafe {
            self.assume_filled()
        }
    }

    /// Calls `fill` and returns the bytes. Panics if `fill` does not initialize each byte.
    pub(super) fn filled(self, fill: impl FnOnce(NewMemory<'_>)) -> &'a mut [u8] {
        let initialized_count = AtomicUsize::new(0);
        fill(NewMemory {
            bytes: &mut *self.bytes,
            uncounted_bytes: 0,
            initialized_count: &initialized_count,
        });
        let filled_bytes = initialized_count.into_inner();
        assert_eq!(filled_bytes, self.len(), "each byte of a result is written");
        // SAFETY: initialized bytes are removed from `NewMemory`, so each is counted once. The count equals the number
        // of all bytes, so all are initialized.
        #[expect(unsafe_code, reason = "see `assume_filled`")]
        unsafe {
            self.assume_filled()
        }
    }

    /// Returns the bytes.
    ///
    /// # Safety
    ///
    /// Each byte is initialized.
    #[expect(unsafe_code, reason = "`assume_init_mut` of slices needs Rust 1.93")]
    unsafe fn assume_filled(mut self) -> &'a mut [u8] {
        let bytes = mem::take(&mut self.bytes);
        self.uncounted_bytes += bytes.len();
        // SAFETY: the caller has initialized each byte.
        unsafe { &mut *(core::ptr::from_mut(bytes) as *mut [u8]) }
    }
}

impl Drop for NewMemory<'_> {
    fn drop(&mut self) {
        self.initialized_count
            .fetch_add(self.uncounted_bytes, Ordering::Relaxed);
    }
}

/// Allocates memory for `len` values and calls `fill` to write their bytes. Returns the values and the result of
/// `fill`. Fails if there is not enough memory or if `fill` fails. Panics if `fill` succeeds without initializing each
/// byte.
pub(super) fn in_new_memory<T: bytemuck::Pod, R>(
    len: usize,
    fill: impl FnOnce(NewMemory<'_>) -> Result<R, Error>,
) -> Result<(Vec<T>, R), Error> {
    let bytes = len.saturating_mul(size_of::<T>());
    let mut values = Vec::new();
    let reserved = values.try_reserve_exact(len);
    reserved.map_err(|_| Error::OutOfHostMemory { bytes })?;
    let memory = &mut values.spare_capacity_mut()[..len];
    map_in_large_pages(memory);
    // SAFETY: memory for values that need not be initialized is also memory for bytes that need not be initialized.
    #[expect(unsafe_code, reason = "bytemuck does not cast memory without values")]
    let memory = unsafe { slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), bytes) };
    let initialized_count = AtomicUsize::new(0);
    let outcome = fill(NewMemory {
        bytes: memory,
        uncounted_bytes: 0,
        initialized_count: &initialized_count,
    })?;
    let filled_bytes = initialized_count.into_inner();
    assert_eq!(filled_bytes, bytes, "each byte of a result is written");
    // SAFETY: initialized bytes are removed from `NewMemory`, so each is counted once. The count equals the number of
    // all bytes, so all are initialized, and any bytes are a valid value of a `Pod` type.
    #[expect(
        unsafe_code,
        reason = "zeroing a whole result first takes up to half of the time"
    )]
    unsafe {
        values.set_len(len);
    }
    Ok((values, outcome))
}

/// A cache line as vectors of 16 bytes. Compilers keep such vectors in registers more often than a single array.
pub(super) type VectorLine = [[u8; 16]; LINE / 16];

/// Writes cache lines of memory that is borrowed for `'d`. Only [`streaming`] makes a `LineWriter`.
pub(super) struct LineWriter<'d> {
    bypasses_caches: bool,
    /// Keeps written lines borrowed, because nothing may read them before the fence.
    written: PhantomData<&'d mut [u8]>,
}

/// Calls `write`. If `bypasses_caches` is true, the lines that it writes bypass the caches on x86-64. An ordinary store
/// reads a line into the cache before it changes the line, and a streaming store does not.
pub(super) fn streaming<'d>(bypasses_caches: bool, write: impl FnOnce(&mut LineWriter<'d>)) {
    /// Executes the fence when this value is dropped, even if `write` panics.
    struct FenceOnDrop;
    impl Drop for FenceOnDrop {
        fn drop(&mut self) {
            instructions::fence();
        }
    }
    let _fence = bypasses_caches.then_some(FenceOnDrop);
    write(&mut LineWriter {
        bypasses_caches,
        written: PhantomData,
    });
}

impl<'d> LineWriter<'d> {
    /// Writes the first line of `slice`, which then has the remaining bytes.
    #[inline(always)]
    pub(super) fn write_front(&mut self, slice: &mut &'d mut [u8], from: VectorLine) {
        let (line, unwritten) = mem::take(slice)
            .split_first_chunk_mut()
            .expect("a lane has room");
        *slice = unwritten;
        match self.bypasses_caches && line.as_ptr().addr().is_multiple_of(LINE) {
            // The line stays borrowed for `'d`, which outlives the call of `write` in `streaming`. So nothing can
            // access the line before the fence, which follows that call.
            true => {
                #[cfg(all(test, feature = "std"))]
                tests::STREAMED_LINES.with(|lines| lines.set(lines.get() + 1));
                instructions::stream(line, from);
            }
            false => *line = bytemuck::cast(from),
        }
    }

    /// Writes the first bytes of `slice`, which then has the remaining bytes. Only whole cache lines can bypass the
    /// caches.
    #[inline(always)]
    pub(super) fn write_bytes(&mut self, slice: &mut &'d mut [u8], from: &[u8]) {
        let (head, from) = from.split_at(bytes_to_line(slice).min(from.len()));
        let (lines, tail) = from.as_chunks::<LINE>();
        copy_to_front(slice, head);
        for line in lines {
            self.write_front(slice, bytemuck::cast(*line));
        }
        copy_to_front(slice, tail);
    }
}

/// Returns the number of bytes from the beginning of `slice` to the next cache line.
pub(super) fn bytes_to_line(slice: &[u8]) -> usize {
    slice.as_ptr().addr().wrapping_neg() % LINE
}

/// Copies `from` to the first bytes of `slice`, which then has the remaining bytes.
#[inline(always)]
fn copy_to_front(slice: &mut &mut [u8], from: &[u8]) {
    if !from.is_empty() {
        let to = slice.split_off_mut(..from.len());
        to.expect("a lane has room").copy_from_slice(from);
    }
}

/// These instructions belong to SSE and SSE2, which every x86-64 processor has.
#[cfg(target_arch = "x86_64")]
mod instructions {
    use super::{LINE, VectorLine};
    use core::arch::x86_64::{__m128i, _MM_HINT_T0, _mm_prefetch, _mm_sfence, _mm_stream_si128};

    #[inline(always)]
    pub(super) fn prefetch(bytes: &[u8], at: usize) {
        // SAFETY: a prefetch does not fault at any address.
        #[expect(unsafe_code, reason = "the intrinsic takes a pointer")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(at).cast());
        }
    }

    /// Writes a line whose address is a multiple of its size. Nothing else may access the line before the next
    /// [`fence`], which makes the new bytes visible to other threads.
    #[inline(always)]
    pub(super) fn stream(to: &mut [u8; LINE], from: VectorLine) {
        assert!(to.as_ptr().addr().is_multiple_of(LINE));
        for (to, vector) in to.chunks_exact_mut(16).zip(from) {
            // SAFETY: `to` has 16 bytes and begins at a multiple of 16.
            #[expect(unsafe_code, reason = "the intrinsic takes a pointer")]
            unsafe {
                _mm_stream_si128(to.as_mut_ptr().cast::<__m128i>(), bytemuck::cast(vector));
            }
        }
    }

    pub(super) fn fence() {
        // SAFETY: the instruction has no operands.
        #[expect(unsafe_code, reason = "the intrinsic names a target feature")]
        unsafe {
            _mm_sfence();
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod instructions {
    use super::{LINE, VectorLine};

    pub(super) fn prefetch(_: &[u8], _: usize) {}

    pub(super) fn stream(to: &mut [u8; LINE], from: VectorLine) {
        *to = bytemuck::cast(from);
    }

    pub(super) fn fence() {}
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    #[cfg(feature = "std")]
    std::thread_local! {
        /// How many bytes of new memory this thread has set to zero.
        pub(in super::super) static ZEROED_BYTES: core::cell::Cell<usize> =
            const { core::cell::Cell::new(0) };
        /// How many lines that bypass the caches this thread has written.
        pub(in super::super) static STREAMED_LINES: core::cell::Cell<usize> =
            const { core::cell::Cell::new(0) };
    }

    /// Slices that begin at any address are written whole, with lines that are streamed or not. The bytes around them do
    /// not change.
    #[test]
    fn only_the_slices_are_written() {
        let from: [u8; 3 * LINE] = core::array::from_fn(|at| u8::try_from(at).unwrap() + 1);
        let line: VectorLine = bytemuck::cast(*from.first_chunk::<LINE>().unwrap());
        for bypasses_caches in [false, true] {
            for skip in 0..2 * LINE {
                let mut bytes = vec![0; 8 * LINE];
                let (_, others) = bytes[skip..].split_at_mut(LINE);
                let (mut first, others) = others.split_at_mut(LINE);
                let (_, others) = others.split_at_mut(7);
                let (mut second, _) = others.split_at_mut(3 * LINE);
                streaming(bypasses_caches, |line_writer| {
                    line_writer.write_front(&mut first, line);
                    line_writer.write_bytes(&mut second, &from[..5]);
                    line_writer.write_bytes(&mut second, &from[5..]);
                });
                assert!(first.is_empty() && second.is_empty());
                let mut expected = vec![0; 8 * LINE];
                expected[skip + LINE..][..LINE].copy_from_slice(&from[..LINE]);
                expected[skip + 2 * LINE + 7..][..3 * LINE].copy_from_slice(&from);
                assert_eq!(bytes, expected, "{bypasses_caches} {skip}");
            }
        }
    }

    /// Asking for large pages changes no byte of the memory or around it, at any address.
    #[test]
    fn pages_keep_their_bytes() {
        for (skip, length) in [
            (0, HUGE_PAGES_MIN_BYTES),
            (1, HUGE_PAGES_MIN_BYTES + 4097),
            (70_001, 3 * HUGE_PAGES_MIN_BYTES),
            (5, 9),
        ] {
            let value = |at: usize| u8::try_from(at % 251).unwrap() + 1;
            let mut bytes: Vec<u8> = (0..skip + length + 9999).map(value).collect();
            map_in_large_pages(&mut bytes[skip..skip + length]);
            assert!(
                bytes
                    .iter()
                    .enumerate()
                    .all(|(at, &byte)| byte == value(at))
            );
        }
    }

    #[test]
    fn any_address_can_be_prefetched() {
        for at in [0, 1, 3, 4, 1 << 20, usize::MAX] {
            prefetch(&[1, 2, 3], at);
            prefetch(&[], at);
        }
    }
}
