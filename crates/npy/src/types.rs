//! Defines NumPy's element types, including types that wgslice does not have.

use crate::{
    ByteOrder, Error,
    literal::{PythonLiteral, quote_string, to_printable},
};
use std::fmt;
use wgslice::DType;

/// An element type of NumPy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// The kind of the elements.
    pub kind: Kind,
    /// The byte order of the elements. [`ByteOrder::NATIVE`] if they have none.
    pub byte_order: ByteOrder,
    /// The size of an element in bytes.
    pub size: usize,
}

/// The kinds of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers or booleans of a type that wgslice has.
    Number(DType),
    /// Floating-point numbers of 80 or 128 bits, in a format that depends on the machine.
    LongDouble,
    /// Pairs of `LongDouble` numbers.
    LongComplex,
    /// Points in time, in 64 bits.
    Date(Unit),
    /// Differences of points in time, in 64 bits.
    Time(Unit),
    /// Strings of bytes.
    Bytes,
    /// Strings of characters, 32 bits each.
    Text,
    /// Bytes without a meaning.
    Void,
    /// Structures: several values, each with a name.
    Fields(Vec<Field>),
    /// Python objects. The file contains them pickled, not as elements.
    Object,
    /// An unknown type: its code or name, and the reason or a remedy. Its size is 0.
    Unknown(String, &'static str),
}

/// The unit of a date or a time, as in `25s`. Empty if there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit(pub String);

/// A field of a structured element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The field's name.
    pub name: String,
    /// An alternative name.
    pub title: Option<String>,
    /// The type of the field's values.
    pub element: Type,
    /// The shape of the field's values. Empty for a single value.
    pub shape: Vec<usize>,
    /// The offset of the field in an element, in bytes.
    pub offset: usize,
}

impl Type {
    /// Returns the type for numbers of type `dtype` in this byte order. Elements of one byte get [`ByteOrder::NATIVE`].
    pub fn number_in(dtype: DType, byte_order: ByteOrder) -> Self {
        let mut number_type = Self::new(Kind::Number(dtype), byte_order, dtype.size());
        if !number_type.is_ordered() {
            number_type.byte_order = ByteOrder::NATIVE;
        }
        number_type
    }

    fn new(kind: Kind, byte_order: ByteOrder, size: usize) -> Self {
        Self {
            kind,
            byte_order,
            size,
        }
    }

    /// Returns whether the file holds the elements themselves, all of one size. If not, the type contains an unknown
    /// type or Python objects.
    pub fn is_fixed(&self) -> bool {
        self.part_without_fixed_size().is_none()
    }

    /// Returns the type within this type that has no fixed size, if any.
    pub(crate) fn part_without_fixed_size(&self) -> Option<&Self> {
        match &self.kind {
            Kind::Object | Kind::Unknown(..) => Some(self),
            Kind::Fields(fields) => fields
                .iter()
                .find_map(|field| field.element.part_without_fixed_size()),
            _ => None,
        }
    }

