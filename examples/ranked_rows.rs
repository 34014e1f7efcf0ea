//! Selects the best scores of each row, and marks their positions in a mask, with `gather_elements` and
//! `scatter_elements`.
//!
//! A program has scores on the device and, from its own sort, the columns of the best scores of each row. It gathers
//! these scores. It also scatters ones to the same columns of a mask of zeros. Column -1 is the last column.
//!
//! ```sh
//! cargo run --example ranked_rows
//! ```

use wgslice::{
    Backend,
    gpu::AdapterOptions,
    options::{Combine, GatherElementsOptions, NegativeIndex, ScatterOptions},
};

const ROWS: usize = 500;
const COLUMNS: usize = 64;
const BEST_COUNT: usize = 5;

fn score(row: usize, column: usize) -> u16 {
    // 37 is odd and COLUMNS is a power of two, so the scores of a row all differ.
    u16::try_from((row * 31 + column * 37) % COLUMNS).expect("a small number")
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let backend = Backend::open_gpu(&AdapterOptions::default())?;
    println!("on {backend}");

    let mut scores = Vec::new();
    let mut columns = Vec::new();
    for row in 0..ROWS {
        scores.extend((0..COLUMNS).map(|column| score(row, column)));
        let mut sorted_columns: Vec<usize> = (0..COLUMNS).collect();
        sorted_columns.sort_by_key(|&column| std::cmp::Reverse(score(row, column)));
        for &column in &sorted_columns[..BEST_COUNT] {
            let is_last = column == COLUMNS - 1;
            columns.push(if is_last { -1 } else { i64::try_from(column)? });
        }
    }

    let scores = backend.upload((&scores, &[ROWS, COLUMNS]))?;
    let columns = backend.upload((&columns, &[ROWS, BEST_COUNT]))?;
    let options = GatherElementsOptions {
        negative: NegativeIndex::Wrap,
        ..GatherElementsOptions::default()
    };
    let (best, _) = scores.gather_elements(&columns, 1, options)?;

    let mut mask = backend.upload((&vec![0u8; ROWS * COLUMNS], &[ROWS, COLUMNS]))?;
    let ones = backend.upload((&vec![1u8; ROWS * BEST_COUNT], &[ROWS, BEST_COUNT]))?;
    let options = ScatterOptions {
        negative: NegativeIndex::Wrap,
        combine: Some(Combine::Update),
        ..ScatterOptions::default()
    };
    mask.scatter_elements(&columns, &ones, 1, options)?;

    for (row, best) in best.to_vec::<u16>()?.chunks(BEST_COUNT).enumerate() {
        // The scores of a row are the numbers from 0 to COLUMNS - 1 in some order.
        let expected: Vec<usize> = (COLUMNS - BEST_COUNT..COLUMNS).rev().collect();
        let best: Vec<usize> = best.iter().copied().map(usize::from).collect();
        assert_eq!(best, expected, "row {row}");
    }
    for (i, kept) in mask.to_vec::<u8>()?.into_iter().enumerate() {
        let score = usize::from(score(i / COLUMNS, i % COLUMNS));
        assert_eq!(kept == 1, score >= COLUMNS - BEST_COUNT, "element {i}");
    }
    println!("the {BEST_COUNT} best of {ROWS} rows are right, and so is their mask");
    Ok(())
}
