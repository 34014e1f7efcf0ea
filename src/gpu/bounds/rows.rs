//! Where the rows of a dispatch may begin, computed from the words of its row map: items 4, 5 and 7 of the contract.

use super::{Access, Hull, Refusal, require};
use crate::gpu::{kernels::Dispatch, maps::Op};

/// Where the rows of a dispatch may begin in the source, and which of their units are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Starts {
    /// Where rows may begin in the source, in units relative to `source_base`. `None` if no row has a source.
    pub(super) from: Option<Hull>,
    /// The number of units of a row that have a source, and the distance in units between them in the source.
    pub(super) of_row: (i128, i128),
    /// The number of bound units of the source, beyond which some shaders skip units. `None` if the row map does not
    /// hold this number.
    pub(super) bound: Option<i128>,
}

pub(super) fn signed(word: u32) -> i128 {
    word.cast_signed().into()
}

/// The number of rows of a dispatch whose tiles are segments of rows.
pub(super) fn of_segments(dispatch: &Dispatch) -> Result<i128, Refusal> {
    let uniforms = &dispatch.uniforms;
    let [run, segment, tiles] = [uniforms.run, uniforms.segment, uniforms.tiles].map(i128::from);
    require(segment > 0 && run > 0 && run + segment < 1 << 32, || {
        format!("segments of {segment} in rows of {run}")
    })?;
    let segments = (run + segment - 1) / segment;
    require(tiles % segments == 0, || {
        format!("{tiles} tiles for {segments} segments in each row")
    })?;
    Ok(tiles / segments)
}

/// The largest digit of each dimension for rows `0..rows`, outermost first. `inner` has the sizes of all dimensions but
/// the outermost, whose size is not needed.
fn digits(rows: i128, inner: &[i128]) -> Result<Vec<i128>, Refusal> {
    let mut each = 1;
    let mut digits = Vec::new();
    for &size in inner.iter().rev() {
        require(size > 0, || "a dimension of size 0".to_owned())?;
        digits.push(((rows - 1) / each).min(size - 1));
        each *= size;
    }
    digits.push((rows - 1) / each);
    digits.reverse();
    Ok(digits)
}

fn hull(digits: &[i128], strides: impl IntoIterator<Item = i128>) -> Hull {
    let pairs = digits.iter().zip(strides);
    pairs.fold(Hull::to(0), |hull, (&digit, stride)| {
        hull.along(digit, stride)
    })
}

/// Words `first..first + 2 * count` of the row map, as pairs of an unsigned and a signed number: a size and a stride.
fn pairs(words: &[u32], first: usize, count: usize) -> impl Iterator<Item = (i128, i128)> {
    let words = words.get(first..).unwrap_or_default();
    words
        .chunks_exact(2)
        .take(count)
        .map(|pair| (pair[0].into(), signed(pair[1])))
}

/// Where rows `0..rows` begin in the source. Rows have `run` units, whose distance is the uniforms' `step` unless the
/// map says otherwise.
pub(super) fn starts(dispatch: &Dispatch, rows: i128, run: i128) -> Result<Starts, Refusal> {
    require(rows > 0, || "no rows".to_owned())?;
    let step = signed(dispatch.uniforms.step);
    let words = &dispatch.uniforms.map[..];
    let all = Starts {
        from: None,
        of_row: (run, step),
        bound: None,
    };
    Ok(match dispatch.program.op {
        Op::StridedSlice => {
            let dims = words[0] as usize;
            require(dims <= 8, || format!("{dims} dimensions"))?;
            let axes: Vec<_> = pairs(words, 4, dims.max(1)).collect();
            let inner: Vec<_> = axes[1..].iter().map(|axis| axis.0).collect();
            let innermost = if dims == 0 { 1 } else { axes[dims - 1].0 };
            require(words[1] == 0 || innermost % 4 == 0, || {
                format!("four rows at once of {innermost}")
            })?;
            let digits = digits(rows, &inner)?;
            Starts {
                from: Some(hull(&digits, axes.iter().map(|axis| axis.1))),
                ..all
            }
        }
        Op::StridedSliceUpdate => Starts {
            from: Some(update(words, rows, 1)?),
            ..all
        },
        Op::StridedSliceGrad => {
            let dims = words[0] as usize;
            require(dims <= 5, || format!("{dims} dimensions"))?;
            let axes = words[4..].chunks_exact(4);
            let axes: Vec<_> = axes.map(|axis| [axis[0], axis[1], axis[2]]).collect();
            let [spacing, first, units] = [0, 1, 2].map(|d| i128::from(words[7 + 4 * d]));
            let row = i128::from(words[2]);
            let of_row = first + (units - 1) * spacing;
            require(units == 0 || of_row < row, || {
                format!("unit {of_row} of rows of {row} has a source")
            })?;
            let mut from = Hull::to(0);
            for [size, stride, between] in &axes[..dims] {
                require(*between > 0, || "a distance of 0 rows".to_owned())?;
                from = from.along(i128::from(*size) - 1, signed(*stride));
            }
            let none = units == 0 || axes[..dims].iter().any(|axis| axis[0] == 0);
            Starts {
                from: (!none).then_some(from),
                of_row: (units, step),
                ..all
            }
        }
        Op::Gather => indexed(dispatch, rows)?.starts(all),
        Op::Crop => crop(dispatch, rows)?.starts(all),
        Op::ScatterMove | Op::ScatterCombine => Starts {
            from: Some(Hull::to(0).along(rows - 1, words[0].into())),
            of_row: (run, 1),
            ..all
        },
        op => return Err(format!("{op:?} has no rows to move")),
    })
}

