//! Defines the timed calls of each crate.

use crate::{
    cases::{Strided, ViewMethod, Work, random_rows, values},
    clock::Clock,
};
use burn_backend::TensorData;
use burn_flex::{FlexTensor, Layout, ops::gather_scatter};
use candle_core::{Device, Storage, Tensor, WithDType};
use ndarray::{ArrayView2, ArrayViewD, ArrayViewMutD, Axis, IxDyn, ShapeBuilder, Zip};
use std::{mem::MaybeUninit, ops::AddAssign, rc::Rc, time::Duration};
use strided_view::{StridedView, StridedViewMut};
use threadteam::{Exec, Pool};
use wgslice::{
    Backend, Plan, Values, View,
    options::{GatherNdOptions, GatherOptions, ScatterOptions},
};

/// An element type that every crate supports.
pub trait Element:
    wgslice::Element + WithDType + burn_backend::Element + bytemuck::Pod + Default + AddAssign
{
    /// Returns the value of element `n` of a source.
    fn value(n: usize) -> Self;
}

impl Element for f32 {
    fn value(n: usize) -> Self {
        (n % 8191) as Self
    }
}

impl Element for f64 {
    fn value(n: usize) -> Self {
        (n % 8191) as Self
    }
}

impl Element for u8 {
    fn value(n: usize) -> Self {
        (n % 251) as Self
    }
}

/// A call that makes a new result. It passes the result to its argument, a function. It returns its time without the
/// time to free the result.
pub type New<'a, T> = Box<dyn FnMut(&mut dyn FnMut(&[T])) -> Duration + 'a>;
/// A call that writes to an existing result.
pub type Kept<'a, T> = Box<dyn FnMut(&mut [T]) + 'a>;

/// A crate's calls. `None` for a call that the crate does not have.
pub struct Peer<'a, T> {
    pub name: &'static str,
    pub new: Option<New<'a, T>>,
    pub kept: Option<Kept<'a, T>>,
}

/// The inputs of a case, for all peers, and its correct result.
pub struct Inputs<T> {
    /// The elements of the source.
    pub memory: Vec<T>,
    /// The row numbers or, for `GatherNd`, the integers of the index tuples.
    pub indices: Vec<usize>,
    /// The elements of the correct result.
    pub expected: Vec<T>,
}

impl<T: Element> Inputs<T> {
    pub fn of(work: &Work) -> Self {
        match work {
            Work::View(view) => {
                let memory = values(view.memory_len);
                let expected = view.select(&memory);
                Self {
                    memory,
                    indices: Vec::new(),
                    expected,
                }
            }
            &Work::Select([rows, width], count) => {
                let (memory, indices) = (values::<T>(rows * width), random_rows(count, rows));
                let rows = indices
                    .iter()
                    .map(|index| &memory[index * width..][..width]);
                let expected = rows.flatten().copied().collect();
                Self {
                    memory,
                    indices,
                    expected,
                }
            }
            Work::GatherNd(shape, depth, count) => {
                let memory = values::<T>(shape.iter().product());
                let (indexed_shape, slice_shape) = shape.split_at(*depth);
                let indices: Vec<usize> = (0..count * depth)
                    .map(|n| crate::cases::hash(n) % indexed_shape[n % depth])
                    .collect();
                let slice_len: usize = slice_shape.iter().product();
                let rows = indices.chunks(*depth).map(|indices| {
                    let indices = indices.iter().zip(indexed_shape);
                    let row = indices.fold(0, |row, (index, size)| row * size + index);
                    &memory[row * slice_len..][..slice_len]
                });
                let expected = rows.flatten().copied().collect();
                Self {
                    memory,
                    indices,
                    expected,
                }
            }
            &Work::Segments([rows, width], segments) => {
                let (memory, indices) = (values::<T>(rows * width), random_rows(rows, segments));
                let mut expected = vec![T::default(); segments * width];
                for (row, index) in memory.chunks(width).zip(&indices) {
                    let sums = &mut expected[index * width..][..width];
                    sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += *x);
                }
                Self {
                    memory,
                    indices,
                    expected,
                }
            }
        }
    }
}

