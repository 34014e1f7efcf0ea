//! Prefetches, large pages, stores that bypass the caches, and results in new memory. This file has all unsafe code of
//! this crate.

use crate::Error;
use crate::prelude::*;
use core::{
    iter,
    marker::PhantomData,
    mem::{self, MaybeUninit},
    ops::{Deref, DerefMut},
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
    instructions::prefetch(bytes.as_ptr(), at);
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
        copy_to_front(&mut self.bytes, from);
        self.uncounted_bytes += from.len();
    }

    /// Writes `vectors` to the first bytes, the last vector first, and removes these bytes from `self`.
    #[cfg(feature = "std")]
    #[inline(always)]
    pub(super) fn write_reversed<const N: usize>(
        &mut self,
        vectors: impl ExactSizeIterator<Item = [u8; N]>,
    ) {
        let front = self.bytes.split_off_mut(..vectors.len() * N);
        let front = front.expect("a result has room for its parts");
        let mut count = 0;
        for (to, vector) in front.as_chunks_mut().0.iter_mut().rev().zip(vectors) {
            *to = vector.map(MaybeUninit::new);
            count += 1;
        }
        self.uncounted_bytes += count * N;
    }

    pub(super) fn fill_with_zeros(mut self) -> &'a mut [u8] {
        let bytes = mem::take(&mut self.bytes);
        self.uncounted_bytes += bytes.len();
        fill_with_zeros(bytes)
    }

    /// Calls `fill` and returns the bytes. Panics if `fill` does not initialize each byte.
    pub(super) fn filled(mut self, fill: impl FnOnce(NewMemory<'_>)) -> &'a mut [u8] {
        let initialized_count = AtomicUsize::new(0);
        fill(NewMemory {
            bytes: &mut *self.bytes,
            uncounted_bytes: 0,
            initialized_count: &initialized_count,
        });
        let filled_bytes = initialized_count.into_inner();
        assert_eq!(filled_bytes, self.len(), "each byte of a result is written");
        let bytes = mem::take(&mut self.bytes);
        self.uncounted_bytes += filled_bytes;
        // SAFETY: initialized bytes are removed from `NewMemory`, so each is counted once. The count equals the number
        // of all bytes, so all are initialized.
        #[expect(unsafe_code, reason = "see `assume_initialized`")]
        unsafe {
            assume_initialized(bytes)
        }
    }
}

impl Drop for NewMemory<'_> {
    fn drop(&mut self) {
        if self.uncounted_bytes > 0 {
            self.initialized_count
                .fetch_add(self.uncounted_bytes, Ordering::Relaxed);
        }
    }
}

/// Slices of one result. Each is written from its front, so the slices of new memory need no zeros first. Slices of
/// different results must not be exchanged, because a `Slices` counts the bytes that it got.
pub(super) struct Slices<'d> {
    slices: Vec<Slice<'d>>,
    /// The number of bytes of all slices, including those that are written already.
    bytes: usize,
    /// The number of initialized bytes of the whole result, if it is new memory.
    initialized_count: Option<&'d AtomicUsize>,
}

/// One of [`Slices`]: the bytes that are not written yet.
pub(super) struct Slice<'d> {
    /// The bytes are initialized unless `is_new` is true.
    unwritten: &'d mut [MaybeUninit<u8>],
    is_new: bool,
}

impl<'d> Slices<'d> {
    pub(super) fn new() -> Self {
        Self::with_capacity(0)
    }

    pub(super) fn with_capacity(count: usize) -> Self {
        Self {
            slices: Vec::with_capacity(count),
            bytes: 0,
            initialized_count: None,
        }
    }

