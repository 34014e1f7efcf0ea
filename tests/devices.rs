//! The shapes and arguments of every golden vector, on every device of the harness: with WebGPU's
//! default limits, with limits so low that everything is cut into windows, and in tensors that lie
//! in several buffers.
//!
//! The harness compares with the reference, at every element size; the reference agrees with what
//! TensorFlow gave for these vectors (`golden`).

use crate::{
    harness::{check_gather, check_slice},
    vectors::case::{BadLine, Case, parse},
};
use wgslice::StridedSlice;

fn slice(case: &Case) -> Result<(), BadLine> {
    let mask =
        |name| Ok(i32::try_from(case.arguments().integer(name)?).expect("a mask of 32 bits"));
    let encoded = StridedSlice {
        begin: case.arguments().integers("begin")?,
        end: case.arguments().integers("end")?,
        strides: case.arguments().integers("strides")?,
        begin_mask: mask("begin_mask")?,
        end_mask: mask("end_mask")?,
        ellipsis_mask: mask("ellipsis_mask")?,
        new_axis_mask: mask("new_axis_mask")?,
        shrink_axis_mask: mask("shrink_axis_mask")?,
    };
    check_slice(&case.tensor("input")?.shape, &encoded);
    Ok(())
}

fn gather(case: &Case) -> Result<(), BadLine> {
    let (params, indices) = (case.tensor("params")?, case.tensor("indices")?);
    let batch_dims = usize::try_from(case.arguments().integer("batch_dims")?).expect("batch_dims");
    check_gather(&params.shape, &indices.data, &indices.shape, batch_dims);
    Ok(())
}

#[test]
fn every_vector_on_every_device() {
    let (mut slices, mut gathers) = (0, 0);
    for case in parse(include_str!("vectors/seed1.jsonl")) {
        let case = case.unwrap();
        match case.op.as_str() {
            "strided_slice" => {
                slices += 1;
                slice(&case).unwrap();
            }
            "gather_nd" => {
                gathers += 1;
                gather(&case).unwrap();
            }
            _ => {}
        }
    }
    assert_eq!((slices, gathers), (785, 267));
}
