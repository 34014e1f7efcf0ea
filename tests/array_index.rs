//! Tests edge cases of index expressions with arrays. The modules `devices` and `property` run golden vectors from
//! NumPy and random cases.

use crate::harness::{kind, step_count};
use wgslice::{
    Backend, DType, Plan, View, slice,
    spec::{IndexItem, IndexSpec},
};

fn parse_spec(text: &str) -> IndexSpec {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn arrays_as_text() {
    let positions = |values: &[i64], shape: &[usize]| IndexItem::Positions {
        values: values.to_vec(),
        shape: shape.to_vec(),
    };
    let mask = |values: &[bool], shape: &[usize]| IndexItem::Mask {
        values: values.to_vec(),
        shape: shape.to_vec(),
    };
    for (text, item) in [
        ("[0, -2]", positions(&[0, -2], &[2])),
        ("[[0],[1_000],]", positions(&[0, 1000], &[2, 1])),
        ("[]", positions(&[], &[0])),
        ("[[], []]", positions(&[], &[2, 0])),
        ("[True,False]", mask(&[true, false], &[2])),
        ("True", mask(&[true], &[])),
        ("[[[False]]]", mask(&[false], &[1, 1, 1])),
    ] {
        assert_eq!(parse_spec(text).items(), [item], "{text}");
    }
    let text = "1, [[0, 2], [1, 1]], ..., None, ::-1, [True, False]";
    assert_eq!(parse_spec(text).to_string(), text);
    // One pair of brackets around the whole expression is accepted if the brackets cannot be a list.
    for (text, content) in [
        ("x[[0, -2]]", "[0, -2]"),
        ("[[0, -2], :]", "[0, -2], :"),
        ("[0, None]", "0, None"),
        ("[...]", "..."),
        ("(1, [0, 2])", "1, [0, 2]"),
        ("([0, 2], slice(0, 1, None))", "[0, 2], 0:1"),
        ("x[[[0], [1]]]", "[[0], [1]]"),
    ] {
        assert_eq!(parse_spec(text), parse_spec(content), "{text}");
    }
}

#[test]
fn texts_that_are_not_expressions() {
    let deep = "[".repeat(100_000);
    for (text, position, problem) in [
        ("[0, True]", 0, "a list of positions and truth values"),
        ("0, [[0], 1]", 3, "the entries of this list differ in shape"),
        ("[0, 1", 0, "this bracket is not closed"),
        ("[0, 1]]", 6, "a bracket that was not opened"),
        ("[0 1]", 3, "expected a comma"),
        (
            "[[0, :]]",
            5,
            "expected a position, True or False, found ':'",
        ),
        ("[1.5]", 1, "an index must be an integer"),
        ("[[None]]", 6, "expected a position, True or False"),
        (&deep, 64, "more than 64 lists within lists"),
    ] {
        let error = text.parse::<IndexSpec>().unwrap_err().to_string();
        assert!(
            error.contains(problem),
            "{}: {error}",
            &text[..text.len().min(20)]
        );
        let wgslice::Error::Parse(parse) = text.parse::<IndexSpec>().unwrap_err() else {
            panic!("{error}");
        };
        assert_eq!(parse.position(), position, "{error}");
    }
}

/// Each error names the entry of the expression and the rule that it breaks.
#[test]
fn arrays_that_do_not_fit() {
    for (shape, text, is_outer, expected_kind, message) in [
        (
            &[2, 3][..],
            "[0], [3]",
            false,
            "position",
            "entry 1 has position 3, but dimension 1",
        ),
        (
            &[2, 3],
            "-3, [0]",
            false,
            "position",
            "positions are -2 to 1",
        ),
        (
            &[2, 3],
            "[0, 1], [0, 1, 2]",
            false,
            "array_shapes",
            "entry 1 selects positions of shape [3]",
        ),
        (
            &[2, 3],
            "..., [True]",
            false,
            "mask_shape",
            "the dimensions from 1 on have sizes [3]",
        ),
        (
            &[2, 3],
            "[[True, True]]",
            false,
            "mask_shape",
            "shape [1,2]",
        ),
        (
            &[2, 3],
            "[[0]], :",
            true,
            "outer_rank",
            "entry 0 has 2 dimensions",
        ),
        (
            &[2, 3],
            "True, :",
            true,
            "outer_rank",
            "entry 0 has 0 dimensions",
        ),
        (&[2, 3], "[0], 0, 0", false, "too_many_specs", ""),
        (&[2, 3], "..., [0], ...", false, "multiple_ellipses", ""),
        (&[], "[0]", false, "scalar_input", ""),
        (&[2, 3], "[0], ::0", false, "stride_zero", ""),
        (&[2, 3], "[0], 9", true, "shrink_out_of_range", ""),
    ] {
        let spec = parse_spec(text);
        let spec = if is_outer { spec.outer() } else { spec };
        let error = Plan::index(shape, &spec, DType::U8).unwrap_err();
        assert_eq!(kind(&error), expected_kind, "{text}");
        assert!(error.to_string().contains(message), "{text}: {error}");
    }
    let positions = IndexItem::Positions {
        values: vec![0],
        shape: vec![usize::MAX, 2],
    };
    let mask = IndexItem::Mask {
        values: vec![true],
        shape: vec![2],
    };
    for (item, message) in [
        (positions, "too"),
        (mask, "has 1 values, which do not fill its shape [2]"),
    ] {
        let spec = IndexSpec::new([item]);
        let error = Plan::index(&[2], &spec, DType::U8).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
}

/// Two arrays of 2^20 positions would select 2^40 pairs, whose tuples do not fit in memory. An outer expression gathers
/// along one dimension at a time instead.
#[test]
fn the_product_of_outer_arrays_exists_nowhere() {
    let zeros: Vec<i64> = vec![0; 1 << 20];
    let x = View::new(&[1, 1]).unwrap();
    let spec = IndexSpec::new([IndexItem::from(zeros.clone()), vec![0; 3].into()]).outer();
    let plan = Plan::index(&x, &spec, DType::U8).unwrap();
    assert_eq!((step_count(&plan), plan.shape()), (2, &[1 << 20, 3][..]));
    let column = IndexItem::Positions {
        values: zeros.clone(),
        shape: vec![1 << 20, 1],
    };
    let pairs = IndexSpec::new([column, IndexItem::from(vec![0; 1 << 24])]);
    let error = Plan::index(&x, &pairs, DType::U8).unwrap_err();
    assert!(
        matches!(error, wgslice::Error::OutOfHostMemory { .. }),
        "{error}"
    );
}

/// An expression without arrays is planned as a slice, without a gather. A gather from a view does not copy the view
/// first.
#[test]
fn plans_have_as_few_steps_as_possible() {
    let x = View::new(&[4, 5, 6]).unwrap();
    let planned = |text: &str, is_outer: bool| {
        let spec = parse_spec(text);
        let spec = if is_outer { spec.outer() } else { spec };
        let plan = Plan::index(&x, &spec, DType::F32).unwrap();
        let name = plan.to_string().split(' ').next().unwrap().to_owned();
        (name, step_count(&plan))
    };
    let expected = |name: &str, step_count| (name.to_owned(), step_count);
    assert_eq!(planned("1, ::-1", false), expected("strided_slice", 1));
    assert_eq!(
        planned("1, ::-1, [0, 1]", false),
        expected("array_index", 1)
    );
    assert_eq!(planned("1, ::-1, [0, 1]", true), expected("gather", 1));
    assert_eq!(
        planned("[0, 1, 2, 3], :, [0]", true),
        expected("array_index", 2)
    );
    let backend = Backend::cpu();
    let x: Vec<u16> = (0..120).collect();
    let array = backend
        .index((&x, &[4, 5, 6]), &parse_spec("::-1, 4, [0, 5]"))
        .unwrap();
    assert_eq!(
        (&array.shape[..], &array.data[..3]),
        (&[4, 2][..], &[114, 119, 84][..])
    );
}

/// On the CPU an outer expression runs in one pass. Tests results that several threads write, reversed dimensions,
/// pieces of one element and of many, and unordered lists. The expected values come from a loop over all positions.
#[test]
fn outer_expressions_in_parts() {
    let sizes = [64usize, 50, 120];
    let lists = [97usize, 200, 150].map(|count| -> Vec<i64> {
        let position = |n: usize| (n * n * 37 + 11 * n) as i64;
        (0..count).map(position).collect()
    });
    let backends = [1, 3].map(|thread_count| Backend::cpu().with_threads(thread_count));
    let x: Vec<i64> = (0..).take(sizes.iter().product()).collect();
    for has_list in [[true, true, false], [true, false, true], [true; 3]] {
        let positions = |dim: usize| -> Vec<i64> {
            let size = sizes[dim] as i64;
            match has_list[dim] {
                true => lists[dim].iter().map(|n| n % size).collect(),
                false => (0..size).collect(),
            }
        };
        let items = (0..3).map(|dim| match has_list[dim] {
            true => positions(dim).into(),
            false => IndexItem::Slice(slice![..].items()[0]),
        });
        let spec = IndexSpec::new(items.collect::<Vec<_>>()).outer();
        for is_reversed in [false, true] {
            let mut expected = Vec::new();
            for &a in &positions(0) {
                for &b in &positions(1) {
                    for &c in &positions(2) {
                        // Converts positions in the view, whose last two dimensions can be reversed, to positions in
                        // `x`.
                        let (b, c) = match is_reversed {
                            true => (49 - b, 119 - c),
                            false => (b, c),
                        };
                        expected.push((a * 50 + b) * 120 + c);
                    }
                }
            }
            for backend in &backends {
                let x = backend.upload((&x, &sizes)).unwrap();
                let result = match is_reversed {
                    true => {
                        let view = x.slice(&slice![.., ..; -1, ..; -1]).unwrap();
                        view.index(&spec).unwrap()
                    }
                    false => x.index(&spec).unwrap(),
                };
                let result = result.to_array::<i64>().unwrap();
                assert!(result.data == expected, "{spec}, {is_reversed}, {backend}");
            }
        }
    }
}
