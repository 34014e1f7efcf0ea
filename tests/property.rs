//! Random cases: naive reference, CPU path and every GPU give the same bits.
//!
//! The generator is seeded, so a failure is the same on every run; it prints the case.

use crate::harness::{check_gather, check_grad, check_slice, check_update};
use wgslice::{SliceSpec, StridedSlice};

/// xorshift64*: small, seeded, good enough to pick shapes.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 33) as usize % limit
    }

    fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next() >> 33).cast_signed() % (high - low + 1)
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn shape(&mut self, rank: usize, max_elements: usize) -> Vec<usize> {
        let mut shape: Vec<usize> = (0..rank)
            .map(|_| match self.below(20) {
                0 => 0,
                1..4 => 1,
                _ => 1 + self.below(9),
            })
            .collect();
        // Sometimes a long last axis, so that rows have many units and several tiles.
        if let Some(last) = shape.last_mut().filter(|_| self.chance(15)) {
            *last = 64 + self.below(1500);
        }
        while shape.iter().product::<usize>() > max_elements {
            let axis = self.below(rank);
            shape[axis] = shape[axis].div_ceil(2);
        }
        shape
    }

    fn mask(&mut self, percent: usize) -> i32 {
        (0..32).fold(0, |mask, bit| mask | i32::from(self.chance(percent)) << bit)
    }

    fn strided_slice(&mut self, shape: &[usize]) -> StridedSlice {
        let mut encoded = StridedSlice::default();
        let entries = self.below(shape.len() + 3);
        for entry in 0..entries {
            let size = shape.get(entry).map_or(3, |&size| size as i64);
            let bound = |random: &mut Self| match random.below(40) {
                0 => i64::MIN,
                1 => i64::MAX,
                _ => random.between(-size - 2, size + 2),
            };
            encoded.begin.push(bound(self));
            encoded.end.push(bound(self));
            encoded.strides.push(match self.below(40) {
                0 => 0,
                1 => i64::MIN,
                2 => i64::MAX,
                3..20 => 1,
                20..30 => -1,
                _ => self.between(-4, 4),
            });
        }
        encoded.begin_mask = self.mask(40);
        encoded.end_mask = self.mask(40);
        encoded.new_axis_mask = self.mask(8);
        encoded.shrink_axis_mask = self.mask(8);
        if self.chance(35) {
            encoded.ellipsis_mask = 1 << self.below(entries + 2);
        }
        encoded
    }
}

#[test]
fn random_slices() {
    let mut random = Random(0x5eed_0001);
    for _ in 0..600 {
        let rank = random.below(9);
        let shape = random.shape(rank, 4000);
        let encoded = random.strided_slice(&shape);
        check_slice(&shape, &encoded);
    }
}

/// The shape of a slice, if it is one.
fn selected(shape: &[usize], encoded: &StridedSlice) -> Option<Vec<usize>> {
    let spec = SliceSpec::try_from(encoded).ok()?;
    Some(spec.view(shape).ok()?.shape().to_vec())
}

#[test]
fn random_updates() {
    let mut random = Random(0x5eed_0003);
    for _ in 0..300 {
        let rank = random.below(9);
        let shape = random.shape(rank, 2000);
        let encoded = random.strided_slice(&shape);
        let mut value = selected(&shape, &encoded).unwrap_or_default();
        for size in &mut value {
            match random.below(20) {
                0 => *size += 1,
                1..6 => *size = 1,
                _ => {}
            }
        }
        match random.below(8) {
            0 => value.insert(0, 1),
            1 if !value.is_empty() => drop(value.remove(0)),
            2 => value.clear(),
            _ => {}
        }
        check_update(&shape, &encoded, &value);
    }
}

#[test]
fn random_gradients() {
    let mut random = Random(0x5eed_0004);
    for _ in 0..300 {
        let rank = random.below(9);
        let shape = random.shape(rank, 2000);
        let encoded = random.strided_slice(&shape);
        let mut dy = selected(&shape, &encoded).unwrap_or_default();
        if random.chance(5) {
            dy.push(1);
        }
        check_grad(&shape, &encoded, &dy);
    }
}

#[test]
fn random_gathers() {
    let mut random = Random(0x5eed_0002);
    for _ in 0..400 {
        let rank = 1 + random.below(5);
        let params = random.shape(rank, 4000);
        let batch_dims = if random.chance(30) {
            random.below(rank)
        } else {
            0
        };
        let depth = random.below(rank - batch_dims + 1);
        let lead = random.below(3);
        let mut indices_shape = params[..batch_dims].to_vec();
        indices_shape.extend((0..lead).map(|_| random.below(7)));
        indices_shape.push(depth);
        let tuples: usize = indices_shape[..indices_shape.len() - 1].iter().product();
        let mut indices = Vec::with_capacity(tuples * depth);
        for _ in 0..tuples {
            for dim in &params[batch_dims..batch_dims + depth] {
                indices.push(match random.below(30) {
                    0 => -1,
                    1 => *dim as i64,
                    2 => 1 << 32,
                    3 => i64::MIN,
                    _ => random.between(0, (*dim).max(1) as i64 - 1),
                });
            }
        }
        check_gather(&params, &indices, &indices_shape, batch_dims);
    }
}

/// Every begin, end and stride around a short axis: nothing is left to chance.
#[test]
fn every_range_of_a_short_axis() {
    for size in 0..4usize {
        let n = size as i64;
        for begin in -n - 2..=n + 2 {
            for end in -n - 2..=n + 2 {
                for stride in [-3, -2, -1, 1, 2, 3] {
                    for (begin_mask, end_mask) in [(0, 0), (1, 0), (0, 1)] {
                        let encoded = StridedSlice {
                            begin: vec![begin],
                            end: vec![end],
                            strides: vec![stride],
                            begin_mask,
                            end_mask,
                            ..StridedSlice::default()
                        };
                        crate::harness::check_slice_on_cpu(&[size], &encoded);
                    }
                }
            }
        }
    }
}

/// Every width that the shaders move or put together at once, and what falls short of it.
#[test]
fn rows_of_many_alignments() {
    let all = StridedSlice {
        begin: vec![0; 3],
        end: vec![0; 3],
        strides: vec![1; 3],
        begin_mask: 7,
        end_mask: 7,
        ..StridedSlice::default()
    };
    for shape in [[2, 3, 32], [2, 3, 64], [1, 4, 24], [2, 3, 66], [4, 4, 3]] {
        for (axis, stride) in [(2, -1), (2, 2), (2, -3), (1, -1), (1, 2)] {
            let mut strides = all.strides.clone();
            strides[axis] = stride;
            let encoded = StridedSlice {
                strides,
                ..all.clone()
            };
            check_slice(&shape, &encoded);
            // Begins and ends in the middle of units.
            let encoded = StridedSlice {
                begin: vec![0, 0, 1],
                end: vec![0, 0, -1],
                begin_mask: 3,
                end_mask: 3,
                ..encoded
            };
            check_slice(&shape, &encoded);
        }
    }
}
