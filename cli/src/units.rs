//! Formats numbers for people: bytes, times and shapes.

/// Formats a number of bytes to three digits, as in `1.5 GiB`.
pub(crate) fn format_bytes(bytes: usize) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1 << 10 {
        return format_count(bytes, "byte");
    }
    let mut scaled = bytes as f64 / 1024.0;
    let mut unit = 0;
    // 1023.5 and larger numbers would be rounded to 1024 or more.
    while scaled >= 1023.5 {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{} {}", three_digits(scaled), UNITS[unit])
}

/// Formats a time to three digits, as in `18.8 µs`.
pub(crate) fn format_seconds(seconds: f64) -> String {
    let (scale, unit) = match seconds {
        ..1e-3 => (1e6, "µs"),
        ..1.0 => (1e3, "ms"),
        _ => (1.0, "s"),
    };
    format!("{} {unit}", three_digits(seconds * scale))
}

/// Adds a space before the units of times in a text of the library, which writes them as in `18.8µs`.
pub(crate) fn space_units(text: &str) -> String {
    let space_word = |word: &str| {
        let number_len = word.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, rest) = word.split_at(number_len.unwrap_or(word.len()));
        let unit = rest.trim_end_matches([',', '.', ':', ')']);
        match !number.is_empty() && ["ns", "µs", "ms", "s"].contains(&unit) {
            true => format!("{number} {rest}"),
            false => word.to_owned(),
        }
    };
    text.split(' ')
        .map(space_word)
        .collect::<Vec<_>>()
        .join(" ")
}

fn three_digits(number: f64) -> String {
    let decimals = match number {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    let text = format!("{number:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Formats all sizes of a shape, as in `512 × 512 × 3`.
pub(crate) fn format_shape(shape: &[usize]) -> String {
    match shape {
        [] => "a scalar".into(),
        _ => {
            let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
            dims.join(" × ")
        }
    }
}

/// Formats a shape for a narrow column, as in `512 × 512 × 3`.
pub(crate) fn format_dims(shape: &[usize]) -> String {
    /// A shape with more dimensions is shown as its rank.
    const MAX_SHOWN_DIMS: usize = 5;
    match shape {
        [] => "scalar".into(),
        [n] => n.to_string(),
        _ if shape.len() <= MAX_SHOWN_DIMS => {
            let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
            dims.join(" × ")
        }
        _ => format!("{} dimensions", shape.len()),
    }
}

/// Formats a number with a noun, as in `1 byte` and `2 bytes`.
pub(crate) fn format_count(number: usize, noun: &str) -> String {
    let plural_ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural_ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_library_get_spaces() {
        assert_eq!(
            space_units("takes 18.8µs and 200.1ms, then 5s: 3 items, 4.x"),
            "takes 18.8 µs and 200.1 ms, then 5 s: 3 items, 4.x"
        );
    }

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        for (number, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            (153_600, "150 KiB"),
            ((1 << 20) - 1, "1 MiB"),
            (3 << 29, "1.5 GiB"),
            (usize::MAX, "16 EiB"),
        ] {
            assert_eq!(format_bytes(number), text);
        }
        for (time, text) in [
            (0.0, "0 µs"),
            (1.88e-5, "18.8 µs"),
            (0.002_104, "2.1 ms"),
            (0.2, "200 ms"),
            (12.345, "12.3 s"),
            (75.0, "75 s"),
        ] {
            assert_eq!(format_seconds(time), text);
        }
    }

    #[test]
    fn shapes_are_short() {
        for (shape, text) in [
            (&[][..], "scalar"),
            (&[7], "7"),
            (&[2, 3], "2 × 3"),
            (&[1; 9], "9 dimensions"),
        ] {
            assert_eq!(format_dims(shape), text);
        }
    }
}
