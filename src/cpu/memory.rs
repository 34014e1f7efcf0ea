//! Hints to the processor about memory, and stores that go around its caches. All code of this crate that is not safe is
//! in this file.

/// The size of a cache line in bytes, on x86-64 and most ARM64 processors.
pub(super) const LINE: usize = 64;

/// The size in bytes of the smallest result that is worth streaming: more than the last-level cache that most processors
/// have for a core. Of such a result, whoever reads it next finds at most the end in a cache.
pub(super) const STREAMED: usize = 32 << 20;

/// Tells the processor that byte `at` will soon be read or written. Does nothing if it lies outside of `bytes`.
#[inline(always)]
pub(super) fn prefetch(bytes: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has this instruction, which does not fault at any address.
        #[expect(unsafe_code, reason = "the intrinsic takes a pointer")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(at).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, at);
}

/// Writes cache lines of the bytes that are borrowed for `'d`. [`streaming`] makes it.
pub(super) struct Lines<'d> {
    streams: bool,
    /// A line that was written must not be seen before the fence, so it stays borrowed.
    written: std::marker::PhantomData<&'d mut [u8]>,
}

/// Calls `write`. If `streams` is true, the lines that it writes go around the caches: an ordinary store reads a line
/// before it changes it, a streaming store does not.
pub(super) fn streaming<'d>(streams: bool, write: impl FnOnce(&mut Lines<'d>)) {
    /// Fences also if `write` panics.
    struct Fence(bool);
    impl Drop for Fence {
        fn drop(&mut self) {
            #[cfg(target_arch = "x86_64")]
            if self.0 {
                // SAFETY: every x86-64 processor has SSE.
                #[expect(unsafe_code, reason = "the intrinsic names a target feature")]
                unsafe {
                    std::arch::x86_64::_mm_sfence();
                }
            }
        }
    }
    let _fence = Fence(streams);
    write(&mut Lines {
        streams,
        written: std::marker::PhantomData,
    });
}

impl<'d> Lines<'d> {
    #[inline(always)]
    pub(super) fn write(&mut self, to: &'d mut [u8; LINE], from: &[u8; LINE]) {
        #[cfg(target_arch = "x86_64")]
        if self.streams && to.as_ptr().addr().is_multiple_of(LINE) {
            use std::arch::x86_64::{__m128i, _mm_stream_si128};
            let vectors: &[[u64; 2]; LINE / 16] = &bytemuck::cast(*from);
            for (at, &vector) in (0..LINE).step_by(16).zip(vectors) {
                // SAFETY: every x86-64 processor has SSE2. The 16 bytes lie in `to`, at a multiple of 16. Rust requires a
                // fence between this store and any other access to its bytes. `to` is borrowed for `'d`, which is longer
                // than the call of `write` in `streaming`, so nobody else can access it before the fence there.
                #[expect(unsafe_code, reason = "the intrinsic takes a pointer")]
                unsafe {
                    let to = to.as_mut_ptr().add(at).cast::<__m128i>();
                    _mm_stream_si128(to, bytemuck::cast(vector));
                }
            }
            return;
        }
        *to = *from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines at any address are written whole, streamed or not, and nothing beside them.
    #[test]
    fn only_the_lines_are_written() {
        let line: [u8; LINE] = std::array::from_fn(|at| u8::try_from(at).unwrap() + 1);
        for streams in [false, true] {
            for skip in 0..2 * LINE {
                let mut bytes = vec![0; 8 * LINE];
                let (lines, _) = bytes[skip..].as_chunks_mut();
                let [_, second, _, fourth, ..] = lines else {
                    panic!("there are lines");
                };
                streaming(streams, |lines| {
                    lines.write(second, &line);
                    lines.write(fourth, &line);
                });
                let mut expected = vec![0; 8 * LINE];
                for number in [1, 3] {
                    expected[skip + number * LINE..][..LINE].copy_from_slice(&line);
                }
                assert_eq!(bytes, expected, "{streams} {skip}");
            }
        }
    }

    #[test]
    fn anything_may_be_prefetched() {
        for at in [0, 1, 3, 4, 1 << 20, usize::MAX] {
            prefetch(&[1, 2, 3], at);
            prefetch(&[], at);
        }
    }
}
