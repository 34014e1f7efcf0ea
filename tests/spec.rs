//! Tests of the three notations of a slice (text, TensorFlow's encoding and Rust) and of conversions between them.

use crate::harness::kind;
use wgslice::{
    Error, SliceSpec, slice,
    spec::{
        SliceItem::{self, Ellipsis, NewAxis},
        TfStridedSlice,
    },
};

fn parse_spec(text: &str) -> SliceSpec {
    text.parse()
        .unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

#[test]
fn text_and_rust_agree() {
    let cases: [(&str, SliceSpec); 31] = [
        ("", slice![]),
        ("x[]", slice![]),
        ("  ", slice![]),
        ("1", slice![1]),
        ("x[1]", slice![1]),
        ("-1,", slice![-1]),
        (" x_1 [ 1 , -2 ] ", slice![1, -2]),
        (" [ 1 , -2: ] ", slice![1, -2..]),
        ("[0, None]", slice![0, NewAxis]),
        (":", slice![..]),
        ("::", slice![..]),
        ("1:", slice![1..]),
        (":-1", slice![..-1]),
        ("2:4", slice![2..4]),
        ("::-1", slice![..; -1]),
        ("4:1:-1", slice![4..1; -1]),
        ("5::-2", slice![5..; -2]),
        (":-3:-1", slice![..-3; -1]),
        ("None:None:2", slice![..; 2]),
        ("..., None", slice![Ellipsis, NewAxis]),
        (
            "Ellipsis, np.newaxis, newaxis",
            slice![Ellipsis, NewAxis, NewAxis],
        ),
        ("1_000:+2", slice![1000..2]),
        (
            "1, 2:4, None, ..., :-3:-1, :",
            slice![1, 2..4, NewAxis, Ellipsis, ..-3; -1, ..],
        ),
        ("9223372036854775807", slice![i64::MAX]),
        // Python prints keys in this form.
        ("slice(0, 1, None)", slice![0..1]),
        ("slice(None, None, -1)", slice![..; -1]),
        ("slice(3)", slice![..3]),
        ("slice(1, None)", slice![1..]),
        (
            "(1, slice(0, 2, None), Ellipsis, None)",
            slice![1, 0..2, Ellipsis, NewAxis],
        ),
        ("(1,)", slice![1]),
        ("[1, slice(2)]", slice![1, ..2]),
    ];
    for (text, spec) in cases {
        assert_eq!(parse_spec(text), spec, "{text:?}");
        assert_eq!(
            parse_spec(&spec.to_string()),
            spec,
            "{text:?} by way of {spec}"
        );
    }
}

#[test]
fn the_macro_takes_variables_of_every_index_type() {
    let (a, b, c) = (1i32, 2i64, 3usize);
    let spec = slice![a, b, c, a..2, ..b, c.., ..; b];
    assert_eq!(spec.to_string(), "1, 2, 3, 1:2, :2, 3:, ::2");
    let built = SliceSpec::default()
        .with(a)
        .with(b..4)
        .with(NewAxis)
        .with(..);
    assert_eq!(built.to_string(), "1, 2:4, None, :");
    assert_eq!(slice![usize::MAX], slice![i64::MAX]);
}

#[test]
fn errors_point_at_problems() {
    // Each case has the text, the position of the problem in characters, and a part of the expected message.
    let cases = [
        ("1, x", 3, "expected an index"),
        ("1 2", 2, "expected a comma"),
        ("1,,2", 2, "expected an index"),
        (",", 0, "expected an index"),
        ("[1, 2", 0, "not closed"),
        ("[1:, 2", 0, "not closed"),
        ("x[1, 2", 1, "not closed"),
        ("1, 2]", 4, "not opened"),
        ("x[1] 2", 5, "nothing may follow"),
        ("x[1][2]", 4, "nothing may follow"),
        ("[1:] 2", 5, "nothing may follow"),
        ("[1:], 2", 4, "nothing may follow"),
        // Lists select several positions, which NumPy calls advanced indexing.
        ("[0, 2]", 0, "Backend::index"),
        ("[0]", 0, "Backend::index"),
        ("[]", 0, "Backend::index"),
        ("x[[0]]", 2, "Backend::index"),
        ("1:, [0, 2]", 4, "Backend::index"),
        ("[[0, 2], :]", 1, "Backend::index"),
        ("[[1:, 2]]", 3, "expected a comma"),
        ("x[[1:, 2]]", 4, "expected a comma"),
        ("[True, False]", 0, "Backend::index"),
        ("[0, x]", 4, "expected a position"),
        ("(1, 2", 0, "not closed"),
        ("1, 2)", 4, "not opened"),
        ("(1, [0])", 4, "Backend::index"),
        ("slice()", 5, "one, two or three"),
        ("slice(1, 2, 3, 4)", 5, "one, two or three"),
        ("slice(x)", 6, "expected an integer or None"),
        ("slice 1", 0, "expected an index"),
        ("None[0]", 4, "expected a comma"),
        ("1:2:3:4", 5, "expected a comma"),
        ("1.5", 0, "integer"),
        ("1e3", 0, "integer"),
        ("9223372036854775808", 0, "64 bits"),
        ("-", 0, "sign"),
        ("1__0", 1, "underscore"),
        ("1_", 1, "underscore"),
        ("_1", 0, "underscore"),
        ("Nonesense", 0, "expected an index"),
        ("..", 0, "expected an index"),
        ("ä, ö", 0, "expected an index"),
        ("None, €", 6, "expected an index"),
        ("True", 0, "expected an index"),
    ];
    for (text, position, expected) in cases {
        let Err(Error::Parse(error)) = text.parse::<SliceSpec>() else {
            panic!("{text:?} parsed");
        };
        assert_eq!(error.position(), position, "{text:?}: {error}");
        assert!(error.to_string().contains(expected), "{text:?}: {error}");
        assert_caret(&error, text);
    }
}

/// Checks that the caret in the last line of the message is below the offending character of the line before.
fn assert_caret(error: &wgslice::error::ParseError, text: &str) {
    let message = error.to_string();
    let mut lines = message.lines().rev();
    let (caret, line) = (lines.next().unwrap(), lines.next().unwrap());
    assert_eq!(
        line.trim_start().chars().count(),
        text.trim_start().chars().count()
    );
    assert_eq!(
        caret.chars().position(|c| c == '^'),
        Some(error.position() + 2),
        "{message}"
    );
}

#[test]
fn a_problem_of_a_long_text_shows_a_line_of_it() {
    // Each case has the text, the line that is shown, and the caret's position in that line, in characters.
    let cases = [
        (
            "1,".repeat(60) + "x" + &",1".repeat(60),
            format!("…{}x{}…", ",1".repeat(24) + ",", ",1".repeat(24)),
            50,
        ),
        (
            format!("[{}1", "1,".repeat(60)),
            format!("[{}…", "1,".repeat(49)),
            0,
        ),
        ("1,".repeat(60) + "x", format!("…{}x", "1,".repeat(49)), 99),
        (
            "1,".repeat(60_000) + "x",
            format!("…{}x", "1,".repeat(49)),
            99,
        ),
        ("1,".repeat(49) + " x", "1,".repeat(49) + " x", 99),
        (
            "1,".repeat(60) + "1:-",
            format!("…{}1:-", "1,".repeat(48)),
            99,
        ),
    ];
    for (text, line, caret_position) in cases {
        let message = text.parse::<SliceSpec>().unwrap_err().to_string();
        let mut lines = message.lines().skip(1);
        assert_eq!(
            lines.next(),
            Some(format!("  {line}").as_str()),
            "{message}"
        );
        assert_eq!(
            lines.next(),
            Some(format!("  {:>1$}", '^', caret_position + 1).as_str()),
            "{message}"
        );
        assert_eq!(lines.next(), None);
    }
}

/// Tests the encoding that TensorFlow's documentation explains.
#[test]
fn the_documented_encoding() {
    let encoded = TfStridedSlice::try_from(&parse_spec("1, 2:4, None, ..., :-3:-1, :")).unwrap();
    let expected = TfStridedSlice {
        begin: vec![1, 2, 0, 0, 0, 0],
        end: vec![2, 4, 0, 0, -3, 0],
        strides: vec![1, 1, 1, 1, -1, 1],
        begin_mask: 48,
        end_mask: 32,
        ellipsis_mask: 8,
        new_axis_mask: 4,
        shrink_axis_mask: 1,
    };
    assert_eq!(encoded, expected);
    let view = SliceSpec::try_from(&encoded)
        .unwrap()
        .view(&[5; 6])
        .unwrap();
    assert_eq!(view.shape(), [2, 1, 5, 5, 2, 5]);
}

#[test]
fn decoding_reverses_encoding() {
    for text in [
        "",
        "-1",
        "::-1",
        "-2::-1",
        ":2, ::-1",
        "..., 1, None",
        "5:, :, :3",
        ":2, None, :6",
    ] {
        let spec = parse_spec(text);
        let encoded = TfStridedSlice::try_from(&spec).unwrap();
        assert_eq!(
            SliceSpec::try_from(&encoded).unwrap(),
            spec,
            "{text}: {encoded:?}"
        );
    }
}

#[test]
fn masks_of_one_entry_have_an_order_of_precedence() {
    let encoded = TfStridedSlice {
        begin: vec![1; 4],
        end: vec![2; 4],
        strides: vec![3; 4],
        begin_mask: 0b1111,
        end_mask: 0b1111,
        ellipsis_mask: 0b0001,
        new_axis_mask: 0b0011,
        shrink_axis_mask: 0b0111,
    };
    let spec = SliceSpec::try_from(&encoded).unwrap();
    let index = SliceItem::Index {
        index: 1,
        stride: 1,
    };
    let range = SliceItem::from(..).with_stride(3);
    assert_eq!(spec.items(), [Ellipsis, NewAxis, index, range]);
}

#[test]
fn slices_without_an_encoding() {
    let too_long = SliceSpec::new(vec![SliceItem::from(..); 32]);
    let error = TfStridedSlice::try_from(&too_long).unwrap_err();
    assert_eq!(kind(&error), "spec_vectors");
    let two_ellipses = slice![Ellipsis, Ellipsis];
    let error = TfStridedSlice::try_from(&two_ellipses).unwrap_err();
    assert_eq!(kind(&error), "multiple_ellipses");
    assert_eq!(two_ellipses.view(&[3]), Err(error));
}

#[test]
fn shapes_that_cannot_be_addressed() {
    for shape in [
        vec![usize::MAX],
        vec![1 << 32, 1 << 32],
        vec![0, usize::MAX],
        vec![1 << 59, 2, 0],
    ] {
        let error = slice![..].view(&shape).unwrap_err();
        assert_eq!(error, Error::ShapeTooLarge { shape });
    }
    // Large dimensions are accepted if their product can still be addressed.
    assert_eq!(
        slice![0, 5..].view(&[1 << 40, 1 << 10]).unwrap().shape(),
        [1019]
    );
}

/// A view of a huge array needs only arithmetic, so the array does not have to exist.
#[test]
fn views_of_arrays_larger_than_memory() {
    let view = slice![-1, ..; -(1 << 20), 3]
        .view(&[1 << 10, 1 << 30, 1 << 10])
        .unwrap();
    assert_eq!(view.shape(), [1 << 10]);
    assert_eq!(view.strides(), [-(1 << 30)]);
    assert_eq!(
        view.offset(),
        ((1 << 10) - 1) * (1 << 40) + ((1 << 30) - 1) * (1 << 10) + 3
    );
}
