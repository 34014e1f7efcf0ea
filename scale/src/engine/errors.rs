//! Extracts error messages from the text that the engines wrap around them.

use datafusion::error::DataFusionError;

/// Returns the message of an error as people should see it. A cluster sends a task's error as the debug output of the
/// error's type. This function extracts the message from that output.
pub fn message(error: &DataFusionError) -> String {
    // The texts before a message in the debug output of an error. If several are found, the last one in this list is
    // used.
    const MESSAGE_PREFIXES: [&str; 4] = [
        "Execution(\"",
        "Plan(\"",
        "ResourcesExhausted(\"",
        "message: \"",
    ];
    let text = match error.find_root() {
        DataFusionError::Execution(text) => text.clone(),
        other => return other.to_string(),
    };
    let mut prefixes = MESSAGE_PREFIXES.iter().rev();
    let message = prefixes.find_map(|prefix| quoted_text(&text, prefix));
    message.unwrap_or(text)
}

/// Returns the text from the end of the first `prefix` to the closing quote, with its escapes resolved. `prefix` ends
/// with the opening quote. `None` if `prefix` or the closing quote is missing.
fn quoted_text(text: &str, prefix: &str) -> Option<String> {
    let (_, rest) = text.split_once(prefix)?;
    let mut quoted = String::new();
    let mut characters = rest.chars();
    loop {
        match characters.next()? {
            '"' => return Some(quoted),
            '\\' => match characters.next()? {
                'n' => quoted.push('\n'),
                other => quoted.push(other),
            },
            other => quoted.push(other),
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