/// Returns the calls of all crates that can do this work, wgslice's first.
pub fn all<'a, T: Element>(
    work: &'a Work,
    inputs: &'a Inputs<T>,
    threads: usize,
    pool: &'a Pool,
    clock: Clock,
) -> Vec<Peer<'a, T>> {
    let peers = [
        Some(with_wgslice(work, inputs, threads, clock)),
        with_ndarray(work, inputs, threads, clock),
        with_transpose(work, inputs, threads, clock),
        with_strided_perm(work, inputs, threads, pool, clock),
        with_candle(work, inputs, clock),
        with_burn(work, inputs, clock),
        with_loop(work, inputs, threads, clock),
    ];
    peers.into_iter().flatten().collect()
}

/// Returns a call that times `make`. `show` passes the result to the call's argument as a slice.
fn timed_call<'a, T, R>(
    clock: Clock,
    mut make: impl FnMut() -> R + 'a,
    show: impl Fn(&R, &mut dyn FnMut(&[T])) + 'a,
) -> Option<New<'a, T>> {
    Some(Box::new(move |check| {
        let (time, result) = clock.time(&mut make);
        show(&result, check);
        time
    }))
}

/// Returns the calls of a crate whose results are of type `Vec`.
fn vec_peer<'a, T: Element>(
    name: &'static str,
    clock: Clock,
    make: impl FnMut() -> Vec<T> + 'a,
    write: impl FnMut(&mut [T]) + 'a,
) -> Peer<'a, T> {
    let show = |result: &Vec<T>, check: &mut dyn FnMut(&[T])| check(result);
    Peer {
        name,
        new: timed_call(clock, make, show),
        kept: Some(Box::new(write)),
    }
}

fn with_wgslice<'a, T: Element>(
    work: &Work,
    inputs: &'a Inputs<T>,
    threads: usize,
    clock: Clock,
) -> Peer<'a, T> {
    let dtype = <T as wgslice::Element>::DTYPE;
    let plan = match work {
        Work::View(view) => {
            let strides = &view.strides;
            let view = View::from_strides(&view.shape, strides, view.offset, view.memory_len);
            view.and_then(|view| Plan::contiguous(&view, dtype))
        }
        &Work::Select(table, count) => {
            let options = GatherOptions {
                axis: Some(0),
                ..GatherOptions::default()
            };
            Plan::gather(&table, &[count], options, dtype)
        }
        Work::GatherNd(shape, depth, count) => {
            let options = GatherNdOptions::default();
            Plan::gather_nd(&shape[..], &[*count, *depth], options, dtype)
        }
        &Work::Segments([rows, width], segments) => {
            let (indices_shape, updates_shape) = ([rows, 1], [rows, width]);
            let options = ScatterOptions::default();
            Plan::scatter_nd(
                &[segments, width],
                &indices_shape,
                &updates_shape,
                options,
                dtype,
            )
        }
    };
    let plan = plan.expect("a plan of these shapes");
    let backend = Backend::cpu().with_threads(threads);
    let indices: Vec<i32> = inputs.indices.iter().map(|&index| index as i32).collect();
    let with_values = move |run: &mut dyn FnMut(&Backend, &Plan, &[Values<'_>])| {
        let values = [inputs.memory[..].into(), indices[..].into()];
        run(&backend, &plan, &values[..plan.inputs().len()]);
    };
    let with_values = Rc::new(with_values);
    let with_values_for_write = with_values.clone();
    let make = move || {
        let mut result = Vec::new();
        with_values(&mut |backend, plan, values| {
            result = backend.run::<T>(plan, values).expect("a result").0.data;
        });
        result
    };
    let write = move |out: &mut [T]| {
        with_values_for_write(&mut |backend, plan, values| {
            let outcome = backend.run_into(plan, values, out);
            outcome.expect("a result");
        });
    };
    vec_peer("wgslice", clock, make, write)
}

