//! Gathers on every device, against a naive computation on the array that params select.

use super::{Device, SIZES, assert_same, devices, elements, kind, to_bytes};
use std::borrow::Cow;
use wgslice::{
    DType, Error, Gather, GatherError, GatherNd, Indices, Negative, OutOfRange, Plan, Report,
    SliceSpec, TensorView, View, reference,
};

/// Which gather, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) enum How {
    GatherNd(GatherNd),
    Gather(Gather),
}

/// A step on the way from an array to the params that are gathered from.
#[derive(Clone, Debug)]
pub(crate) enum Select {
    Slice(SliceSpec),
    Transpose(Vec<usize>),
    Broadcast(Vec<usize>),
}

impl Select {
    pub(crate) fn of_view(&self, view: &View) -> Result<View, Error> {
        match self {
            Self::Slice(spec) => view.strided_slice(spec),
            Self::Transpose(permutation) => view.transpose(permutation),
            Self::Broadcast(shape) => view.broadcast_to(shape),
        }
    }

    pub(crate) fn of_tensor(&self, view: &TensorView) -> Result<TensorView, Error> {
        match self {
            Self::Slice(spec) => view.strided_slice(spec),
            Self::Transpose(permutation) => view.transpose(permutation),
            Self::Broadcast(shape) => view.broadcast_to(shape),
        }
    }
}

impl How {
    fn plan(&self, view: &View, indices: &[usize], dtype: DType) -> Result<Plan, Error> {
        match *self {
            Self::GatherNd(options) => view.gather_nd(indices, options, dtype),
            Self::Gather(options) => view.gather(indices, options, dtype),
        }
    }

    fn out_of_range(&self) -> OutOfRange {
        match self {
            Self::GatherNd(options) => options.out_of_range,
            Self::Gather(options) => options.out_of_range,
        }
    }

    fn negative(&self) -> Negative {
        match self {
            Self::GatherNd(options) => options.negative,
            Self::Gather(options) => options.negative,
        }
    }

    /// The same under other policies.
    fn under(self, out_of_range: OutOfRange, negative: Negative) -> Self {
        match self {
            Self::GatherNd(options) => Self::GatherNd(GatherNd {
                out_of_range,
                negative,
                ..options
            }),
            Self::Gather(options) => Self::Gather(Gather {
                out_of_range,
                negative,
                ..options
            }),
        }
    }
}

/// What must come out.
struct Expected {
    shape: Vec<usize>,
    values: Vec<u128>,
    /// The tuples that are out of range, by number.
    bad: Vec<usize>,
}

/// The position that an index means, if it means one.
fn position(index: i64, size: usize, how: &How) -> Option<usize> {
    let mut index = i128::from(index);
    let size = size as i128;
    if how.negative() == Negative::Wrap && index < 0 {
        index += size;
    }
    if how.out_of_range() == OutOfRange::Clamp && size > 0 {
        index = index.clamp(0, size - 1);
    }
    usize::try_from(index).ok().filter(|_| index < size)
}

fn flat(coordinates: &[usize], shape: &[usize]) -> usize {
    let places = coordinates.iter().zip(shape);
    places.fold(0, |at, (c, size)| at * size + c)
}

fn coordinates(mut at: usize, shape: &[usize]) -> Vec<usize> {
    let mut coordinates = vec![0; shape.len()];
    for (c, size) in coordinates.iter_mut().zip(shape).rev() {
        *c = at % size;
        at /= size;
    }
    coordinates
}