/// Where the rows of an update begin in the source (`side` 1) or in the destination (`side` 2).
pub(super) fn update(words: &[u32], rows: i128, side: usize) -> Result<Hull, Refusal> {
    let dims = words[0] as usize;
    require(dims <= 5, || format!("{dims} dimensions"))?;
    let axes: Vec<_> = words[4..].chunks_exact(4).take(dims.max(1)).collect();
    let inner: Vec<_> = axes[1..].iter().map(|axis| axis[0].into()).collect();
    let digits = digits(rows, &inner)?;
    Ok(hull(&digits, axes.iter().map(|axis| signed(axis[side]))))
}

/// The index tuples of a dispatch, and where any of their values may make rows begin.
pub(super) struct Tuples {
    /// Where rows may begin in the source, in units relative to `source_base`. `None` if the dispatch accepts no
    /// position of some dimension.
    from: Option<Hull>,
    bound: i128,
    /// The words of the tuples, counted from the beginning of their binding.
    words: Hull,
}

impl Tuples {
    fn starts(&self, all: Starts) -> Starts {
        Starts {
            from: self.from,
            bound: Some(self.bound),
            ..all
        }
    }

    /// The access to the tuples. If `vectors`, whole vectors of 16 bytes are read.
    pub(super) fn access(&self, vectors: bool) -> Access {
        let words = self.words.bytes(4);
        Access {
            what: "index tuples",
            binding: 2,
            touched: words.whole(if vectors { 16 } else { 4 }),
            moved: Some(words),
        }
    }
}

/// The tuples that a dispatch reads for rows `0..rows`. `None` if it reads none.
pub(super) fn tuples(dispatch: &Dispatch, rows: i128) -> Result<Option<Tuples>, Refusal> {
    Ok(match dispatch.program.op {
        Op::Gather | Op::ScatterResolve | Op::ScatterAtomic => Some(indexed(dispatch, rows)?),
        Op::Crop => Some(crop(dispatch, rows)?),
        _ => None,
    })
}