/// Returns the calls of ndarray. Its own calls use one thread. With several threads, a parallel `Zip` writes to an
/// existing result.
fn with_ndarray<'a, T: Element>(
    work: &'a Work,
    inputs: &'a Inputs<T>,
    threads: usize,
    clock: Clock,
) -> Option<Peer<'a, T>> {
    let memory = &inputs.memory;
    let is_one_thread = threads == 1;
    let (make, kept): (Option<New<'a, T>>, Option<Kept<'a, T>>) = match work {
        Work::View(view) => {
            let array = ndarray_view(view, memory);
            let array_for_write = array.clone();
            let make = move || array.as_standard_layout().into_owned();
            let show = |result: &ndarray::ArrayD<T>, check: &mut dyn FnMut(&[T])| {
                check(result.as_slice().expect("an array in order"));
            };
            let write = move |out: &mut [T]| {
                let shape = IxDyn(&view.shape);
                let mut out = ArrayViewMutD::from_shape(shape, out).expect("as long");
                match is_one_thread {
                    true => out.assign(&array_for_write),
                    false => Zip::from(&mut out)
                        .and(&array_for_write)
                        .par_for_each(|to, from| *to = *from),
                }
            };
            let timed = is_one_thread
                .then(|| timed_call(clock, make, show))
                .flatten();
            (timed, Some(Box::new(write)))
        }
        Work::Select(table, _) => {
            let table = ArrayView2::from_shape(*table, memory).expect("a table");
            let make = move || table.select(Axis(0), &inputs.indices);
            let show = |result: &ndarray::Array2<T>, check: &mut dyn FnMut(&[T])| {
                check(result.as_slice().expect("rows in order"));
            };
            (
                is_one_thread
                    .then(|| timed_call(clock, make, show))
                    .flatten(),
                None,
            )
        }
        Work::Segments([rows, width], segments) => {
            let (table, shape) = ([*rows, *width], [*segments, *width]);
            let table = ArrayView2::from_shape(table, memory).expect("a table");
            let make = move || {
                let mut sums = ndarray::Array2::<T>::default(shape);
                for (row, &index) in table.rows().into_iter().zip(&inputs.indices) {
                    let mut sum = sums.row_mut(index);
                    sum.zip_mut_with(&row, |sum, x| *sum += *x);
                }
                sums
            };
            let show = |result: &ndarray::Array2<T>, check: &mut dyn FnMut(&[T])| {
                check(result.as_slice().expect("rows in order"));
            };
            (
                is_one_thread
                    .then(|| timed_call(clock, make, show))
                    .flatten(),
                None,
            )
        }
        Work::GatherNd(..) => (None, None),
    };
    (make.is_some() || kept.is_some()).then_some(Peer {
        name: "ndarray",
        new: make,
        kept,
    })
}

/// Returns the view as an ndarray view. ndarray cannot create negative strides, but can reverse axes.
fn ndarray_view<'a, T>(view: &Strided, memory: &'a [T]) -> ArrayViewD<'a, T> {
    let axes = || view.shape.iter().zip(&view.strides).enumerate();
    let distances_back = axes().filter(|(_, (_, stride))| **stride < 0);
    let distances_back =
        distances_back.map(|(_, (size, stride))| stride * (size - 1).cast_signed());
    let lowest_offset = view.offset.wrapping_add_signed(distances_back.sum());
    let strides: Vec<usize> = axes()
        .map(|(_, (_, stride))| stride.unsigned_abs())
        .collect();
    let shape = IxDyn(&view.shape).strides(IxDyn(&strides));
    let mut array = ArrayViewD::from_shape(shape, &memory[lowest_offset..]).expect("a view");
    for (axis, _) in axes().filter(|(_, (_, stride))| **stride < 0) {
        array.invert_axis(Axis(axis));
    }
    array
}

/// Returns the calls of the crate `transpose`, which uses one thread and transposes only matrices.
fn with_transpose<'a, T: Element>(
    work: &'a Work,
    inputs: &'a Inputs<T>,
    threads: usize,
    clock: Clock,
) -> Option<Peer<'a, T>> {
    let Work::View(view) = work else { return None };
    let [_, rows, columns] = view.matrices().filter(|_| threads == 1)?;
    let write = move |out: &mut [T]| {
        let matrices = inputs.memory.chunks_exact(rows * columns);
        for (from, to) in matrices.zip(out.chunks_exact_mut(rows * columns)) {
            transpose::transpose(from, to, columns, rows);
        }
    };
    let make = move || {
        let mut result = vec![T::default(); inputs.memory.len()];
        write(&mut result);
        result
    };
    Some(vec_peer("transpose", clock, make, write))
}

