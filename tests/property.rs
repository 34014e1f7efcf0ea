//! Random cases: naive reference, CPU path and every GPU give the same bits.
//!
//! The generator is seeded, so a failure is the same on every run; it prints the case.

use crate::harness::{
    How, ScatterCase, Select, check_gather, check_gathering, check_grad, check_scatter,
    check_slice, check_update,
};
use wgslice::{
    Combine, Gather, GatherNd, Negative, Order, OutOfRange, Scatter, SliceSpec, StridedSlice, View,
};

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
fn random_scatters() {
    let mut random = Random(0x5eed_0005);
    for _ in 0..250 {
        let rank = 1 + random.below(4);
        let shape = random.shape(rank, 1500);
        let depth = 1 + random.below(rank);
        let lead = 1 + random.below(2);
        let mut indices_shape: Vec<usize> = (0..lead).map(|_| random.below(12)).collect();
        let mut updates_shape = [&indices_shape, &shape[depth..]].concat();
        indices_shape.push(depth);
        if random.chance(5) {
            updates_shape.push(2);
        }
        let tuples: usize = indices_shape[..lead].iter().product();
        let mut indices = Vec::with_capacity(tuples * depth);
        for _ in 0..tuples {
            for &dim in &shape[..depth] {
                let size = dim as i64;
                indices.push(match random.below(40) {
                    0 => -size - 1,
                    1 => size,
                    2 => 1 << 32,
                    3 => i64::MIN,
                    4 => -1,
                    // Few places, so that many rows meet.
                    _ => random.between(0, size.clamp(1, 4) - 1),
                });
            }
        }
        let options = Scatter {
            combine: [Combine::Add, Combine::Update][random.below(2)],
            out_of_range: [OutOfRange::Zero, OutOfRange::Error, OutOfRange::Clamp][random.below(3)],
            negative: [Negative::OutOfRange, Negative::Wrap][random.below(2)],
            order: [Order::Deterministic, Order::Fast][random.below(2)],
        };
        check_scatter(ScatterCase {
            shape: &shape,
            fresh: random.chance(50),
            indices: &indices,
            indices_shape: &indices_shape,
            updates_shape: &updates_shape,
            options,
        });
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

impl Random {
    /// A way from an array of this shape to params of some, and their shape.
    fn selection(&mut self, shape: &[usize]) -> (Vec<Select>, Vec<usize>) {
        let mut view = View::of(shape).unwrap();
        let mut selection = Vec::new();
        for _ in 0..self.below(4) {
            let rank = view.shape().len();
            let select = match self.below(3) {
                0 => {
                    let mut permutation: Vec<usize> = (0..rank).collect();
                    for d in 1..rank {
                        permutation.swap(d, self.below(d + 1));
                    }
                    Select::Transpose(permutation)
                }
                1 => {
                    let mut to = view.shape().to_vec();
                    for size in to.iter_mut().filter(|size| **size == 1) {
                        *size += self.below(4);
                    }
                    if rank < 4 && self.chance(50) {
                        to.insert(0, 1 + self.below(3));
                    }
                    Select::Broadcast(to)
                }
                _ => {
                    let parts = view.shape().iter().map(|&size| {
                        let n = size as i64;
                        match self.below(5) {
                            0 => ":".into(),
                            1 => "::-1".into(),
                            2 => "::2".into(),
                            3 => format!("{}::-{}", self.between(-n, n), 1 + self.below(3)),
                            _ => format!("{}:", self.between(0, 1)),
                        }
                    });
                    let parts: Vec<String> = parts.collect();
                    let spec: SliceSpec = parts.join(", ").parse().unwrap();
                    Select::Slice(spec)
                }
            };
            view = select.of_view(&view).unwrap();
            selection.push(select);
        }
        (selection, view.shape().to_vec())
    }

    fn index(&mut self, size: usize) -> i64 {
        let n = size as i64;
        match self.below(40) {
            0 => n,
            1 => self.between(-2 * n - 1, 2 * n + 1),
            2 => (1 << 32) + self.between(0, n),
            3 => [i64::MIN, i64::MAX, -1 << 32][self.below(3)],
            4 => -1,
            _ => self.between(0, n.max(1) - 1),
        }
    }

    fn policies(&mut self) -> (OutOfRange, Negative) {
        let out_of_range = [OutOfRange::Zero, OutOfRange::Error, OutOfRange::Clamp];
        let negative = [Negative::OutOfRange, Negative::Wrap];
        (out_of_range[self.below(3)], negative[self.below(2)])
    }

    /// Indices, all of them possible in any type half of the time.
    fn indices(&mut self, sizes: &[usize], tuples: usize) -> Vec<i64> {
        let small = self.chance(50);
        let indices = (0..tuples).flat_map(|_| sizes.to_vec());
        indices
            .collect::<Vec<_>>()
            .into_iter()
            .map(|size| match small {
                true => self.below(size + 1) as i64,
                false => self.index(size),
            })
            .collect()
    }
}

/// gather_nd and gather, of any view, under any policy, at some element size.
#[test]
fn random_gathers_of_views() {
    let mut random = Random(0x5eed_0003);
    let mut gathered = [0; 2];
    while gathered.iter().sum::<usize>() < 400 {
        let rank = 1 + random.below(5);
        let shape = random.shape(rank, 3000);
        let (selection, params) = random.selection(&shape);
        let rank = params.len();
        let (out_of_range, negative) = random.policies();
        let lead: Vec<usize> = (0..random.below(3)).map(|_| random.below(6)).collect();
        let (how, indices, indices_shape) = if random.chance(50) {
            let batch_dims = if random.chance(40) {
                random.below(rank)
            } else {
                0
            };
            let depth = random.below(rank - batch_dims + 1);
            let tuples = [&params[..batch_dims], &lead[..]].concat();
            let count = tuples.iter().product();
            if count > 0 && params.contains(&0) {
                continue; // An error, which has tests of its own.
            }
            let sizes = &params[batch_dims..][..depth];
            let indices = random.indices(sizes, count);
            let options = GatherNd {
                batch_dims,
                out_of_range,
                negative,
            };
            gathered[0] += 1;
            (
                How::GatherNd(options),
                indices,
                [&tuples[..], &[depth]].concat(),
            )
        } else {
            let axis = random.below(rank);
            let batch_dims = if random.chance(40) {
                random.below(axis + 1)
            } else {
                0
            };
            let indices_shape = [&params[..batch_dims], &lead[..]].concat();
            let indices = random.indices(&params[axis..=axis], indices_shape.iter().product());
            let from_end = |random: &mut Random, number: usize, rank: usize| match random.chance(30)
            {
                true if rank > 0 && number < rank => number as isize - rank as isize,
                _ => number as isize,
            };
            let options = Gather {
                axis: Some(from_end(&mut random, axis, rank)),
                batch_dims: from_end(&mut random, batch_dims, indices_shape.len()),
                out_of_range,
                negative,
            };
            gathered[1] += 1;
            (How::Gather(options), indices, indices_shape)
        };
        let result = params
            .iter()
            .chain(&indices_shape)
            .filter(|&&n| n > 0)
            .product::<usize>();
        if result > 200_000 {
            continue;
        }
        let params = (&shape[..], &selection[..]);
        check_gathering(random.below(15), params, (&indices, &indices_shape), how);
    }
    assert!(gathered.iter().all(|&count| count > 120), "{gathered:?}");
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
