use super::*;
use crate::reference::Entry;
use wgslice::spec::{IndexItem, IndexSpec, SliceItem};

/// NumPy's `x[…]` with arrays. The argument `index` is a list. Each entry is a number, `null` for a new axis, `"..."`,
/// `{"range": [begin, end, stride]}`, or an array as a list of lists of numbers or booleans.
#[derive(Clone, Debug)]
pub struct ArrayIndex<'a> {
    /// The array.
    pub params: Params<'a>,
    /// The entries.
    pub entries: Vec<Entry>,
    /// True if all combinations of the arrays' positions are selected.
    pub outer: bool,
}

impl<'a> Op<'a> for ArrayIndex<'a> {
    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        let entry_values = case.args.get("index").and_then(Value::as_array);
        let entries =
            entry_values.and_then(|entry_values| entry_values.iter().map(parse_entry).collect());
        Ok(Self {
            params: Params::from_case(case)?,
            entries: entries.ok_or_else(|| case.bad("`index` is not a list of entries"))?,
            outer: case.args.contains_key("outer"),
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        let params = self.params.reference_array()?;
        let (values, shape) = (&params.data, &params.shape);
        reference::array_index(values, shape, &self.entries, self.outer).map(answer_in_range)
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        Ok(self.params.upload(run)?.index(&self.index_spec()?)?.into())
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let source_shape = draw_shape(rng, 4, 1);
        let mut args = Map::new();
        let params_shape = random_view(rng, &source_shape, &mut args);
        let outer = rng.u8(..3) == 0;
        let common_shape = [rng.usize(1..4), rng.usize(..4)];
        let mut entries = Vec::new();
        let mut axis = 0;
        let mut ellipses = 0;
        while axis < params_shape.len() {
            let size = params_shape[axis] as i64;
            let draw_position = |rng: &mut Rng| match rng.u8(..200) {
                0 => size,
                1 => -size - 1,
                _ if size == 0 => 0,
                _ => rng.i64(-size..size),
            };
            match rng.u8(..12) {
                0 => entries.push(Value::Null),
                1 if ellipses == 0 || rng.u8(..20) == 0 => {
                    entries.push("...".into());
                    ellipses += 1;
                    axis += rng.usize(..=params_shape.len() - axis);
                }
                2 => {
                    entries.push(draw_position(rng).into());
                    axis += 1;
                }
                3 | 4 => {
                    let rank = if outer {
                        1
                    } else {
                        rng.usize(1..=params_shape.len() - axis)
                    };
                    let mut shape = params_shape[axis..axis + rank].to_vec();
                    if rng.u8(..30) == 0 {
                        shape[0] += 1;
                    }
                    entries.push(nested_list(&shape, &mut || rng.bool().into()));
                    axis += rank;
                }
                5..8 => {
                    let mut draw_bound = || match rng.u8(..3) {
                        0 => Value::Null,
                        _ => rng.i64(-size - 1..=size + 1).into(),
                    };
                    let (begin, end) = (draw_bound(), draw_bound());
                    let stride = [1, 1, 1, 2, 3, -1, -2][rng.usize(..7)];
                    entries.push(json!({ "range": [begin, end, stride] }));
                    axis += 1;
                }
                _ => {
                    let shape = match rng.u8(..4) {
                        _ if outer => vec![rng.usize(..5)],
                        0 => common_shape.to_vec(),
                        1 => vec![common_shape[0], 1],
                        _ => vec![common_shape[1]],
                    };
                    entries.push(nested_list(&shape, &mut || draw_position(rng).into()));
                    axis += 1;
                }
            }
        }
        if rng.u8(..40) == 0 {
            entries.push(json!([0]));
        }
        args.insert("index".into(), entries.into());
        if outer {
            args.insert("outer".into(), "yes".into());
        }
        Case::new(
            operation,
            [("params", draw_tensor(rng, &source_shape))],
            args,
        )
    }
}

impl ArrayIndex<'_> {
    fn index_spec(&self) -> Result<IndexSpec, Error> {
        let items: Vec<_> = self.entries.iter().map(index_item).collect();
        let spec = IndexSpec::new(items);
        let text = spec.to_string();
        let parsed_spec: IndexSpec = text.parse()?;
        // A list without entries is read as an array of positions with one dimension.
        assert!(parsed_spec == spec || text.contains("[]"), "{text}");
        Ok(if self.outer { spec.outer() } else { spec })
    }
}

/// NumPy's `x[…] = value` with arrays, or another combination such as `add.at`.
#[derive(Clone, Debug)]
pub struct IndexUpdate<'a> {
    /// The array that is changed, and the entries.
    pub index: ArrayIndex<'a>,
    /// The value to write, which is broadcast to the selection.
    pub value: &'a Tensor,
    /// How an element is combined with its value.
    pub combine: Combine,
}

