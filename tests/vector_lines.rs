//! A line of a vector file is read as it is meant, or refused with a reason.
//!
//! [`parse`] reads a line, whatever its operation; [`Call::of`] finds the operation and its arguments.

use crate::golden::case::{BadLine, Case, Tensor, parse};

/// The operation of a case, with its arguments: all that the vectors have.
#[derive(Debug)]
pub(crate) enum Call<'a> {
    StridedSlice {
        input: &'a Tensor,
        spec: Spec,
    },
    StridedSliceGrad {
        shape: Vec<usize>,
        spec: Spec,
        dy: &'a Tensor,
    },
    StridedSliceUpdate {
        input: &'a Tensor,
        spec: Spec,
        value: &'a Tensor,
    },
    Slice {
        input: &'a Tensor,
        begin: Vec<i64>,
        size: Vec<i64>,
    },
    GatherNd {
        params: &'a Tensor,
        indices: &'a Tensor,
        batch_dims: usize,
    },
    Gather {
        params: &'a Tensor,
        indices: &'a Tensor,
        axis: i64,
        batch_dims: i64,
    },
    ScatterNd {
        indices: &'a Tensor,
        updates: &'a Tensor,
        shape: Vec<usize>,
    },
    TensorScatterNdUpdate {
        tensor: &'a Tensor,
        indices: &'a Tensor,
        updates: &'a Tensor,
    },
}

/// The vectors and the masks of a slice.
#[derive(Debug)]
pub(crate) struct Spec {
    pub(crate) begin: Vec<i64>,
    pub(crate) end: Vec<i64>,
    pub(crate) strides: Vec<i64>,
    pub(crate) begin_mask: i32,
    pub(crate) end_mask: i32,
    pub(crate) ellipsis_mask: i32,
    pub(crate) new_axis_mask: i32,
    pub(crate) shrink_axis_mask: i32,
}

impl Call<'_> {
    /// What a case asks for. An operation that is not known is an error: none goes untested.
    pub(crate) fn of(case: &Case) -> Result<Call<'_>, BadLine> {
        Ok(match case.op.as_str() {
            "strided_slice" => Call::StridedSlice {
                input: case.tensor("input")?,
                spec: Spec::of(case)?,
            },
            "strided_slice_grad" => Call::StridedSliceGrad {
                shape: sizes(case, "shape")?,
                spec: Spec::of(case)?,
                dy: case.tensor("dy")?,
            },
            "tensor_strided_slice_update" => Call::StridedSliceUpdate {
                input: case.tensor("input")?,
                spec: Spec::of(case)?,
                value: case.tensor("value")?,
            },
            "slice" => Call::Slice {
                input: case.tensor("input")?,
                begin: case.integers("begin")?,
                size: case.integers("size")?,
            },
            "gather_nd" => Call::GatherNd {
                params: case.tensor("params")?,
                indices: case.tensor("indices")?,
                batch_dims: size(case, "batch_dims", case.integer("batch_dims")?)?,
            },
            "gather" => Call::Gather {
                params: case.tensor("params")?,
                indices: case.tensor("indices")?,
                axis: case.integer("axis")?,
                batch_dims: case.integer("batch_dims")?,
            },
            "scatter_nd" => Call::ScatterNd {
                indices: case.tensor("indices")?,
                updates: case.tensor("updates")?,
                shape: sizes(case, "shape")?,
            },
            "tensor_scatter_nd_update" => Call::TensorScatterNdUpdate {
                tensor: case.tensor("tensor")?,
                indices: case.tensor("indices")?,
                updates: case.tensor("updates")?,
            },
            op => return Err(case.bad(format!("there is no operation `{op}`"))),
        })
    }
}

impl Spec {
    fn of(case: &Case) -> Result<Self, BadLine> {
        let mask = |name| {
            let bits = case.integer(name)?;
            i32::try_from(bits)
                .map_err(|_| case.bad(format!("{name} {bits} is not a 32-bit integer")))
        };
        Ok(Self {
            begin: case.integers("begin")?,
            end: case.integers("end")?,
            strides: case.integers("strides")?,
            begin_mask: mask("begin_mask")?,
            end_mask: mask("end_mask")?,
            ellipsis_mask: mask("ellipsis_mask")?,
            new_axis_mask: mask("new_axis_mask")?,
            shrink_axis_mask: mask("shrink_axis_mask")?,
        })
    }
}

