//! How the order of reads and writes, and the number of bytes at a time, depend on the processor.
//!
//! Two processors were measured: an Intel Xeon (model 207) and an AMD EPYC (family 25, model 1). The figures here are
//! of one thread of that EPYC, which copies 8 GB/s. On AMD's processors the loops use the order that is faster on the
//! EPYC, on all others the order that is faster on the Xeon.

use super::memory::LINE;
#[cfg(any(test, feature = "test-seams"))]
use core::sync::atomic::{AtomicBool, Ordering};

/// True if everything here is chosen as on a processor of the other kind. Tests set it.
#[cfg(any(test, feature = "test-seams"))]
pub(crate) static IS_OTHER_KIND: AtomicBool = AtomicBool::new(false);

/// The processors for which the same order is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Processor {
    /// From AMD, or from Hygon, whose processors are of AMD's design.
    Amd,
    Other,
}

impl Processor {
    /// Returns the processor of this machine. Only AMD's and Hygon's processors have SSE4a.
    pub(super) fn here() -> Self {
        #[cfg(all(feature = "std", target_arch = "x86_64"))]
        let has_sse4a = std::arch::is_x86_feature_detected!("sse4a");
        #[cfg(not(all(feature = "std", target_arch = "x86_64")))]
        let has_sse4a = false;
        #[cfg(any(test, feature = "test-seams"))]
        let has_sse4a = has_sse4a != IS_OTHER_KIND.load(Ordering::Relaxed);
        if has_sse4a { Self::Amd } else { Self::Other }
    }

    /// Returns the number of sequential streams that the processor prefetches. The EPYC reads 30 GB/s in up to 16
    /// streams, and 17 GB/s in 32.
    pub(super) fn prefetched_streams(self) -> usize {
        match self {
            Self::Amd => 16,
            Self::Other => 32,
        }
    }

    /// Returns the number of bytes that are set to zero at a time before short pieces are written to them. They fit the
    /// first-level cache and are enough for an efficient `memset`. On the EPYC the gradient of every fifth f32 takes 6.8
    /// ms with 1 KiB and 10.6 ms with 4 KiB.
    pub(super) fn zeroed_bytes(self) -> usize {
        match self {
            Self::Amd => 1 << 10,
            Self::Other => 4 << 10,
        }
    }

    /// Returns how many cache lines of a source row are read before the next row if squares are transposed in
    /// registers. Rows are `pitch` bytes apart. On the EPYC it is faster to read several if rows are far apart: 64^4 f64
    /// with axes 1, 3, 2, 0 take 26 ms instead of 51. Otherwise it can be slower: 1024 × 1024 f64 take 0.94 ms instead
    /// of 0.83.
    pub(super) fn lines_at_once(self, pitch: usize) -> usize {
        match self {
            Self::Amd if pitch >= 16 << 10 => 4,
            _ => 1,
        }
    }

    /// Returns whether a large transpose is faster in sequential streams, with stores that bypass the caches, than in
    /// squares with ordinary stores. `near_bytes` is the length of a contiguous part of the source, `pitch` the distance
    /// between the parts that follow each other in a lane, and `lane_bytes` the length of a lane.
    ///
    /// On the EPYC, streams are slower than squares in these cases:
    ///
    /// - lanes begin at different places in a cache line: 3000 × 5000 f32 take 12 ms in squares and 25 in streams;
    /// - a stream ends after a few cache lines: 64 × 48 × 64 × 96 f64 with axes 3, 1, 0, 2 take 28 ms in squares and 48;
    /// - source rows or lanes compete for the same places in a cache: 4096 × 4096 f32 take 12 ms in squares and 16.
    ///
    /// 4000 × 4000 f32 take 11 ms in squares and 9 in streams.
    pub(super) fn has_fast_streams(
        self,
        near_bytes: usize,
        pitch: usize,
        lane_bytes: usize,
    ) -> bool {
        const MIN_STREAM_BYTES: usize = 16 * LINE;
        let compete = |distance: usize| distance.is_multiple_of(2 << 10);
        self != Self::Amd
            || lane_bytes.is_multiple_of(LINE)
                && near_bytes >= MIN_STREAM_BYTES
                && !compete(pitch)
                && !compete(lane_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases are those of [`Processor::has_fast_streams`], and for each condition a case in which only this
    /// condition does not hold.
    #[test]
    fn streams_are_chosen_where_they_were_faster() {
        for (near_bytes, pitch, lane_bytes, expected) in [
            // Transposes of 3000 × 5000, 4096 × 4096 and 4000 × 4000 f32.
            (20_000, 20_000, 12_000, false),
            (16_384, 16_384, 16_384, false),
            (16_000, 16_000, 16_000, true),
            (16_000, 16_000, 16_004, false),
            (768, 16_000, 16_000, false),
            (1024, 16_000, 16_000, true),
            (16_000, 16_384, 16_000, false),
            (16_000, 16_000, 16_384, false),
        ] {
            let choices = [Processor::Amd, Processor::Other]
                .map(|processor| processor.has_fast_streams(near_bytes, pitch, lane_bytes));
            assert_eq!(
                choices,
                [expected, true],
                "{near_bytes}, {pitch}, {lane_bytes}"
            );
        }
    }

    /// Rows of 1024 × 1024 f64 are 8 KiB apart. Along the first axis of 64^4 f64, rows are 2 MiB apart.
    #[test]
    fn several_lines_are_read_at_once_where_this_was_faster() {
        for (pitch, on_amd) in [(8 << 10, 1), (2 << 20, 4)] {
            assert_eq!(Processor::Amd.lines_at_once(pitch), on_amd);
            assert_eq!(Processor::Other.lines_at_once(pitch), 1);
        }
    }
}
