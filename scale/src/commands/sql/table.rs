//! Prints the first rows of a result as a table for a terminal, or all rows as lines of JSON.

use super::failed;
use crate::failure::Failure;
use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray, RecordBatch, StringArray},
        datatypes::{DataType, Field},
        error::ArrowError,
        json::LineDelimitedWriter,
        util::{
            display::{ArrayFormatter, FormatOptions},
            pretty::pretty_format_batches,
        },
    },
    dataframe::DataFrame,
};
use futures::StreamExt;
use std::{
    env,
    io::{ErrorKind, stdout},
    sync::Arc,
};
use wgslice_scale::tensor::TensorType;

/// The maximum number of rows in a table.
const MAX_TABLE_ROWS: usize = 20;

/// The width of a terminal in characters if the environment variable `COLUMNS` does not give one.
const DEFAULT_WIDTH: usize = 100;

/// Prints the first rows of a result as a table.
pub(super) async fn print_first(result: DataFrame) -> Result<(), Failure> {
    let fields = result.schema().as_arrow().fields().clone();
    let result = result
        .limit(0, Some(MAX_TABLE_ROWS + 1))
        .map_err(Failure::usage)?;
    let batches = result.collect().await.map_err(failed)?;
    let terminal_width = env::var("COLUMNS")
        .ok()
        .and_then(|terminal_width| terminal_width.parse().ok());
    let terminal_width: usize = terminal_width.unwrap_or(DEFAULT_WIDTH);
    let mut remaining_rows = MAX_TABLE_ROWS;
    let mut column_texts = vec![Vec::new(); fields.len()];
    for batch in &batches {
        let batch = batch.slice(0, batch.num_rows().min(remaining_rows));
        remaining_rows -= batch.num_rows();
        for ((field, column), column_texts) in
            fields.iter().zip(batch.columns()).zip(&mut column_texts)
        {
            column_texts.extend(texts(field, column, terminal_width)?);
        }
    }
    let names = fields.iter().map(|field| Some(field.name()));
    let max_lengths = names.zip(&column_texts).map(|(name, texts)| {
        let texts = texts.iter().map(Option::as_ref).chain([name]);
        let lengths = texts.flatten().map(|text| text.chars().count());
        lengths.max().unwrap_or(0)
    });
    // A table has three characters between two columns, and two at each end.
    let text_width = terminal_width.saturating_sub(3 * fields.len() + 1);
    let column_width = fair_width(max_lengths.collect(), text_width);
    let table = fields.iter().zip(column_texts).map(|(field, texts)| {
        let texts = texts
            .iter()
            .map(|text| text.as_ref().map(|text| shorten(text, column_width)));
        let texts: ArrayRef = Arc::new(texts.collect::<StringArray>());
        (shorten(field.name(), column_width), texts, true)
    });
    let table = RecordBatch::try_from_iter_with_nullable(table).map_err(Failure::work)?;
    super::print(pretty_format_batches(&[table]).map_err(Failure::work)?)?;
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    if rows > MAX_TABLE_ROWS {
        super::print("and more rows: -o OUT.parquet writes all")?;
    }
    Ok(())
}

/// Returns the width in characters to which columns are truncated, at least 6. Unless this minimum is too wide, the
/// texts of a row have at most `text_width` characters together. Wide columns share the width that narrower columns do
/// not need.
fn fair_width(mut max_lengths: Vec<usize>, text_width: usize) -> usize {
    const MIN_COLUMN_WIDTH: usize = 6;
    max_lengths.sort_unstable();
    let (mut remaining_width, mut remaining_columns) = (text_width, max_lengths.len());
    for length in max_lengths {
        if length > remaining_width / remaining_columns {
            break;
        }
        remaining_width -= length;
        remaining_columns -= 1;
    }
    remaining_width
        .checked_div(remaining_columns)
        .unwrap_or(usize::MAX)
        .max(MIN_COLUMN_WIDTH)
}

/// Returns the texts of a column. The text of a tensor has at most `width` elements, which are enough to fill `width`
/// characters.
fn texts(field: &Field, column: &ArrayRef, width: usize) -> Result<Vec<Option<String>>, Failure> {
    let tensor = TensorType::of(field).ok();
    let tensor = tensor.filter(|tensor| !tensor.shape().is_empty());
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(column, &options).map_err(Failure::work)?;
    let texts = (0..column.len()).map(|row| match &tensor {
        _ if column.is_null(row) => Ok(None),
        Some(tensor) => tensor_text(tensor, &column.slice(row, 1), width).map(Some),
        None => Ok(Some(formatter.value(row).to_string())),
    });
    texts.collect()
}

/// Returns the text of a tensor: the type, the shape and the first `width` elements.
fn tensor_text(tensor: &TensorType, column: &ArrayRef, width: usize) -> Result<String, Failure> {
    let mut values = Arc::clone(column);
    while let DataType::FixedSizeList(..) = values.data_type() {
        values = Arc::clone(values.as_fixed_size_list().values());
    }
    let options = FormatOptions::default();
    let elements = ArrayFormatter::try_new(&values, &options).map_err(Failure::work)?;
    let mut text = format!("{}{:?}", tensor.dtype().name(), tensor.shape());
    // An element takes at least two characters, one of them a space, so elements after the first `width` would be cut
    // off.
    for element in 0..values.len().min(width) {
        text += &format!(" {}", elements.value(tensor.place(element)));
    }
    Ok(text)
}

fn shorten(text: &str, width: usize) -> String {
    match text.chars().count() > width {
        true => text.chars().take(width - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// Prints every row as a line of JSON, until the reader closes the pipe.
pub(super) async fn print_lines(result: DataFrame) -> Result<(), Failure> {
    let mut writer = LineDelimitedWriter::new(stdout().lock());
    let mut batches = result.execute_stream().await.map_err(failed)?;
    while let Some(batch) = batches.next().await {
        let batch = batch.map_err(failed)?;
        match writer.write(&batch) {
            Err(ArrowError::IoError(_, error)) if error.kind() == ErrorKind::BrokenPipe => {
                return Ok(());
            }
            written => written.map_err(unwritten)?,
        }
    }
    writer.finish().map_err(unwritten)
}

fn unwritten(error: ArrowError) -> Failure {
    Failure::work(format_args!("cannot write to standard output: {error}"))
}