/// The naive gather: element by element, each by its coordinates. The shapes fit.
fn naive(
    params: &[u128],
    shape: &[usize],
    indices: &[i64],
    indices_shape: &[usize],
    how: &How,
) -> Expected {
    // The batch, the dimensions in front of what is indexed, the tuples' own, the slice.
    let (batch, axis, depth, tuple_dims) = match how {
        How::GatherNd(options) => {
            let (&depth, tuples) = indices_shape.split_last().unwrap();
            (options.batch_dims, options.batch_dims, depth, tuples.len())
        }
        How::Gather(options) => {
            let from_end = |n: isize, rank: usize| {
                if n < 0 {
                    rank.wrapping_add_signed(n)
                } else {
                    n.unsigned_abs()
                }
            };
            let axis = from_end(options.axis.unwrap_or(options.batch_dims), shape.len());
            let batch = from_end(options.batch_dims, indices_shape.len());
            (batch, axis, 1, indices_shape.len())
        }
    };
    let own = &indices_shape[batch..tuple_dims];
    let result = [&shape[..axis], own, &shape[axis + depth..]].concat();
    let count: usize = result.iter().product();
    let mut values = Vec::with_capacity(count);
    let mut bad = Vec::new();
    for at in 0..count {
        let at = coordinates(at, &result);
        let (front, rest) = at.split_at(axis);
        let (own, slice) = rest.split_at(own.len());
        let tuple = [&front[..batch], own].concat();
        let number = flat(&tuple, &indices_shape[..tuple_dims]);
        let tuple = &indices[number * depth..][..depth];
        let sizes = &shape[axis..][..depth];
        let indexed: Option<Vec<usize>> = tuple
            .iter()
            .zip(sizes)
            .map(|(&index, &size)| position(index, size, how))
            .collect();
        values.push(match indexed {
            Some(indexed) => params[flat(&[front, &indexed, slice].concat(), shape)],
            None => {
                bad.push(number);
                0
            }
        });
    }
    bad.sort_unstable();
    bad.dedup();
    Expected {
        shape: result,
        values,
        bad,
    }
}

/// The elements that a view selects.
fn selected(view: &View, source: &[u128]) -> Vec<u128> {
    let count = view.shape().iter().product();
    let place = |at| {
        let steps = coordinates(at, view.shape());
        let steps = steps.iter().zip(view.strides());
        let moved: isize = steps.map(|(&c, &stride)| c as isize * stride).sum();
        source[view.offset().checked_add_signed(moved).unwrap()]
    };
    (0..count).map(place).collect()
}

/// Indices of one type.
#[derive(Debug)]
pub(super) enum Typed {
    I32(Vec<i32>),
    I64(Vec<i64>),
    U32(Vec<u32>),
}

impl Typed {
    /// The indices in every type that holds them.
    fn all(indices: &[i64]) -> Vec<Self> {
        fn each<T: TryFrom<i64>>(indices: &[i64]) -> Option<Vec<T>> {
            indices.iter().map(|&i| T::try_from(i).ok()).collect()
        }
        let all = [
            Some(Self::I64(indices.to_vec())),
            each(indices).map(Self::I32),
            each(indices).map(Self::U32),
        ];
        all.into_iter().flatten().collect()
    }

    fn get(&self) -> Indices<'_> {
        match self {
            Self::I32(indices) => Indices::I32(indices),
            Self::I64(indices) => Indices::I64(indices),
            Self::U32(indices) => Indices::U32(indices),
        }
    }
}

impl Device {
    /// Runs a gather on bytes.
    fn gather(
        &self,
        (dtype, shape, source): (DType, &[usize], &[u8]),
        selection: &[Select],
        (indices, indices_shape): (&Typed, &[usize]),
        how: &How,
    ) -> Result<(Vec<u8>, Report), Error> {
        if self.by_tensors {
            let mut params = self.backend.adopt(dtype, shape, source.to_vec())?.view();
            for select in selection {
                params = select.of_tensor(&params)?;
            }
            let indices = match indices {
                Typed::I32(indices) => self.backend.upload(indices, indices_shape)?,
                Typed::I64(indices) => self.backend.upload(indices, indices_shape)?,
                Typed::U32(indices) => self.backend.upload(indices, indices_shape)?,
            };
            let gathered = match *how {
                How::GatherNd(options) => params.gather_nd(&indices, options)?,
                How::Gather(options) => params.gather(&indices, options)?,
            };
            return Ok((gathered.tensor.bytes()?.into_owned(), gathered.report()?));
        }
        let plan = how.plan(&view(shape, selection), indices_shape, dtype)?;
        let (bytes, report) = self.run(&plan, source, Some(indices.get()))?;
        Ok((bytes, report.expect("a gather reports")))
    }
}

