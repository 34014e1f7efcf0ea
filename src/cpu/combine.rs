//! How elements are combined: one rule for each [`Combine`] and element type.
//!
//! Integers wrap. Floating-point results are rounded after every row, to the nearest value and, in a tie, to the even
//! one. 16-bit floats are computed as `f32` and rounded back, as in TensorFlow's CPU kernels. Minimum and maximum copy
//! one of the two elements unchanged.

use crate::{
    DType,
    number::{bf16_of_f32, f16_of_f32, f32_of_bf16, f32_of_f16},
    options::Combine,
};
use bytemuck::{Pod, cast};
use std::{
    num::Wrapping,
    ops::{Add, Mul, Sub},
};

/// A way of combining two elements into one.
pub(super) trait Rule: Copy + Sync {
    /// The size in bytes of what is combined at once: an element, or one component of a complex number that is combined
    /// component by component.
    const BYTES: usize;

    /// Replaces each element of `old` by its combination with the element of `update` at the same place. `old` and
    /// `update` have the same length in bytes, a multiple of [`Self::BYTES`].
    fn combine(self, old: &mut [u8], update: &[u8]);
}

/// Work that [`with_rule`] compiles once for each [`Rule`].
pub(super) trait CombineTask {
    fn run<R: Rule>(self, rule: R);
}

/// Runs `task` with the rule for a combination and an element type. A combination that is not defined for the type does
/// not get here, because planning refuses it.
pub(super) fn with_rule(combine: Combine, dtype: DType, task: impl CombineTask) {
    match (dtype, combine) {
        (DType::Bool, Combine::Mul | Combine::Min) => task.run(each(|[a]: [u8; 1], [b]| [a & b])),
        (DType::Bool, _) => task.run(each(|[a]: [u8; 1], [b]| [a | b])),
        (DType::I8, _) => plain::<1, Wrapping<i8>>(combine, task),
        (DType::U8, _) => plain::<1, Wrapping<u8>>(combine, task),
        (DType::I16, _) => plain::<2, Wrapping<i16>>(combine, task),
        (DType::U16, _) => plain::<2, Wrapping<u16>>(combine, task),
        (DType::I32, _) => plain::<4, Wrapping<i32>>(combine, task),
        (DType::U32, _) => plain::<4, Wrapping<u32>>(combine, task),
        (DType::I64, _) => plain::<8, Wrapping<i64>>(combine, task),
        (DType::U64, _) => plain::<8, Wrapping<u64>>(combine, task),
        (DType::F16, _) => numbers(
            combine,
            task,
            |half: [u8; 2]| f32_of_f16(u16::from_ne_bytes(half)),
            |single| f16_of_f32(single).to_ne_bytes(),
        ),
        (DType::BF16, _) => numbers(
            combine,
            task,
            |half: [u8; 2]| f32_of_bf16(u16::from_ne_bytes(half)),
            |single| bf16_of_f32(single).to_ne_bytes(),
        ),
        (DType::Complex64, Combine::Mul) => {
            task.run(each(|a: [u8; 8], b| cast(product::<f32>(cast(a), cast(b)))));
        }
        (DType::Complex128, Combine::Mul) => {
            task.run(each(|a: [u8; 16], b| {
                cast(product::<f64>(cast(a), cast(b)))
            }));
        }
        // Complex numbers are combined component by component.
        (DType::F32 | DType::Complex64, _) => plain::<4, f32>(combine, task),
        (DType::F64 | DType::Complex128, _) => plain::<8, f64>(combine, task),
    }
}

/// Number types whose Rust operators match TensorFlow's.
trait Number: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + PartialOrd {}

impl<T> Number for T where
    T: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + PartialOrd
{
}

/// Runs `task` with the rule for numbers of type `T`, whose bytes in memory need no conversion.
fn plain<const N: usize, T: Number + Pod>(combine: Combine, task: impl CombineTask) {
    numbers::<N, T>(combine, task, cast, cast);
}

/// Runs `task` with the rule for numbers of type `T`. `read` makes a number from the `N` bytes of an element, and
/// `write` makes these bytes from a number.
fn numbers<const N: usize, T: Number>(
    combine: Combine,
    task: impl CombineTask,
    read: impl Fn([u8; N]) -> T + Copy + Sync,
    write: impl Fn(T) -> [u8; N] + Copy + Sync,
) {
    match combine {
        Combine::Add => task.run(each(move |a, b| write(read(a) + read(b)))),
        Combine::Sub => task.run(each(move |a, b| write(read(a) - read(b)))),
        Combine::Mul => task.run(each(move |a, b| write(read(a) * read(b)))),
        Combine::Min => task.run(each(move |a, b| if read(b) < read(a) { b } else { a })),
        Combine::Max => task.run(each(move |a, b| if read(b) > read(a) { b } else { a })),
        Combine::Update => task.run(each(|_: [u8; N], b| b)),
    }
}

fn product<T: Number>([a, b]: [T; 2], [c, d]: [T; 2]) -> [T; 2] {
    [a * c - b * d, a * d + b * c]
}

/// The [`Rule`] that calls its function with the `N` bytes of each old element (or component of a complex number) and
/// those of its update, and replaces the former by what the function returns.
#[derive(Clone, Copy)]
struct Each<const N: usize, F>(F);

fn each<const N: usize, F: Fn([u8; N], [u8; N]) -> [u8; N]>(combine: F) -> Each<N, F> {
    Each(combine)
}

impl<const N: usize, F> Rule for Each<N, F>
where
    F: Fn([u8; N], [u8; N]) -> [u8; N] + Copy + Sync,
{
    const BYTES: usize = N;

    #[inline(always)]
    fn combine(self, old: &mut [u8], update: &[u8]) {
        let (old, _) = old.as_chunks_mut::<N>();
        let (update, _) = update.as_chunks::<N>();
        for (old, update) in old.iter_mut().zip(update) {
            *old = (self.0)(*old, *update);
        }
    }
}
