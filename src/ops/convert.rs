//! Conversions on the way: a slice, view, gather or crop whose result has another element type than its source.
//!
//! Elements of 8 bits are looked up in tables of 256 entries that the host computes, so that every function of them gives
//! the same bits on every device. Elements of 16 and 32 bits are converted by integer arithmetic, through `f32`, which
//! represents all of them (`src/number.rs`, `shaders/number.wgsl`): what a device's own arithmetic makes of NaNs,
//! subnormal numbers and ties differs by driver.
//!
//! The walk of a converted plan is in elements, and its distances on each side in elements of that side. Which table an
//! element takes follows from its number in the source, whatever became of the dimensions: its position along the axis is
//! `number / inner % positions`, where `inner` elements lie between neighbours of the axis. Where this is the same all along
//! a row, it is found once for the row.

#[cfg(feature = "gpu")]
use crate::View;
use crate::{
    DType, Error, Plan, error,
    moves::{Effect, Move},
    number::{CONVERTED, bits_of, f32_of},
    shape,
};
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    ops::Deref,
    sync::Arc,
};

/// The entries of a table: one for each value of a byte.
pub(crate) const ENTRIES: usize = 256;

/// What becomes of each element on its way from the source of a plan to its result: see [`Plan::converted`].
///
/// | conversion | from | to |
/// |---|---|---|
/// | [`Conversion::to`] | `u8`, `i8`, `u16`, `i16`, `f16`, `bf16`, `f32` | each of these |
/// | [`Conversion::scaled`], [`Conversion::table`] | `u8`, `i8` | each of these |
///
/// Numbers are rounded to the nearest, in a tie to the even one. Integers saturate: what is above the largest becomes the
/// largest. A NaN becomes the quiet NaN of its sign without a payload, and 0 as an integer. Elements that are of the type
/// already are moved as they are. Results are the same, bit for bit, on every device.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversion {
    to: DType,
    how: How,
}

#[derive(Clone, Debug, PartialEq)]
enum How {
    Plain,
    Scaled {
        axis: isize,
        scale: Vec<f32>,
        bias: Vec<f32>,
    },
    Table {
        axis: isize,
        from: DType,
        entries: Entries,
    },
}

/// How a plan converts: from this type to the plan's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Converted {
    pub(crate) from: DType,
    /// `None` if elements have more than 8 bits.
    pub(crate) table: Option<Table>,
}

/// A table for each position of an axis of the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Table {
    /// The elements of the source from one position of the axis to the next.
    pub(crate) inner: usize,
    /// The number of positions. 1 if all share a table.
    pub(crate) positions: usize,
    /// The bits of the result for each byte, at each position.
    pub(crate) entries: Entries,
}

/// Entries of tables, which clones share. Each recording of a plan hashes and compares them, so their hash is worked out
/// once, and clones are equal without a look at their words.
#[derive(Clone, Debug)]
pub(crate) struct Entries {
    words: Arc<[u32]>,
    hash: u64,
}

impl Entries {
    fn new(words: Arc<[u32]>) -> Self {
        let mut hasher = DefaultHasher::new();
        words.hash(&mut hasher);
        let hash = hasher.finish();
        Self { words, hash }
    }
}

impl Deref for Entries {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.words
    }
}

impl PartialEq for Entries {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.words, &other.words)
            || self.hash == other.hash && self.words == other.words
    }
}

impl Eq for Entries {}

impl Hash for Entries {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

impl Table {
    /// The elements of the source after which the positions begin again.
    pub(crate) fn period(&self) -> usize {
        self.inner * self.positions
    }
}

impl Conversion {
    /// The conversion to `dtype` of numbers as they are.
    pub fn to(dtype: DType) -> Self {
        Self {
            to: dtype,
            how: How::Plain,
        }
    }

    /// The conversion of `u8` or `i8` to `dtype` by `x * scale + bias`, with a scale and a bias for each position of an axis
    /// of the source, or one for all. The product and the sum are rounded to `f32`, and the result to `dtype`.
    ///
    /// The axis is one of the source, whatever the plan makes of it: channels that come last in the source are axis -1, also
    /// if they come first in the result.
    pub fn scaled(dtype: DType, axis: isize, scale: &[f32], bias: &[f32]) -> Self {
        let (scale, bias) = (scale.to_vec(), bias.to_vec());
        Self {
            to: dtype,
            how: How::Scaled { axis, scale, bias },
        }
    }

