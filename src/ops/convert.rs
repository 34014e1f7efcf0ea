//! Conversions: slices, views, gathers and crops whose result has another element type than their source.
//!
//! Elements of 8 bits are converted by tables of 256 entries that the host computes, so that every function gives the
//! same bits on every device. Elements of 16 bits and `f32` are converted to each other through `f32`, which represents
//! all their values. The conversions use integer arithmetic (`src/number.rs`, `shaders/number.wgsl`), because drivers
//! differ in how they handle NaNs, subnormal numbers and ties. Only the CPU supports all other conversions
//! (`src/wide.rs`).
//!
//! A conversion can differ along one axis of the source. It then has a table, or a scale and a bias, for each of the
//! `positions` positions of this axis.
//!
//! The walk of a converting plan counts elements, and its distances on each side are in elements of that side. The
//! number of an element in the source determines its position along the axis, whatever dimensions the walk has: the
//! position is `number / inner % positions`, where `inner` is the distance in elements between neighbours along the
//! axis. If the position is the same for all elements of a row, it is computed once for the row.

use crate::prelude::*;
use crate::{
    DType, Error, Plan, error,
    moves::{Effect, Move},
    number::{bits_of, f32_of},
    shape,
    wide::{self, RoundingRule},
};
#[cfg(feature = "gpu")]
use crate::{View, number::ON_GPU};
use alloc::sync::Arc;
use core::{
    hash::{Hash, Hasher},
    ops::Deref,
};

/// The entries of a table: one for each value of a byte.
pub(crate) const TABLE_ENTRIES: usize = 256;

/// The conversion of each element between the source of a plan and its result: see [`Plan::converted`].
///
/// | conversion | from | to | rule |
/// |---|---|---|---|
/// | [`Conversion::to`] | every type except complex numbers | the same types | to the nearest |
/// | [`Conversion::astype`] | every type except complex numbers | the same types | NumPy's `astype` |
/// | [`Conversion::scaled`] | every type except complex numbers | the same types | `x * scale + bias`, to the nearest |
/// | [`Conversion::table`] | `bool`, `u8`, `i8` | every type except complex numbers | any function, to the nearest |
///
/// "To the nearest" rounds each number once, to the nearest value of the type, in a tie to the even one. Integers
/// saturate: a number above the largest integer becomes the largest. A `bool` counts as an integer from 0 to 1. A NaN
/// becomes the quiet NaN of its sign without a payload, or the integer 0. [`Conversion::to`] and [`Conversion::astype`]
/// move elements that already have the type unchanged. Results are bit-identical on every device.
///
/// Shaders convert elements of 8 bits to types of at most 32 bits. They convert `u16`, `i16`, `f16`, `bf16` and `f32`
/// to each other and to `u8` and `i8`, to the nearest. A GPU rejects other conversions ([`Error::ConversionOnDevice`]),
/// and a backend with a fallback runs them on the CPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversion {
    to: DType,
    rule: ConversionRule,
}

#[derive(Clone, Debug, PartialEq)]
enum ConversionRule {
    Plain(RoundingRule),
    Scaled {
        axis: isize,
        scale: Vec<f32>,
        bias: Vec<f32>,
    },
    Table {
        axis: isize,
        from: DType,
        entries: TableEntries,
    },
}

/// The conversion of a plan's elements from the type `from` to the plan's type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PlanConversion {
    pub(crate) from: DType,
    /// The tables for elements of 8 bits. `None` for wider elements, and if `rule` converts 8 bits to 64 bits.
    pub(crate) table: Option<PositionTables>,
    /// The scale and the bias for elements of more than 8 bits.
    pub(crate) scale: Option<PositionScales>,
    /// The rounding of elements without a table.
    pub(crate) rule: RoundingRule,
}

/// A table for each position of an axis of the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PositionTables {
    /// The distance in elements between neighbouring positions of the axis in the source.
    pub(crate) inner: usize,
    /// The number of positions of the axis. 1 if all elements share a table.
    pub(crate) positions: usize,
    /// For each position, the results for all bytes, as bits. For results of 64 bits, an entry has the bits of the
    /// `f32` that is converted to the result.
    pub(crate) entries: TableEntries,
}

/// The scale and the bias for each position of an axis of the source, each as the bits of an `f32`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PositionScales {
    /// The distance in elements between neighbouring positions of the axis in the source.
    pub(crate) inner: usize,
    pub(crate) positions: usize,
    pub(crate) entries: Arc<[[u32; 2]]>,
}

