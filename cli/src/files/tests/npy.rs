use std::fmt::Write as _;
use std::fs;

use wgslice::DType;

use super::{assert_says, fixture_error, read_at, read_content, read_fixture};
use crate::files::bytes::{Bytes, MIN_MAPPED_BYTES};
use crate::files::{Array, write_array};

fn bytes_of<const N: usize>(values: impl IntoIterator<Item = [u8; N]>) -> Vec<u8> {
    values.into_iter().flatten().collect()
}

/// Returns an `.npy` file of version 1.0 with this header and data.
fn npy_file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

fn read_plain(descr: &str, shape: &str, data: &[u8]) -> Result<Array, String> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    read_content("x.npy", &npy_file(&header, data))
}

#[test]
fn versions_orders_and_layouts_give_the_same_values() {
    let little = read_fixture("v1_c_little_i4.npy");
    assert_eq!(
        (little.dtype(), little.shape()),
        (DType::I32, &[2, 3, 4][..])
    );
    assert_eq!(little.bytes(), bytes_of((0..24i32).map(i32::to_ne_bytes)));

    let fortran = read_fixture("v2_fortran_little_f8.npy");
    assert_eq!(
        (fortran.dtype(), fortran.shape()),
        (DType::F64, &[2, 3, 4][..])
    );
    let expected = bytes_of((0..24).map(|i| f64::from(i).to_ne_bytes()));
    assert_eq!(fortran.bytes(), expected);

    let big = read_fixture("v3_fortran_big_u2.npy");
    assert_eq!((big.dtype(), big.shape()), (DType::U16, &[2, 3, 4][..]));
    assert_eq!(big.bytes(), bytes_of((0..24u16).map(u16::to_ne_bytes)));

    let complex = read_fixture("c_big_c8.npy");
    assert_eq!(
        (complex.dtype(), complex.shape()),
        (DType::Complex64, &[2, 3, 4][..])
    );
    let parts = (0..24u8).flat_map(|i| [f32::from(i), 0.0 - f32::from(i)]);
    assert_eq!(complex.bytes(), bytes_of(parts.map(f32::to_ne_bytes)));
}

#[test]
fn every_element_type_is_read() {
    let f64_bytes = |values: [f64; 3]| bytes_of(values.map(f64::to_ne_bytes));
    let f32_bytes = |values: &[f32]| bytes_of(values.iter().map(|v| v.to_ne_bytes()));
    let half = bytes_of([0x0000u16, 0x3c00, 0x7bff].map(u16::to_ne_bytes));
    let double_complex = bytes_of([0.0, 0.0, 1.0, 0.0, f64::MAX, 0.0].map(f64::to_ne_bytes));
    let long = bytes_of([0, 1, i64::MAX].map(i64::to_ne_bytes));
    let cases = [
        ("byte_b1", DType::Bool, vec![0, 1, 1]),
        ("byte_i1", DType::I8, vec![0, 1, 127]),
        ("byte_u1", DType::U8, vec![0, 1, 255]),
        (
            "little_i2",
            DType::I16,
            bytes_of([0, 1, i16::MAX].map(i16::to_ne_bytes)),
        ),
        (
            "little_u2",
            DType::U16,
            bytes_of([0, 1, u16::MAX].map(u16::to_ne_bytes)),
        ),
        (
            "little_i4",
            DType::I32,
            bytes_of([0, 1, i32::MAX].map(i32::to_ne_bytes)),
        ),
        (
            "little_u4",
            DType::U32,
            bytes_of([0, 1, u32::MAX].map(u32::to_ne_bytes)),
        ),
        ("little_i8", DType::I64, long.clone()),
        ("big_i8", DType::I64, long),
        (
            "little_u8",
            DType::U64,
            bytes_of([0, 1, u64::MAX].map(u64::to_ne_bytes)),
        ),
        ("little_f2", DType::F16, half.clone()),
        ("big_f2", DType::F16, half),
        ("little_f4", DType::F32, f32_bytes(&[0.0, 1.0, f32::MAX])),
        ("little_f8", DType::F64, f64_bytes([0.0, 1.0, f64::MAX])),
        (
            "little_c8",
            DType::Complex64,
            f32_bytes(&[0.0, 0.0, 1.0, 0.0, f32::MAX, 0.0]),
        ),
        ("little_c16", DType::Complex128, double_complex.clone()),
        ("big_c16", DType::Complex128, double_complex),
    ];
    for (name, dtype, bytes) in cases {
        let array = read_fixture(&format!("dtype_{name}.npy"));
        assert_eq!((array.dtype(), array.shape()), (dtype, &[3][..]), "{name}");
        assert_eq!(array.bytes(), bytes, "{name}");
    }
}