    /// The conversion of `from`, `u8` or `i8`, to `to` by any function. It is called here, with each of the 256 values at
    /// each of `positions` positions of an axis of the source, and the conversion only looks its results up. With one
    /// position, all share a table.
    ///
    /// ```
    /// use wgslice::{Conversion, DType};
    ///
    /// let (mean, deviation) = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]);
    /// let normalised = |c: usize, x: f32| (x / 255.0 - mean[c]) / deviation[c];
    /// let conversion = Conversion::table(DType::U8, DType::F32, -1, 3, normalised)?;
    /// # let _ = conversion;
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`convert_scale` if `from` has more than 8 bits, `convert_dtype` for a type that is not
    /// converted).
    pub fn table(
        from: DType,
        to: DType,
        axis: isize,
        positions: usize,
        function: impl Fn(usize, f32) -> f32,
    ) -> Result<Self, Error> {
        check_types(from, to)?;
        if from.size() > 1 {
            return Err(error::convert::scale(from));
        }
        let entries = entries(from, to, positions, function);
        Ok(Self {
            to,
            how: How::Table {
                axis,
                from,
                entries,
            },
        })
    }
}

impl Conversion {
    /// The type of the result.
    #[cfg(feature = "gpu")]
    pub(crate) fn dtype(&self) -> DType {
        self.to
    }

    /// This conversion of an array of elements of type `from`, as a table if they have 8 bits, so that its function is called
    /// no more. Its axis counts from the first.
    #[cfg(feature = "gpu")]
    pub(crate) fn looked_up(&self, array: &View, from: DType) -> Result<Self, Error> {
        let converted = Move::of_view(array.clone(), from)
            .converted(self)?
            .conversion;
        let axis = match self.how {
            How::Plain => 0,
            How::Scaled { axis, .. } | How::Table { axis, .. } => axis,
        };
        let axis = shape::axis(axis, array.shape.len()).unwrap_or(0);
        Ok(match converted.and_then(|of| of.table) {
            None => self.clone(),
            Some(Table { entries, .. }) => Self {
                to: self.to,
                how: How::Table {
                    axis: axis.cast_signed(),
                    from,
                    entries,
                },
            },
        })
    }

