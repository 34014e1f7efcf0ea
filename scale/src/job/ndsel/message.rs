//! Parses NDSel messages of all kinds, and prints them in their canonical form.

use super::{Bound, Ndsel, Number, Rule, check_rank, refused};
use crate::zarr::Error;
use serde_json::{Map, Value, json};
use std::{
    fmt::{self, Display},
    str::FromStr,
};

type Message = Map<String, Value>;

/// The maximum number of dimensions of a box, as in TensorStore and `zarr-indexing`.
const MAX_DIMS: usize = 32;

impl FromStr for Ndsel {
    type Err = Error;

    /// # Errors
    ///
    /// [`Error::Usage`] with the NDSel draft's code for the reason, such as `rank_mismatch`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let message = match serde_json::from_str(text) {
            Ok(Value::Object(message)) => message,
            Ok(_) => return refused("invalid_json", "a message is an object"),
            Err(error) => return refused("invalid_json", error),
        };
        let Some(kind) = message.get("kind").and_then(Value::as_str) else {
            return refused("invalid_json", "a message has a text \"kind\"");
        };
        let fields: &[_] = match kind {
            "point" | "points" => &["coords"],
            "box" => &[
                "inclusive_min",
                "exclusive_max",
                "inclusive_max",
                "shape",
                "labels",
            ],
            "slice" => &["start", "stop", "step", "labels"],
            "transform" => &[
                "input_rank",
                "input_inclusive_min",
                "input_exclusive_max",
                "input_inclusive_max",
                "input_shape",
                "input_labels",
                "output",
            ],
            _ => {
                let kinds = "point, box, slice, points or transform";
                return refused("unknown_kind", format_args!("{kind:?} is none of {kinds}"));
            }
        };
        check_fields(&message, kind, &[fields, &["kind"]].concat())?;
        let selection = match kind {
            "point" => Self::point(&message),
            "points" => Self::points(&message),
            "slice" => Self::slice(&message),
            "box" => Self::domain(&message, ""),
            _ => Self::transform(&message),
        }?;
        match selection.begin.len() {
            ..=MAX_DIMS => Ok(selection),
            rank => refused(
                "invalid_json",
                format_args!("{rank} dimensions, of at most {MAX_DIMS}"),
            ),
        }
    }
}

/// Prints the canonical form as JSON.
impl Display for Ndsel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounds = |bounds: &[Bound]| bounds.iter().map(|bound| bound.json()).collect::<Vec<_>>();
        let rules: Vec<_> = self.rules.iter().map(Rule::json).collect();
        let message = json!({
            "kind": "transform",
            "input_rank": self.begin.len(),
            "input_inclusive_min": bounds(&self.begin),
            "input_exclusive_max": bounds(&self.end),
            "input_labels": self.labels,
            "output": rules,
        });
        message.fmt(f)
    }
}

fn check_fields(message: &Message, object_name: &str, fields: &[&str]) -> Result<(), Error> {
    match message.keys().find(|key| !fields.contains(&&key[..])) {
        Some(key) => refused(
            "unknown_field",
            format_args!("{object_name} has {key:?}, which is none of {fields:?}"),
        ),
        None => Ok(()),
    }
}

/// Returns the list in a field, or `None` if there is no such field. Fails if the field is not a list, or if `read`
/// returns `None` for an item. `items_name` names the expected items in the error.
fn list<T>(
    message: &Message,
    name: &str,
    read: impl Fn(&Value) -> Option<T>,
    items_name: &str,
) -> Result<Option<Vec<T>>, Error> {
    let Some(value) = message.get(name) else {
        return Ok(None);
    };
    match value
        .as_array()
        .and_then(|items| items.iter().map(read).collect())
    {
        Some(items) => Ok(Some(items)),
        None => refused(
            "invalid_json",
            format_args!("{name} is {value}, and no list of {items_name}"),
        ),
    }
}

fn optional_integers(message: &Message, name: &str) -> Result<Option<Vec<i64>>, Error> {
    list(message, name, Value::as_i64, "64-bit integers")
}