fn view(shape: &[usize], selection: &[Select]) -> View {
    let whole = View::of(shape).unwrap();
    let select = |view: View, select: &Select| select.of_view(&view).unwrap();
    selection.iter().fold(whole, select)
}

/// gather_nd, on every device at every element size, with i64 and, where they fit, i32 indices, against
/// the reference.
#[track_caller]
pub(crate) fn check_gather(
    params: &[usize],
    indices: &[i64],
    indices_shape: &[usize],
    batch_dims: usize,
) {
    check_gather_on(devices(), params, indices, indices_shape, batch_dims);
}

/// [`check_gather`] on the CPU path.
#[track_caller]
pub(crate) fn check_gather_on_cpu(
    params: &[usize],
    indices: &[i64],
    indices_shape: &[usize],
    batch_dims: usize,
) {
    check_gather_on(&devices()[..1], params, indices, indices_shape, batch_dims);
}

#[track_caller]
fn check_gather_on(
    devices: &[Device],
    params_shape: &[usize],
    indices: &[i64],
    indices_shape: &[usize],
    batch_dims: usize,
) {
    let how = How::GatherNd(GatherNd {
        batch_dims,
        ..GatherNd::default()
    });
    let params = elements(params_shape.iter().product());
    let expected = reference::gather_nd(
        &params,
        params_shape,
        indices,
        indices_shape,
        batch_dims,
        reference::Indexing::default(),
    );
    let expected = match expected {
        Ok(gathered) => Expected {
            shape: gathered.shape,
            values: gathered.values,
            bad: gathered.bad_rows,
        },
        Err(expected) => {
            let planned = how.plan(&view(params_shape, &[]), indices_shape, DType::U8);
            let error = planned.unwrap_err();
            assert_eq!(
                kind(&error),
                expected.kind,
                "{params_shape:?} {indices_shape:?}"
            );
            return;
        }
    };
    let case = Case {
        source: &params,
        shape: params_shape,
        selection: &[],
        indices,
        indices_shape,
        how,
    };
    let mut typed = Typed::all(indices);
    typed.retain(|typed| !matches!(typed, Typed::U32(_)));
    case.check(devices, &SIZES, &typed, &expected);
}

/// A gather that fits, from what is selected of an array of this shape, on every device, against the naive
/// computation. Its element size and index type depend on `number`: every shader takes a while to compile,
/// so that cases take turns.
#[track_caller]
pub(crate) fn check_gathering(
    number: usize,
    (shape, selection): (&[usize], &[Select]),
    (indices, indices_shape): (&[i64], &[usize]),
    how: How,
) {
    let source = elements(shape.iter().product());
    let params = view(shape, selection);
    let values = selected(&params, &source);
    let expected = naive(&values, params.shape(), indices, indices_shape, &how);
    let case = Case {
        source: &source,
        shape,
        selection,
        indices,
        indices_shape,
        how,
    };
    let mut typed = Typed::all(indices);
    let typed = [typed.swap_remove(number / SIZES.len() % typed.len())];
    case.check(devices(), &[SIZES[number % SIZES.len()]], &typed, &expected);
}

/// [`check_gathering`] under every policy.
#[track_caller]
pub(crate) fn check_policies(
    number: usize,
    params: (&[usize], &[Select]),
    indices: (&[i64], &[usize]),
    how: How,
) {
    for out_of_range in [OutOfRange::Zero, OutOfRange::Error, OutOfRange::Clamp] {
        for negative in [Negative::OutOfRange, Negative::Wrap] {
            check_gathering(number, params, indices, how.under(out_of_range, negative));
        }
    }
}