    /// Cuts initialized memory into slices of `slice_bytes` bytes and adds them. The last slice can be shorter. All slices
    /// of a `Slices` are of one result.
    pub(super) fn push_old(&mut self, bytes: &'d mut [u8], slice_bytes: usize) {
        // SAFETY: initialized bytes are also bytes that need not be initialized, and a slice writes only initialized
        // bytes.
        #[expect(
            unsafe_code,
            reason = "one loop writes to initialized and to new memory"
        )]
        let bytes = unsafe { slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len()) };
        self.push_chunks(bytes, false, slice_bytes);
    }

    /// Cuts new memory into slices. See [`Self::push_old`].
    pub(super) fn push_new(&mut self, mut memory: NewMemory<'d>, slice_bytes: usize) {
        self.initialized_count = Some(memory.initialized_count);
        self.push_chunks(mem::take(&mut memory.bytes), true, slice_bytes);
    }

    fn push_chunks(&mut self, bytes: &'d mut [MaybeUninit<u8>], is_new: bool, slice_bytes: usize) {
        self.bytes += bytes.len();
        let slices = bytes.chunks_mut(slice_bytes.max(1));
        let slices = slices.map(|unwritten| Slice { unwritten, is_new });
        self.slices.extend(slices);
    }

    /// Returns the slices in groups of `count`. `numbers` has the number of each slice in the order of the groups.
    pub(super) fn into_groups(
        mut self,
        count: usize,
        mut numbers: impl Iterator<Item = usize>,
    ) -> impl Iterator<Item = Self> {
        // The groups count the bytes.
        let initialized_count = self.initialized_count.take();
        let slices = mem::take(&mut self.slices).into_iter();
        let mut slices: Vec<Option<Slice<'d>>> = slices.map(Some).collect();
        iter::from_fn(move || {
            let slices = numbers.by_ref().take(count).map(|number| {
                let slice = slices[number].take();
                slice.expect("each slice is in one group")
            });
            let slices: Vec<Slice<'d>> = slices.collect();
            (!slices.is_empty()).then(|| Self {
                bytes: slices.iter().map(Slice::len).sum(),
                slices,
                initialized_count,
            })
        })
    }
}

impl<'d> Deref for Slices<'d> {
    type Target = [Slice<'d>];

    fn deref(&self) -> &[Slice<'d>] {
        &self.slices
    }
}

impl<'d> DerefMut for Slices<'d> {
    fn deref_mut(&mut self) -> &mut [Slice<'d>] {
        &mut self.slices
    }
}

/// Counts the bytes as initialized if each slice was written as a whole. Bytes leave a slice when they are initialized,
/// or if a panic ends the writing: then [`in_new_memory`] returns no values.
impl Drop for Slices<'_> {
    fn drop(&mut self) {
        if let Some(initialized_count) = self.initialized_count
            && self.iter().all(|slice| slice.is_empty())
        {
            initialized_count.fetch_add(self.bytes, Ordering::Relaxed);
        }
    }
}

impl<'d> Slice<'d> {
    pub(super) fn len(&self) -> usize {
        self.unwritten.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.unwritten.is_empty()
    }

    pub(super) fn address(&self) -> usize {
        self.unwritten.as_ptr().addr()
    }

    /// Returns the number of bytes from the beginning of the slice to the next cache line.
    pub(super) fn bytes_to_line(&self) -> usize {
        self.address().wrapping_neg() % LINE
    }

    /// Tells the processor that byte `at` will soon be written. See [`prefetch`].
    #[cfg(feature = "std")]
    #[inline(always)]
    pub(super) fn prefetch(&self, at: usize) {
        instructions::prefetch(self.unwritten.as_ptr().cast(), at);
    }

    /// Returns the first `count` bytes, which are zeros in new memory. Afterwards the slice has the remaining bytes.
    #[inline(always)]
    pub(super) fn take_front(&mut self, count: usize) -> &'d mut [u8] {
        let bytes = self.unwritten.split_off_mut(..count);
        let bytes = bytes.expect("a slice has room");
        if self.is_new {
            return fill_with_zeros(bytes);
        }
        // SAFETY: the bytes of memory that is not new are initialized.
        #[expect(unsafe_code, reason = "see `assume_initialized`")]
        unsafe {
            assume_initialized(bytes)
        }
    }

    /// Copies `from` to the first bytes. Afterwards the slice has the remaining bytes.
    #[inline(always)]
    pub(super) fn copy_to_front(&mut self, from: &[u8]) {
        copy_to_front(&mut self.unwritten, from);
    }
}