fn sizes(case: &Case, name: &str) -> Result<Vec<usize>, BadLine> {
    let sizes = case.integers(name)?;
    sizes
        .into_iter()
        .map(|value| size(case, name, value))
        .collect()
}

fn size(case: &Case, name: &str, value: i64) -> Result<usize, BadLine> {
    usize::try_from(value).map_err(|_| case.bad(format!("{name} {value} is negative")))
}

#[test]
fn bad_lines_say_what_is_wrong() {
    let line = |tensor: &str, rest: &str| {
        format!(
            r#"{{"op":"gather_nd","dtype":"int32","tensors":{{"params":{tensor}}},"args":{{}}{rest}}}"#
        )
    };
    let good = r#","expected":{"shape":[],"data":[1]}"#;
    let one = r#"{"shape":[1],"data":[1]}"#;
    let rows = [
        (line(one, ""), "neither `expected` nor `error` is given"),
        (
            line(one, &format!(r#"{good},"error":true"#)),
            "both `expected` and `error` are given",
        ),
        (
            line(one, r#","error":true"#),
            "an error needs an `error_kind`",
        ),
        (
            line(r#"{"shape":[2],"data":[1]}"#, good),
            "has 1 values, but its shape [2] needs 2",
        ),
        (
            line(r#"{"shape":[1],"data":[1.5]}"#, good),
            "has the value 1.5, not a 64-bit integer",
        ),
        (
            line(r#"{"shape":[1],"data":[9223372036854775808]}"#, good),
            "not a 64-bit integer",
        ),
        (
            line(r#"{"shape":[1],"data":"range"}"#, good),
            "must be \"arange\", \"arange1\" or a",
        ),
        (
            line(r#"{"shape":[99999999],"data":"arange"}"#, good),
            "more than 16777216 elements",
        ),
        (
            line(r#"{"shape":[4294967296,4294967296],"data":"arange"}"#, good),
            "more than 16777216 elements",
        ),
        (
            line(r#"{"shape":[-1],"data":[]}"#, good),
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
    for (text, reason) in rows {
        let error = parse(&format!("\n{text}\n"))
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
fn lines_may_say_more_and_arguments_are_typed() {
    let text = r#"{"op":"new","dtype":"f9","extra":{},"tensors":{"a":{"shape":[0,99999999999],
        "data":"arange"},"b":{"shape":[2],"data":"arange1"}},"args":{"list":[1,-2],"one":3,"odd":
        "text"},"expected":{"shape":[],"data":[-9]}}"#
        .replace('\n', " ");
    let case = parse(&text).next().unwrap().unwrap();
    assert_eq!(case.tensor("a").unwrap().shape, [0, 99_999_999_999]);
    assert_eq!(case.tensor("b").unwrap().data, [1, 2]);
    assert_eq!(case.integers("list").unwrap(), [1, -2]);
    assert_eq!(case.integer("one").unwrap(), 3);
    let message = |result: Result<i64, BadLine>| result.unwrap_err().to_string();
    assert_eq!(
        message(case.integer("two")),
        "line 1: there is no argument `two`"
    );
    assert_eq!(
        message(case.integer("list")),
        "line 1: argument `list` is [1,-2], not a 64-bit integer"
    );
    assert_eq!(
        case.integers("odd").unwrap_err().to_string(),
        "line 1: argument `odd` is \"text\", not a list of 64-bit integers"
    );
    assert_eq!(
        case.tensor("c").unwrap_err().to_string(),
        "line 1: there is no tensor `c`"
    );
}

#[test]
fn an_operation_is_known_and_has_its_arguments() {
    let message = |op: &str, args: &str| {
        let text = format!(
            r#"{{"op":"{op}","dtype":"int32","tensors":{{"params":{{"shape":[],"data":[1]}},"indices":
            {{"shape":[],"data":[1]}}}},"args":{{{args}}},"expected":{{"shape":[],"data":[1]}}}}"#
        );
        let case = parse(&text.replace('\n', " ")).next().unwrap().unwrap();
        Call::of(&case).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(
        message("gather_md", ""),
        "line 1: there is no operation `gather_md`"
    );
    assert_eq!(
        message("gather_nd", r#""batch_dims":-1"#),
        "line 1: batch_dims -1 is negative"
    );
    assert_eq!(
        message("gather", r#""batch_dims":-1"#),
        "line 1: there is no argument `axis`"
    );
    assert_eq!(message("slice", ""), "line 1: there is no tensor `input`");
}
