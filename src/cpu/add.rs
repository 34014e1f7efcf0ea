//! How elements are added: one rule for each element type.
//!
//! Integers wrap, and floating-point numbers are rounded after every addition, to the nearest and to an
//! even one of two. Those of 16 bits are added as `f32` and rounded back, as TensorFlow's CPU kernels
//! do.

use crate::DType;

/// A rule by which elements are added to others.
pub(super) trait Adder: Copy + Sync {
    /// Adds the elements of `update` to those of `sum`, which are as many.
    fn add(self, sum: &mut [u8], update: &[u8]);
}

/// What is to be done with an adder.
pub(super) trait Task {
    fn run<A: Adder>(self, adder: A);
}

/// Does a task with the rule for a type.
pub(super) fn with_adder(dtype: DType, task: impl Task) {
    match dtype {
        DType::Bool => task.run(each(|[a]: [u8; 1], [b]| [a | b])),
        DType::I8 | DType::U8 => task.run(each(|[a]: [u8; 1], [b]| [a.wrapping_add(b)])),
        DType::I16 | DType::U16 => task.run(each(|a, b| {
            u16::from_ne_bytes(a)
                .wrapping_add(u16::from_ne_bytes(b))
                .to_ne_bytes()
        })),
        DType::I32 | DType::U32 => task.run(each(|a, b| {
            u32::from_ne_bytes(a)
                .wrapping_add(u32::from_ne_bytes(b))
                .to_ne_bytes()
        })),
        DType::I64 | DType::U64 => task.run(each(|a, b| {
            u64::from_ne_bytes(a)
                .wrapping_add(u64::from_ne_bytes(b))
                .to_ne_bytes()
        })),
        DType::F16 => task.run(each(|a, b| {
            let [a, b] = [a, b].map(|half| f32_of_f16(u16::from_ne_bytes(half)));
            f16_of_f32(a + b).to_ne_bytes()
        })),
        DType::BF16 => task.run(each(|a, b| {
            let [a, b] = [a, b].map(|half| f32_of_bf16(u16::from_ne_bytes(half)));
            bf16_of_f32(a + b).to_ne_bytes()
        })),
        DType::F32 | DType::Complex64 => task.run(each(|a, b| {
            (f32::from_ne_bytes(a) + f32::from_ne_bytes(b)).to_ne_bytes()
        })),
        DType::F64 | DType::Complex128 => task.run(each(|a, b| {
            (f64::from_ne_bytes(a) + f64::from_ne_bytes(b)).to_ne_bytes()
        })),
    }
}

/// Components of `N` bytes, one by one.
#[derive(Clone, Copy)]
struct Each<const N: usize, F>(F);

fn each<const N: usize, F: Fn([u8; N], [u8; N]) -> [u8; N]>(add: F) -> Each<N, F> {
    Each(add)
}

impl<const N: usize, F> Adder for Each<N, F>
where
    F: Fn([u8; N], [u8; N]) -> [u8; N] + Copy + Sync,
{
    #[inline(always)]
    fn add(self, sum: &mut [u8], update: &[u8]) {
        let (sum, _) = sum.as_chunks_mut::<N>();
        let (update, _) = update.as_chunks::<N>();
        for (sum, update) in sum.iter_mut().zip(update) {
            *sum = (self.0)(*sum, *update);
        }
    }
}

/// Every half is a single.
fn f32_of_f16(half: u16) -> f32 {
    let half = u32::from(half);
    let (sign, rest) = ((half & 0x8000) << 16, half & 0x7fff);
    let bits = match rest {
        // A subnormal half counts steps of 2^-24, which is exact.
        0..0x0400 => (rest as f32 / 16_777_216.0).to_bits(),
        0x0400..0x7c00 => (rest << 13) + (112 << 23),
        _ => rest << 13 | 0x7f80_0000,
    };
    f32::from_bits(sign | bits)
}

/// The nearest half, and of two the even one.
#[expect(clippy::cast_possible_truncation, reason = "halves have 16 bits")]
fn f16_of_f32(single: f32) -> u16 {
    let bits = single.to_bits();
    let (sign, rest) = (bits >> 16 & 0x8000, bits & 0x7fff_ffff);
    let half = match rest {
        // Adding 0.5 leaves a subnormal half's steps in the lowest bits, rounded.
        0..0x3880_0000 => (f32::from_bits(rest) + 0.5).to_bits() - 0.5f32.to_bits(),
        // What is dropped rounds up if it is more than half a step, or half of an odd one.
        0x3880_0000..0x7f80_0000 => {
            let rounded = rest + 0x0fff + (rest >> 13 & 1);
            ((rounded >> 13) - (112 << 10)).min(0x7c00)
        }
        0x7f80_0000 => 0x7c00,
        _ => 0x7e00,
    };
    (sign | half) as u16
}

fn f32_of_bf16(half: u16) -> f32 {
    f32::from_bits(u32::from(half) << 16)
}

/// The nearest one, and of two the even one.
fn bf16_of_f32(single: f32) -> u16 {
    let bits = single.to_bits();
    match single.is_nan() {
        true => (bits >> 16 & 0x8000) as u16 | 0x7fc0,
        false => ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Halfway between neighbouring halves lies the boundary, which belongs to the even one; whatever
    /// lies beside it belongs to the one on its side.
    fn check(to: fn(u16) -> f32, from: fn(f32) -> u16, infinity: u16) {
        for half in 0..infinity {
            for sign in [0, 0x8000] {
                assert_eq!(from(to(half | sign)), half | sign);
            }
            let (low, high) = (f64::from(to(half)), f64::from(to(half + 1)));
            if high.is_finite() {
                let middle = (low + high) / 2.0;
                #[expect(clippy::cast_possible_truncation, reason = "exact, or tested as it is")]
                let single = middle as f32;
                if f64::from(single) == middle {
                    assert_eq!(from(single), half + (half & 1), "{half:#x}");
                    assert_eq!(from(single.next_up()), half + 1, "{half:#x}");
                    assert_eq!(from(single.next_down()), half, "{half:#x}");
                }
            }
        }
        assert_eq!(from(f32::INFINITY), infinity);
        assert_eq!(from(f32::NEG_INFINITY), infinity | 0x8000);
        assert_eq!(from(f32::MAX), infinity);
        assert!(from(f32::NAN) & 0x7fff > infinity);
        assert!(to(infinity) == f32::INFINITY && to(infinity + 1).is_nan());
    }

    #[test]
    fn halves_are_rounded_to_the_nearest() {
        check(f32_of_f16, f16_of_f32, 0x7c00);
        check(f32_of_bf16, bf16_of_f32, 0x7f80);
        assert_eq!(f32_of_f16(0x3c01), 1.0 + 1.0 / 1024.0);
        assert_eq!(f32_of_f16(0x0001), 2.0f32.powi(-24));
        assert_eq!(f16_of_f32(65_519.0), 0x7bff);
        assert_eq!(f16_of_f32(65_520.0), 0x7c00);
        assert_eq!(f16_of_f32(-2.0f32.powi(-25)), 0x8000);
    }
}