/// The entries of tables. Clones share the memory of the entries. Each recording of a plan hashes and compares the
/// entries, so the hash is computed once, and clones are equal without a comparison of words.
#[derive(Clone, Debug)]
pub(crate) struct TableEntries {
    words: Arc<[u32]>,
    hash: u64,
}

impl TableEntries {
    fn new(words: Arc<[u32]>) -> Self {
        // The hash is FNV-1a over words instead of bytes.
        let mix_word =
            |hash: u64, &word: &u32| (hash ^ u64::from(word)).wrapping_mul(0x100_0000_01b3);
        let hash = words.iter().fold(0xcbf2_9ce4_8422_2325, mix_word);
        Self { words, hash }
    }
}

impl Deref for TableEntries {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.words
    }
}

impl PartialEq for TableEntries {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.words, &other.words)
            || self.hash == other.hash && self.words == other.words
    }
}

impl Eq for TableEntries {}

impl Hash for TableEntries {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

#[cfg(feature = "gpu")]
impl PlanConversion {
    /// Fails unless the shaders support this conversion to elements of type `to`.
    pub(crate) fn check_on_gpu(&self, to: DType) -> Result<(), Error> {
        let method = match (&self.scale, self.rule) {
            (Some(_), _) => "by scale and bias",
            (None, RoundingRule::Nearest) => "to the nearest",
            (None, RoundingRule::Cast) => "as astype does",
        };
        let source_type = self.from;
        let has_shader_types = ON_GPU.contains(&source_type) && ON_GPU.contains(&to);
        let is_plain = self.scale.is_none() && self.rule == RoundingRule::Nearest;
        match self.table {
            Some(_) if to.size() < 8 => Ok(()),
            None if has_shader_types && is_plain => Ok(()),
            _ => Err(Error::ConversionOnDevice {
                from: source_type,
                to,
                how: method,
            }),
        }
    }
}

impl PositionTables {
    /// Returns the number of elements of the source after which the positions repeat.
    pub(crate) fn repeat_period(&self) -> usize {
        self.inner * self.positions
    }
}

impl Conversion {
    /// Converts each number to the nearest value of type `dtype`.
    pub fn to(dtype: DType) -> Self {
        Self {
            to: dtype,
            rule: ConversionRule::Plain(RoundingRule::Nearest),
        }
    }

    /// Converts numbers to `dtype` by the rules of NumPy's `astype`: integers wrap, fractions are cut off, and for
    /// `bool` every number except 0 is true, including NaN. NumPy does not define the conversion of floats that are too
    /// large for an integer type: in this crate they saturate, and a NaN becomes 0. Conversions to floats round like
    /// [`Conversion::to`].
    ///
    /// ```
    /// use wgslice::{Backend, Conversion, DType, Plan};
    ///
    /// let x = [-1.5f32, 2.7, 1e20];
    /// let plan = Plan::contiguous(&[3], DType::F32)?;
    /// let cut = plan.converted(&Conversion::astype(DType::I32))?;
    /// let rounded = plan.converted(&Conversion::to(DType::I32))?;
    /// let backend = Backend::cpu();
    /// assert_eq!(backend.run::<i32>(&cut, &[(&x).into()])?.0.data, [-1, 2, i32::MAX]);
    /// assert_eq!(backend.run::<i32>(&rounded, &[(&x).into()])?.0.data, [-2, 3, i32::MAX]);
    ///
    /// let wrapped = Plan::contiguous(&[2], DType::I64)?.converted(&Conversion::astype(DType::U8))?;
    /// assert_eq!(backend.run::<u8>(&wrapped, &[(&[-1i64, 300]).into()])?.0.data, [255, 44]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    pub fn astype(dtype: DType) -> Self {
        Self {
            to: dtype,
            rule: ConversionRule::Plain(RoundingRule::Cast),
        }
    }

    /// Converts to `dtype` by `x * scale + bias`, with a scale and a bias for each position of an axis of the source,
    /// or one for all. The product and the sum are each rounded to `f32`, or to `f64` if the source has `f64` or
    /// integers of 32 or 64 bits. The result is then rounded to `dtype`.
    ///
    /// The axis is an axis of the source, even if the plan reorders axes: channels that come last in the source are
    /// axis -1 even if they come first in the result.
    pub fn scaled(dtype: DType, axis: isize, scale: &[f32], bias: &[f32]) -> Self {
        let (scale, bias) = (scale.to_vec(), bias.to_vec());
        Self {
            to: dtype,
            rule: ConversionRule::Scaled { axis, scale, bias },
        }
    }