/// Writes the first `bytes` bytes of each slice, which then has the remaining bytes. `bytes` is a multiple of 16, the size
/// of a vector. `vectors` gets the number of a vector and returns this vector of each slice. It is called once for each
/// number, in ascending order.
#[cfg(any(feature = "std", test))]
#[inline(always)]
pub(super) fn write_vectors<const COUNT: usize>(
    slices: &mut [Slice<'_>; COUNT],
    bytes: usize,
    mut vectors: impl FnMut(usize) -> [[u8; 16]; COUNT],
) {
    assert!(
        bytes.is_multiple_of(16),
        "each byte of a slice is in a vector"
    );
    let mut fronts = slices.each_mut().map(
        #[inline(always)]
        |slice| {
            let front = slice.unwritten.split_off_mut(..bytes);
            let front = front.expect("a slice has room").as_chunks_mut::<16>().0;
            &mut front[..bytes / 16]
        },
    );
    for number in 0..bytes / 16 {
        for (front, vector) in fronts.iter_mut().zip(vectors(number)) {
            copy_to_front(&mut &mut front[number][..], &vector);
        }
    }
}

/// Copies `from` to the first of `bytes`. Afterwards `bytes` has the remaining bytes.
#[inline(always)]
fn copy_to_front(bytes: &mut &mut [MaybeUninit<u8>], from: &[u8]) {
    let front = bytes.split_off_mut(..from.len());
    // SAFETY: initialized bytes are valid as `MaybeUninit` bytes, and nothing writes to them here.
    #[expect(
        unsafe_code,
        reason = "`write_copy_of_slice` needs Rust 1.93, and without optimization a loop takes 2.6 times as long"
    )]
    let from = unsafe { slice::from_raw_parts(from.as_ptr().cast(), from.len()) };
    front
        .expect("a result has room for its parts")
        .copy_from_slice(from);
}

fn fill_with_zeros(bytes: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    #[cfg(all(test, feature = "std"))]
    tests::ZEROED_BYTES.with(|count| count.set(count.get() + bytes.len()));
    bytes.fill(MaybeUninit::new(0));
    // SAFETY: `fill` has initialized each byte.
    #[expect(unsafe_code, reason = "see `assume_initialized`")]
    unsafe {
        assume_initialized(bytes)
    }
}

/// Returns the bytes as `u8`.
///
/// # Safety
///
/// Each byte is initialized.
#[inline(always)]
#[expect(unsafe_code, reason = "`assume_init_mut` of slices needs Rust 1.93")]
unsafe fn assume_initialized(bytes: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    // SAFETY: the caller has initialized each byte.
    unsafe { &mut *(core::ptr::from_mut(bytes) as *mut [u8]) }
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
    pub(super) fn write_front(&mut self, slice: &mut Slice<'d>, from: VectorLine) {
        let (line, unwritten) = mem::take(&mut slice.unwritten)
            .split_first_chunk_mut()
            .expect("a slice has room");
        slice.unwritten = unwritten;
        match self.bypasses_caches && line.as_ptr().addr().is_multiple_of(LINE) {
            // The line stays borrowed for `'d`, which outlives the call of `write` in `streaming`. So nothing can
            // access the line before the fence, which follows that call.
            true => {
                #[cfg(all(test, feature = "std"))]
                tests::STREAMED_LINES.with(|lines| lines.set(lines.get() + 1));
                instructions::stream(line, from);
            }
            false => copy_to_front(&mut &mut line[..], from.as_flattened()),
        }
    }

    /// Writes the first bytes of `slice`, which then has the remaining bytes. Only whole cache lines can bypass the
    /// caches.
    #[inline(always)]
    pub(super) fn write_bytes(&mut self, slice: &mut Slice<'d>, from: &[u8]) {
        let (head, from) = from.split_at(slice.bytes_to_line().min(from.len()));
        let (lines, tail) = from.as_chunks::<LINE>();
        if !head.is_empty() {
            slice.copy_to_front(head);
        }
        for line in lines {
            self.write_front(slice, bytemuck::cast(*line));
        }
        if !tail.is_empty() {
            slice.copy_to_front(tail);
        }
    }
}

