//! Words for people.

use std::fmt;

/// A number of things: `1 dispatch`, `2 dispatches`.
pub(crate) fn counted(count: impl fmt::Display, one: &str, many: &str) -> String {
    let count = count.to_string();
    let things = if count == "1" { one } else { many };
    format!("{count} {things}")
}
