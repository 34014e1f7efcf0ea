//! How one piece is copied, by its size.
//!
//! A call of `memcpy` costs as much as moving a hundred bytes, so that short pieces are moved by
//! code that knows their size: up to 16 bytes exactly, up to 128 bytes in 16-byte moves of which
//! the last overlaps the one before.

/// Copies pieces of one size.
pub(super) trait Mover: Copy + Sync {
    /// Bytes of a piece.
    fn bytes(self) -> usize;

    /// Copies the piece at byte `at` of the source into `dest`, which is as long as a piece.
    /// `None` where the source has no such piece.
    fn copy(self, source: &[u8], at: usize, dest: &mut [u8]) -> Option<()>;
}

/// Pieces of `N` bytes.
#[derive(Clone, Copy)]
struct Exact<const N: usize>;

impl<const N: usize> Mover for Exact<N> {
    #[inline(always)]
    fn bytes(self) -> usize {
        N
    }

    #[inline(always)]
    fn copy(self, source: &[u8], at: usize, dest: &mut [u8]) -> Option<()> {
        *dest.first_chunk_mut::<N>()? = *source.get(at..)?.first_chunk::<N>()?;
        Some(())
    }
}

/// Pieces of more than `HEAD` bytes and at most 16 more.
#[derive(Clone, Copy)]
struct Wide<const HEAD: usize> {
    bytes: usize,
}

impl<const HEAD: usize> Mover for Wide<HEAD> {
    #[inline(always)]
    fn bytes(self) -> usize {
        self.bytes
    }

    #[inline(always)]
    fn copy(self, source: &[u8], at: usize, dest: &mut [u8]) -> Option<()> {
        let source = source.get(at..)?.get(..self.bytes)?;
        *dest.first_chunk_mut::<HEAD>()? = *source.first_chunk::<HEAD>()?;
        *dest.last_chunk_mut::<16>()? = *source.last_chunk::<16>()?;
        Some(())
    }
}

/// Pieces of any size.
#[derive(Clone, Copy)]
struct Long {
    bytes: usize,
}

impl Mover for Long {
    #[inline(always)]
    fn bytes(self) -> usize {
        self.bytes
    }

    #[inline(always)]
    fn copy(self, source: &[u8], at: usize, dest: &mut [u8]) -> Option<()> {
        let source = source.get(at..)?.get(..self.bytes)?;
        if (CUT + 1..STRINGS).contains(&self.bytes) {
            for (dest, source) in dest.chunks_mut(CUT).zip(source.chunks(CUT)) {
                dest.copy_from_slice(source);
            }
        } else {
            dest.copy_from_slice(source);
        }
        Some(())
    }
}

/// Pieces of more bytes than this are copied by `memcpy`.
pub(super) const SHORT: usize = 128;

/// From here on the C library's `memcpy` on x86-64 moves by string instructions, at the speed of
/// memory. Below, from 1 KiB on, it is slower than in pieces of [`CUT`] bytes by half.
const STRINGS: usize = 2112;
const CUT: usize = 512;

/// What is to be done with a mover.
pub(super) trait Task {
    type Outcome;

    fn run<M: Mover>(self, mover: M) -> Self::Outcome;
}

/// Does a task with the mover for pieces of `bytes` bytes.
pub(super) fn with_mover<T: Task>(bytes: usize, task: T) -> T::Outcome {
    match bytes {
        1 => task.run(Exact::<1>),
        2 => task.run(Exact::<2>),
        3 => task.run(Exact::<3>),
        4 => task.run(Exact::<4>),
        5 => task.run(Exact::<5>),
        6 => task.run(Exact::<6>),
        7 => task.run(Exact::<7>),
        8 => task.run(Exact::<8>),
        9 => task.run(Exact::<9>),
        10 => task.run(Exact::<10>),
        11 => task.run(Exact::<11>),
        12 => task.run(Exact::<12>),
        13 => task.run(Exact::<13>),
        14 => task.run(Exact::<14>),
        15 => task.run(Exact::<15>),
        16 => task.run(Exact::<16>),
        17..=32 => task.run(Wide::<16> { bytes }),
        33..=48 => task.run(Wide::<32> { bytes }),
        49..=64 => task.run(Wide::<48> { bytes }),
        65..=80 => task.run(Wide::<64> { bytes }),
        81..=96 => task.run(Wide::<80> { bytes }),
        97..=112 => task.run(Wide::<96> { bytes }),
        113..=SHORT => task.run(Wide::<112> { bytes }),
        _ => task.run(Long { bytes }),
    }
}
