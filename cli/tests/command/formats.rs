//! Tests reading each format, and the properties that an output inherits from its input file.

use crate::support::{Folder, bytes, npy, safetensors, wgslice};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");

/// Returns the names and the contents of a PNG file's chunks, except header, pixels and end.
fn png_chunks(path: &str) -> Vec<(String, Vec<u8>)> {
    let file = fs::read(path).expect("the picture");
    let (mut rest, mut chunks) = (&file[8..], Vec::new());
    while let Some((length, following)) = rest.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        let name = String::from_utf8(following[..4].to_vec()).expect("a name");
        chunks.push((name, following[4..4 + length].to_vec()));
        rest = &following[8 + length..];
    }
    chunks.retain(|(name, _)| !["IHDR", "IDAT", "IEND"].contains(&&**name));
    chunks.sort();
    chunks
}

#[test]
fn a_picture_keeps_its_metadata() {
    let folder = Folder::new();
    let input = format!("{DATA}/profile.png");
    let output = folder.path("out.png");
    wgslice(&["slice", &input, "::-1, 1:", "-o", &output]).ok();
    let [input_chunks, output_chunks] = [&input, &output].map(|path| png_chunks(path));
    let names: Vec<&str> = output_chunks.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["iCCP", "pHYs", "tEXt"]);
    // The profile is compressed again, so its bytes can differ.
    assert_eq!(
        (&output_chunks[1], &output_chunks[2]),
        (&input_chunks[1], &input_chunks[2])
    );
    let grey = folder.path("grey.png");
    let outcome = wgslice(&["slice", &input, ":, :, 0", "-o", &grey]).ok();
    assert!(
        outcome
            .stderr
            .contains("not kept from the picture: the colour profile"),
        "{outcome:?}"
    );
    let names: Vec<String> = png_chunks(&grey)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["pHYs", "tEXt"]);
}

#[test]
fn tensors_of_every_type_are_written() {
    let folder = Folder::new();
    let output = folder.path("out.safetensors");
    for (dtype, size) in [
        ("BOOL", 1),
        ("I8", 1),
        ("U8", 1),
        ("F8_E4M3", 1),
        ("F8_E5M2", 1),
        ("F8_E8M0", 1),
        ("I16", 2),
        ("BF16", 2),
        ("F16", 2),
        ("F32", 4),
        ("U32", 4),
        ("I64", 8),
        ("F64", 8),
        ("C64", 8),
    ] {
        // The data has every byte, so floats include NaNs.
        let data: Vec<u8> = (0..=255).cycle().take(256 * size).collect();
        let input = folder.write("in.safetensors", safetensors("a#b", dtype, &[256], &data));
        wgslice(&["slice", &input, "::-1", "-o", &output]).ok();
        let listing = wgslice(&["info", &output, "--json"]).ok().json();
        let array = &listing["files"][0]["arrays"][0];
        assert_eq!(
            (&array["name"], &array["shape"]),
            (&json!("a#b"), &json!([256]))
        );
        let file = fs::read(&output).expect("the output");
        let header = usize::from(u16::from_le_bytes([file[0], file[1]]));
        assert_eq!(header % 8, 0);
        let text = str::from_utf8(&file[8..8 + header]).expect("UTF-8");
        assert!(text.contains(&format!("\"dtype\":\"{dtype}\"")), "{text}");
        let expected: Vec<u8> = data.chunks(size).rev().flatten().copied().collect();
        assert_eq!(file[8 + header..], expected, "{dtype}");
        // Reversing the array a second time restores its data, which is added to the file as another tensor.
        wgslice(&[
            "slice",
            &output,
            "::-1",
            "-o",
            &format!("{output}#c d"),
            "-q",
        ])
        .ok();
        let again = wgslice(&["info", &format!("{output}#c d")]).ok().stdout;
        assert!(again.contains("c d"), "{again}");
        let file = fs::read(&output).expect("the output");
        assert!(file.ends_with(&data), "{dtype}");
    }
    let array = folder.npy("array.npy", "<i4", &[2], &bytes(&[1, 2]));
    wgslice(&["slice", &array, "...", "-o", &output]).ok();
    let info = wgslice(&["info", &output]).ok().stdout;
    assert!(info.contains("  out "), "named after the file: {info}");
}