/// These instructions belong to SSE and SSE2, which every x86-64 processor has. Miri does not know them.
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod instructions {
    use super::{LINE, MaybeUninit, VectorLine};
    use core::arch::x86_64::{__m128i, _MM_HINT_T0, _mm_prefetch, _mm_sfence, _mm_stream_si128};

    #[inline(always)]
    pub(super) fn prefetch(bytes: *const u8, at: usize) {
        // SAFETY: a prefetch does not fault at any address.
        #[expect(unsafe_code, reason = "the intrinsic takes a pointer")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(bytes.wrapping_add(at).cast());
        }
    }

    /// Writes a line whose address is a multiple of its size. Nothing else may access the line before the next
    /// [`fence`], which makes the new bytes visible to other threads.
    #[inline(always)]
    pub(super) fn stream(to: &mut [MaybeUninit<u8>; LINE], from: VectorLine) {
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

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod instructions {
    use super::{LINE, MaybeUninit, VectorLine, copy_to_front};

    pub(super) fn prefetch(_: *const u8, _: usize) {}

    pub(super) fn stream(to: &mut [MaybeUninit<u8>; LINE], from: VectorLine) {
        copy_to_front(&mut &mut to[..], from.as_flattened());
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
                let mut slices = Slices::with_capacity(2);
                let (_, others) = bytes[skip..].split_at_mut(LINE);
                let (first, others) = others.split_at_mut(LINE);
                slices.push_old(first, LINE);
                slices.push_old(&mut others[7..][..3 * LINE], 3 * LINE);
                streaming(bypasses_caches, |line_writer| {
                    line_writer.write_front(&mut slices[0], line);
                    line_writer.write_bytes(&mut slices[1], &from[..5]);
                    line_writer.write_bytes(&mut slices[1], &from[5..]);
                });
                assert!(slices.iter().all(Slice::is_empty));
                drop(slices);
                let mut expected = vec![0; 8 * LINE];
                expected[skip + LINE..][..LINE].copy_from_slice(&from[..LINE]);
                expected[skip + 2 * LINE + 7..][..3 * LINE].copy_from_slice(&from);
                assert_eq!(bytes, expected, "{bypasses_caches} {skip}");
            }
        }
    }

    /// Cuts new memory into four slices and calls `write` for slices 3, 1, 0 and 2, which are in two groups. `write` gets
    /// the number of the call and the slice.
    fn fill_slices(mut write: impl FnMut(usize, &mut Slice<'_>)) -> Vec<u8> {
        let (values, ()) = in_new_memory(4 * LINE, |memory| {
            let mut slices = Slices::new();
            slices.push_new(memory, LINE);
            for (group, mut slices) in (0..).zip(slices.into_groups(2, [3, 1, 0, 2].into_iter())) {
                for (slice, number) in slices.iter_mut().zip(2 * group..) {
                    write(number, slice);
                }
            }
            Ok(())
        })
        .unwrap();
        values
    }

    /// Slices of new memory can be written by lines, vectors and parts.
    #[test]
    fn slices_fill_new_memory() {
        let values = fill_slices(|number, slice| {
            streaming(false, |line_writer| match number {
                0 => line_writer.write_front(slice, [[1; 16]; LINE / 16]),
                1 => line_writer.write_bytes(slice, &[2; LINE]),
                2 => {
                    slice.copy_to_front(&[3; 7]);
                    slice.take_front(LINE - 7)[50] = 3;
                }
                _ => write_vectors::<1>(core::array::from_mut(slice), LINE, |number| {
                    [[u8::try_from(number).unwrap() + 4; 16]]
                }),
            });
        });
        let mut expected = vec![3; 7];
        expected.resize(LINE, 0);
        expected[57] = 3;
        expected.extend([2; LINE]);
        expected.extend((4..8).flat_map(|value| [value; 16]));
        expected.extend([1; LINE]);
        assert_eq!(values, expected);
    }

    #[test]
    #[should_panic(expected = "each byte of a result is written")]
    fn new_memory_panics_if_a_slice_is_not_full() {
        fill_slices(|number, slice| slice.copy_to_front(&[1; LINE][number / 3..]));
    }

    #[test]
    #[should_panic(expected = "each byte of a result is written")]
    fn new_memory_panics_if_a_group_is_missing() {
        drop(in_new_memory::<u8, ()>(2 * LINE, |memory| {
            let mut slices = Slices::new();
            slices.push_new(memory, LINE);
            let groups = slices.into_groups(1, [1].into_iter());
            groups.for_each(|mut group| group[0].copy_to_front(&[1; LINE]));
            Ok(())
        }));
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
