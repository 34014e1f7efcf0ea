//! Prints elements of types that only NumPy has, as NumPy does.

use super::{Elements, nested_json, pad_left};
use crate::files;
use serde_json::Value;
use std::iter;
use wgslice::DType;
use wgslice_npy::{Field, Kind, Type, Unit};

/// The value that NumPy shows as NaT, "not a time".
const NAT: i64 = i64::MIN;

/// Elements in their printed forms.
pub(super) struct PrintedElements {
    /// The forms within an array.
    pub(super) words: Vec<String>,
    /// The forms of elements that are printed alone, without an array around them.
    pub(super) scalars: Vec<String>,
    pub(super) json: Vec<Value>,
}

impl PrintedElements {
    pub(super) fn new(element_type: &Type, bytes: &[u8]) -> Self {
        Self::format_elements(element_type, bytes, false)
    }

    /// Formats elements. `is_alone` is true if they are the fields of a single element.
    fn format_elements(element_type: &Type, bytes: &[u8], is_alone: bool) -> Self {
        let native = files::in_native_order(bytes, element_type);
        let element_bytes = || native.chunks_exact(element_type.size.max(1));
        let numbers = || native.as_chunks().0.iter().map(|&b| i64::from_ne_bytes(b));
        let same_text = |words: Vec<String>| Self {
            json: words.iter().cloned().map(Value::from).collect(),
            scalars: words.clone(),
            words,
        };
        match &element_type.kind {
            Kind::Number(dtype) => {
                let elements = Elements::new((*dtype).into(), &native);
                let is_float = matches!(dtype, DType::F16 | DType::F32 | DType::F64);
                let scalar = |bytes| Elements::new((*dtype).into(), bytes).format_scalar();
                Self {
                    words: match is_alone && is_float {
                        true => element_bytes().map(scalar).collect(),
                        false => elements.format_words(),
                    },
                    scalars: vec![elements.format_scalar()],
                    json: elements.json(),
                }
            }
            Kind::Date(unit) => {
                let or_number =
                    |number: i64, text: Option<String>| text.unwrap_or(number.to_string());
                let date = |number| format_date(number, unit);
                let quoted_date = |number| date(number).map(|text| format!("'{text}'"));
                let words = numbers().map(|number| or_number(number, quoted_date(number)));
                Self {
                    words: pad_left(words.collect()),
                    ..same_text(
                        numbers()
                            .map(|number| or_number(number, date(number)))
                            .collect(),
                    )
                }
            }
            Kind::Time(unit) => {
                let word = |number| match number {
                    NAT => "'NaT'".to_owned(),
                    number => number.to_string(),
                };
                let json = |number| match number {
                    NAT => Value::from("NaT"),
                    number => Value::from(number),
                };
                Self {
                    words: pad_left(numbers().map(word).collect()),
                    scalars: numbers()
                        .map(|number| format_duration(number, unit))
                        .collect(),
                    json: numbers().map(json).collect(),
                }
            }
            Kind::Text if element_type.size > 0 => {
                let texts: Vec<_> = element_bytes().map(code_points).collect();
                let unescaped = |codes: &Vec<u32>| -> String {
                    let char = |&code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                    codes.iter().map(char).collect()
                };
                Self {
                    words: texts.iter().map(|codes| python_repr(codes)).collect(),
                    ..same_text(texts.iter().map(unescaped).collect())
                }
            }
            Kind::Bytes if element_type.size > 0 => {
                let json = |bytes: &[u8]| {
                    trim_zeros(bytes)
                        .iter()
                        .copied()
                        .map(char::from)
                        .collect::<String>()
                };
                Self {
                    json: element_bytes().map(|bytes| json(bytes).into()).collect(),
                    ..same_text(
                        element_bytes()
                            .map(|bytes| quoted_bytes(trim_zeros(bytes)))
                            .collect(),
                    )
                }
            }
            Kind::Fields(fields) if element_type.size > 0 => {
                format_structures(fields, &native, element_type.size, is_alone)
            }
            // The number of bytes does not give the number of elements of zero bytes, so the caller repeats one text.
            _ if element_type.size == 0 => same_text(vec![match element_type.kind {
                Kind::Text => "''".to_owned(),
                Kind::Fields(_) => "()".to_owned(),
                _ => "b''".to_owned(),
            }]),
            // A file does not record the format of long doubles or the meaning of raw bytes, so the bytes are shown.
            _ => same_text(element_bytes().map(format_hexadecimal).collect()),
        }
    }
}

