//! The messages of errors, without the text that the engines wrap around them.

use datafusion::error::DataFusionError;

/// The message of an error for people. A cluster sends the error of a task as the debug output of the error's type.
pub fn message(error: &DataFusionError) -> String {
    // What stands before a message that suffices, in the debug output of an error. The last of these that is found
    // counts.
    const WRAPPED: [&str; 4] = [
        "Execution(\"",
        "Plan(\"",
        "ResourcesExhausted(\"",
        "message: \"",
    ];
    let text = match error.find_root() {
        DataFusionError::Execution(text) => text.clone(),
        other => return other.to_string(),
    };
    let mut wrapped = WRAPPED.iter().rev();
    let innermost = wrapped.find_map(|begin| quoted(&text, begin));
    innermost.unwrap_or(text)
}

/// The first quoted text after `begin`, with its escapes resolved. `begin` ends with the opening quote.
fn quoted(text: &str, begin: &str) -> Option<String> {
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