fn with_strided_perm<'a, T: Element>(
    work: &'a Work,
    inputs: &'a Inputs<T>,
    threads: usize,
    pool: &'a Pool,
    clock: Clock,
) -> Option<Peer<'a, T>> {
    let Work::View(view) = work else { return None };
    let (shape, offset) = (&view.shape[..], view.offset.cast_signed());
    let source = StridedView::<T>::new(&inputs.memory, shape, &view.strides, offset);
    let source = source.expect("a view");
    let result_strides = strided_view::row_major_strides(shape);
    let source_and_strides = (source.clone(), result_strides.clone());
    let exec = move || match threads {
        1 => Exec::serial(),
        _ => Exec::new(pool, threads).expect("threads"),
    };
    let make = move || {
        let mut result: Box<[MaybeUninit<T>]> = Box::new_uninit_slice(view.len());
        let mut to = StridedViewMut::new(&mut result, shape, &result_strides, 0).expect("as long");
        let copied = strided_perm::copy_into_uninit(&mut to, &source, exec());
        copied.expect("views of one shape");
        // SAFETY: a call that returns without an error has written each element that the view describes, and the view
        // describes all elements of the slice.
        unsafe { result.assume_init() }
    };
    let write = move |out: &mut [T]| {
        let (source, result_strides) = &source_and_strides;
        let mut to = StridedViewMut::new(out, shape, result_strides, 0).expect("as long");
        let copied = strided_perm::copy_into(&mut to, source, exec());
        copied.expect("views of one shape");
    };
    Some(Peer {
        name: "strided-perm",
        new: timed_call(clock, make, |result: &Box<[T]>, check| check(result)),
        kept: Some(Box::new(write)),
    })
}

/// Returns the calls of candle, which makes a new result in each call.
fn with_candle<'a, T: Element>(
    work: &'a Work,
    inputs: &'a Inputs<T>,
    clock: Clock,
) -> Option<Peer<'a, T>> {
    let dense = |shape: &[usize]| {
        let result = Tensor::from_slice(&inputs.memory, shape, &Device::Cpu);
        result.expect("a tensor")
    };
    let indices = || {
        let indices: Vec<u32> = inputs.indices.iter().map(|&index| index as u32).collect();
        let count = indices.len();
        Tensor::from_vec(indices, count, &Device::Cpu).expect("indices")
    };
    let call: Box<dyn FnMut() -> candle_core::Result<Tensor> + 'a> = match work {
        Work::View(view) => match &view.method {
            ViewMethod::Axes(shape, axes) => {
                let x = dense(shape).permute(&axes[..]).expect("a permutation");
                Box::new(move || x.contiguous())
            }
            ViewMethod::Flip(shape, axes) => {
                let x = dense(shape);
                Box::new(move || x.flip(axes))
            }
            ViewMethod::Crop(shape, ranges) => {
                let narrow = |x: Tensor, (axis, range): (usize, &[usize; 2])| {
                    let size = range[1] - range[0];
                    x.narrow(axis, range[0], size).expect("a range")
                };
                let x = ranges.iter().enumerate().fold(dense(shape), narrow);
                Box::new(move || x.contiguous())
            }
            ViewMethod::Strides => return None,
        },
        Work::Select(table, _) => {
            let (x, indices) = (dense(table), indices());
            Box::new(move || x.index_select(&indices, 0))
        }
        Work::GatherNd(..) => return None,
        Work::Segments(table, segments) => {
            let (x, indices, shape) = (dense(table), indices(), (*segments, table[1]));
            Box::new(move || {
                let sums = Tensor::zeros(shape, <T as WithDType>::DTYPE, &Device::Cpu)?;
                sums.index_add(&indices, &x, 0)
            })
        }
    };
    let mut call = call;
    let make = move || call().expect("a result");
    let show = |result: &Tensor, check: &mut dyn FnMut(&[T])| {
        let (storage, layout) = result.storage_and_layout();
        assert!(layout.is_contiguous() && layout.start_offset() == 0);
        match &*storage {
            Storage::Cpu(values) => check(values.as_slice().expect("the same type")),
            _ => unreachable!("only the CPU was asked for"),
        }
    };
    Some(Peer {
        name: "candle",
        new: timed_call(clock, make, show),
        kept: None,
    })
}