/// ml_dtypes 0.6 computed the number for each byte.
#[test]
fn bits_are_printed_as_numbers() {
    let folder = Folder::new();
    let tables = fs::read(format!("{DATA}/eight_bit_floats.json")).expect("the tables");
    let tables: Value = serde_json::from_slice(&tables).expect("JSON");
    let all_bytes: Vec<u8> = (0..=255).collect();
    for (dtype, table) in tables.as_object().expect("an object") {
        let input = folder.write("x.safetensors", safetensors("x", dtype, &[256], &all_bytes));
        let json = wgslice(&["slice", &input, "...", "--json"]).ok().json();
        assert_eq!(&json["values"], table, "{dtype}");
        assert_eq!(&json["dtype"], dtype);
    }
    for (dtype, bytes, text) in [
        ("F8_E8M0", [126, 127, 128], "[0.5 1.  2. ]\n"),
        (
            "F8_E4M3FNUZ",
            [0x38, 0x80, 0xff],
            "[   0.5    nan -240. ]\n",
        ),
        ("F8_E5M2FNUZ", [0x40, 0x80, 0], "[ 1. nan  0.]\n"),
    ] {
        let input = folder.write("x.safetensors", safetensors("x", dtype, &[3], &bytes));
        let shown = wgslice(&["slice", &input, "...", "-q"]).ok().stdout;
        assert_eq!(shown, text, "{dtype}");
    }
}

#[test]
fn types_of_eight_bits_are_only_moved() {
    let folder = Folder::new();
    let data = [0x38, 0xb8, 0x7e, 0x7f];
    let input = folder.write("x.safetensors", safetensors("x", "F8_E4M3", &[4], &data));
    let shown = wgslice(&["slice", &input, "...", "-q"]).ok().stdout;
    assert_eq!(shown, "[  1.  -1. 448.  nan]\n");
    let other = folder.npy("x.npy", "|u1", &[1], &[1]);
    let out = folder.path("out.npy");
    for (args, message) in [
        (
            &["slice", &input, "0", "-o", &out][..],
            "has no name in .npy",
        ),
        (
            &["scatter-nd", "[[0]]", &input, "--shape", "4"],
            "not combined",
        ),
        (&["slice-update", &input, "0", &other], "holds uint8, but"),
        (&["slice-update", &input, "0", "1"], "on the command line"),
    ] {
        let outcome = wgslice(args);
        assert!(
            outcome.code == Some(2) && outcome.stderr.contains(message),
            "{outcome:?}"
        );
    }
    let scatter = ["scatter-nd", "[[1],[0],[2],[3]]", &input, "--shape", "4"];
    let outcome = wgslice(&[&scatter[..], &["--combine", "update", "-q"]].concat()).ok();
    assert_eq!(outcome.stdout, "[ -1.   1. 448.  nan]\n");
    let bfloats = folder.write(
        "b.safetensors",
        safetensors("b", "BF16", &[2], &[0x80, 0x3f, 0, 0xc0]),
    );
    let gathered = wgslice(&["gather", &bfloats, "1,0,7"]).ok().stdout;
    assert_eq!(gathered, "[-2.  1.  0.]\n");
}

#[test]
fn archives_of_numpy_are_read_and_written() {
    let folder = Folder::new();
    let [stored, packed] = ["stored", "packed"].map(|name| format!("{DATA}/{name}.npz"));
    let print_reversed = |source: &str| wgslice(&["slice", source, "::-1", "-q"]).ok().stdout;
    assert_eq!(
        print_reversed(&format!("{stored}#x")),
        "[[3 4 5]\n [0 1 2]]\n"
    );
    assert_eq!(print_reversed(&packed), "[5 4 3 2 1 0]\n");
    let info = wgslice(&["info", &stored]).ok().stdout;
    let words: Vec<&str> = info.split_whitespace().collect();
    assert!(
        words.windows(4).any(|words| words == ["x", "2", "×", "3"]),
        "{info}"
    );
    assert!(words.contains(&"float32"), "{info}");
    for (source, message) in [
        (stored.clone(), "which array?"),
        (
            format!("{stored}#z"),
            "no array named \"z\"; it holds \"x\", \"y\"",
        ),
    ] {
        let outcome = wgslice(&["slice", &source, "0"]);
        assert!(
            outcome.code == Some(2) && outcome.stderr.contains(message),
            "{outcome:?}"
        );
    }
    let output = folder.path("out.npz");
    for name in ["out", "a/b"] {
        let to = if name == "out" {
            output.clone()
        } else {
            format!("{output}#{name}")
        };
        let input = folder.write_arange("in.npy", &[2, 3]);
        wgslice(&["slice", &input, "1", "-o", &to]).ok();
        assert_eq!(print_reversed(&format!("{output}#{name}")), "[5 4 3]\n");
        // The member is not compressed, and its checksum is correct.
        let file = fs::read(&output).expect("the output");
        assert!(file.windows(6).any(|part| part == b"\x93NUMPY"));
    }
    // A damaged array does not hide the other array.
    let mut damaged = fs::read(&stored).expect("the archive");
    let at = damaged
        .windows(6)
        .position(|part| part == b"\x93NUMPY")
        .expect("an array");
    damaged[at] = 0;
    let damaged = folder.write("damaged.npz", damaged);
    let info = wgslice(&["info", &damaged]).ok().stdout;
    assert!(
        info.contains("damaged: ") && info.contains("float32"),
        "{info}"
    );
    assert_eq!(print_reversed(&format!("{damaged}#y")), "[2. 1.]\n");
}