/// Formats each structured element as a tuple. Each field is aligned over all elements.
fn format_structures(
    fields: &[Field],
    bytes: &[u8],
    size: usize,
    is_alone: bool,
) -> PrintedElements {
    let count = bytes.len() / size;
    let columns: Vec<_> = fields
        .iter()
        .map(|field| {
            let field_element_count: usize = field.shape.iter().product();
            let len = field_element_count * field.element.size;
            let values = bytes
                .chunks_exact(size)
                .map(|element| &element[field.offset..][..len]);
            let values = values.collect::<Vec<_>>().concat();
            let PrintedElements {
                words,
                json,
                scalars,
            } = PrintedElements::format_elements(&field.element, &values, is_alone);
            let is_number = matches!(
                field.element.number(),
                Some(dtype) if !matches!(dtype, DType::Complex64 | DType::Complex128)
            );
            let words = match is_alone && is_number && field.shape.is_empty() {
                true => scalars,
                false => words,
            };
            let (mut words, mut json) = (words.into_iter().cycle(), json.into_iter().cycle());
            let texts: Vec<_> = (0..count)
                .map(|_| format_list(&field.shape, &mut words))
                .collect();
            let json: Vec<_> = (0..count)
                .map(|_| nested_json(&field.shape, &mut json))
                .collect();
            (&field.name, texts, json)
        })
        .collect();
    let words: Vec<_> = (0..count)
        .map(|at| {
            let texts: Vec<&str> = columns.iter().map(|(_, texts, _)| &texts[at][..]).collect();
            match texts[..] {
                [text] => format!("({text},)"),
                _ => format!("({})", texts.join(", ")),
            }
        })
        .collect();
    let object = |at: usize| {
        let entry =
            |(name, _, json): &(&String, _, Vec<Value>)| ((*name).clone(), json[at].clone());
        Value::Object(columns.iter().map(entry).collect())
    };
    let scalars = match is_alone || count != 1 {
        true => words.clone(),
        false => format_structures(fields, bytes, size, true).words,
    };
    PrintedElements {
        scalars,
        words,
        json: (0..count).map(object).collect(),
    }
}

/// Returns the text of a field's values, as nested lists. `words` are the printed elements.
fn format_list(shape: &[usize], words: &mut impl Iterator<Item = String>) -> String {
    match shape {
        [] => words.next().unwrap_or_default(),
        [len, rest @ ..] => {
            let items: Vec<_> = (0..*len).map(|_| format_list(rest, words)).collect();
            format!("[{}]", items.join(", "))
        }
    }
}

/// Splits a unit, such as `25s`, into its count and its name. Returns `None` if the count is too large.
fn count_and_unit(Unit(unit): &Unit) -> Option<(i128, &str)> {
    let digit_count = unit
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(unit.len());
    let (number, name) = unit.split_at(digit_count);
    match number {
        "" => Some((1, name)),
        number => Some((number.parse().ok()?, name)),
    }
}

/// The units below a second, each with an exponent: 10^exponent of these units make a second.
const SECOND_FRACTIONS: [(&str, u32); 6] = [
    ("ms", 3),
    ("us", 6),
    ("ns", 9),
    ("ps", 12),
    ("fs", 15),
    ("as", 18),
];

/// Returns a date in ISO 8601, or `None` if the unit is unknown or its count is too large.
fn format_date(number: i64, unit: &Unit) -> Option<String> {
    let (factor, name) = count_and_unit(unit)?;
    if number == NAT {
        return Some("NaT".into());
    }
    let count = i128::from(number) * factor;
    let format_day = |days: i128| {
        let (year, month, day) = date_of_day(days);
        format!("{year:04}-{month:02}-{day:02}")
    };
    let clock = |seconds: i128| {
        let (days, second) = (seconds.div_euclid(86400), seconds.rem_euclid(86400));
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        (format_day(days), hour, minute, second)
    };
    Some(match name {
        "Y" => format!("{:04}", 1970 + count),
        "M" => format!(
            "{:04}-{:02}",
            1970 + count.div_euclid(12),
            count.rem_euclid(12) + 1
        ),
        "W" => format_day(7 * count),
        "D" => format_day(count),
        "h" => {
            let (day, hour, ..) = clock(count * 3600);
            format!("{day}T{hour:02}")
        }
        "m" => {
            let (day, hour, minute, _) = clock(count * 60);
            format!("{day}T{hour:02}:{minute:02}")
        }
        "s" => {
            let (day, hour, minute, second) = clock(count);
            format!("{day}T{hour:02}:{minute:02}:{second:02}")
        }
        name => {
            let (_, digits) = *SECOND_FRACTIONS
                .iter()
                .find(|(fraction, _)| *fraction == name)?;
            let units_per_second = 10i128.pow(digits);
            let (day, hour, minute, seconds) = clock(count.div_euclid(units_per_second));
            let (fraction, digits) = (count.rem_euclid(units_per_second), digits as usize);
            format!("{day}T{hour:02}:{minute:02}:{seconds:02}.{fraction:0digits$}")
        }
    })
}