    /// Converts `from` (`bool`, `u8` or `i8`) to `to` by any function. This constructor calls the function with each of
    /// the 256 values at each of `positions` positions of an axis of the source; the conversion then looks up its
    /// results. With one position, all elements share a table.
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
    /// [`Error::Argument`] (`ConvertDtype` for complex numbers, `ConvertTable` if `from` has more than 8 bits).
    pub fn table(
        from: DType,
        to: DType,
        axis: isize,
        positions: usize,
        function: impl Fn(usize, f32) -> f32,
    ) -> Result<Self, Error> {
        check_types(from, to)?;
        if from.size() > 1 {
            return Err(error::convert::table_for_wide_elements(from));
        }
        let entries = table_entries(from, to, positions, function);
        Ok(Self {
            to,
            rule: ConversionRule::Table {
                axis,
                from,
                entries,
            },
        })
    }
}

impl Conversion {
    /// Returns the type of the result.
    #[cfg(feature = "gpu")]
    pub(crate) fn dtype(&self) -> DType {
        self.to
    }

    /// Returns this conversion for an array with elements of type `from`. A conversion of elements of 8 bits becomes a
    /// table with a non-negative axis, so that its entries are computed only once. Fails if the shaders do not support
    /// the conversion.
    #[cfg(feature = "gpu")]
    pub(crate) fn with_table(&self, array: &View, from: DType) -> Result<Self, Error> {
        let converted = Move::from_view(array.clone(), from)
            .converted(self)?
            .conversion;
        if let Some(conversion) = &converted {
            conversion.check_on_gpu(self.to)?;
        }
        let axis = match self.rule {
            ConversionRule::Plain(_) => 0,
            ConversionRule::Scaled { axis, .. } | ConversionRule::Table { axis, .. } => axis,
        };
        let axis = shape::axis(axis, array.shape.len()).unwrap_or(0);
        Ok(match converted.and_then(|conversion| conversion.table) {
            None => self.clone(),
            Some(PositionTables { entries, .. }) => Self {
                to: self.to,
                rule: ConversionRule::Table {
                    axis: axis.cast_signed(),
                    from,
                    entries,
                },
            },
        })
    }

    /// Adapts the conversion to an array that has only these positions of axis `array_axis`: if the tables are along
    /// this axis, selects the tables of these positions.
    #[cfg(feature = "gpu")]
    pub(crate) fn at_positions(mut self, array_axis: usize, positions: &[usize]) -> Self {
        if let ConversionRule::Table { axis, entries, .. } = &mut self.rule
            && *axis == array_axis.cast_signed()
        {
            let (tables, _) = entries.as_chunks::<TABLE_ENTRIES>();
            let is_in_order = (0..tables.len()).eq(positions.iter().copied());
            if tables.len() > 1 && !is_in_order {
                let words = positions.iter().flat_map(|&at| tables[at]);
                *entries = TableEntries::new(words.collect());
            }
        }
        self
    }
}

fn table_entries(
    from: DType,
    to: DType,
    positions: usize,
    function: impl Fn(usize, f32) -> f32,
) -> TableEntries {
    let to = match to.size() {
        8 => DType::F32,
        _ => to,
    };
    let entry = |position, byte: u8| bits_of(to, function(position, f32_of(from, byte.into())));
    let words = (0..positions)
        .flat_map(|position| (0..=u8::MAX).map(move |byte| (position, byte)))
        .map(|(position, byte)| entry(position, byte));
    TableEntries::new(words.collect())
}

fn check_types(from: DType, to: DType) -> Result<(), Error> {
    for (argument, dtype) in [("the source", from), ("the result", to)] {
        if matches!(dtype, DType::Complex64 | DType::Complex128) {
            return Err(error::convert::complex_dtype(argument, dtype));
        }
    }
    Ok(())
}

