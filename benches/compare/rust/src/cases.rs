//! Defines the timed cases: the workloads of `wgslice bench` that other crates can do, permutations from tensor
//! networks, and shapes for which other libraries were reported to be slow.

use crate::peers::Element;
use wgslice::{DType, View};

/// A view of dense memory.
#[derive(Clone, Debug)]
pub struct Strided {
    pub shape: Vec<usize>,
    /// The strides in elements. The offset is also in elements.
    pub strides: Vec<isize>,
    pub offset: usize,
    /// The size of the memory in elements.
    pub memory_len: usize,
    pub method: ViewMethod,
}

/// How a crate that lacks views with arbitrary strides makes the view.
#[derive(Clone, Debug)]
pub enum ViewMethod {
    /// Permutes the axes of a dense array of this shape into this order.
    Axes(Vec<usize>, Vec<usize>),
    /// Reverses these axes of a dense array of this shape.
    Flip(Vec<usize>, Vec<usize>),
    /// Takes these ranges of a dense array of this shape.
    Crop(Vec<usize>, Vec<[usize; 2]>),
    /// A crate that lacks such views cannot make this view.
    Strides,
}

#[derive(Clone, Debug)]
pub enum Work {
    View(Strided),
    /// Selects rows of an array of shape `[rows, width]`. The number is how many rows are selected.
    Select([usize; 2], usize),
    /// Gathers slices of an array of this shape. The numbers are the length of an index tuple and the number of tuples.
    GatherNd(Vec<usize>, usize, usize),
    /// Adds the rows of an array of shape `[rows, width]` to this number of sums, called segments.
    Segments([usize; 2], usize),
}

#[derive(Clone, Debug)]
pub struct Case {
    pub name: &'static str,
    pub dtype: DType,
    pub work: Work,
}

impl Strided {
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    fn from_view(view: &View, method: ViewMethod) -> Self {
        Self {
            shape: view.shape().to_vec(),
            strides: view.strides().to_vec(),
            offset: view.offset(),
            memory_len: view.source_shape().iter().product(),
            method,
        }
    }

    /// Returns the number of matrices that are transposed, and the rows and columns of each. `None` if the view is not
    /// a transpose of matrices.
    pub fn matrices(&self) -> Option<[usize; 3]> {
        let ViewMethod::Axes(shape, axes) = &self.method else {
            return None;
        };
        // Axes that stay neighbours are joined into one axis.
        let mut joined_axes: Vec<(usize, usize)> = Vec::new();
        let mut last = usize::MAX;
        for &axis in axes {
            match joined_axes.last_mut() {
                Some((_, size)) if axis == last.wrapping_add(1) => *size *= shape[axis],
                _ => joined_axes.push((axis, shape[axis])),
            }
            last = axis;
        }
        match joined_axes[..] {
            [(b, columns), (a, rows)] if a < b => Some([1, rows, columns]),
            [(0, count), (b, columns), (a, rows)] if a < b => Some([count, rows, columns]),
            _ => None,
        }
    }

    /// Returns the elements that the view selects, by a plain loop over all positions.
    pub fn select<T: Copy>(&self, memory: &[T]) -> Vec<T> {
        let mut elements = Vec::with_capacity(self.len());
        let mut position = vec![0; self.shape.len()];
        let mut at = self.offset;
        loop {
            elements.push(memory[at]);
            let mut axis = self.shape.len();
            loop {
                if axis == 0 {
                    return elements;
                }
                axis -= 1;
                position[axis] += 1;
                at = at.wrapping_add_signed(self.strides[axis]);
                if position[axis] < self.shape[axis] {
                    break;
                }
                let distance_back = self.strides[axis] * self.shape[axis].cast_signed();
                at = at.wrapping_add_signed(-distance_back);
                position[axis] = 0;
            }
        }
    }
}