fn required_integers(message: &Message, name: &str) -> Result<Vec<i64>, Error> {
    match optional_integers(message, name)? {
        Some(list) => Ok(list),
        None => refused("invalid_json", format_args!("{name} is missing")),
    }
}

fn labels(message: &Message, name: &str) -> Result<Option<Vec<String>>, Error> {
    list(
        message,
        name,
        |label| label.as_str().map(str::to_owned),
        "texts",
    )
}

/// Returns the integer in a field, or `default` if there is no such field.
fn integer(message: &Message, name: &str, default: i64) -> Result<i64, Error> {
    match message.get(name).map(|value| (value, value.as_i64())) {
        None => Ok(default),
        Some((_, Some(integer))) => Ok(integer),
        Some((value, None)) => refused(
            "invalid_json",
            format_args!("{name} is {value}, and no 64-bit integer"),
        ),
    }
}

fn to_i64(number: i128, number_name: &str) -> Result<i64, Error> {
    match number.try_into() {
        Ok(number) => Ok(number),
        Err(_) => refused(
            "invalid_json",
            format_args!("{number_name} would be {number}, beyond 64 bits"),
        ),
    }
}

impl Number {
    fn read(value: &Value) -> Option<Self> {
        match value.as_str() {
            Some("-inf") => Some(Self::Below),
            Some("+inf") => Some(Self::Above),
            _ => value.as_i64().map(Self::At),
        }
    }

    pub(super) fn json(self) -> Value {
        match self {
            Self::Below => json!("-inf"),
            Self::At(number) => json!(number),
            Self::Above => json!("+inf"),
        }
    }
}

impl Bound {
    fn at(number: i64) -> Self {
        Self {
            number: Number::At(number),
            is_implicit: false,
        }
    }

    /// Parses a bound. An implicit bound is written as a list of one number.
    fn read(value: &Value) -> Option<Self> {
        let (number, is_implicit) = match value.as_array().map(|list| &list[..]) {
            Some([number]) => (number, true),
            Some(_) => return None,
            None => (value, false),
        };
        let number = Number::read(number)?;
        Some(Self {
            number,
            is_implicit,
        })
    }

    pub(super) fn json(self) -> Value {
        match self.is_implicit {
            true => json!([self.number.json()]),
            false => self.number.json(),
        }
    }
}

impl Ndsel {
    fn point(message: &Message) -> Result<Self, Error> {
        let coords = required_integers(message, "coords")?;
        Ok(Self {
            begin: Vec::new(),
            end: Vec::new(),
            labels: Vec::new(),
            rules: coords.into_iter().map(Rule::At).collect(),
        })
    }

    fn points(message: &Message) -> Result<Self, Error> {
        let row = |row: &Value| row.as_array()?.iter().map(Value::as_i64).collect();
        let rows: Option<Vec<Vec<i64>>> = list(message, "coords", row, "lists of 64-bit integers")?;
        let Some(rows) = rows else {
            return refused("invalid_json", "coords is missing");
        };
        let rank = rows.first().map_or(0, Vec::len);
        for row in &rows {
            check_rank("a list of coords", row.len(), rank)?;
        }
        let rule = |d: usize| Rule::Listed {
            offset: 0,
            stride: 1,
            list: rows.iter().map(|row| json!(row[d])).collect(),
            bounds: [Number::Below, Number::Above],
        };
        Ok(Self {
            begin: vec![Bound::at(0)],
            end: vec![Bound::at(rows.len() as i64)],
            labels: vec![String::new()],
            rules: (0..rank).map(rule).collect(),
        })
    }

