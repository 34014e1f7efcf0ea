use wgslice::DType;

use super::{assert_says, fixture_error, read_content, read_fixture};
use crate::files::bytes::{Bytes, MIN_MAPPED_BYTES};

fn safetensors_file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut file = u64::try_from(header.len()).unwrap().to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

#[test]
fn tensors_are_read_by_name() {
    let weight = read_fixture("several.safetensors#weight");
    assert_eq!((weight.dtype(), weight.shape()), (DType::F32, &[2, 3][..]));
    let expected: Vec<u8> = (0..6u8).flat_map(|i| f32::from(i).to_ne_bytes()).collect();
    assert_eq!(weight.bytes(), expected);

    let half = read_fixture("several.safetensors#half#1");
    assert_eq!((half.dtype(), half.shape()), (DType::BF16, &[2][..]));
    let expected = [0x3f80u16, 0xc000].map(u16::to_ne_bytes).concat();
    assert_eq!(half.bytes(), expected);

    let mask = read_fixture("several.safetensors#mask");
    assert_eq!((mask.dtype(), mask.bytes()), (DType::Bool, &[1, 0][..]));

    let complex = read_fixture("complex.safetensors#z");
    assert_eq!(complex.dtype(), DType::Complex64);
    assert_eq!(complex.bytes(), [1f32, 2.0].map(f32::to_ne_bytes).concat());
}

