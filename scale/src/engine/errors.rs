//! Extracts error messages from the text that the engines wrap around them.

use datafusion::error::DataFusionError;

/// Returns the message of an error as people should see it. A cluster sends a task's error as the debug output of the
/// error's type. This function extracts the message from that output.
pub fn message(error: &DataFusionError) -> String {
    // The texts before a message in the debug output of an error. If several are found, the last one in this list is
    // used.
    const WRAPPING_TEXTS: [&str; 4] = [
        "Execution(\"",
        "Plan(\"",
        "ResourcesExhausted(\"",
        "message: \"",
    ];
    let text = match error.find_root() {
        DataFusionError::Execution(text) => text.clone(),
        other => return other.to_string(),
    };
    let mut wrapped = WRAPPING_TEXTS.iter().rev();
    let innermost = wrapped.find_map(|begin| quoted_text(&text, begin));
    innermost.unwrap_or(text)
}

/// Returns the text from the end of the first `begin` to the closing quote, with its escapes resolved. `begin` ends
/// with the opening quote. `None` if `begin` or the closing quote is missing.
fn quoted_text(text: &str, begin: &str) -> Option<String> {
    let (_, rest) = text.split_once(begin)?;
    let mut found = String::new();
    let mut characters = rest.chars();
    loop {
        match characters.next()? {
            '"' => return Some(found),
            '\\' => match characters.next()? {
                'n' => found.push('\n'),
                other => found.push(other),
            },
            other => found.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_messages_are_unwrapped() {
        let failed =
            r#"Job 7 failed: Task failed: DataFusionError(Execution("gather: \"a\" is wrong"))"#;
        for (text, expected) in [
            (failed, "gather: \"a\" is wrong"),
            (
                "Status { code: X, message: \"no plan\", source: None }",
                "no plan",
            ),
            (
                "Job 7 failed: all executors were lost",
                "Job 7 failed: all executors were lost",
            ),
            ("Execution(\"cut", "Execution(\"cut"),
        ] {
            assert_eq!(message(&DataFusionError::Execution(text.into())), expected);
        }
    }
}
