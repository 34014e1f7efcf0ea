//! Sorts the names of arrays in a file, and formats them for errors.

use std::cmp::Ordering;

/// Describes the names in a file for an error: the name that is most similar to `requested_name`, then all names or, if
/// there are more than 10, the first 10. `noun` is the word for a thing with such a name, such as `array`.
pub(super) fn describe_names<'a>(
    names: impl IntoIterator<Item = &'a String>,
    requested_name: Option<&str>,
    noun: &str,
) -> String {
    /// The maximum number of names that an error lists.
    const MAX_LISTED_NAMES: usize = 10;
    let mut names: Vec<&String> = names.into_iter().collect();
    names.sort_by(|a, b| compare_naturally(a, b));
    let similar_name =
        requested_name.and_then(|requested_name| most_similar(&names, requested_name));
    let listed_names: Vec<String> = names
        .iter()
        .take(MAX_LISTED_NAMES)
        .map(|name| quote_name(name))
        .collect();
    let listed_names = listed_names.join(", ");
    let contents = match names.len() {
        0 => format!("the file holds no {noun}"),
        n if n > MAX_LISTED_NAMES => format!(
            "it holds {listed_names} and {} more, which `wgslice info FILE` lists",
            n - MAX_LISTED_NAMES
        ),
        _ => format!("it holds {listed_names}"),
    };
    match similar_name {
        Some(name) => format!("did you mean {}? {contents}", quote_name(name)),
        None => contents,
    }
}

/// Returns the name that is most similar to `requested_name`, or `None` if none is similar.
fn most_similar<'a>(names: &[&'a String], requested_name: &str) -> Option<&'a String> {
    const MIN_SIMILARITY: f64 = 0.8;
    let similarity_to =
        |name: &str| match name.contains(requested_name) && !requested_name.is_empty() {
            true => 1.0,
            false => strsim::jaro_winkler(name, requested_name),
        };
    let similar_names = names.iter().map(|name| (similarity_to(name), *name));
    let similar_names = similar_names.filter(|(similarity, _)| *similarity >= MIN_SIMILARITY);
    // Among equally similar names, the first is taken.
    similar_names
        .reduce(|a, b| if b.0 > a.0 { b } else { a })
        .map(|(_, name)| name)
}

/// Returns whether a name matches a pattern, in which `*` stands for any characters.
pub(super) fn matches_pattern(name: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|begin| name.strip_prefix(begin)) else {
        return false;
    };
    let Some(end) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(end)
}

/// Compares names in natural order: digits in them count as numbers.
pub(super) fn compare_naturally(a: &str, b: &str) -> Ordering {
    fn split_at_digits(text: &str) -> (&str, &str, &str) {
        let begin = text
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(text.len());
        let (word, rest) = text.split_at(begin);
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (number, rest) = rest.split_at(end);
        (word, number, rest)
    }
    let (mut left, mut right) = (a, b);
    while !(left.is_empty() && right.is_empty()) {
        let ((word_a, number_a, rest_a), (word_b, number_b, rest_b)) =
            (split_at_digits(left), split_at_digits(right));
        let digit_count = |number: &str| number.trim_start_matches('0').len();
        let order = word_a
            .cmp(word_b)
            .then(digit_count(number_a).cmp(&digit_count(number_b)))
            .then(
                number_a
                    .trim_start_matches('0')
                    .cmp(number_b.trim_start_matches('0')),
            );
        if order.is_ne() {
            return order;
        }
        (left, right) = (rest_a, rest_b);
    }
    a.cmp(b)
}

/// Quotes a name for an error. Truncates a long name.
pub(super) fn quote_name(name: &str) -> String {
    const MAX_SHOWN_CHARACTERS: usize = 100;
    match name.char_indices().nth(MAX_SHOWN_CHARACTERS) {
        None => format!("{name:?}"),
        Some((end, _)) => format!("{:?}…", &name[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count() {
        let ordered_names = [
            "",
            "a",
            "layer.1",
            "layer.01",
            "layer.2",
            "layer.10",
            "layer.10.b",
            "layer.x",
            "x2y",
            "x10",
        ];
        for (at, a) in ordered_names.iter().enumerate() {
            for (other, b) in ordered_names.iter().enumerate() {
                // Names with equal numbers are ordered as texts.
                let expected = match (*a, *b) {
                    ("layer.1", "layer.01") => Ordering::Greater,
                    ("layer.01", "layer.1") => Ordering::Less,
                    _ => at.cmp(&other),
                };
                assert_eq!(compare_naturally(a, b), expected, "{a} {b}");
            }
        }
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        for (name, pattern, expected) in [
            ("layer.1", "layer.*", true),
            ("layer.", "layer.*", true),
            ("layer", "layer.*", false),
            ("h.0.attn.bias", "h.*.bias", true),
            ("h.0.attn.bias", "*attn*", true),
            ("h.0.attn.bias", "h.*.weight", false),
            ("größe", "*ö*", true),
            ("a", "a", true),
            ("ab", "a", false),
            ("", "*", true),
        ] {
            assert_eq!(matches_pattern(name, pattern), expected, "{name} {pattern}");
        }
    }

    #[test]
    fn the_most_similar_name_comes_first() {
        let names = ["wte", "wpe", "layer.1", "layer.10", "layer.2"].map(str::to_owned);
        for (requested_name, expected_start) in [
            (
                "wt",
                "did you mean \"wte\"? it holds \"layer.1\", \"layer.2\", \"layer.10\", \"wpe\", \"wte\"",
            ),
            ("layer.3", "did you mean \"layer.1\"? it holds"),
            ("bias", "it holds"),
        ] {
            let listing = describe_names(&names, Some(requested_name), "tensor");
            assert!(
                listing.starts_with(expected_start),
                "{requested_name}: {listing}"
            );
        }
        assert_eq!(
            describe_names(&[], None, "field"),
            "the file holds no field"
        );
    }
}
