//! Draws index expressions that contain arrays, and reads and writes arrays of any shape through them.

use crate::{
    draw::{self, integer, sizes, slice},
    plans::{MAX_RUN_BYTES, check_plan, dtype, ok_value, run, view},
};
use arbitrary::{Result, Unstructured};
use wgslice::{
    Plan, SliceSpec,
    options::Combine,
    spec::{IndexItem, IndexSpec},
};

/// The maximum number of positions in an array of an expression. The limit is small because three such arrays can be
/// broadcast together to 12³ elements. Masks can have more elements.
const MAX_POSITIONS: usize = 12;

/// Makes the plans that read and write an array through an index expression, and runs them if their arrays are small.
/// Making a plan checks all positions, so a run must not find a position out of range.
pub fn check(u: &mut Unstructured<'_>) -> Result<()> {
    let shape = match u.ratio(3, 4)? {
        true => draw::shape(u, 4, 512)?,
        false => sizes(u)?,
    };
    let spec = index_spec(u, &shape)?;
    let Some(x) = ok_value(view(u, &shape)?) else {
        return Ok(());
    };
    let dtype = dtype(u)?;
    let Some(plan) = ok_value(Plan::index(&x, &spec, dtype)) else {
        return Ok(());
    };
    check_plan(&plan);
    if plan.inputs()[0].bytes() > MAX_RUN_BYTES || plan.outputs()[0].bytes() > MAX_RUN_BYTES {
        return Ok(());
    }
    let (source, mut dest) = (
        vec![7; plan.inputs()[0].bytes()],
        vec![9; plan.outputs()[0].bytes()],
    );
    let report = run(&plan, &source, None, &mut dest).expect("buffers that fit");
    assert_eq!(report.out_of_range, 0, "{spec:?}");
    assert!(dest.iter().all(|&byte| byte == 7), "{spec:?}");
    let combine = Combine::Update;
    let update_plan = Plan::index_update(&x, &spec, plan.shape(), combine, dtype);
    let Some(update_plan) = ok_value(update_plan) else {
        return Ok(());
    };
    check_plan(&update_plan);
    let mut updated = vec![7; update_plan.outputs()[0].bytes()];
    run(&update_plan, &dest, None, &mut updated).expect("buffers that fit");
    assert!(updated.iter().all(|&byte| byte == 7), "{spec:?}");
    Ok(())
}

fn index_spec(u: &mut Unstructured<'_>, shape: &[usize]) -> Result<IndexSpec> {
    let slice_spec = SliceSpec::try_from(&slice(u, shape.len())?);
    let slice_spec = slice_spec.unwrap_or_default();
    let mut items: Vec<_> = slice_spec
        .items()
        .iter()
        .copied()
        .map(IndexItem::Slice)
        .collect();
    for _ in 0..u.int_in_range(1..=3)? {
        let insert_at = u.int_in_range(0..=items.len())?;
        let shape = match u.ratio(1, 2)? {
            true => draw::shape(u, 2, MAX_POSITIONS)?,
            false => shape.iter().copied().take(u.int_in_range(1..=2)?).collect(),
        };
        let count = shape
            .iter()
            .try_fold(1_usize, |product, &n| product.checked_mul(n));
        let Some(count) = count.filter(|&count| count <= 512) else {
            continue;
        };
        let item = match count > MAX_POSITIONS || u.ratio(1, 3)? {
            true => IndexItem::Mask {
                values: (0..count).map(|_| u.ratio(1, 8)).collect::<Result<_>>()?,
                shape,
            },
            false => IndexItem::Positions {
                values: (0..count).map(|_| integer(u)).collect::<Result<_>>()?,
                shape,
            },
        };
        // The array replaces a slice or is inserted next to it.
        match u.ratio(1, 2)? && insert_at < items.len() {
            true => items[insert_at] = item,
            false => items.insert(insert_at, item),
        }
    }
    let spec = IndexSpec::new(items);
    Ok(if u.ratio(1, 3)? { spec.outer() } else { spec })
}
