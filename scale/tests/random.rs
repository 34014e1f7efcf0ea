//! Draws random numbers and slices, which are the same in every run.

/// A xorshift generator.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number from `low` to `high`, inclusive.
    pub(crate) fn within(&mut self, low: i64, high: i64) -> i64 {
        let count = u64::try_from(high - low).unwrap() + 1;
        low + i64::try_from((self.next() >> 16) % count).unwrap()
    }

    /// Returns the numbers below `count` in random order.
    pub(crate) fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, self.within(0, last as i64) as usize);
        }
        order
    }
}

/// A slice in Python's notation, and in TensorFlow's vectors and masks.
#[derive(Debug, Default)]
pub(crate) struct Slice {
    pub(crate) text: String,
    pub(crate) begin: Vec<i64>,
    pub(crate) end: Vec<i64>,
    pub(crate) strides: Vec<i64>,
    pub(crate) begin_mask: i32,
    pub(crate) end_mask: i32,
    pub(crate) ellipsis_mask: i32,
    pub(crate) new_axis_mask: i32,
    pub(crate) shrink_axis_mask: i32,
}

impl Slice {
    /// Makes a valid slice of an array of this shape. The slice can be empty.
    pub(crate) fn of(random: &mut Random, shape: &[usize]) -> Self {
        let mut slice = Self::default();
        let ellipsis_axis = random.within(0, 2 * shape.len() as i64) as usize;
        for (axis, &size) in shape.iter().enumerate() {
            if axis == ellipsis_axis {
                slice.add("...", (0, 0, 1), |slice, bit| slice.ellipsis_mask |= bit);
                let remaining_dims = shape.len() - axis;
                if random.within(0, 1) == 0 && remaining_dims > 1 {
                    slice.add_range(random, shape[shape.len() - 1]);
                }
                break;
            }
            match random.within(0, 9) {
                0 => slice.add("None", (0, 0, 1), |slice, bit| slice.new_axis_mask |= bit),
                1 if size > 0 => {
                    let index = random.within(-(size as i64), size as i64 - 1);
                    slice.add(&index.to_string(), (index, 0, 1), |slice, bit| {
                        slice.shrink_axis_mask |= bit
                    });
                    continue;
                }
                _ => {}
            }
            slice.add_range(random, size);
        }
        slice
    }

    /// Makes a slice that begins, in each dimension, where a chunk of this shape begins.
    pub(crate) fn aligned(random: &mut Random, shape: &[usize], chunk_shape: &[usize]) -> Self {
        let mut slice = Self::default();
        for (&size, &chunk_size) in shape.iter().zip(chunk_shape) {
            let begin = random.within(0, (size as i64 - 1) / chunk_size as i64) * chunk_size as i64;
            slice.add(&format!("{begin}:"), (begin, 0, 1), |slice, bit| {
                slice.end_mask |= bit;
            });
        }
        slice
    }

    fn add_range(&mut self, random: &mut Random, size: usize) {
        let size = size as i64;
        let stride = [1, 1, 2, 3, -1, -2][random.within(0, 5) as usize];
        let (begin, end) = (
            random.within(-size - 2, size + 2),
            random.within(-size - 2, size + 2),
        );
        let (has_begin, has_end) = (random.within(0, 1) == 0, random.within(0, 1) == 0);
        let text = |is_given: bool, bound: i64| {
            if is_given {
                bound.to_string()
            } else {
                String::new()
            }
        };
        let text = format!("{}:{}:{stride}", text(has_begin, begin), text(has_end, end));
        self.add(&text, (begin, end, stride), |slice, bit| {
            slice.begin_mask |= if has_begin { 0 } else { bit };
            slice.end_mask |= if has_end { 0 } else { bit };
        });
    }

    fn add(
        &mut self,
        text: &str,
        (begin, end, stride): (i64, i64, i64),
        set_mask_bit: impl FnOnce(&mut Self, i32),
    ) {
        if !self.text.is_empty() {
            self.text += ", ";
        }
        self.text += text;
        let bit = 1 << self.begin.len();
        self.begin.push(begin);
        self.end.push(end);
        self.strides.push(stride);
        set_mask_bit(self, bit);
    }

    /// Applies the library's naive reference to this slice. Returns the result's shape and values.
    pub(crate) fn naive<T: Clone>(&self, values: &[T], shape: &[usize]) -> (Vec<usize>, Vec<T>) {
        let spec = wgslice_vectors::reference::Spec {
            begin: &self.begin,
            end: &self.end,
            strides: &self.strides,
            begin_mask: self.begin_mask,
            end_mask: self.end_mask,
            ellipsis_mask: self.ellipsis_mask,
            new_axis_mask: self.new_axis_mask,
            shrink_axis_mask: self.shrink_axis_mask,
        };
        wgslice_vectors::reference::strided_slice(values, shape, &spec).unwrap()
    }
}