/// Returns the calls of burn's CPU backend, which makes a new result in each call.
fn with_burn<'a, T: Element>(
    work: &'a Work,
    inputs: &'a Inputs<T>,
    clock: Clock,
) -> Option<Peer<'a, T>> {
    let dense = |shape: &[usize]| {
        let data = TensorData::new(inputs.memory.clone(), shape.to_vec());
        FlexTensor::from_data(data)
    };
    let indices = |shape: &[usize]| {
        let indices: Vec<i64> = inputs.indices.iter().map(|&index| index as i64).collect();
        FlexTensor::from_data(TensorData::new(indices, shape.to_vec()))
    };
    let call: Box<dyn FnMut() -> FlexTensor + 'a> = match work {
        Work::View(view) => {
            let x = dense(&[view.memory_len]);
            let (shape, strides) = (view.shape.clone().into(), view.strides.clone());
            let layout = Layout::new(shape, strides, view.offset);
            let x = FlexTensor::from_arc(x.data_arc(), layout, x.dtype());
            Box::new(move || x.to_contiguous())
        }
        Work::Select(table, count) => {
            let (x, indices) = (dense(table), indices(&[*count]));
            Box::new(move || gather_scatter::select::<T>(x.clone(), 0, indices.clone()))
        }
        Work::GatherNd(shape, depth, count) => {
            let (x, indices) = (dense(shape), indices(&[*count, *depth]));
            Box::new(move || gather_scatter::gather_nd::<T>(x.clone(), indices.clone()))
        }
        Work::Segments(table, segments) => {
            let (x, indices, shape) = (dense(table), indices(&[table[0]]), [*segments, table[1]]);
            Box::new(move || {
                let sums = FlexTensor::zeros(shape.to_vec().into(), x.dtype());
                gather_scatter::select_add::<T>(sums, 0, indices.clone(), x.clone())
            })
        }
    };
    let show = |result: &FlexTensor, check: &mut dyn FnMut(&[T])| check(result.storage());
    Some(Peer {
        name: "burn-flex",
        new: timed_call(clock, call, show),
        kept: None,
    })
}

/// Returns the calls of a plain loop, for work that takes only a line or two without a crate.
fn with_loop<'a, T: Element>(
    work: &'a Work,
    inputs: &'a Inputs<T>,
    threads: usize,
    clock: Clock,
) -> Option<Peer<'a, T>> {
    let (&[_, width], length) = match work {
        Work::Select(table, count) => (table, count * table[1]),
        Work::Segments(table, segments) => (table, segments * table[1]),
        _ => return None,
    };
    if threads > 1 {
        return None;
    }
    let adds = matches!(work, Work::Segments(..));
    let row_at = move |index: usize| &inputs.memory[index * width..][..width];
    let write = move |out: &mut [T]| match adds {
        true => {
            out.fill(T::default());
            for (row, index) in inputs.memory.chunks_exact(width).zip(&inputs.indices) {
                let sums = &mut out[index * width..][..width];
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += *x);
            }
        }
        false => {
            for (to, &index) in out.chunks_exact_mut(width).zip(&inputs.indices) {
                to.copy_from_slice(row_at(index));
            }
        }
    };
    let make = move || match adds {
        true => {
            let mut result = vec![T::default(); length];
            write(&mut result);
            result
        }
        false => {
            let mut result = Vec::with_capacity(length);
            for &index in &inputs.indices {
                result.extend_from_slice(row_at(index));
            }
            result
        }
    };
    Some(vec_peer("a loop", clock, make, write))
}
