//! Formatting that several messages share.

use crate::prelude::*;
use core::fmt;

/// Returns a count with its noun: `1 dispatch`, `2 dispatches`.
pub(crate) fn counted(count: impl fmt::Display, one: &str, many: &str) -> String {
    let count = count.to_string();
    let noun = if count == "1" { one } else { many };
    format!("{count} {noun}")
}

/// Returns the items with commas between them.
pub(crate) fn join_with_commas(items: impl IntoIterator<Item = impl fmt::Display>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

/// A shape that is printed as `[2,3,4]`.
pub(crate) struct Shape<'a>(pub(crate) &'a [usize]);

impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (axis, dim) in self.0.iter().enumerate() {
            if axis > 0 {
                f.write_str(",")?;
            }
            write!(f, "{dim}")?;
        }
        f.write_str("]")
    }
}