    /// The same conversion of an array whose positions along `axis` are these of the former, if its tables lie along it.
    #[cfg(feature = "gpu")]
    pub(crate) fn at_positions(mut self, along: usize, positions: &[usize]) -> Self {
        if let How::Table { axis, entries, .. } = &mut self.how
            && *axis == along.cast_signed()
        {
            let (tables, _) = entries.as_chunks::<ENTRIES>();
            let same = (0..tables.len()).eq(positions.iter().copied());
            if tables.len() > 1 && !same {
                let words = positions.iter().flat_map(|&at| tables[at]);
                *entries = Entries::new(words.collect());
            }
        }
        self
    }
}

fn entries(
    from: DType,
    to: DType,
    positions: usize,
    function: impl Fn(usize, f32) -> f32,
) -> Entries {
    let entry = |position, byte: u8| bits_of(to, function(position, f32_of(from, byte.into())));
    let words = (0..positions)
        .flat_map(|position| (0..=u8::MAX).map(move |byte| (position, byte)))
        .map(|(position, byte)| entry(position, byte));
    Entries::new(words.collect())
}

fn check_types(from: DType, to: DType) -> Result<(), Error> {
    for (argument, found) in [("the source", from), ("the result", to)] {
        if !CONVERTED.contains(&found) {
            return Err(error::convert::dtype(argument, found));
        }
    }
    Ok(())
}

impl Plan {
    /// The same slice, gather or crop, with its elements converted on the way, by the same number of dispatches. What has no
    /// source stays zero: it is not converted.
    ///
    /// A plan of several steps can convert if one step writes its result, such as [`Plan::boolean_mask`] and
    /// [`Plan::index`].
    ///
    /// ```
    /// use wgslice::{slice, Backend, Conversion, DType, Plan, View};
    ///
    /// // Two pixels of three channels: the second first, channels first, and floats.
    /// let image = View::new(&[2, 3])?.slice(&slice![..; -1])?.transpose(&[1, 0])?;
    /// let scaled = Conversion::scaled(DType::F32, -1, &[1.0, 0.5, 0.25], &[0.0, 0.0, 100.0]);
    /// let plan = Plan::contiguous(image, DType::U8)?.converted(&scaled)?;
    /// let (floats, _) = Backend::cpu().run::<f32>(&plan, &[(&[1u8, 2, 3, 4, 5, 6]).into()])?;
    /// assert_eq!(floats.shape, [3, 2]);
    /// assert_eq!(floats.data, [4.0, 1.0, 2.5, 1.0, 101.5, 100.75]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`convert_operation` for a plan that changes an array, or that converts already; then
    /// `convert_dtype`; then `convert_scale` or `convert_source`; then `axis`; then `convert_positions`; `steps`
    /// if several steps write the result).
    pub fn converted(&self, conversion: &Conversion) -> Result<Self, Error> {
        self.map("converted", |what| what.converted(conversion))
    }
}

impl Move {
    pub(crate) fn converted(&self, conversion: &Conversion) -> Result<Self, Error> {
        let (from, to) = (self.dtype, conversion.to);
        if self.effect != Effect::Make || self.conversion.is_some() {
            let operation = match self.conversion {
                Some(_) => "a plan that converts already",
                None => self.name(),
            };
            return Err(error::convert::operation(operation));
        }
        check_types(from, to)?;
        let table = match &conversion.how {
            How::Plain if from == to => return Ok(self.clone()),
            How::Plain if from.size() > 1 => None,
            How::Plain => Some(Table {
                inner: 1,
                positions: 1,
                entries: entries(from, to, 1, |_, x| x),
            }),
            How::Scaled { .. } if from.size() > 1 => {
                return Err(error::convert::scale(from));
            }
            How::Scaled { axis, scale, bias } => {
                let longest = scale.len().max(bias.len());
                let inner = self.inner_of(*axis, [("scale", scale.len()), ("bias", bias.len())])?;
                let at = |list: &[f32], position: usize| list[position.min(list.len() - 1)];
                let scaled = |position, x| x * at(scale, position) + at(bias, position);
                Some(Table {
                    inner,
                    positions: longest,
                    entries: entries(from, to, longest, scaled),
                })
            }
            How::Table {
                from: needed,
                axis,
                entries,
            } => {
                let (found, needed) = (from, *needed);
                if found != needed {
                    return Err(error::convert::source(found, needed));
                }
                let positions = entries.len() / ENTRIES;
                Some(Table {
                    inner: self.inner_of(*axis, [("the table", positions)])?,
                    positions,
                    entries: entries.clone(),
                })
            }
        };
        // A single table serves all positions, wherever they are. So does any table if the source has no elements, of which
        // a crop makes zeros.
        let is_one = |table: &Table| table.positions == 1 || self.source.contains(&0);
        let table = table.map(|table| match is_one(&table) {
            true => Table {
                inner: 1,
                positions: 1,
                ..table
            },
            false => table,
        });
        Ok(Self {
            dtype: to,
            walk: self.walk.as_ref().map(|walk| walk.in_units_of(from.size())),
            conversion: Some(Converted { from, table }),
            ..self.clone()
        })
    }

    /// The elements from one position of an axis of the source to the next. Fails unless each list has an entry for each
    /// position, or one for all.
    fn inner_of<const N: usize>(
        &self,
        axis: isize,
        lists: [(&'static str, usize); N],
    ) -> Result<usize, Error> {
        let (shape, rank) = (&self.source, self.source.len());
        let Some(d) = shape::axis(axis, rank) else {
            return Err(error::convert::axis(axis, rank));
        };
        for (argument, found) in lists {
            if found != 1 && (found != shape[d] || found == 0) {
                return Err(error::convert::positions(
                    argument, found, axis, shape, shape[d],
                ));
            }
        }
        Ok(shape[d + 1..].iter().product())
    }

    /// The type of the source's elements.
    pub(crate) fn source_dtype(&self) -> DType {
        match (&self.conversion, self.effect) {
            (Some(of), _) => of.from,
            (None, Effect::Find(_)) => DType::U8,
            (None, _) => self.dtype,
        }
    }
}