    /// Describes the elements, for an error message about a type that wgslice does not support. For Python objects and
    /// unknown types, the text also has a remedy.
    pub fn remark(&self) -> &'static str {
        match self.part_without_fixed_size().unwrap_or(self).kind {
            Kind::Number(_) => "numbers",
            Kind::LongDouble | Kind::LongComplex => "numbers of extended precision",
            Kind::Date(_) | Kind::Time(_) => "dates and times",
            Kind::Bytes | Kind::Text => "strings",
            Kind::Void => "bytes without a meaning",
            Kind::Fields(_) => "several fields",
            Kind::Object => {
                "Python objects, which are pickled; save numbers, strings or structured elements of these"
            }
            Kind::Unknown(_, why) => why,
        }
    }

    /// Returns the type of numbers, or `None` for other types.
    pub fn number(&self) -> Option<DType> {
        match self.kind {
            Kind::Number(dtype) => Some(dtype),
            _ => None,
        }
    }

    /// Returns the type's `descr` in a header, as a Python literal.
    pub fn descr(&self) -> String {
        self.literal(|code| code)
    }

    /// Returns the type as a Python literal. `spell` returns the text for each of the literal's type codes.
    fn literal(&self, spell: fn(&str) -> &str) -> String {
        let Kind::Fields(fields) = &self.kind else {
            return quote_string(spell(&self.type_code()));
        };
        let (mut previous_end, mut entries) = (0, Vec::new());
        let padding_entry = |from: usize, to: usize| {
            let code = format!("|V{}", to.checked_sub(from).filter(|&len| len > 0)?);
            Some(format!("('', {})", quote_string(spell(&code))))
        };
        for field in fields {
            entries.extend(padding_entry(previous_end, field.offset));
            previous_end = field.end();
            entries.push(field.literal(spell));
        }
        entries.extend(padding_entry(previous_end, self.size));
        format!("[{}]", entries.join(", "))
    }

    /// Returns the code of a type without fields, such as `<i4`.
    fn type_code(&self) -> String {
        let (letter, size) = match &self.kind {
            Kind::Number(dtype) => (
                match dtype {
                    DType::Bool => 'b',
                    DType::I8 | DType::I16 | DType::I32 | DType::I64 => 'i',
                    DType::U8 | DType::U16 | DType::U32 | DType::U64 => 'u',
                    DType::Complex64 | DType::Complex128 => 'c',
                    _ => 'f',
                },
                self.size,
            ),
            Kind::LongDouble => ('f', self.size),
            Kind::LongComplex => ('c', self.size),
            Kind::Date(_) => ('M', self.size),
            Kind::Time(_) => ('m', self.size),
            Kind::Bytes => ('S', self.size),
            Kind::Text => ('U', self.size / 4),
            Kind::Void | Kind::Fields(_) => ('V', self.size),
            Kind::Object => return "|O".into(),
            Kind::Unknown(code, _) => return code.clone(),
        };
        let order = match self.byte_order {
            _ if !self.is_ordered() => '|',
            ByteOrder::Little => '<',
            ByteOrder::Big => '>',
        };
        let unit = match &self.kind {
            Kind::Date(Unit(unit)) | Kind::Time(Unit(unit)) if !unit.is_empty() => {
                format!("[{unit}]")
            }
            _ => String::new(),
        };
        format!("{order}{letter}{size}{unit}")
    }

    /// Returns whether the elements have a byte order.
    pub fn is_ordered(&self) -> bool {
        match self.kind {
            Kind::Number(dtype) => dtype.size() > 1,
            Kind::Text => true,
            Kind::LongDouble | Kind::LongComplex | Kind::Date(_) | Kind::Time(_) => true,
            Kind::Bytes | Kind::Void | Kind::Fields(_) | Kind::Object | Kind::Unknown(..) => false,
        }
    }
}

/// Writes the name as NumPy prints it.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let write_time = |f: &mut fmt::Formatter<'_>, name, Unit(unit): &Unit| match &unit[..] {
            "" => f.write_str(name),
            unit => write!(f, "{name}[{unit}]"),
        };
        match &self.kind {
            Kind::Number(dtype) => f.write_str(dtype.name()),
            Kind::LongDouble => write!(f, "float{}", 8 * self.size),
            Kind::LongComplex => write!(f, "complex{}", 8 * self.size),
            Kind::Date(unit) => write_time(f, "datetime64", unit),
            Kind::Time(unit) => write_time(f, "timedelta64", unit),
            Kind::Object => f.write_str("object"),
            Kind::Bytes | Kind::Text | Kind::Void => f.write_str(&self.type_code()),
            Kind::Unknown(code, _) => f.write_str(&to_printable(code.chars())),
            Kind::Fields(_) => {
                let fields = self.literal(|code| code.trim_start_matches('|'));
                f.write_str(&to_printable(fields.chars()))
            }
        }
    }
}

impl Field {
    /// Returns the offset of the first byte after the field in an element.
    fn end(&self) -> usize {
        self.offset + self.element.size * self.shape.iter().product::<usize>()
    }

    fn literal(&self, spell: fn(&str) -> &str) -> String {
        let name = match &self.title {
            Some(title) => format!("({}, {})", quote_string(title), quote_string(&self.name)),
            None => quote_string(&self.name),
        };
        let element = self.element.literal(spell);
        match &self.shape[..] {
            [] => format!("({name}, {element})"),
            shape => format!("({name}, {element}, {})", format_tuple(shape)),
        }
    }
}

/// Writes a shape as Python does.
pub(crate) fn format_tuple(shape: &[usize]) -> String {
    match shape {
        [n] => format!("({n},)"),
        _ => {
            let sizes: Vec<_> = shape.iter().map(usize::to_string).collect();
            format!("({})", sizes.join(", "))
        }
    }
}

/// Returns the shape that a literal describes: a tuple, a list or a single number. `None` for other literals.
pub(crate) fn parse_shape(value: PythonLiteral) -> Option<Vec<usize>> {
    match value {
        PythonLiteral::Number(size) => Some(vec![size]),
        PythonLiteral::Sequence(sizes) => {
            let as_number = |value| match value {
                PythonLiteral::Number(size) => Some(size),
                _ => None,
            };
            sizes.into_iter().map(as_number).collect()
        }
        _ => None,
    }
}

