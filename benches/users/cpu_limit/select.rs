//! Times the selection of elements by masks, index arrays and start indices.

use crate::common::{Case, Random, time_cases};
use std::{cell::RefCell, error::Error};
use wgslice::{
    Backend, Tensor,
    options::{
        Boxes, Combine, GatherDims, OutOfRange, PasteOptions, ScatterDims, XlaScatterOptions,
    },
    slice,
    spec::{IndexItem, IndexSpec},
};

/// Times operations that select elements by masks, arrays and start indices, as `benches/compare/selection.py` does for
/// other libraries. An operation in place changes the same tensor in each call.
pub(crate) fn select(threads: usize) -> Result<(), Box<dyn Error>> {
    println!(
        "-- selected elements, {threads} threads; time of copy_from_slice of the result's bytes in percent"
    );
    let backend = Backend::cpu().with_threads(threads);
    let values: Vec<f32> = (0..1 << 24).map(|n| n as f32).collect();
    let x = backend.upload((&values, &[4096, 4096]))?;
    let y = x.slice(&slice![..; -1, ..])?.contiguous()?;
    let mut random = Random(1);
    let mut flags =
        |count: usize| -> Vec<u8> { (0..count).map(|_| (random.next() >> 31) as u8).collect() };
    let mask = backend.upload((&flags(1 << 24), &[4096, 4096]))?;
    let row_flags = flags(1 << 18);
    let row_count = row_flags.iter().filter(|&&flag| flag > 0).count();
    let row_mask = backend.upload((&row_flags, &[1 << 18]))?;
    let true_count = mask.bytes()?.iter().filter(|&&flag| flag > 0).count();
    let table = x.reshape(&[1 << 18, 64])?;
    let zero = backend.upload((&[0f32], &[]))?;
    let positions = |step: i64| -> Vec<i64> { (0..2048).map(|n| n * step % 4096).collect() };
    let outer_spec =
        IndexSpec::new([IndexItem::from(positions(1531)), positions(2087).into()]).outer();
    let full_slice = || IndexItem::Slice(slice![..].items()[0]);
    let cube = x.reshape(&[256, 256, 256])?;
    let cube_indices = |step: i64| -> Vec<i64> { (0..1 << 16).map(|n| n * step % 256).collect() };
    let mixed_spec = IndexSpec::new([
        cube_indices(77).into(),
        full_slice(),
        IndexItem::from(cube_indices(31)),
    ]);
    // There are caches for 64 sequences of 1,024 tokens, and 16 new tokens for each.
    let caches = x.reshape(&[64, 1024, 256])?;
    let tokens = caches.slice(&slice![.., ..16])?.contiguous()?;
    let begins: Vec<i32> = (0..64).map(|n| n * 613 % 1008).collect();
    let begins = backend.upload((&begins, &[64, 1]))?;
    let paste_target = RefCell::new(caches.clone());
    let paste_options = PasteOptions::default();
    // There are 4,096 windows of 64 × 64.
    let starts: Vec<i32> = (0..8192).map(|n| n * 1871 % 4033).collect();
    let starts = backend.upload((&starts, &[4096, 2]))?;
    let gather_dims = GatherDims {
        offset_dims: vec![1, 2],
        start_index_map: vec![0, 1],
        index_vector_dim: 1,
        slice_sizes: vec![64, 64],
        ..GatherDims::default()
    };
    let windows = x.xla_gather(&starts, &gather_dims, OutOfRange::Clamp)?.0;
    let scatter_dims = ScatterDims {
        update_window_dims: vec![1, 2],
        scatter_dims_to_operand_dims: vec![0, 1],
        index_vector_dim: 1,
        ..ScatterDims::default()
    };
    let sums = RefCell::new(x.clone());
    let add_options = XlaScatterOptions {
        combine: Some(Combine::Add),
        ..XlaScatterOptions::default()
    };
    let mask_target = RefCell::new(x.clone());
    let ids: Vec<i64> = (0..1 << 16).map(|n| n * 2087 % (1 << 18)).collect();
    let rows = IndexSpec::new([IndexItem::from(ids)]);
    let row_updates = table.slice(&slice![..1 << 16])?.contiguous()?;
    let (index_target, add_target) = (RefCell::new(x.clone()), RefCell::new(table.clone()));
    let cases: [Case<'_>; 12] = [
        (
            "nonzero",
            Box::new(|| Ok(mask.nonzero(Some(true_count))?.0)),
        ),
        (
            "boolean_mask of rows",
            Box::new(|| Ok(table.boolean_mask(&row_mask, 0, Some(row_count))?.0)),
        ),
        (
            "boolean_mask of elements",
            Box::new(|| Ok(x.boolean_mask(&mask, 0, Some(true_count))?.0)),
        ),
        ("select", Box::new(|| Tensor::select(&mask, &x, &y))),
        (
            "masked_update",
            Box::new(|| {
                mask_target.borrow_mut().masked_update(&mask, &zero)?;
                Ok(zero.clone())
            }),
        ),
        ("index, outer", Box::new(|| x.index(&outer_spec))),
        ("index, mixed", Box::new(|| cube.index(&mixed_spec))),
        (
            "index_update, outer",
            Box::new(|| {
                let mut x = index_target.borrow_mut();
                x.index_update(&outer_spec, &zero, Combine::Update)?;
                Ok(zero.clone())
            }),
        ),
        (
            "index_update, add",
            Box::new(|| {
                let mut table = add_target.borrow_mut();
                table.index_update(&rows, &row_updates, Combine::Add)?;
                Ok(zero.clone())
            }),
        ),
        (
            "paste",
            Box::new(|| {
                paste_target
                    .borrow_mut()
                    .paste(&tokens, Boxes::new(&begins), &paste_options)?;
                Ok(zero.clone())
            }),
        ),
        (
            "xla_gather",
            Box::new(|| Ok(x.xla_gather(&starts, &gather_dims, OutOfRange::Clamp)?.0)),
        ),
        (
            "xla_scatter, add",
            Box::new(|| {
                sums.borrow_mut()
                    .xla_scatter(&starts, &windows, &scatter_dims, add_options)?;
                Ok(zero.clone())
            }),
        ),
    ];
    time_cases(&cases)
}