#[test]
fn every_element_type_is_read() {
    for (name, dtype) in [
        ("BOOL", DType::Bool),
        ("I8", DType::I8),
        ("U8", DType::U8),
        ("I16", DType::I16),
        ("U16", DType::U16),
        ("F16", DType::F16),
        ("BF16", DType::BF16),
        ("I32", DType::I32),
        ("U32", DType::U32),
        ("F32", DType::F32),
        ("I64", DType::I64),
        ("U64", DType::U64),
        ("F64", DType::F64),
        ("C64", DType::Complex64),
    ] {
        let size = dtype.size();
        let header =
            format!(r#"{{"t":{{"dtype":"{name}","shape":[],"data_offsets":[0,{size}]}}}}"#);
        let array =
            read_content("x.safetensors", &safetensors_file(&header, &vec![0; size])).unwrap();
        assert_eq!((array.dtype(), array.shape()), (dtype, &[][..]));
    }
}

#[test]
fn a_sole_tensor_needs_no_name() {
    let tensor = read_fixture("one.safetensors");
    assert_eq!((tensor.dtype(), tensor.shape()), (DType::U64, &[2][..]));
    assert_eq!(tensor.bytes(), [7u64, 8].map(u64::to_ne_bytes).concat());
}

#[test]
fn errors_about_missing_names_list_the_tensors() {
    let all_names = r#"it holds "float8", "half#1", "mask", "weight""#;
    let error = fixture_error("several.safetensors#wait");
    assert_says(&error, &[r#"no tensor named "wait""#, all_names]);
    assert_says(
        &fixture_error("several.safetensors#"),
        &[r#"no tensor named """#, all_names],
    );
    assert_says(
        &fixture_error("several.safetensors"),
        &["x.safetensors#name", all_names],
    );
    let error = fixture_error("many.safetensors#x");
    assert_says(&error, &[r#""t00", "t01""#, r#""t09" and 3 more"#]);
    let error = read_content("x.safetensors", &safetensors_file("{}", &[])).unwrap_err();
    assert_says(&error, &["the file holds no tensor"]);
}

#[test]
fn types_that_the_library_lacks_are_moved_as_bits_or_refused() {
    let float8 = read_fixture("several.safetensors#float8");
    assert_eq!(
        (float8.dtype(), float8.element().name()),
        (DType::I8, "F8_E4M3")
    );
    assert_eq!(float8.bytes(), [0x38, 0x40, 0x44]);
    let header = r#"{"t":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}}"#;
    let error = read_content("x.safetensors", &safetensors_file(header, &[0])).unwrap_err();
    assert_says(&error, &["dtype \"F4\" is not supported", "as U8"]);
}

#[test]
fn long_tensors_are_mapped_at_their_offsets() {
    let end = 3 + MIN_MAPPED_BYTES;
    let header = format!(
        r#"{{"a":{{"dtype":"U8","shape":[3],"data_offsets":[0,3]}},
            "b":{{"dtype":"U8","shape":[{MIN_MAPPED_BYTES}],"data_offsets":[3,{end}]}}}}"#
    );
    let data: Vec<u8> = (0..=250).cycle().take(end).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.safetensors");
    std::fs::write(&path, safetensors_file(&header, &data)).unwrap();
    let array = crate::files::read_array(&format!("{}#b", path.display()).as_str().into()).unwrap();
    assert!(matches!(*array.bytes, Bytes::MappedBytes(_)));
    assert_eq!(array.bytes(), &data[3..]);
}

#[test]
fn damaged_files_are_refused() {
    let tensor = |shape: &str, begin: u64, end: u64| {
        format!(r#"{{"dtype":"U8","shape":[{shape}],"data_offsets":[{begin},{end}]}}"#)
    };
    // The data of the eight tensors ends at offset 2^64 - 8. Adding the header's length would wrap.
    let tensor_len = (1u64 << 61) - 1;
    let wrapping: Vec<String> = (0..8u64)
        .map(|i| {
            format!(
                "\"{i}\":{}",
                tensor(
                    &tensor_len.to_string(),
                    i * tensor_len,
                    (i + 1) * tensor_len
                )
            )
        })
        .collect();
    for (header, data) in [
        ("", &[][..]),
        ("{", &[]),
        ("[1]", &[]),
        (&format!(r#"{{"t":{}}}"#, tensor("4", 0, 4)), &[1, 2, 3]),
        (
            &format!(r#"{{"t":{}}}"#, tensor("4", 0, 4)),
            &[1, 2, 3, 4, 5],
        ),
        (&format!(r#"{{"t":{}}}"#, tensor("4", 0, 3)), &[1, 2, 3]),
        (
            &format!(r#"{{"t":{}}}"#, tensor("4", 1, 5)),
            &[1, 2, 3, 4, 5],
        ),
        (
            &format!(r#"{{"t":{}}}"#, tensor("18446744073709551615,2", 0, 4)),
            &[1, 2, 3, 4],
        ),
        (&format!("{{{}}}", wrapping.join(",")), &[]),
    ] {
        let name = if header.contains("\"0\"") { "#0" } else { "" };
        let error = read_content(
            &format!("x.safetensors{name}"),
            &safetensors_file(header, data),
        )
        .unwrap_err();
        assert_says(&error, &["cannot read"]);
        assert!(
            error.contains("damaged") || error.contains("cut short"),
            "{error}"
        );
    }
    for content in [&[][..], &[1, 0, 0], &[255; 8], &[255; 100]] {
        let error = read_content("x.safetensors", content).unwrap_err();
        assert_says(&error, &["not a .safetensors file"]);
    }
}

/// Tensors that are complete can be read, even if the file is truncated after them.
#[test]
fn a_damaged_tensor_does_not_hide_the_others() {
    let tensor = |name: &str, shape: &str, begin: u64, end: u64| {
        format!(r#""{name}":{{"dtype":"U8","shape":[{shape}],"data_offsets":[{begin},{end}]}}"#)
    };
    let tensors = [
        tensor("good", "2", 0, 2),
        tensor("odd", "3", 2, 4),
        tensor("far", "1", 9, 10),
        tensor("backwards", "1", 12, 11),
        tensor("cut", "4", 10, 14),
    ];
    let content = safetensors_file(&format!("{{{}}}", tensors.join(",")), &[7; 11]);
    assert_eq!(
        read_content("x.safetensors#good", &content)
            .unwrap()
            .bytes(),
        [7, 7]
    );
    for (name, reason) in [
        ("odd", "length does not fit its shape"),
        ("far", "does not begin where"),
        ("backwards", "does not begin where"),
        ("cut", "but the file has only 11: it is cut short"),
    ] {
        let error = read_content(&format!("x.safetensors#{name}"), &content).unwrap_err();
        assert_says(&error, &["cannot read", name, "damaged", reason]);
    }
}

#[test]
fn duplicate_names_are_refused() {
    let tensor = |from: u8| {
        format!(
            r#"{{"dtype":"U8","shape":[1],"data_offsets":[{from},{}]}}"#,
            from + 1
        )
    };
    let long_name = "x".repeat(1000);
    for name in ["a", "__metadata__", &long_name] {
        for last_entry in [tensor(0), tensor(1), "null".to_owned()] {
            let header = format!(
                r#"{{"{name}":{},"b":{},"{name}":{last_entry}}}"#,
                tensor(0),
                tensor(1)
            );
            let error =
                read_content("x.safetensors", &safetensors_file(&header, &[1, 2])).unwrap_err();
            let name = &name[..name.len().min(100)];
            assert_says(
                &error,
                &["cannot read", &format!("the name \"{name}\""), "twice"],
            );
            assert!(error.len() < 400, "{error}");
        }
    }
}