/// Pixels are compared with a tolerance: JPEG loses information, and decoders can differ slightly.
#[test]
fn photographs_are_read() {
    let folder = Folder::new();
    for (name, channels) in [("rgb", 3), ("grey", 1)] {
        let input = format!("{DATA}/{name}.jpg");
        let run = wgslice(&["slice", &input, "...", "--json"]).ok().json();
        assert_eq!(run["output"]["shape"], json!([16, 24, channels]));
        let value = |y: usize, x: usize, c: usize| run["values"][y][x][c].as_f64().expect("it");
        for (y, x) in [(0, 0), (15, 23), (7, 11)] {
            let ramp = |y: usize, x: usize| (y * 24 + x) as f64 / 383.0 * 255.0;
            let colors = [ramp(y, x), ramp(15 - y, x), ramp(y, 23 - x)];
            for (c, color) in colors.iter().enumerate().take(channels) {
                let difference = (value(y, x, c) - color).abs();
                assert!(difference < 25.0, "{name} at {y}, {x}, {c}: {difference}");
            }
        }
        let out = folder.path("out");
        wgslice(&["slice", &input, "::2", "--to", &out]).ok();
        let info = wgslice(&["info", &format!("{out}/{name}.png")]).ok().stdout;
        assert!(info.contains(&format!("8 × 24 × {channels}")), "{info}");
        let content = fs::read(&input).expect("the picture");
        let cut = folder.write("cut.jpg", &content[..content.len() / 2]);
        let outcome = wgslice(&["slice", &cut, "0"]);
        assert!(
            outcome.code == Some(2) && outcome.stderr.contains("cut short"),
            "{outcome:?}"
        );
        // The height and the width follow the frame's marker.
        let mut altered_content = content.clone();
        let frame = content
            .windows(2)
            .position(|part| part == [0xff, 0xc0])
            .expect("a frame");
        altered_content[frame + 5..frame + 9].fill(0xff);
        let outcome = wgslice(&["info", &folder.write("claims.jpg", altered_content)]);
        assert!(
            outcome.stderr.contains("claims 65535 × 65535 pixels"),
            "{outcome:?}"
        );
        let outcome = wgslice(&["slice", &input, "...", "-o", &folder.path("x.jpg")]);
        assert!(
            outcome.stderr.contains("read, but not written"),
            "{outcome:?}"
        );
    }
}

#[test]
fn errors_for_other_formats_have_a_remedy() {
    let folder = Folder::new();
    for (name, message) in [
        ("x.zarr", "wgslice-scale"),
        ("x.tif", "magick x.tif x.png"),
        ("x.h5", "h5py"),
        ("x.parquet", "read_parquet"),
        ("x.pt", "save_file"),
    ] {
        let path = folder.write(name, "nothing");
        let outcome = wgslice(&["slice", &path, "0"]);
        assert!(
            outcome.code == Some(2) && outcome.stderr.contains(message),
            "{outcome:?}"
        );
    }
}

/// Returns the name and the stored bytes of each member of an archive. The bytes can be compressed.
fn archive_members(path: &str) -> Vec<(String, Vec<u8>)> {
    let file = fs::File::open(path).expect("the archive");
    let mut archive = zip::ZipArchive::new(file).expect("an archive");
    let count = archive.len();
    let read_member = |at| {
        let mut member = archive.by_index_raw(at).expect("a member");
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).expect("its bytes");
        (member.name().expect("a name").into_owned(), bytes)
    };
    (0..count).map(read_member).collect()
}