#[test]
fn scalars_and_empty_arrays() {
    let scalar = read_fixture("rank_0.npy");
    assert_eq!((scalar.dtype(), scalar.shape()), (DType::F32, &[][..]));
    assert_eq!(scalar.bytes(), 2.5f32.to_ne_bytes());
    let empty = read_fixture("empty.npy");
    assert_eq!((empty.dtype(), empty.shape()), (DType::I64, &[3, 0, 2][..]));
    assert!(empty.bytes().is_empty());
}

#[test]
fn types_that_the_library_lacks_are_named() {
    for (name, type_name) in [
        ("no_bfloat16", "|V2"),
        ("no_structured", "[('a', '<i4'), ('b', '<f4')]"),
        ("no_string", "<U2"),
        ("no_date", "datetime64[D]"),
        ("no_long_double", "float128"),
    ] {
        let array = read_fixture(&format!("{name}.npy"));
        assert_eq!(array.element().name(), type_name);
        assert!(array.element().foreign_type.is_some());
    }
    let error = fixture_error("no_object.npy");
    assert_says(&error, &["cannot read", "dtype object", "Python objects"]);
    for (descr, message) in [
        ("", "numpy.save"),
        ("<", "numpy.save"),
        ("<i3", "numpy.save"),
        ("<int32", "numpy.save"),
        ("é4", "numpy.save"),
        ("<f1", "8-bit float"),
        ("bfloat16", "not a type of .npy"),
        ("l", "another size on other machines"),
    ] {
        let error = read_plain(descr, "(1,)", &[0; 16]).unwrap_err();
        assert_says(&error, &["dtype", "is not supported", message]);
    }
}

#[test]
fn headers_of_other_writers_are_read() {
    for header in [
        "{\"shape\":[2],\"fortran_order\":False,\"descr\":\"|u1\"}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2L,), }   \n",
        "{ 'fortran_order' : True , 'shape' : ( 2 ) , 'descr' : '<u1' }",
        "{'descr': 'B', 'fortran_order': False, 'shape': (0x2,), }",
        "{'descr': u'uint8', # a comment\n'fortran_order': False, 'shape': (0b1_0,)}",
        "{'descr': '\\x7cu1', 'fortran_order': False, 'shape': (2,)}",
    ] {
        let array = read_content("x.npy", &npy_file(header, &[5, 6])).unwrap();
        assert_eq!((array.shape(), array.bytes()), (&[2][..], &[5, 6][..]));
    }
}

#[test]
fn damaged_headers_are_refused() {
    let deep_header = format!("{{'shape': {}{}}}", "[".repeat(3000), "]".repeat(3000));
    let huge_header = format!("{{'shape': ({},)}}", "9".repeat(3000));
    for header in [
        "",
        "{",
        "{}",
        "{'descr': '<i4'}",
        "{'descr': '<i4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (1.5,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr: 1}",
        "{'shape': (,)}",
        "\u{e9}",
        &deep_header,
        &huge_header,
    ] {
        let error = read_content("x.npy", &npy_file(header, &[0; 16])).unwrap_err();
        assert_says(&error, &["header", "numpy.save"]);
    }
}

#[test]
fn shapes_beyond_memory_are_refused() {
    let largest = usize::MAX;
    for shape in [
        format!("({largest},)"),
        format!("({largest}, 2)"),
        format!("(0, {largest}, 2)"),
    ] {
        let error = read_plain("<i4", &shape, &[]).unwrap_err();
        assert_says(&error, &[&largest.to_string(), "larger than any memory"]);
    }
    let error = read_plain("|u1", "(1000000000000,)", &[1, 2]).unwrap_err();
    assert_says(&error, &["takes 1000000000000 bytes", "ends after 2"]);
}

#[test]
fn bytes_can_follow_the_data_but_not_be_missing() {
    assert_eq!(
        read_plain("<i2", "(2,)", &[1, 0, 2, 0, 9]).unwrap().shape(),
        [2]
    );
    let error = read_plain("<i2", "(2,)", &[1, 0, 2]).unwrap_err();
    assert_says(&error, &["takes 4 bytes, but the file ends after 3"]);
}

#[test]
fn files_of_other_formats_are_rejected() {
    for content in [&b""[..], b"\x93NUM", b"PK\x03\x04 a zip archive"] {
        assert_says(
            &read_content("x.npy", content).unwrap_err(),
            &["not an .npy file"],
        );
    }
    for (content, message) in [
        (&b"\x93NUMPY\x04\x00\x00\x00"[..], "version 4.0 is unknown"),
        (b"\x93NUMPY\x01\x00\x05", "ends within its header"),
        (b"\x93NUMPY\x01\x00\xff\xff{", "should take 65535 bytes"),
        (
            b"\x93NUMPY\x02\x00\xff\xff\xff\xff{",
            "should take 4294967295 bytes",
        ),
    ] {
        assert_says(&read_content("x.npy", content).unwrap_err(), &[message]);
    }
    let mut long_file = b"\x93NUMPY\x02\x00\x00\x00\x10\x00".to_vec();
    long_file.resize(12 + (1 << 20), b' ');
    assert_says(
        &read_content("x.npy", &long_file).unwrap_err(),
        &["at most 65536"],
    );
}

