//! Parses numbers on the command line.

use crate::failure::Failure;
use bytesize::ByteSize;
use std::{
    num::{IntErrorKind, ParseIntError},
    str::FromStr,
};

/// Integers separated by commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Integers(pub(crate) Vec<i64>);

impl FromStr for Integers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self(Vec::new()));
        }
        let parse_integer = |part: &str| {
            let part = part.trim();
            part.parse()
                .map_err(|error| unreadable_number(part, &error))
        };
        text.split(',')
            .map(parse_integer)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl Integers {
    /// Converts the numbers to `isize`, which has 32 bits on some machines. Fails if a number does not fit.
    pub(crate) fn to_isizes(&self) -> Result<Vec<isize>, Failure> {
        let to_isize = |&number: &i64| {
            let message = format!("{number} does not fit the integers of this machine");
            isize::try_from(number).map_err(|_| Failure::usage(message))
        };
        self.0.iter().map(to_isize).collect()
    }
}

/// The numbers of positions to add before and after each dimension.
#[derive(Clone, Debug)]
pub(crate) struct Paddings(pub(crate) Vec<[usize; 2]>);

impl FromStr for Paddings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse_pair = |part: &str| {
            let (before, after) = part.split_once(':').unwrap_or((part, part));
            let parse_count = |text: &str| {
                let parsed = text.trim().parse();
                parsed.map_err(|_| match text.trim().parse::<i64>() {
                    Ok(_) => format!("{text} would remove positions: use `wgslice slice`"),
                    Err(_) => {
                        format!("{text:?} is not a number of positions: use N or BEFORE:AFTER")
                    }
                })
            };
            Ok([parse_count(before)?, parse_count(after)?])
        };
        text.split(',')
            .map(parse_pair)
            .collect::<Result<_, String>>()
            .map(Self)
    }
}

/// Sizes separated by commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sizes(pub(crate) Vec<usize>);

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Integers(integers) = text.parse()?;
        let to_size = |size| usize::try_from(size).map_err(|_| format!("{size} is below zero"));
        integers
            .into_iter()
            .map(to_size)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// Parses a mask in decimal, hexadecimal (`0x`) or binary (`0b`). Fails if it does not fit a signed 32-bit integer.
pub(crate) fn parse_mask(text: &str) -> Result<i32, String> {
    let parsed = if let Some(digits) = text.strip_prefix("0x") {
        i64::from_str_radix(digits, 16)
    } else if let Some(digits) = text.strip_prefix("0b") {
        i64::from_str_radix(digits, 2)
    } else {
        text.parse()
    };
    let mask = parsed.map_err(|error| unreadable_number(text, &error))?;
    let out_of_range = format!("{mask} does not fit a signed 32-bit integer, which a mask must");
    i32::try_from(mask).map_err(|_| out_of_range)
}

/// Parses an integer.
pub(crate) fn parse_number<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|error| unreadable_number(text, &error))
}

/// Parses a number of bytes. Rejects less than one megabyte, because the overhead of such small pieces would exceed the
/// work.
pub(crate) fn parse_memory(text: &str) -> Result<usize, String> {
    let parsed = text.parse();
    let ByteSize(bytes) =
        parsed.map_err(|_| format!("{text:?} is not a size, such as 500M or 2G"))?;
    match isize::try_from(bytes) {
        Ok(bytes) if bytes >= 1_000_000 => Ok(bytes.unsigned_abs()),
        Ok(bytes) => Err(format!("{bytes} bytes are too few: give 1M or more")),
        Err(_) => Err("more bytes than this machine can address".into()),
    }
}

/// Parses a number with a fraction, as in `0.5` or `1/255`.
pub(crate) fn parse_fraction(text: &str) -> Result<f32, String> {
    let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
    let parsed = numerator
        .trim()
        .parse::<f64>()
        .and_then(|numerator| Ok(numerator / denominator.trim().parse::<f64>()?));
    #[expect(clippy::cast_possible_truncation, reason = "it rounds to f32")]
    let rounded = parsed.map(|number| number as f32);
    rounded.map_err(|_| format!("{text:?} is not a number, such as 0.5 or 1/255"))
}

fn unreadable_number(text: &str, error: &ParseIntError) -> String {
    match error.kind() {
        IntErrorKind::Zero => "it must be at least 1".into(),
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => {
            format!("{text} does not fit 64 bits")
        }
        // The text is a valid `i64`, so an unsigned type rejected it: the number is negative.
        _ if text.parse::<i64>().is_ok() => format!("{text} is below zero"),
        _ => format!("{text:?} is not an integer"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_decimal_hexadecimal_or_binary() {
        assert_eq!(parse_mask("-1"), Ok(-1));
        assert_eq!(parse_mask("0x1f"), Ok(31));
        assert_eq!(parse_mask("0b101"), Ok(5));
        assert_eq!(
            parse_mask("-0x1f"),
            Err("\"-0x1f\" is not an integer".into())
        );
        assert!(parse_mask("4294967296").is_err() && parse_mask("0x80000000").is_err());
        assert!(parse_mask("0b2").is_err() && parse_mask("").is_err() && parse_mask("0x").is_err());
    }

    #[test]
    fn memory_is_a_number_of_bytes() {
        assert_eq!(parse_memory("2GiB"), Ok(2 << 30));
        assert_eq!(parse_memory("1500000"), Ok(1_500_000));
        assert_eq!(parse_memory("1M"), Ok(1_000_000));
        assert!(parse_memory("2 G").is_ok());
        for bad in ["", "much", "-1", "1000", "99999999999999999999T"] {
            assert!(parse_memory(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn integers_are_separated_by_commas() {
        assert_eq!("1, -2,3".parse(), Ok(Integers(vec![1, -2, 3])));
        assert_eq!("".parse(), Ok(Integers(vec![])));
        let overflow = "9223372036854775808".parse::<Integers>();
        assert!(overflow.is_err_and(|error| error.contains("64 bits")));
        assert!("1,,2".parse::<Integers>().is_err());
    }
}