    fn slice(message: &Message) -> Result<Self, Error> {
        let (start, stop) = (
            required_integers(message, "start")?,
            required_integers(message, "stop")?,
        );
        let rank = start.len();
        let step = optional_integers(message, "step")?.unwrap_or_else(|| vec![1; rank]);
        let labels = labels(message, "labels")?.unwrap_or_else(|| vec![String::new(); rank]);
        check_rank("stop", stop.len(), rank)?;
        check_rank("step", step.len(), rank)?;
        check_rank("labels", labels.len(), rank)?;
        let (mut begin, mut end, mut rules) = (Vec::new(), Vec::new(), Vec::new());
        for (dim, ((&start, &stop), &step)) in start.iter().zip(&stop).zip(&step).enumerate() {
            let [wide_start, wide_stop, wide_step] = [start, stop, step].map(i128::from);
            if wide_step == 0 {
                return refused(
                    "step_zero",
                    format_args!("the step of dimension {dim} is 0"),
                );
            }
            let length = (wide_stop - wide_start) * wide_step.signum();
            if length < 0 {
                let detail = format_args!(
                    "dimension {dim} goes from {start} to {stop} by {step}, away from its end; nothing is selected \
                     where start and stop are equal"
                );
                return refused("bounds_out_of_order", detail);
            }
            let first = wide_start / wide_step;
            let count = (length + wide_step.abs() - 1) / wide_step.abs();
            begin.push(Bound::at(to_i64(first, "the first number")?));
            end.push(Bound::at(to_i64(first + count, "the end")?));
            let offset = to_i64(wide_start % wide_step, "the offset")?;
            let stride = step;
            rules.push(Rule::Along {
                offset,
                stride,
                dim,
            });
        }
        Ok(Self {
            begin,
            end,
            labels,
            rules,
        })
    }

    /// Parses a box, which selects the positions that equal its coordinates. The names of the box's fields begin with
    /// `prefix`.
    fn domain(message: &Message, prefix: &str) -> Result<Self, Error> {
        let bounds = |name: &str| {
            let name = format!("{prefix}{name}");
            let bounds = list(
                message,
                &name,
                Bound::read,
                "bounds: 64-bit integers, -inf or +inf",
            )?;
            Ok::<_, Error>(bounds.map(|bounds| (name, bounds)))
        };
        let begin = bounds("inclusive_min")?;
        let upper_bound_fields = ["exclusive_max", "inclusive_max", "shape"];
        let given_fields = upper_bound_fields
            .iter()
            .filter(|name| message.contains_key(&format!("{prefix}{name}")));
        if given_fields.count() > 1 {
            let detail = format_args!("only one of {upper_bound_fields:?} may be given");
            return refused("multiple_upper_bounds", detail);
        }
        let [end, last, shape] = upper_bound_fields.map(bounds);
        let (end, last, shape) = (end?, last?, shape?);
        let labels_name = format!("{prefix}labels");
        let labels = labels(message, &labels_name)?;
        let declared_rank = match message.get("input_rank").map(Value::as_u64) {
            None => None,
            Some(Some(rank)) if rank <= MAX_DIMS as u64 => Some(("input_rank", rank as usize)),
            Some(_) => {
                let detail = format_args!("input_rank must be an integer from 0 to {MAX_DIMS}");
                return refused("invalid_json", detail);
            }
        };
        let lists = [&begin, &end, &last, &shape].into_iter().flatten();
        let lengths = lists.map(|(name, list)| (&name[..], list.len()));
        let label_counts = labels.iter().map(|labels| (&labels_name[..], labels.len()));
        let ranks = declared_rank.into_iter().chain(lengths).chain(label_counts);
        let mut ranks = ranks.peekable();
        let rank = ranks.peek().map_or(0, |(_, rank)| *rank);
        for (name, found_rank) in ranks {
            check_rank(name, found_rank, rank)?;
        }
        let begin = begin.map_or_else(|| vec![Bound::at(0); rank], |(_, begin)| begin);
        let end = if let Some((_, end)) = end {
            end
        } else if let Some((_, last)) = last {
            add_to_bounds(&last, |_| Number::At(1))?
        } else if let Some((_, shape)) = shape {
            if shape.iter().any(|size| size.number == Number::Below) {
                return refused("invalid_json", "a size is no -inf");
            }
            add_to_bounds(&shape, |dim| begin[dim].number)?
        } else {
            let number = Number::Above;
            vec![
                Bound {
                    number,
                    is_implicit: true
                };
                rank
            ]
        };
        for (dim, (begin, end)) in begin.iter().zip(&end).enumerate() {
            if begin.number > end.number {
                let (begin, end) = (begin.json(), end.json());
                let detail =
                    format_args!("dimension {dim} begins at {begin} and ends before {end}");
                return refused("bounds_out_of_order", detail);
            }
        }
        let rule = |dim| Rule::Along {
            offset: 0,
            stride: 1,
            dim,
        };
        Ok(Self {
            begin,
            end,
            labels: labels.unwrap_or_else(|| vec![String::new(); rank]),
            rules: (0..rank).map(rule).collect(),
        })
    }