/// Parses the header's entry `descr`, the element type.
pub(crate) fn parse_type(descr: PythonLiteral) -> Result<Type, Error> {
    match descr {
        PythonLiteral::Text(code) => Ok(parse_scalar(&code)),
        PythonLiteral::Sequence(fields) => parse_structure(fields),
        _ => Err(Error::invalid(
            "the header's descr is not an element type; save the array again with numpy.save",
        )),
    }
}

fn parse_structure(entries: Vec<PythonLiteral>) -> Result<Type, Error> {
    let wrong_type = || {
        Error::invalid(
            "the header's descr has a field that is not (name, type) or (name, type, shape); save \
             the array again with numpy.save",
        )
    };
    let too_large = || Error::invalid("an element of the header's descr is larger than any memory");
    let (mut fields, mut offset) = (Vec::<Field>::new(), 0usize);
    for (entry_index, entry) in entries.into_iter().enumerate() {
        let PythonLiteral::Sequence(entry) = entry else {
            return Err(wrong_type());
        };
        let mut entry = entry.into_iter();
        let (name, descr, shape_literal) = (entry.next(), entry.next(), entry.next());
        let (title, name) = match name {
            Some(PythonLiteral::Text(name)) => (None, name),
            Some(PythonLiteral::Sequence(names)) => match <[PythonLiteral; 2]>::try_from(names) {
                Ok([PythonLiteral::Text(title), PythonLiteral::Text(name)]) => (Some(title), name),
                _ => return Err(wrong_type()),
            },
            _ => return Err(wrong_type()),
        };
        let element = parse_type(descr.ok_or_else(wrong_type)?)?;
        let shape = match shape_literal {
            Some(shape_literal) => parse_shape(shape_literal).ok_or_else(wrong_type)?,
            None => Vec::new(),
        };
        let value_count = shape
            .iter()
            .try_fold(1usize, |n, &size| n.checked_mul(size));
        let field_size = value_count.and_then(|value_count| value_count.checked_mul(element.size));
        let field_offset = offset;
        offset = field_size
            .and_then(|field_size| offset.checked_add(field_size))
            .filter(|&end| isize::try_from(end).is_ok())
            .ok_or_else(too_large)?;
        // NumPy writes the padding between fields as unnamed bytes.
        if name.is_empty() && element.kind == Kind::Void && title.is_none() {
            continue;
        }
        let name = if name.is_empty() {
            format!("f{entry_index}")
        } else {
            name
        };
        if fields.iter().any(|field| field.name == name) {
            let name = to_printable(name.chars());
            return Err(Error::invalid(format!(
                "the header's descr has two fields named {name:?}; save the array again with \
                 numpy.save"
            )));
        }
        fields.push(Field {
            name,
            title,
            element,
            shape,
            offset: field_offset,
        });
    }
    Ok(Type::new(Kind::Fields(fields), ByteOrder::NATIVE, offset))
}

/// Parses a type without fields: a code such as `<i4`, or a name such as `int32`.
fn parse_scalar(text: &str) -> Type {
    let (order, code) = match text.chars().next() {
        Some('<') => (ByteOrder::Little, &text[1..]),
        Some('>') => (ByteOrder::Big, &text[1..]),
        Some('=' | '|') => (ByteOrder::NATIVE, &text[1..]),
        _ => (ByteOrder::NATIVE, text),
    };
    let named_type = || {
        (code.len() == text.len())
            .then(|| parse_type_name(text))
            .flatten()
    };
    let kind_and_size = parse_numbered_code(code)
        .or_else(|| parse_letter_code(code))
        .or_else(named_type);
    let Some((kind, size)) = kind_and_size else {
        return Type::new(
            Kind::Unknown(text.into(), why_unknown(code)),
            ByteOrder::NATIVE,
            0,
        );
    };
    let mut element = Type::new(kind, order, size);
    if !element.is_ordered() {
        element.byte_order = ByteOrder::NATIVE;
    }
    element
}