/// Returns a pseudo-random number for `n`.
pub fn hash(n: usize) -> usize {
    let n = (n as u32).wrapping_add(1).wrapping_mul(0x9e37_79b1);
    let n = (n ^ (n >> 16)).wrapping_mul(0x7feb_352d);
    (n ^ (n >> 15)) as usize
}

/// Returns pseudo-random row numbers less than `below`.
pub fn random_rows(count: usize, below: usize) -> Vec<usize> {
    (0..count).map(|n| hash(n) % below).collect()
}

/// Returns the elements of a source of `count` elements.
pub fn values<T: Element>(count: usize) -> Vec<T> {
    (0..count).map(T::value).collect()
}

fn sliced(shape: &[usize], spec: &str) -> View {
    let view = View::new(shape).and_then(|view| view.slice(&spec.parse()?));
    view.expect("a slice of this shape")
}

fn permuted(shape: &[usize], axes: &[usize]) -> Work {
    let view = View::new(shape).and_then(|view| view.transpose(axes));
    let method = ViewMethod::Axes(shape.to_vec(), axes.to_vec());
    Work::View(Strided::from_view(&view.expect("a permutation"), method))
}

/// Returns a permutation of an array in Fortran order, as the equal permutation of the reversed shape in C order.
fn fortran_permuted(shape: &[usize], axes: &[usize]) -> Work {
    let last = shape.len() - 1;
    let shape: Vec<usize> = shape.iter().rev().copied().collect();
    let axes: Vec<usize> = axes.iter().rev().map(|axis| last - axis).collect();
    permuted(&shape, &axes)
}

fn reversed_axes(rank: usize) -> Vec<usize> {
    (0..rank).rev().collect()
}

