//! `crop(x, begins, sizes [, options])`: cuts boxes of fixed size from each tensor.
//!
//! `begins` has a number for each cropped dimension. The cropped dimensions are the first dimensions of a tensor.
//! `begins` can have one more dimension before the numbers, as in `'[[0, 0], [8, 8]]'`. The size of that dimension is
//! then the number of boxes for each tensor.

use super::*;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Crop;

impl TensorFunction for Crop {
    const USAGE: Usage = Usage::of_indices(
        "crop",
        "crop(x, begins, '224, 224', 'out_of_range=zero')",
        1..=2,
    );

    fn result_type(call: &Call) -> Result<TensorType> {
        let (x, begins) = call.two_tensors();
        begins.check_integers("begins")?;
        let options = options(call)?;
        let cropped_dims = options.sizes.len();
        let (box_count, numbers) = match begins.shape() {
            &[numbers] => (1, numbers),
            &[box_count, numbers] => (box_count, numbers),
            other => {
                return plan_err!(
                    "begins have shape {other:?}, but must have one or two dimensions"
                );
            }
        };
        if numbers != cropped_dims {
            return plan_err!(
                "begins have {numbers} numbers for each box, but the sizes {:?} are {cropped_dims}",
                options.sizes
            );
        }
        // The plan is for a batch of one tensor, from which all boxes are cut.
        let batch_shape = [&[1], x.shape()].concat();
        let boxes = Boxes::of_tuples(&[box_count, 1 + cropped_dims], true, false);
        let plan = Plan::crop(&batch_shape, boxes, &options, x.dtype()).map_err(refused)?;
        x.with_shape(&plan.shape()[usize::from(begins.shape().len() == 1)..])
    }

    fn run(call: &Call, batch: &Batch, result: &mut [u8]) -> Result<Option<RowProblem>> {
        let options = options(call)?;
        let (x, begins) = call.two_tensors();
        let boxes_per_row = match begins.shape() {
            &[boxes, _] => boxes,
            _ => 1,
        };
        let tuples = batch.tuples_with_rows(1, boxes_per_row, options.sizes.len())?;
        let tuple_length = 1 + options.sizes.len();
        let boxes = Boxes::of_tuples(&[batch.rows * boxes_per_row, tuple_length], true, false);
        let reporting_options = CropOptions {
            out_of_range: reporting_policy(options.out_of_range),
            ..options.clone()
        };
        let view = batch.view(0).map_err(failed)?;
        let plan = Plan::crop(view, boxes, &reporting_options, x.dtype()).map_err(failed)?;
        let report = batch.run(&plan, Some((&tuples).into()), result)?;
        Ok(RowProblem::outside(
            report,
            options.out_of_range,
            x.shape(),
            |first| {
                let position = match begins.shape() {
                    [_] => Vec::new(),
                    _ => vec![first.tuple % boxes_per_row],
                };
                (
                    Some(first.tuple / boxes_per_row),
                    position,
                    first.index[1..].to_vec(),
                )
            },
        ))
    }
}

fn options(call: &Call) -> Result<CropOptions> {
    let given = Options::parse(call.text(1), &["out_of_range", "strides"])?;
    Ok(CropOptions {
        sizes: integers("the size of boxes", call.text(0))?,
        strides: given.integers("strides")?,
        out_of_range: given.out_of_range()?,
    })
}