/// Parses a letter and a size, as in `i4`, `U7` and `M8[D]`.
fn parse_numbered_code(code: &str) -> Option<(Kind, usize)> {
    let mut chars = code.chars();
    let letter = chars.next()?;
    let size_and_unit = chars.as_str();
    let digit_count = size_and_unit.find(|c: char| !c.is_ascii_digit());
    let (digits, unit) = size_and_unit.split_at(digit_count.unwrap_or(size_and_unit.len()));
    let size: usize = digits.parse().ok()?;
    if ['M', 'm'].contains(&letter) && size == 8 {
        let unit = match unit {
            "" => unit,
            _ => unit.strip_prefix('[')?.strip_suffix(']')?,
        };
        return Some((time_kind(letter == 'M', unit)?, size));
    }
    let kind = match (letter, size, unit) {
        (_, _, unit) if !unit.is_empty() => return None,
        ('b', 1, _) => Kind::Number(DType::Bool),
        ('i', 1, _) => Kind::Number(DType::I8),
        ('i', 2, _) => Kind::Number(DType::I16),
        ('i', 4, _) => Kind::Number(DType::I32),
        ('i', 8, _) => Kind::Number(DType::I64),
        ('u', 1, _) => Kind::Number(DType::U8),
        ('u', 2, _) => Kind::Number(DType::U16),
        ('u', 4, _) => Kind::Number(DType::U32),
        ('u', 8, _) => Kind::Number(DType::U64),
        ('f', 2, _) => Kind::Number(DType::F16),
        ('f', 4, _) => Kind::Number(DType::F32),
        ('f', 8, _) => Kind::Number(DType::F64),
        ('c', 8, _) => Kind::Number(DType::Complex64),
        ('c', 16, _) => Kind::Number(DType::Complex128),
        ('f', 12 | 16, _) => Kind::LongDouble,
        ('c', 24 | 32, _) => Kind::LongComplex,
        ('S' | 'a', _, _) => Kind::Bytes,
        ('U', _, _) => {
            return Some((
                Kind::Text,
                size.checked_mul(4).filter(|&size| is_valid_size(size))?,
            ));
        }
        ('V', _, _) => Kind::Void,
        ('O', 4 | 8, _) => Kind::Object,
        _ => return None,
    };
    is_valid_size(size).then_some((kind, size))
}

fn is_valid_size(size: usize) -> bool {
    isize::try_from(size).is_ok()
}

fn time_kind(is_date: bool, unit: &str) -> Option<Kind> {
    let is_unit_char = |c: char| c.is_ascii_alphanumeric() || c == '/' || c == 'μ';
    let unit = unit
        .chars()
        .all(is_unit_char)
        .then(|| Unit(unit.to_owned()))?;
    Some(match is_date {
        true => Kind::Date(unit),
        false => Kind::Time(unit),
    })
}

/// Parses a type code of one character, such as `i`. Codes such as `l`, with a size that depends on the machine, are
/// not supported.
fn parse_letter_code(code: &str) -> Option<(Kind, usize)> {
    let dtype = match code {
        "?" => DType::Bool,
        "b" => DType::I8,
        "B" => DType::U8,
        "h" => DType::I16,
        "H" => DType::U16,
        "i" => DType::I32,
        "I" => DType::U32,
        "q" => DType::I64,
        "Q" => DType::U64,
        "e" => DType::F16,
        "f" => DType::F32,
        "d" => DType::F64,
        "F" => DType::Complex64,
        "D" => DType::Complex128,
        "O" => return Some((Kind::Object, 8)),
        _ => return None,
    };
    Some((Kind::Number(dtype), dtype.size()))
}

/// Parses NumPy's name of a type, such as `int32`.
fn parse_type_name(name: &str) -> Option<(Kind, usize)> {
    let mut number_types = DType::ALL.into_iter().filter(|dtype| *dtype != DType::BF16);
    if let Some(dtype) = number_types.find(|dtype| dtype.name() == name) {
        return Some((Kind::Number(dtype), dtype.size()));
    }
    for (prefix, is_date) in [("datetime64", true), ("timedelta64", false)] {
        if let Some(unit) = name.strip_prefix(prefix) {
            let unit = match unit {
                "" => unit,
                _ => unit.strip_prefix('[')?.strip_suffix(']')?,
            };
            return Some((time_kind(is_date, unit)?, 8));
        }
    }
    let dtype = match name {
        "half" => DType::F16,
        "single" => DType::F32,
        "double" | "float" => DType::F64,
        "complex" => DType::Complex128,
        "object" => return Some((Kind::Object, 8)),
        _ => return None,
    };
    Some((Kind::Number(dtype), dtype.size()))
}

fn why_unknown(code: &str) -> &'static str {
    match code {
        "f1" => {
            "an unknown 8-bit float, as ml_dtypes saves one; save it as .safetensors, or the bits by \
             .view('uint8')"
        }
        "bfloat16" => "not a type of .npy; save it as .safetensors, or the bits by .view('uint16')",
        "l" | "L" | "p" | "P" | "n" | "N" | "g" | "G" | "int" | "uint" | "longdouble" => {
            "it has another size on other machines; save it with its size, as in '<i8'"
        }
        _ => "not a type of NumPy; save the array again with numpy.save",
    }
}