impl Plan {
    /// Returns the same slice, gather or crop with a conversion of its elements, in the same number of dispatches.
    /// Elements without a source, such as those for an out-of-range index, stay zero: they are not converted.
    ///
    /// A plan of several steps can convert if one step writes its result, such as [`Plan::boolean_mask`] and
    /// [`Plan::index`].
    ///
    /// ```
    /// use wgslice::{slice, Backend, Conversion, DType, Plan, View};
    ///
    /// // Two pixels of three channels become floats, in reverse order and with channels first.
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
    /// [`Error::Argument`] (`ConvertOperation` for a plan that already converts or is not a slice, a view, a gather or
    /// a crop, then `ConvertDtype`, `ConvertSource`, `Axis` and `ConvertPositions`; `Steps` if several steps write the
    /// result).
    #[doc(alias("cast", "normalize"))]
    pub fn converted(&self, conversion: &Conversion) -> Result<Self, Error> {
        self.map("converted", |step_move| step_move.converted(conversion))
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
            return Err(error::convert::unsupported_operation(operation));
        }
        check_types(from, to)?;
        let is_byte = from.size() == 1;
        let (mut table, mut scale, mut rule) = (None, None, RoundingRule::Nearest);
        match &conversion.rule {
            ConversionRule::Plain(_) if from == to => return Ok(self.clone()),
            ConversionRule::Plain(rounding) => {
                let is_float = matches!(to, DType::F16 | DType::BF16 | DType::F32 | DType::F64);
                rule = if is_float {
                    RoundingRule::Nearest
                } else {
                    *rounding
                };
                table = (is_byte && to.size() < 8).then(|| PositionTables {
                    inner: 1,
                    positions: 1,
                    entries: TableEntries::new(wide::bits_of_bytes(from, to, rule).collect()),
                });
            }
            ConversionRule::Scaled {
                axis,
                scale: factors,
                bias,
            } => {
                let positions = factors.len().max(bias.len());
                let list_lengths = [("scale", factors.len()), ("bias", bias.len())];
                let inner_count = self.elements_per_position(*axis, list_lengths)?;
                let entry_at = |list: &[f32], position: usize| list[position.min(list.len() - 1)];
                if is_byte {
                    let scale_at =
                        |position, x| x * entry_at(factors, position) + entry_at(bias, position);
                    table = Some(PositionTables {
                        inner: inner_count,
                        positions,
                        entries: table_entries(from, to, positions, scale_at),
                    });
                } else {
                    let pairs = (0..positions).map(|n| [entry_at(factors, n), entry_at(bias, n)]);
                    scale = Some(PositionScales {
                        inner: inner_count,
                        positions,
                        entries: pairs.map(|pair| pair.map(f32::to_bits)).collect(),
                    });
                }
            }
            ConversionRule::Table {
                from: table_dtype,
                axis,
                entries,
            } => {
                if from != *table_dtype {
                    return Err(error::convert::wrong_table_source(from, *table_dtype));
                }
                let positions = entries.len() / TABLE_ENTRIES;
                table = Some(PositionTables {
                    inner: self.elements_per_position(*axis, [("the table", positions)])?,
                    positions,
                    entries: entries.clone(),
                });
            }
        }
        // A single entry applies to all positions. If the source has no elements, no entry is used: a crop then only
        // writes zeros.
        let needs_one_entry = |positions: usize| positions == 1 || self.source.contains(&0);
        if let Some(table) = table
            .as_mut()
            .filter(|table| needs_one_entry(table.positions))
        {
            (table.inner, table.positions) = (1, 1);
        }
        if let Some(scale) = scale
            .as_mut()
            .filter(|scale| needs_one_entry(scale.positions))
        {
            (scale.inner, scale.positions) = (1, 1);
        }
        Ok(Self {
            dtype: to,
            walk: self.walk.as_ref().map(|walk| walk.in_units_of(from.size())),
            conversion: Some(PlanConversion {
                from,
                table,
                scale,
                rule,
            }),
            ..self.clone()
        })
    }

    /// Returns the number of elements from one position of an axis of the source to the next. `list_lengths` has the
    /// names and the numbers of entries of lists. Fails unless each list has an entry for each position, or a single
    /// entry for all positions.
    fn elements_per_position<const N: usize>(
        &self,
        axis: isize,
        list_lengths: [(&'static str, usize); N],
    ) -> Result<usize, Error> {
        let (shape, rank) = (&self.source, self.source.len());
        let Some(d) = shape::axis(axis, rank) else {
            return Err(error::convert::axis_out_of_range(axis, rank));
        };
        for (argument, entry_count) in list_lengths {
            if entry_count != 1 && (entry_count != shape[d] || entry_count == 0) {
                return Err(error::convert::wrong_entry_count(
                    argument,
                    entry_count,
                    axis,
                    shape,
                    shape[d],
                ));
            }
        }
        Ok(shape[d + 1..].iter().product())
    }

    /// Returns the type of the source's elements.
    pub(crate) fn source_dtype(&self) -> DType {
        match (&self.conversion, self.effect) {
            (Some(conversion), _) => conversion.from,
            (None, Effect::Find(_)) => DType::U8,
            (None, _) => self.dtype,
        }
    }
}