/// Returns the year, month and day of a day number, counted from 1970-01-01.
fn date_of_day(days: i128) -> (i128, i128, i128) {
    // Counts from 1 March of year 0, in eras of 400 years.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month, year) = (day - (153 * month + 2) / 5 + 1, month + 3, era * 400 + year);
    match month > 12 {
        true => (year + 1, month - 12, day),
        false => (year, month, day),
    }
}

/// Returns the text of a time difference that is printed alone.
fn format_duration(number: i64, unit: &Unit) -> String {
    let Some((factor, name)) = count_and_unit(unit) else {
        return number.to_string();
    };
    let name = match name {
        _ if number == NAT => return "NaT".into(),
        "" => "generic time units",
        "Y" => "years",
        "M" => "months",
        "W" => "weeks",
        "D" => "days",
        "h" => "hours",
        "m" => "minutes",
        "s" => "seconds",
        "ms" => "milliseconds",
        "us" => "microseconds",
        "ns" => "nanoseconds",
        "ps" => "picoseconds",
        "fs" => "femtoseconds",
        "as" => "attoseconds",
        _ => return number.to_string(),
    };
    format!("{} {name}", i128::from(number) * factor)
}

/// Returns the code points of an element, without trailing zeros.
fn code_points(bytes: &[u8]) -> Vec<u32> {
    let mut codes: Vec<_> = bytes
        .as_chunks()
        .0
        .iter()
        .map(|&b| u32::from_ne_bytes(b))
        .collect();
    while codes.last() == Some(&0) {
        codes.pop();
    }
    codes
}

fn trim_zeros(bytes: &[u8]) -> &[u8] {
    let len = bytes.iter().rposition(|&byte| byte != 0);
    &bytes[..len.map_or(0, |last| last + 1)]
}

/// Returns the quote character that Python would choose for a text. `has` returns whether the text has a character.
fn quote_character(has: impl Fn(char) -> bool) -> char {
    if has('\'') && !has('"') { '"' } else { '\'' }
}

/// Returns Python's `repr` of a text.
fn python_repr(codes: &[u32]) -> String {
    let quote = quote_character(|quote| codes.contains(&quote.into()));
    let text = codes.iter().map(|&code| match char::from_u32(code) {
        Some('\\') => "\\\\".into(),
        Some('\n') => "\\n".into(),
        Some('\r') => "\\r".into(),
        Some('\t') => "\\t".into(),
        Some(c) if c == quote => format!("\\{c}"),
        // An `x` precedes the character, because at the start of a text, a combining character would be escaped.
        Some(c) if format!("x{c}").escape_debug().count() <= 2 || c == '\'' || c == '"' => {
            c.to_string()
        }
        _ if code < 0x100 => format!("\\x{code:02x}"),
        _ if code < 0x10000 => format!("\\u{code:04x}"),
        _ => format!("\\U{code:08x}"),
    });
    let text: String = text.collect();
    format!("{quote}{text}{quote}")
}

/// Returns Python's `repr` of bytes.
fn quoted_bytes(bytes: &[u8]) -> String {
    let quote = quote_character(|quote| bytes.iter().any(|&byte| char::from(byte) == quote));
    let text = bytes.iter().map(|&byte| match char::from(byte) {
        '\\' => "\\\\".into(),
        '\n' => "\\n".into(),
        '\r' => "\\r".into(),
        '\t' => "\\t".into(),
        c if c == quote => format!("\\{c}"),
        c if c == ' ' || c.is_ascii_graphic() => c.to_string(),
        _ => format!("\\x{byte:02x}"),
    });
    let text: String = text.collect();
    format!("b{quote}{text}{quote}")
}

/// Formats bytes without a known meaning.
fn format_hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().map(|byte| format!("\\x{byte:02x}"));
    iter::once("b'".to_owned())
        .chain(digits)
        .chain(["'".to_owned()])
        .collect()
}
