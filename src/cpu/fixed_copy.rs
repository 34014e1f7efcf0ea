//! Chooses how one piece is copied, depending on its size.
//!
//! A piece is bytes that are contiguous in the source and in the result. A call of `memcpy` takes as long as copying
//! about 100 bytes. Pieces of up to 128 bytes are therefore copied by code compiled for their size, or for a range of
//! 16 sizes. A piece of up to 16 bytes is moved as a whole. A piece of 17 to 128 bytes is moved in 16-byte moves. The
//! last move can overlap the previous move.

/// Copies pieces of one size.
pub(super) trait CopyKernel: Copy + Sync {
    /// Returns the size of a piece in bytes.
    fn bytes(self) -> usize;

    /// Copies the piece that begins at byte `at` of the source to `dest`, which has the length of a piece. Returns
    /// `None`, and leaves `dest` unchanged, if the source ends before the piece does.
    fn copy(self, source: &[u8], at: usize, dest: &mut [u8]) -> Option<()>;
}

/// Copies pieces of `N` bytes as a whole.
#[derive(Clone, Copy)]
pub(super) struct FixedCopy<const N: usize>;

impl<const N: usize> CopyKernel for FixedCopy<N> {
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

/// Copies pieces of `HEAD + 1` to `HEAD + 16` bytes in two parts that can overlap: the first `HEAD` bytes and the last
/// 16 bytes. The field is the number of bytes beyond `HEAD + 1`.
#[derive(Clone, Copy)]
struct OverlappingCopy<const HEAD: usize>(usize);

impl<const HEAD: usize> CopyKernel for OverlappingCopy<HEAD> {
    /// Returns the size of a piece. The remainder operation does not change the size. It tells the compiler that both
    /// parts fit, so the compiler omits a check for each piece. Gathers of 17 to 48 bytes then take 17 % less time.
    #[inline(always)]
    fn bytes(self) -> usize {
        HEAD + 1 + self.0 % 16
    }

    #[inline(always)]
    fn copy(self, source: &[u8], at: usize, dest: &mut [u8]) -> Option<()> {
        let source = source.get(at..)?.get(..self.bytes())?;
        *dest.first_chunk_mut::<HEAD>()? = *source.first_chunk::<HEAD>()?;
        *dest.last_chunk_mut::<16>()? = *source.last_chunk::<16>()?;
        Some(())
    }
}

/// Copies pieces of any size by `memcpy`. The field is the size of a piece in bytes.
#[derive(Clone, Copy)]
struct MemcpyCopy(usize);

impl CopyKernel for MemcpyCopy {
    #[inline(always)]
    fn bytes(self) -> usize {
        self.0
    }

    #[inline(always)]
    fn copy(self, source: &[u8], at: usize, dest: &mut [u8]) -> Option<()> {
        let source = source.get(at..)?.get(..self.0)?;
        dest.copy_from_slice(source);
        Some(())
    }
}

/// The size in bytes of the largest piece that is copied without `memcpy`. For larger pieces, calling `memcpy` takes
/// less time than the copying itself.
pub(super) const FIXED_MAX: usize = 128;

/// Work that [`with_copy_kernel`] runs. It is compiled once for each [`CopyKernel`].
pub(super) trait CopyTask {
    fn run(self, kernel: impl CopyKernel);
}

/// Runs `task` with the [`CopyKernel`] for pieces of `bytes` bytes.
pub(super) fn with_copy_kernel(bytes: usize, task: impl CopyTask) {
    match bytes {
        1 => task.run(FixedCopy::<1>),
        2 => task.run(FixedCopy::<2>),
        3 => task.run(FixedCopy::<3>),
        4 => task.run(FixedCopy::<4>),
        5 => task.run(FixedCopy::<5>),
        6 => task.run(FixedCopy::<6>),
        7 => task.run(FixedCopy::<7>),
        8 => task.run(FixedCopy::<8>),
        9 => task.run(FixedCopy::<9>),
        10 => task.run(FixedCopy::<10>),
        11 => task.run(FixedCopy::<11>),
        12 => task.run(FixedCopy::<12>),
        13 => task.run(FixedCopy::<13>),
        14 => task.run(FixedCopy::<14>),
        15 => task.run(FixedCopy::<15>),
        16 => task.run(FixedCopy::<16>),
        17..=32 => task.run(OverlappingCopy::<16>(bytes - 17)),
        33..=48 => task.run(OverlappingCopy::<32>(bytes - 33)),
        49..=64 => task.run(OverlappingCopy::<48>(bytes - 49)),
        65..=80 => task.run(OverlappingCopy::<64>(bytes - 65)),
        81..=96 => task.run(OverlappingCopy::<80>(bytes - 81)),
        97..=112 => task.run(OverlappingCopy::<96>(bytes - 97)),
        113..=FIXED_MAX => task.run(OverlappingCopy::<112>(bytes - 113)),
        _ => task.run(MemcpyCopy(bytes)),
    }
}
