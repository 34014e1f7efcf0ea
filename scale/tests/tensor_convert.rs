//! `tensor_convert` matches the naive reference bit for bit, and rejects wrong calls with a reason.

use crate::{
    random::Random,
    tables::{batch, elements, run, shape, tensors, write},
};
use datafusion::arrow::{
    array::{Array, ArrayData, ArrayRef, AsArray, UInt8Array, make_array},
    buffer::Buffer,
    datatypes::{DataType, Float32Type},
};
use std::{path::Path, sync::Arc};
use tempfile::TempDir;
use wgslice_scale::engine::Engine;
use wgslice_vectors::reference::{Conversion, Numbers, convert};

const ROWS: usize = 120;
const SHAPE: [usize; 3] = [2, 4, 3];
const ELEMENTS_PER_ROW: usize = 24;

/// The types that `tensor_convert` reads and writes. Each has its name, its type in Arrow, its numbers in the
/// reference, and its size in bytes.
const TYPES: [(&str, DataType, Numbers, usize); 6] = [
    ("uint8", DataType::UInt8, Numbers::Unsigned(8), 1),
    ("int8", DataType::Int8, Numbers::Signed(8), 1),
    ("uint16", DataType::UInt16, Numbers::Unsigned(16), 2),
    ("int16", DataType::Int16, Numbers::Signed(16), 2),
    ("float16", DataType::Float16, Numbers::Float(5, 10), 2),
    ("float32", DataType::Float32, Numbers::Float(8, 23), 4),
];

/// Returns the elements' bits as signed integers.
fn bits(bytes: &[u8], size: usize) -> Vec<i64> {
    let numbers = bytes.chunks_exact(size).map(|element| match size {
        1 => i64::from(element[0].cast_signed()),
        2 => i64::from(i16::from_ne_bytes(element.try_into().unwrap())),
        _ => i64::from(i32::from_ne_bytes(element.try_into().unwrap())),
    });
    numbers.collect()
}

/// Returns the bytes of all elements of a column.
fn bytes(column: &ArrayRef, size: usize) -> Vec<u8> {
    let mut values = Arc::clone(column);
    while let Some(list) = values.as_fixed_size_list_opt() {
        values = Arc::clone(list.values());
    }
    let data = values.to_data();
    data.buffers()[0].as_slice()[data.offset() * size..][..data.len() * size].to_vec()
}

/// Writes a table with a column `x` of random bits, null in row 7. Returns the bits.
fn write_table(path: &Path, element_type: &DataType, size: usize) -> Vec<i64> {
    let mut random = Random::new(size as u64);
    let data: Vec<u8> = (0..ROWS * ELEMENTS_PER_ROW * size)
        .map(|_| (random.next() >> 20) as u8)
        .collect();
    let values = ArrayData::builder(element_type.clone())
        .len(ROWS * ELEMENTS_PER_ROW)
        .add_buffer(Buffer::from(data.as_slice()));
    let values = make_array(values.build().unwrap());
    write(path, &batch(&[("x", tensors(values, &SHAPE, ROWS, &[7]))]));
    bits(&data, size)
}

