//! Checks that lines of vector files are read correctly, or refused with a reason.
//!
//! [`parse`] reads a line and finds its operation. [`Call::of`] reads the arguments.

use crate::{BadLine, Call, Operation, parse};

#[test]
fn errors_of_bad_lines_name_the_problem() {
    let line = |tensor: &str, more_keys: &str| {
        format!(
            r#"{{"op":"gather_nd","dtype":"int32","tensors":{{"params":{tensor}}},"args":{{}}{more_keys}}}"#
        )
    };
    let expected = r#","expected":{"shape":[],"data":[1]}"#;
    let array = r#"{"shape":[1],"data":[1]}"#;
    let bad_lines = [
        (line(array, ""), "neither `expected` nor `error` is given"),
        (
            line(array, &format!(r#"{expected},"error":true"#)),
            "both `expected` and `error` are given",
        ),
        (
            line(array, r#","error":true"#),
            "an error needs an `error_kind`",
        ),
        (
            line(r#"{"shape":[2],"data":[1]}"#, expected),
            "has 1 values, but its shape [2] needs 2",
        ),
        (
            line(r#"{"shape":[1],"data":[1.5]}"#, expected),
            "has the value 1.5, not a 64-bit integer",
        ),
        (
            line(r#"{"shape":[1],"data":[9223372036854775808]}"#, expected),
            "not a 64-bit integer",
        ),
        (
            line(r#"{"shape":[1],"data":"range"}"#, expected),
            "must be \"arange\", \"arange1\" or a",
        ),
        (
            line(r#"{"shape":[99999999],"data":"arange"}"#, expected),
            "more than 16777216 elements",
        ),
        (
            line(
                r#"{"shape":[4294967296,4294967296],"data":"arange"}"#,
                expected,
            ),
            "more than 16777216 elements",
        ),
        (
            line(r#"{"shape":[-1],"data":[]}"#, expected),
            "invalid value: integer `-1`, expected usize",
        ),
        (
            "{\"op\":1}".to_owned(),
            "invalid type: integer `1`, expected a string (column 7)",
        ),
        (
            format!(r#"{{"args":{{"a":{}"#, "[".repeat(1000)),
            "recursion limit exceeded",
        ),
        ("{".to_owned(), "EOF"),
    ];
    for (bad_line, reason) in bad_lines {
        let error = parse(&format!("\n{bad_line}\n"))
            .next()
            .unwrap()
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("line 2: ") && error.contains(reason),
            "{error}"
        );
    }
}

#[test]
fn unknown_keys_are_ignored_and_arguments_are_typed() {
    let line = r#"{"op":"view","dtype":"f9","extra":{},"tensors":{"a":{"shape":[0,99999999999],
        "data":"arange"},"b":{"shape":[2],"data":"arange1"}},"args":{"list":[1,-2],"one":3,"odd":
        "text"},"expected":{"shape":[],"data":[-9]}}"#
        .replace('\n', " ");
    let case = parse(&line).next().unwrap().unwrap();
    assert_eq!(case.tensor("a").unwrap().shape, [0, 99_999_999_999]);
    assert_eq!(case.tensor("b").unwrap().data, [1, 2]);
    assert_eq!(case.arguments().integers("list").unwrap(), [1, -2]);
    assert_eq!(case.arguments().integer("one").unwrap(), 3);
    let message = |result: Result<i64, BadLine>| result.unwrap_err().to_string();
    assert_eq!(
        message(case.arguments().integer("two")),
        "line 1: there is no argument `two`"
    );
    assert_eq!(
        message(case.arguments().integer("list")),
        "line 1: argument `list` is [1,-2], not a 64-bit integer"
    );
    assert_eq!(
        case.arguments().integers("odd").unwrap_err().to_string(),
        "line 1: argument `odd` is \"text\", not a list of 64-bit integers"
    );
    assert_eq!(
        case.tensor("c").unwrap_err().to_string(),
        "line 1: there is no tensor `c`"
    );
}

#[test]
fn unknown_operations_and_missing_arguments_are_errors() {
    let read_operation = |op: &str, args: &str| {
        let line = format!(
            r#"{{"op":"{op}","dtype":"int32","tensors":{{"params":{{"shape":[],"data":[1]}},"indices":
            {{"shape":[],"data":[1]}}}},"args":{{{args}}},"expected":{{"shape":[],"data":[1]}}}}"#
        );
        let case = parse(&line.replace('\n', " ")).next().unwrap()?;
        Call::of(&case).map(|_| case.op)
    };
    let problem = |op, args| read_operation(op, args).unwrap_err().to_string();
    assert_eq!(
        problem("gather_nd", r#""batch_dims":-1"#),
        "line 1: argument `batch_dims` is -1, but must be 0 or more"
    );
    assert_eq!(
        problem("gather_nd", r#""batch_dims":0,"negative":"wraps""#),
        "line 1: argument `negative` is \"wraps\", not \"wrap\", or left out"
    );
    assert_eq!(
        problem("gather", r#""axis":0,"batch_dims":0,"view":[{"flip":0}]"#),
        "line 1: argument `view` is [{\"flip\":0}], not a list of the steps of a view"
    );
    assert_eq!(
        problem("gather", r#""batch_dims":-1"#),
        "line 1: there is no argument `axis`"
    );
    assert_eq!(
        problem("gather_md", ""),
        "line 1: there is no operation `gather_md`"
    );
    assert_eq!(problem("slice", ""), "line 1: there is no tensor `input`");
    assert_eq!(
        read_operation("batch_gather", ""),
        Ok(Operation::BatchGather)
    );
}