#[test]
fn an_array_is_added_to_an_existing_archive() {
    let folder = Folder::new();
    let x = folder.write_arange("x.npy", &[2, 3]);
    for name in ["packed.npz", "stored.npz"] {
        let path = folder.path(name);
        fs::copy(format!("{DATA}/{name}"), &path).expect("a copy");
        let before = archive_members(&path);
        for rows in ["0", "1"] {
            // The second time, the new array replaces the array of the first time.
            wgslice(&["slice", &x, rows, "-o", &format!("{path}#new")]).ok();
        }
        let mut after = archive_members(&path);
        let (name, _) = after.pop().expect("the new array");
        assert_eq!((name.as_str(), &after), ("new.npy", &before));
        let new = wgslice(&["slice", &format!("{path}#new"), "...", "-q"]).ok();
        assert_eq!(new.stdout, "[3 4 5]\n");
        let info = wgslice(&["info", &path, "--json"]).ok().json();
        let arrays = info["files"][0]["arrays"].as_array().map(Vec::len);
        assert_eq!(arrays, Some(before.len() + 1));
        // Without a name, the file is replaced.
        wgslice(&["slice", &x, "0", "-o", &path]).ok();
        assert_eq!(archive_members(&path).len(), 1);
    }
    let path = folder.write("no.npz", "no archive");
    let outcome = wgslice(&["slice", &x, "0", "-o", &format!("{path}#new")]);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("not an .npz file"), "{outcome:?}");
    assert_eq!(fs::read(&path).expect("the file"), b"no archive");
}

#[test]
fn a_tensor_is_added_to_an_existing_file() {
    let folder = Folder::new();
    let x = folder.write_arange("x.npy", &[2, 3]);
    let path = folder.path("many.safetensors");
    fs::copy(format!("{DATA}/many.safetensors"), &path).expect("a copy");
    let header_and_data = |path: &str| {
        let file = fs::read(path).expect("the file");
        let length = usize::from(u16::from_le_bytes([file[0], file[1]]));
        let header: Value = serde_json::from_slice(&file[8..8 + length]).expect("JSON");
        (header, file[8 + length..].to_vec())
    };
    let tensors = |path: &str| {
        let (header, data) = header_and_data(path);
        let header = header.as_object().expect("an object").clone();
        let read_tensor = |(name, tensor): (String, Value)| {
            let data_offset = |at: usize| {
                let offset = tensor["data_offsets"][at].as_u64().unwrap_or(0);
                usize::try_from(offset).expect("an offset")
            };
            let dtype_and_shape = (tensor["dtype"].clone(), tensor["shape"].clone());
            (
                name,
                (
                    dtype_and_shape,
                    data[data_offset(0)..data_offset(1)].to_vec(),
                ),
            )
        };
        header
            .into_iter()
            .map(read_tensor)
            .collect::<BTreeMap<_, _>>()
    };
    let mut expected = tensors(&path);
    for (name, rows) in [("new", "0"), ("new", "1"), ("a", "0")] {
        wgslice(&["slice", &x, rows, "-o", &format!("{path}#{name}")]).ok();
        let values: &[i32] = if rows == "0" { &[0, 1, 2] } else { &[3, 4, 5] };
        expected.insert(name.into(), ((json!("I32"), json!([3])), bytes(values)));
        assert_eq!(tensors(&path), expected);
    }
    // The metadata of the file is kept.
    let header_json = json!({
        "__metadata__": {"format": "pt", "note": "ä"},
        "b": {"dtype": "I4", "shape": [2], "data_offsets": [0, 1]},
    });
    let header_json = header_json.to_string();
    let length = (header_json.len() as u64).to_le_bytes();
    let file = [&length[..], header_json.as_bytes(), &[0x21]].concat();
    let path = folder.write("x.safetensors", &file);
    wgslice(&["slice", &x, "0, 0", "-o", &format!("{path}#c")]).ok();
    let (after, data) = header_and_data(&path);
    assert_eq!(after["__metadata__"], json!({"format": "pt", "note": "ä"}));
    assert_eq!(
        after["b"],
        json!({"dtype": "I4", "shape": [2], "data_offsets": [0, 1]})
    );
    assert_eq!(data, [0x21, 0, 0, 0, 0]);
    // A damaged file is not changed.
    for (name, content, message) in [
        ("short.safetensors", &file[..file.len() - 1], "is damaged"),
        (
            "no.safetensors",
            &b"no tensors"[..],
            "not a .safetensors file",
        ),
    ] {
        let path = folder.write(name, content);
        let outcome = wgslice(&["slice", &x, "0", "-o", &format!("{path}#new")]);
        assert!(
            outcome.code == Some(2) && outcome.stderr.contains(message),
            "{outcome:?}"
        );
        assert_eq!(fs::read(&path).expect("the file"), content);
    }
    assert!(folder.names().iter().all(|name| !name.starts_with('.')));
}