#[derive(Debug)]
struct Case<'a> {
    source: &'a [u128],
    shape: &'a [usize],
    selection: &'a [Select],
    indices: &'a [i64],
    indices_shape: &'a [usize],
    how: How,
}

impl Case<'_> {
    #[track_caller]
    fn check(&self, devices: &[Device], dtypes: &[DType], typed: &[Typed], expected: &Expected) {
        for &dtype in dtypes {
            let params = view(self.shape, self.selection);
            let plan = self.how.plan(&params, self.indices_shape, dtype);
            let plan = plan.unwrap_or_else(|error| panic!("{}: {error}", self.name()));
            assert_eq!(plan.shape(), expected.shape, "{}", self.name());
            let values = to_bytes(&expected.values, dtype.size());
            let source = to_bytes(self.source, dtype.size());
            for indices in typed {
                let takes = |device: &&Device| device.takes(source.len(), values.len());
                for device in devices.iter().filter(takes) {
                    let name = &device.name;
                    let what = || format!("{name}: {}: {indices:?}: {plan}", self.name());
                    let found = device.gather(
                        (dtype, self.shape, &source),
                        self.selection,
                        (indices, self.indices_shape),
                        &self.how,
                    );
                    let errs = self.how.out_of_range() == OutOfRange::Error;
                    match found {
                        Ok((got, report)) => {
                            assert!(!errs || expected.bad.is_empty(), "{}", what());
                            assert_same(&values, &got, dtype.size(), &what);
                            self.check_report(&expected.bad, &report, &what);
                        }
                        Err(Error::Gather(GatherError::OutOfRange {
                            first,
                            bad,
                            rows,
                            params,
                        })) if errs => {
                            let first = Some(first);
                            let report = Found {
                                first,
                                bad,
                                rows,
                                params,
                            };
                            report.check(self, &expected.bad, &what);
                        }
                        Err(error) => panic!("{}: {error}", what()),
                    }
                }
            }
        }
    }

    fn name(&self) -> Cow<'static, str> {
        let Self {
            shape,
            selection,
            indices,
            indices_shape,
            how,
            ..
        } = self;
        format!("{shape:?} {selection:?} {indices_shape:?} {indices:?} {how:?}").into()
    }

    #[track_caller]
    fn check_report(&self, bad: &[usize], report: &Report, what: &dyn Fn() -> String) {
        let found = Found {
            first: report.first.clone(),
            bad: report.bad,
            rows: report.rows,
            params: report.params.clone(),
        };
        found.check(self, bad, what);
    }
}

/// What a report or an error says.
struct Found {
    first: Option<wgslice::BadRow>,
    bad: usize,
    rows: usize,
    params: Vec<usize>,
}

impl Found {
    #[track_caller]
    fn check(self, case: &Case<'_>, bad: &[usize], what: &dyn Fn() -> String) {
        let depth = match case.how {
            How::GatherNd(_) => case.indices_shape.last().copied(),
            How::Gather(_) => None,
        };
        let tuples = match depth {
            Some(_) => &case.indices_shape[..case.indices_shape.len() - 1],
            None => case.indices_shape,
        };
        let depth = depth.unwrap_or(1);
        assert_eq!(self.bad, bad.len(), "{}", what());
        assert_eq!(
            self.params,
            view(case.shape, case.selection).shape(),
            "{}",
            what()
        );
        let first = bad.first().map(|&row| wgslice::BadRow {
            row,
            position: coordinates(row, tuples),
            index: case.indices[row * depth..][..depth].to_vec(),
        });
        assert_eq!(self.first, first, "{}", what());
        assert!(
            self.rows == 0 || self.rows == tuples.iter().product::<usize>(),
            "{}",
            what()
        );
    }
}