fn indexed(dispatch: &Dispatch, rows: i128) -> Result<Tuples, Refusal> {
    let words = &dispatch.uniforms.map[..];
    let lookup = &dispatch.program.lookup;
    let (dims, walked) = ((words[0] & 15) as usize, (words[0] >> 4 & 15) as usize);
    require(dims + walked.max(1) <= 10, || {
        format!("{dims} and {walked} dimensions")
    })?;
    let single = lookup.unrolled > 0;
    require(!single || lookup.unrolled == dims && walked == 0, || {
        format!("constants for {} of {dims} coordinates", lookup.unrolled)
    })?;
    let axes: Vec<_> = pairs(words, 4, 10).collect();
    // The size of the first dimension and the first accepted index have a high word each, unless a dimension takes the
    // last pair of words.
    let mut high = (0, 0);
    if !lookup.plain && dims + walked.max(1) <= 9 {
        high = (i128::from(words[22]) << 32, i128::from(words[23]) << 32);
    }
    let (first, count) = (high.1 + i128::from(words[1]), i128::from(words[2]));
    let mut from = Some(Hull::to(0));
    for (d, &(size, stride)) in axes[1..=dims].iter().enumerate() {
        let places = match d {
            0 if lookup.plain => size,
            0 => (high.0 + size - first).min(count),
            _ => size,
        };
        require(!lookup.plain || size < 1 << 31, || {
            format!("a dimension of {size}, compared as one word")
        })?;
        from = from.filter(|_| places > 0);
        from = from.map(|hull| hull.along(places - 1, stride));
    }
    // The number of the last tuple, which is that of the last row unless dimensions are walked.
    let mut last = rows - 1;
    if walked > 0 {
        let inner: Vec<_> = axes[dims + 1..dims + walked].iter().map(|a| a.0).collect();
        let digits = digits(rows, &inner)?;
        let strides = axes[dims + 1..dims + walked].iter().map(|axis| axis.1);
        // A scatter stores the number of the first bound slice in place of the outermost stride, which is not needed
        // because the outermost dimension has one position.
        let strides = [axes[0].1].into_iter().chain(strides);
        let base = hull(&digits, strides);
        from = from.map(|hull| Hull {
            low: hull.low + base.low,
            high: hull.high + base.high,
        });
        if words[0] & 0x3ff00 != 0 {
            let mut each = 1;
            last = 0;
            for d in (0..walked).rev() {
                if words[0] >> (8 + d) & 1 == 0 {
                    last += digits[d] * each;
                    each *= if d > 0 { inner[d - 1] } else { 1 };
                }
            }
        }
    }
    let depth = dims as i128 * i128::from(lookup.words);
    let base = axes[0].0;
    // Shaders that read tuples as vectors read those of four rows at a time, from the beginning of a vector.
    let end = match lookup.vectors {
        true => (last + 1 + 3) / 4 * 4,
        false => last + 1,
    };
    require(!lookup.vectors || base % 4 == 0, || {
        format!("vectors that begin at word {base}")
    })?;
    Ok(Tuples {
        from,
        bound: words[3].into(),
        words: Hull {
            low: base,
            high: base + end * depth - 1,
        },
    })
}

fn crop(dispatch: &Dispatch, rows: i128) -> Result<Tuples, Refusal> {
    let words = &dispatch.uniforms.map[..];
    let (dims, kept) = ((words[0] & 15) as usize, (words[0] >> 4 & 15) as usize);
    require(dims + kept.div_ceil(2) <= 4, || {
        format!("{dims} and {kept} dimensions")
    })?;
    let [base, first_row, bound, items, stride, first, count] =
        [1, 2, 3, 4, 5, 6, 7].map(|word| i128::from(words[word]));
    let stride = signed(u32::try_from(stride).unwrap_or_default());
    let axes: Vec<_> = words[8..].chunks_exact(4).take(dims).collect();
    let of_kept: Vec<_> = pairs(words, 8 + 4 * dims, kept).collect();
    let sizes = axes.iter().map(|axis| i128::from(axis[0]));
    let sizes: Vec<_> = sizes.chain(of_kept.iter().map(|axis| axis.0)).collect();
    let digits = digits(first_row + rows, &sizes)?;
    let mut from = Some(hull(&digits[1 + dims..], of_kept.iter().map(|axis| axis.1)));
    for axis in &axes {
        let places = i128::from(axis[1]);
        from = from.filter(|_| places > 0);
        from = from.map(|hull| hull.along(places - 1, signed(axis[2])));
    }
    let has_items = words[0] & 0x100 != 0;
    let boxes = match has_items {
        true => (items - first).min(count),
        false => digits[0] + 1,
    };
    from = from.filter(|_| boxes > 0);
    let from = from.map(|hull| hull.along(boxes - 1, stride));
    let flips = if words[0] & 0x200 == 0 { 1 } else { 2 };
    let depth = i128::from(has_items) + dims as i128 * flips;
    let each = depth * i128::from(dispatch.program.lookup.words);
    Ok(Tuples {
        from,
        bound,
        words: Hull {
            low: base,
            high: base + (digits[0] + 1) * each - 1,
        },
    })
}