/// In archives from other programs, members can lack the extension `.npy`. As in NumPy, the name of an array can
/// include this extension.
#[test]
fn members_are_found_as_by_numpy() {
    let folder = Folder::new();
    let path = folder.path("x.npz");
    let mut archive = zip::ZipWriter::new(fs::File::create(&path).expect("a file"));
    let options = zip::write::SimpleFileOptions::default();
    for (name, content) in [
        ("bare", npy("<i4", &[2], &bytes(&[1, 2]))),
        ("arr_0.npy", npy("<i4", &[2], &bytes(&[3, 4]))),
        ("format", b"no array".to_vec()),
        ("deep/er", npy("|u1", &[1], &[5])),
    ] {
        archive.start_file(name, options).expect("a member");
        archive.write_all(&content).expect("its bytes");
    }
    archive.finish().expect("the archive");
    let json = wgslice(&["info", &path, "--json"]).ok().json();
    let arrays = json["files"][0]["arrays"]
        .as_array()
        .expect("arrays")
        .clone();
    let names: Vec<_> = arrays.iter().map(|array| array["name"].clone()).collect();
    assert_eq!(names, ["bare", "arr_0", "deep/er"]);
    for (name, values) in [
        ("bare", "[1 2]\n"),
        ("arr_0", "[3 4]\n"),
        ("arr_0.npy", "[3 4]\n"),
        ("deep/er", "[5]\n"),
    ] {
        let array_source = format!("{path}#{name}");
        assert_eq!(
            wgslice(&["slice", &array_source, ":", "-q"]).ok().stdout,
            values
        );
        let info = wgslice(&["info", &array_source, "--json"]).ok().json();
        assert_eq!(info["files"][0]["arrays"].as_array().map(Vec::len), Some(1));
    }
    // A new array replaces each member with its name, with or without `.npy`.
    for name in ["bare", "arr_0.npy"] {
        let array_source = format!("{path}#{name}");
        wgslice(&[
            "slice",
            &format!("{path}#deep/er"),
            ":",
            "-o",
            &array_source,
        ])
        .ok();
        assert_eq!(
            wgslice(&["slice", &array_source, ":", "-q"]).ok().stdout,
            "[5]\n"
        );
    }
    let names: Vec<String> = archive_members(&path)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["format", "deep/er", "bare.npy", "arr_0.npy"]);
    let none = wgslice(&["slice", &format!("{path}#format"), ":"]);
    assert!(
        none.stderr
            .contains("it holds \"arr_0\", \"bare\", \"deep/er\""),
        "{none:?}"
    );
}

/// NumPy's own reader, `numpy.lib.format.descr_to_dtype`, gave the expected types.
#[test]
fn headers_are_read_as_by_numpy() {
    let folder = Folder::new();
    let values = bytes(&[1, -2, 3]);
    for descr in [
        "'<i4'",
        "'i4'",
        "'=i4'",
        "'|i4'",
        "'i'",
        "'int32'",
        "u'<i4'",
        "\"<i4\"",
        "'\\x3ci4'",
    ] {
        let text =
            format!("{{'descr': {descr}, 'fortran_order': False, # 1\n 'shape': (0x3,), }}\n");
        let length = u16::try_from(text.len()).expect("short").to_le_bytes();
        let file = [b"\x93NUMPY\x01\x00", &length[..], text.as_bytes(), &values].concat();
        let shown = wgslice(&["slice", &folder.write("x.npy", file), ":", "-q"])
            .ok()
            .stdout;
        assert_eq!(shown, "[ 1 -2  3]\n", "{descr}");
    }
    for (descr, dtype, size) in [
        ("?", "bool", 1),
        ("b1", "bool", 1),
        ("bool", "bool", 1),
        ("b", "int8", 1),
        ("i1", "int8", 1),
        ("B", "uint8", 1),
        ("h", "int16", 2),
        ("H", "uint16", 2),
        ("uint16", "uint16", 2),
        ("I", "uint32", 4),
        ("q", "int64", 8),
        ("Q", "uint64", 8),
        ("e", "float16", 2),
        ("half", "float16", 2),
        ("f", "float32", 4),
        ("f4", "float32", 4),
        ("float32", "float32", 4),
        ("single", "float32", 4),
        ("d", "float64", 8),
        ("float", "float64", 8),
        ("double", "float64", 8),
        ("F", "complex64", 8),
        ("D", "complex128", 16),
        ("complex", "complex128", 16),
        ("=c16", "complex128", 16),
    ] {
        let file = folder.npy("x.npy", descr, &[1], &vec![0; size]);
        let json = wgslice(&["slice", &file, "0", "--json"]).ok().json();
        assert_eq!(json["dtype"], dtype, "{descr}");
    }
}