/// Returns all cases, in the order of the tables.
pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name, dtype, work| cases.push(Case { name, dtype, work });
    let view = |shape: &[usize], spec| {
        Work::View(Strided::from_view(
            &sliced(shape, spec),
            ViewMethod::Strides,
        ))
    };
    let flip = |shape: &[usize], spec, axes: &[usize]| {
        let method = ViewMethod::Flip(shape.to_vec(), axes.to_vec());
        Work::View(Strided::from_view(&sliced(shape, spec), method))
    };
    let (f32, f64, u8) = (DType::F32, DType::F64, DType::U8);

    let shape = [64, 256, 256, 16];
    let ranges = vec![[8, 56], [32, 224], [32, 224], [0, 16]];
    let crop = sliced(&shape, "8:56, 32:224, 32:224");
    let crop = Strided::from_view(&crop, ViewMethod::Crop(shape.to_vec(), ranges));
    add("W1, crop of four dimensions", f32, Work::View(crop));
    let reversed = flip(&[4096, 4096], ":, ::-1", &[1]);
    add("W2, last axis reversed", f32, reversed);
    let every_second = view(&[16, 1024, 1024], ":, ::2, ::2");
    add("W3, every second of two axes", f32, every_second);
    add("W4, every third row", f32, view(&[8192, 2048], "::3"));
    let rows = view(&[2_000_000, 4], "::-2, 1:3");
    add("W5, rows of two, reversed", f32, rows);
    let pixels = view(&[64, 512, 512, 3], ":, 16:496, 495:15:-1");
    add("W6, pixels cropped and flipped", u8, pixels);
    let rows = Work::Select([200_000, 128], 100_000);
    add("W7, rows of an embedding", f32, rows);
    let scalars = Work::GatherNd(vec![2048, 2048], 2, 2_000_000);
    add("W8, scalars at pairs of indices", f32, scalars);
    let blocks = Work::GatherNd(vec![64, 64, 32, 32], 2, 20_000);
    add("W9, blocks at pairs of indices", f32, blocks);
    let tiny = view(&[32, 32], "4:20, ::2");
    add("W11, a slice of 16 x 16: latency", f32, tiny);
    let transpose = permuted(&[4096, 4096], &[1, 0]);
    add("W12, transpose of 4096 x 4096", f32, transpose);
    let planes = permuted(&[64, 512, 512, 3], &[0, 3, 1, 2]);
    add("W13, pixels to planes", u8, planes);
    let heads = permuted(&[16, 64, 512, 64], &[0, 2, 1, 3]);
    add("W14, heads of attention swapped", f32, heads);

    let rotated = [5, 0, 4, 1, 3, 2];
    let axes_with_six_moved: Vec<usize> =
        [0, 1, 2, 3, 22, 4, 23].into_iter().chain(5..22).collect();
    for dtype in [f64, f32] {
        for size in [256, 1024, 2048] {
            let name = match size {
                256 => "2-D, 256 x 256, [1,0]",
                1024 => "2-D, 1024 x 1024, [1,0]",
                _ => "2-D, 2048 x 2048, [1,0]",
            };
            add(name, dtype, fortran_permuted(&[size; 2], &[1, 0]));
        }
        add(
            "3-D, 256^3, [2,0,1]",
            dtype,
            fortran_permuted(&[256; 3], &[2, 0, 1]),
        );
        add(
            "3-D, 256^3, [1,0,2]",
            dtype,
            fortran_permuted(&[256; 3], &[1, 0, 2]),
        );
        let work = fortran_permuted(&[64; 4], &[3, 1, 0, 2]);
        add("4-D, 64^4, [3,1,0,2]", dtype, work);
        let work = fortran_permuted(&[24; 5], &[4, 2, 0, 3, 1]);
        add("5-D, 24^5, [4,2,0,3,1]", dtype, work);
        let work = fortran_permuted(&[16, 16, 16, 16, 16, 8], &rotated);
        add("6-D, 16^5 x 8, [5,0,4,1,3,2]", dtype, work);
        let work = fortran_permuted(&[2; 13], &reversed_axes(13));
        add("13-D of 2, reversed", dtype, work);
        let work = fortran_permuted(&[3; 15], &reversed_axes(15));
        add("15-D of 3, reversed", dtype, work);
        let work = fortran_permuted(&[2; 20], &reversed_axes(20));
        add("20-D of 2, reversed", dtype, work);
        let work = fortran_permuted(&[2; 23], &reversed_axes(23));
        add("23-D of 2, reversed", dtype, work);
        add(
            "24-D of 2, six moved",
            dtype,
            fortran_permuted(&[2; 24], &axes_with_six_moved),
        );
        let alternating_axes: Vec<usize> = (0..12).flat_map(|n| [n, 23 - n]).collect();
        let work = fortran_permuted(&[2; 24], &alternating_axes);
        add("24-D of 2, first and last in turn", dtype, work);
        // Each element of a result row comes from a different page of memory.
        let work = fortran_permuted(&[512, 64, 512], &[1, 2, 0]);
        add("3-D, strides of whole pages", dtype, work);
    }

    let rows = Work::Select([1024, 1024], 512);
    add("512 of 1,024 rows of 4 KiB", f32, rows);
    let sums = Work::Segments([12_123, 1024], 512);
    add("sums of f32[12123,1024] in 512 segments", f32, sums);
    let batched = permuted(&[8, 2048, 256], &[0, 2, 1]);
    add("transposes of [8,2048,256]", f32, batched);
    let rows = flip(&[2048, 2048], "::-1", &[0]);
    add("flip of rows, [2048,2048]", f32, rows);
    let columns = flip(&[2048, 2048], ":, ::-1", &[1]);
    add("flip of columns, [2048,2048]", f32, columns);
    let both = flip(&[2048, 2048], "::-1, ::-1", &[0, 1]);
    add("flip of both, [2048,2048]", f32, both);
    for (name, shape) in [
        ("Fortran to C, [4000,2000]", &[4000, 2000][..]),
        ("Fortran to C, [200,200,200]", &[200; 3]),
        ("Fortran to C, [50,60,40,60]", &[50, 60, 40, 60]),
        ("Fortran to C, [14]^6", &[14; 6]),
    ] {
        add(name, f64, permuted(shape, &reversed_axes(shape.len())));
    }
    cases
}