impl<'a> Op<'a> for IndexUpdate<'a> {
    const RANDOM_WEIGHT: usize = 2;

    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            index: ArrayIndex::from_case(case)?,
            value: case.tensor("value")?,
            combine: case.arguments().combination("combine")?,
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        let (index, value) = (&self.index, self.value);
        let params = index.params.reference_array()?;
        let answer = reference::index_update(
            &params.data,
            &params.shape,
            &index.entries,
            index.outer,
            &value.data,
            &value.shape,
            |old, new| *old = combine_values(self.combine, None, *old, *new),
        )?;
        Ok(answer_in_range((params.shape, answer)))
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        let (mut x, value) = (
            self.index.params.upload(run)?,
            run.upload_tensor(self.value)?,
        );
        x.index_update(&self.index.index_spec()?, &value, self.combine)?;
        Ok(x.into())
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let mut case = ArrayIndex::random_case(operation, rng);
        let selection_shape = {
            let index = ArrayIndex::from_case(&case).expect("a case of an index");
            match index.reference_answer() {
                Ok(Answer::Tensor { tensor, .. }) => tensor.shape,
                _ => Vec::new(),
            }
        };
        let mut shape = selection_shape;
        for size in &mut shape {
            if rng.u8(..5) == 0 {
                *size = 1;
            }
        }
        match rng.u8(..8) {
            0 => shape = shape.split_off(rng.usize(..=shape.len())),
            1 => shape.insert(0, 1),
            _ => disturb_shape(rng, &mut shape),
        }
        let mut value = draw_tensor(rng, &shape);
        let combine = ["update", "add", "sub", "mul", "min", "max"][rng.usize(..6)];
        // The values are small, so that the result of a few updates fits the smallest element type.
        let limit = if combine == "mul" { 2 } else { 8 };
        if combine != "update" {
            value.data.iter_mut().for_each(|value| *value %= limit);
            case.args.insert("combine".into(), combine.into());
        }
        case.tensors.insert("value".into(), value);
        case
    }

    fn combination(&self) -> Combine {
        self.combine
    }
}

fn nested_list(shape: &[usize], draw_value: &mut impl FnMut() -> Value) -> Value {
    match shape.split_first() {
        None => draw_value(),
        Some((&size, inner_shape)) => (0..size)
            .map(|_| nested_list(inner_shape, draw_value))
            .collect(),
    }
}

fn parse_entry(value: &Value) -> Option<Entry> {
    Some(match value {
        Value::Null => Entry::NewAxis,
        Value::Number(number) => Entry::Index(number.as_i64()?),
        Value::String(text) => (text == "...").then_some(Entry::Ellipsis)?,
        Value::Object(range) => {
            let bounds = range.get("range")?.as_array()?;
            let bound_at = |index: usize| bounds.get(index).and_then(Value::as_i64);
            Entry::Range(bound_at(0), bound_at(1), bound_at(2)?)
        }
        Value::Bool(_) | Value::Array(_) => {
            let (mut shape, mut inner) = (Vec::new(), value);
            while let Some(list) = inner.as_array() {
                shape.push(list.len());
                inner = list.first().unwrap_or(&Value::Null);
            }
            let mut flat_values = vec![value];
            for _ in &shape {
                flat_values = flat_values
                    .into_iter()
                    .filter_map(Value::as_array)
                    .flatten()
                    .collect();
            }
            match inner {
                Value::Bool(_) => {
                    let truths = flat_values.into_iter().map(Value::as_bool);
                    Entry::Mask(truths.collect::<Option<_>>()?, shape)
                }
                _ => {
                    let positions = flat_values.into_iter().map(Value::as_i64);
                    Entry::Positions(positions.collect::<Option<_>>()?, shape)
                }
            }
        }
    })
}

fn index_item(entry: &Entry) -> IndexItem {
    match entry {
        Entry::Index(index) => IndexItem::Slice((*index).into()),
        Entry::Range(begin, end, stride) => IndexItem::Slice(SliceItem::Range {
            begin: *begin,
            end: *end,
            stride: *stride,
        }),
        Entry::Ellipsis => IndexItem::Slice(SliceItem::Ellipsis),
        Entry::NewAxis => IndexItem::Slice(SliceItem::NewAxis),
        Entry::Positions(values, shape) => IndexItem::Positions {
            values: values.clone(),
            shape: shape.clone(),
        },
        Entry::Mask(values, shape) => IndexItem::Mask {
            values: values.clone(),
            shape: shape.clone(),
        },
    }
}