#[test]
fn written_files_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    for dtype in DType::ALL.into_iter().filter(|&dtype| dtype != DType::BF16) {
        for shape in [&[][..], &[3], &[2, 0, 5], &[2, 3, 1, 2]] {
            let len = shape.iter().product::<usize>() * dtype.size();
            let bytes: Vec<u8> = (0..=255).cycle().take(len).collect();
            write_array(&path, dtype, shape, &bytes).unwrap();
            let array = read_at(&path).unwrap();
            assert_eq!(
                (array.dtype(), array.shape(), array.bytes()),
                (dtype, shape, &bytes[..])
            );
            assert_eq!((fs::read(&path).unwrap().len() - len) % 64, 0);
        }
    }
}

#[test]
fn written_files_equal_the_files_of_numpy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    for name in [
        "v1_c_little_i4",
        "rank_0",
        "empty",
        "dtype_byte_b1",
        "dtype_little_c16",
    ] {
        let array = read_fixture(&format!("{name}.npy"));
        write_array(&path, array.dtype(), array.shape(), array.bytes()).unwrap();
        let numpy_content = fs::read(super::data_folder().join(format!("{name}.npy"))).unwrap();
        assert_eq!(fs::read(&path).unwrap(), numpy_content, "{name}");
    }
}

#[test]
fn arrays_that_cannot_be_written_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let error = write_array(&path, DType::BF16, &[1], &[0; 2])
        .unwrap_err()
        .to_string();
    assert_says(
        &error,
        &[
            "cannot write",
            "bfloat16 has no name in .npy",
            "write to .safetensors",
        ],
    );
    let error = write_array(&path, DType::I32, &[2], &[0; 7])
        .unwrap_err()
        .to_string();
    assert_says(&error, &["1 bytes are missing"]);
    let error = write_array(&path, DType::U8, &[1; 30_000], &[0])
        .unwrap_err()
        .to_string();
    assert_says(&error, &["too many dimensions"]);
    assert!(!path.exists());
}

#[test]
fn long_data_is_mapped() {
    let (rows, columns) = (512, MIN_MAPPED_BYTES / 1024);
    let values: Vec<u8> = (0..=250).cycle().take(rows * columns * 2).collect();
    let array = read_plain("<i2", &format!("({rows}, {columns})"), &values).unwrap();
    assert!(matches!(*array.bytes, Bytes::MappedBytes(_)));
    assert_eq!(array.bytes(), values);
    let big = read_plain(">i2", &format!("({rows}, {columns})"), &values).unwrap();
    let swapped: Vec<u8> = values
        .chunks(2)
        .flat_map(|pair| [pair[1], pair[0]])
        .collect();
    assert_eq!(big.bytes(), swapped);
}

/// Checks the definition: the element at (i, j, …) of a column-major array is element i + shape[0] (j + shape[1] (…))
/// of the file.
#[test]
fn column_major_order_follows_its_definition() {
    for shape in [
        &[5][..],
        &[1, 7],
        &[40, 70],
        &[33, 1, 65],
        &[2, 3, 4, 5],
        &[1, 3, 1, 37, 2],
        &[3, 0, 2],
    ] {
        let count: usize = shape.iter().product();
        let text = shape.iter().fold(String::new(), |mut text, n| {
            write!(text, "{n},").unwrap();
            text
        });
        let header = format!("{{'descr':'<u4','fortran_order':True,'shape':({text})}}");
        let numbers = bytes_of((0..u32::try_from(count).unwrap()).map(u32::to_le_bytes));
        let array = read_content("x.npy", &npy_file(&header, &numbers)).unwrap();
        let mut expected = Vec::new();
        for mut flat in 0..count {
            let mut position = vec![0; shape.len()];
            for (p, n) in position.iter_mut().zip(shape).rev() {
                *p = flat % n;
                flat /= n;
            }
            let number = position
                .iter()
                .zip(shape)
                .rev()
                .fold(0, |sum, (p, n)| sum * n + p);
            expected.push(u32::try_from(number).unwrap().to_ne_bytes());
        }
        assert_eq!(array.bytes(), bytes_of(expected), "{shape:?}");
    }
}