#[tokio::test]
async fn converted_elements_match_the_reference() {
    let folder = TempDir::new().unwrap();
    let engine = Engine::embedded(2).unwrap();
    type Scaled = (&'static str, i64, &'static [f32], &'static [f32]);
    let scaled: [Scaled; 4] = [
        ("scale=0.00392157, bias=-0.5", -1, &[0.003_921_57], &[-0.5]),
        ("scale=[0.5, 2, -3e2]", 2, &[0.5, 2.0, -300.0], &[0.0]),
        ("axis=0, bias=[1e4, -7]", 0, &[1.0], &[1e4, -7.0]),
        (
            "axis=-2, scale=1.5, bias=[0, 1, 2.25, nan]",
            1,
            &[1.5],
            &[0.0, 1.0, 2.25, f32::NAN],
        ),
    ];
    for (name, element_type, from, size) in TYPES {
        let path = folder.path().join(format!("{name}.parquet"));
        let source_bits = write_table(&path, &element_type, size);
        for (to_name, to_element_type, to, to_size) in TYPES {
            let unscaled = ("", None);
            let as_bits = |list: &[f32]| -> Vec<i64> {
                let bits = list.iter().map(|x| x.to_bits().cast_signed());
                bits.map(i64::from).collect()
            };
            let scaled = scaled.iter().map(|(options, axis, scale, bias)| {
                (*options, Some((*axis, as_bits(scale), as_bits(bias))))
            });
            let scaled = scaled.filter(|_| size == 1);
            for (options, scaled) in [unscaled].into_iter().chain(scaled) {
                let call = format!("tensor_convert(x, '{to_name}', '{options}')");
                let query = format!("SELECT {call} FROM '{}' ORDER BY id", path.display());
                let result = run(&engine, &query).await.unwrap();
                let column = result.column(0);
                assert_eq!(shape(column.data_type()), SHAPE, "{name}: {call}");
                let mut innermost_type = column.data_type().clone();
                while let DataType::FixedSizeList(item, _) = innermost_type {
                    innermost_type = item.data_type().clone();
                }
                assert_eq!(innermost_type, to_element_type, "{name}: {call}");
                let results = bits(&bytes(column, to_size), to_size);
                for row in 0..ROWS {
                    assert_eq!(column.is_null(row), row == 7);
                    let conversion = Conversion {
                        from,
                        to,
                        cast: false,
                        scaled: scaled
                            .as_ref()
                            .map(|(axis, scale, bias)| (*axis, &scale[..], &bias[..])),
                    };
                    let row_bits = &source_bits[row * ELEMENTS_PER_ROW..][..ELEMENTS_PER_ROW];
                    let expected = convert(row_bits, &SHAPE, conversion).unwrap();
                    assert!(
                        row == 7
                            || results[row * ELEMENTS_PER_ROW..][..ELEMENTS_PER_ROW] == expected,
                        "{name}: {call}: row {row}"
                    );
                }
            }
        }
    }
}

/// Conversions match Rust's arithmetic with `f32` in nested calls, on scalars, and on literals.
#[tokio::test]
async fn conversions_in_expressions_match_naive_loops() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    let values: Vec<u8> = (0..ROWS * ELEMENTS_PER_ROW)
        .map(|i| (i * 11) as u8)
        .collect();
    let column = tensors(
        Arc::new(UInt8Array::from(values.clone())),
        &SHAPE,
        ROWS,
        &[],
    );
    write(&path, &batch(&[("x", column)]));
    let engine = Engine::embedded(1).unwrap();
    let select = async |call: &str| {
        let query = format!("SELECT {call} AS y FROM '{}' ORDER BY id", path.display());
        run(&engine, &query)
            .await
            .map(|result| Arc::clone(result.column(0)))
    };
    let (mean, deviation) = ([0.485f32, 0.456, 0.406], [0.25f32, 0.5, 2.0]);
    let call = "tensor_convert(strided_slice(x, ':, ::-1'), 'f32', 'scale=[4, 2, 0.5], bias=[-0.485, -0.456, -0.406]')";
    let results = elements::<Float32Type>(&select(call).await.unwrap());
    let mut expected = Vec::new();
    for image in values.chunks(12) {
        for pixel in image.chunks(3).rev() {
            for (channel, &x) in pixel.iter().enumerate() {
                expected.push(f32::from(x) / deviation[channel] + -mean[channel]);
            }
        }
    }
    assert_eq!(results, expected);
    // Covers a slice of a converted tensor, and scalars.
    let call = "strided_slice(tensor_convert(x, 'float32', 'scale=0.5'), '1, 2, 0')";
    let results = elements::<Float32Type>(&select(call).await.unwrap());
    let expected: Vec<f32> = values
        .chunks(24)
        .map(|row| f32::from(row[18]) * 0.5)
        .collect();
    assert_eq!(results, expected);
    let call = "tensor_convert(strided_slice(x, '1, 2, 0'), 'float32', 'scale=0.5')";
    assert_eq!(
        elements::<Float32Type>(&select(call).await.unwrap()),
        expected
    );
    let call = "tensor_convert(arrow_cast(200, 'UInt8'), 'float32', 'scale=0.5')";
    let results = elements::<Float32Type>(&select(call).await.unwrap());
    assert_eq!(results, vec![100.0; ROWS]);

    for (call, expected) in [
        (
            "tensor_convert(x, 'float64')",
            "the type is \"float64\", but must be one of uint8, int8, uint16, int16, float16, float32",
        ),
        (
            "tensor_convert(x)",
            "call it as tensor_convert(x, 'float32', ",
        ),
        (
            "tensor_convert(id, 'float32')",
            "x is Int64, but must be UInt8, Int8, UInt16, Int16, Float16 or Float32",
        ),
        (
            "tensor_convert(id > 3, 'float32')",
            "x is Boolean, but must be UInt8",
        ),
        (
            "tensor_convert(x, 'float32', 'scale=much')",
            "option scale is \"much\", but must be a number",
        ),
        ("tensor_convert(x, 'float32', 'scale=[1, 2]')", "scale"),
        ("tensor_convert(x, 'float32', 'scale=[]')", "scale"),
        (
            "tensor_convert(x, 'float32', 'axis=1, bias=[1, 2, 3]')",
            "bias",
        ),
        ("tensor_convert(x, 'float32', 'axis=3, scale=2')", "axis"),
        ("tensor_convert(x, 'float32', 'axis=-4, scale=2')", "axis"),
        (
            "tensor_convert(x, 'float32', 'mean=2')",
            "there is no option \"mean\": the options are axis, bias, scale",
        ),
        (
            "tensor_convert(tensor_convert(x, 'uint16'), 'complex64', 'scale=2')",
            "the type is \"complex64\", but must be one of",
        ),
    ] {
        let error = select(call).await.unwrap_err();
        assert!(
            error.contains("tensor_convert: ") || error.contains("call it as"),
            "{call}: {error}"
        );
        assert!(error.contains(expected), "{call}: {error}");
    }
}