    fn transform(message: &Message) -> Result<Self, Error> {
        let domain = Self::domain(message, "input_")?;
        let rank = domain.begin.len();
        let Some(rules) = list(
            message,
            "output",
            |rule| rule.as_object().cloned(),
            "objects",
        )?
        else {
            return Ok(domain);
        };
        let rules = rules.iter().map(|rule| Rule::read(rule, rank));
        let rules = rules.collect::<Result<_, _>>()?;
        Ok(Self { rules, ..domain })
    }
}

/// Adds a number to each bound. If the number or the bound is infinite, so is the sum.
fn add_to_bounds(bounds: &[Bound], addend: impl Fn(usize) -> Number) -> Result<Vec<Bound>, Error> {
    let sum = |(dim, bound): (usize, &Bound)| {
        let number = match (bound.number, addend(dim)) {
            (Number::At(a), Number::At(b)) => {
                Number::At(to_i64(i128::from(a) + i128::from(b), "an end")?)
            }
            (Number::Above, _) | (_, Number::Above) => Number::Above,
            _ => Number::Below,
        };
        Ok(Bound { number, ..*bound })
    };
    bounds.iter().enumerate().map(sum).collect()
}

impl Rule {
    fn read(rule: &Message, rank: usize) -> Result<Self, Error> {
        let fields = [
            "offset",
            "stride",
            "input_dimension",
            "index_array",
            "index_array_bounds",
        ];
        check_fields(rule, "an entry of output", &fields)?;
        let offset = integer(rule, "offset", 0)?;
        match (rule.get("input_dimension"), rule.get("index_array")) {
            (None, None) => Ok(Self::At(offset)),
            (Some(_), Some(_)) => refused(
                "output_map_conflict",
                "an entry of output has input_dimension and index_array: only one may be given",
            ),
            (Some(_), None) => {
                let dim = integer(rule, "input_dimension", 0)?;
                let stride = integer(rule, "stride", 1)?;
                match usize::try_from(dim) {
                    Ok(dim) if dim < rank => Ok(Self::Along {
                        offset,
                        stride,
                        dim,
                    }),
                    Ok(_) => refused(
                        "rank_mismatch",
                        format_args!("there is no input_dimension {dim} of {rank}"),
                    ),
                    Err(_) => refused(
                        "invalid_json",
                        format_args!("input_dimension is {dim}, below 0"),
                    ),
                }
            }
            (None, Some(array)) => {
                let bounds = list(rule, "index_array_bounds", Number::read, "two bounds")?;
                let bounds = match bounds.as_deref() {
                    None => [Number::Below, Number::Above],
                    Some(&[low, high]) if low <= high => [low, high],
                    Some([_, _]) => return refused("bounds_out_of_order", "index_array_bounds"),
                    Some(_) => return refused("invalid_json", "index_array_bounds are two bounds"),
                };
                Ok(Self::Listed {
                    offset,
                    stride: integer(rule, "stride", 1)?,
                    list: array.clone(),
                    bounds,
                })
            }
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::At(offset) => json!({"offset": offset}),
            Self::Along {
                offset,
                stride,
                dim,
            } => {
                json!({"offset": offset, "stride": stride, "input_dimension": dim})
            }
            Self::Listed {
                offset,
                stride,
                list,
                bounds,
            } => json!({
                "offset": offset,
                "stride": stride,
                "index_array": list,
                "index_array_bounds": bounds.map(Number::json),
            }),
        }
    }
}
