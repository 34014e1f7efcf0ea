//! Elements of types that only NumPy has: the command moves and prints them.

use crate::support::{Folder, devices, npy, wgslice};
use serde_json::{Value, json};
use std::{fs, io::Read};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");

/// An array in `types.npz`.
struct Array {
    name: String,
    /// NumPy's description of the array.
    description: Value,
    /// The path of an `.npy` file with the array.
    path: String,
    shape: Vec<usize>,
    /// The elements in row-major order, in native byte order.
    elements: Vec<Vec<u8>>,
}

/// Returns the arrays in `types.npz`, except arrays with Python objects.
fn all_arrays(folder: &Folder) -> Vec<Array> {
    let descriptions = fs::read_to_string(format!("{DATA}/types.json")).expect("the types");
    let descriptions: Value = serde_json::from_str(&descriptions).expect("JSON");
    let archive = fs::File::open(format!("{DATA}/types.npz")).expect("the archive");
    let mut archive = zip::ZipArchive::new(archive).expect("an archive");
    let descriptions = descriptions.as_object().expect("types");
    let kept_descriptions = descriptions
        .iter()
        .filter(|(name, _)| !name.contains("objects"));
    kept_descriptions
        .map(|(name, description)| {
            let mut file = Vec::new();
            let mut member = archive.by_name(&format!("{name}.npy")).expect("a member");
            member.read_to_end(&mut file).expect("its bytes");
            let number =
                |value: &Value| usize::try_from(value.as_u64().expect("a number")).expect("a size");
            let shape: Vec<usize> = description["shape"]
                .as_array()
                .expect("a shape")
                .iter()
                .map(number)
                .collect();
            let bytes = number(&description["bytes"]);
            let size = bytes / shape.iter().product::<usize>();
            let mut elements: Vec<Vec<u8>> = file[file.len() - bytes..]
                .chunks(size)
                .map(<[u8]>::to_vec)
                .collect();
            if description["byte_order"] == "big" {
                elements.iter_mut().for_each(|element| element.reverse());
            }
            if description["order"] == "Fortran" {
                let at = |row: usize, column: usize| elements[column * shape[0] + row].clone();
                let rows =
                    (0..shape[0]).flat_map(|row| (0..shape[1]).map(move |column| (row, column)));
                elements = rows.map(|(row, column)| at(row, column)).collect();
            }
            Array {
                name: name.clone(),
                description: description.clone(),
                path: folder.write(&format!("{name}.npy"), &file),
                shape,
                elements,
            }
        })
        .collect()
}

/// Returns the content of an .npy file. Data in Fortran order, which must have two dimensions, is converted to
/// row-major order.
fn row_major(path: &str) -> Vec<u8> {
    let mut file = fs::read(path).expect("the output");
    let header = usize::from(u16::from_le_bytes([file[8], file[9]])) + 10;
    let text = String::from_utf8_lossy(&file[..header]).into_owned();
    if text.contains("'fortran_order': True") {
        let sizes = text.split(['(', ')']).nth(1).expect("a shape").split(',');
        let sizes: Vec<usize> = sizes
            .map(|size| size.trim().parse().expect("a size"))
            .collect();
        let &[rows, columns] = &sizes[..] else {
            panic!("{text}");
        };
        let data = file.split_off(header);
        let size = data.len() / (rows * columns);
        for at in 0..rows * columns {
            let from = at % columns * rows + at / columns;
            file.extend(&data[from * size..(from + 1) * size]);
        }
    }
    file
}

#[test]
fn elements_of_every_type_are_moved() {
    let folder = Folder::new();
    let out = folder.path("out.npy");
    for array in all_arrays(&folder) {
        let Array {
            name,
            description,
            path,
            shape,
            elements,
        } = &array;
        let row_len: usize = shape[1..].iter().product();
        let rows: Vec<Vec<u8>> = elements.chunks(row_len).map(<[Vec<u8>]>::concat).collect();
        let zeros = vec![0; rows[0].len()];
        let check = |args: &[&str], rows: &[&Vec<u8>]| {
            for device in devices() {
                let options = ["-o", &out, "--device", device, "-q"];
                wgslice(&[args, &options].concat()).ok();
                let file = row_major(&out);
                let expected = rows.iter().map(|row| &row[..]).collect::<Vec<_>>().concat();
                assert_eq!(
                    &file[file.len() - expected.len()..],
                    expected,
                    "{name}: {args:?}"
                );
                let json = wgslice(&["info", &out, "--json"]).ok().json();
                let listed_array = &json["files"][0]["arrays"][0];
                assert_eq!(listed_array["shape"][0], rows.len(), "{name}: {args:?}");
                assert_eq!(listed_array["bytes"], expected.len(), "{name}: {args:?}");
                if name != "aligned" {
                    assert_eq!(
                        listed_array["dtype"], description["dtype"],
                        "{name}: {args:?}"
                    );
                }
            }
        };
        let reversed: Vec<&Vec<u8>> = rows.iter().rev().collect();
        check(&["slice", path, "::-1"], &reversed);
        check(&["slice", path, "::-1, ..."], &reversed);
        check(&["slice", path, "::-1", "--memory", "1M"], &reversed);
        check(
            &["index", path, "[1, 0, -1]"],
            &[&rows[1], &rows[0], &rows[rows.len() - 1]],
        );
        check(&["gather", path, "1,99,0"], &[&rows[1], &zeros, &rows[0]]);
        let all: Vec<&Vec<u8>> = rows.iter().chain(&rows).collect();
        check(&["concat", path, path], &all);
        let updated: Vec<&Vec<u8>> = [&rows[1]].into_iter().chain(&rows[1..]).collect();
        let row = folder.path("row.npy");
        wgslice(&["slice", path, "1", "-o", &row]).ok();
        check(&["slice-update", path, "0", &row], &updated);
        let mut padded_rows = vec![&zeros];
        padded_rows.extend(&rows);
        padded_rows.push(&zeros);
        let paddings = ["1", "0"]
            .into_iter()
            .chain(["0"])
            .take(shape.len())
            .collect::<Vec<_>>()
            .join(",");
        check(&["pad", path, &paddings], &padded_rows);
        if let [_, columns] = shape[..] {
            let transposed: Vec<Vec<u8>> = (0..columns)
                .map(|column| {
                    elements
                        .iter()
                        .skip(column)
                        .step_by(columns)
                        .flatten()
                        .copied()
                        .collect()
                })
                .collect();
            check(&["transpose", path], &transposed.iter().collect::<Vec<_>>());
            check(
                &["slice", path, "...", "--transpose", "1,0"],
                &transposed.iter().collect::<Vec<_>>(),
            );
        }
        // Reads the reversed array from an archive.
        let array_source = folder.path("out.npz#x");
        wgslice(&["slice", path, "::-1", "-o", &array_source]).ok();
        check(&["slice", &array_source, "..."], &reversed);
    }
}

/// NumPy printed the expected texts.
#[test]
fn values_of_every_type_are_shown_as_by_numpy() {
    let folder = Folder::new();
    for Array {
        name,
        description,
        path,
        shape,
        elements,
    } in all_arrays(&folder)
    {
        // A file does not record the format of long doubles, so their bytes are shown.
        if name.starts_with("long") {
            let shown = wgslice(&["slice", &path, "1", "-q"]).ok().stdout;
            let bytes = elements[1].iter().map(|byte| format!("\\x{byte:02x}"));
            assert_eq!(
                shown,
                format!("b'{}'\n", bytes.collect::<String>()),
                "{name}"
            );
            continue;
        }
        let first = vec!["0"; shape.len()].join(",");
        for (spec, key) in [("...", "text"), (&first, "first")] {
            let shown = wgslice(&["slice", &path, spec, "-q"]).ok().stdout;
            assert_eq!(
                Some(shown.trim_end_matches('\n')),
                description[key].as_str(),
                "{name}"
            );
        }
    }
    let json = |name: &str| {
        let path = format!("{DATA}/types.npz#{name}");
        wgslice(&["slice", &path, "...", "--json"]).ok().json()["values"].clone()
    };
    assert_eq!(json("text"), json!(["a", "größe", "xyz"]));
    assert_eq!(json("bytes"), json!(["a", "bc", ""]));
    assert_eq!(json("time"), json!([0, 1, 2]));
    assert_eq!(json("date")[1][2], "1970-01-06");
    assert_eq!(
        json("fields"),
        json!([{"a": 1, "b": 2.5, "c": [1, 2, 3]}, {"a": -2, "b": 3.5, "c": [4, 5, 6]}])
    );
    // Covers dates before 1970, and NaT.
    let dates: Vec<u8> = [-1i64, i64::MIN, -719_529]
        .iter()
        .flat_map(|day| day.to_le_bytes())
        .collect();
    let path = folder.npy("dates.npy", "<M8[D]", &[3], &dates);
    let shown = wgslice(&["slice", &path, "...", "-q"]).ok().stdout;
    assert_eq!(shown, "['1969-12-31'        'NaT' '-001-12-31']\n");
}

#[test]
fn fields_are_arrays() {
    let folder = Folder::new();
    let out = folder.path("out.npy");
    let archive = format!("{DATA}/types.npz");
    let fields = folder.path("fields.npy");
    wgslice(&["slice", &format!("{archive}#fields"), "...", "-o", &fields]).ok();
    for (source, spec, text) in [
        (format!("{fields}#a"), "::-1", "[-2  1]"),
        (format!("{fields}#b"), ":", "[2.5 3.5]"),
        (format!("{archive}#fields#c"), ":, 1:", "[[2 3]\n [5 6]]"),
        (format!("{archive}#nested#p"), "0, 0", "(0.0, 0.0)"),
    ] {
        let shown = wgslice(&["slice", &source, spec, "-q"]).ok().stdout;
        assert_eq!(shown, format!("{text}\n"), "{source}");
    }
    let info = wgslice(&["info", &format!("{fields}#c"), "--json"])
        .ok()
        .json();
    let array = &info["files"][0]["arrays"][0];
    assert_eq!(
        (&array["shape"], &array["dtype"]),
        (&json!([2, 3]), &json!("uint8"))
    );
    let number = folder.write_arange("x.npy", &[2]);
    for (args, message) in [
        (
            &["slice", &format!("{fields}#d"), ":"][..],
            "no field named \"d\"; it holds \"a\", \"b\", \"c\"",
        ),
        (
            &["slice", &format!("{number}#d"), ":"],
            "which has no fields: leave out #d",
        ),
        (
            &["slice", &number, ":", "-o", &format!("{out}#d")],
            "a field cannot be written",
        ),
    ] {
        let outcome = wgslice(args);
        assert!(
            outcome.code == Some(2) && outcome.stderr.contains(message),
            "{outcome:?}"
        );
    }
}

/// The command moves elements of NumPy's types, but does not take their bits for numbers.
#[test]
fn types_of_numpy_are_only_moved() {
    let folder = Folder::new();
    let types = |name: &str| format!("{DATA}/types.npz#{name}");
    let (dates, bytes, fields) = (
        types("date"),
        folder.npy("s.npy", "|S1", &[2], b"\x01\x00"),
        types("fields"),
    );
    let x = folder.write_arange("x.npy", &[2, 3]);
    let ordered = folder.npy("ordered.npy", "<M8[D]", &[3], &[0; 24]);
    for (args, message) in [
        (
            &["slice", &dates, "...", "--as", "float32"][..],
            "datetime64[D] is moved, but not converted",
        ),
        (
            &["scatter-nd", "[[0],[1]]", &dates, "--shape", "4,3"],
            "datetime64[D] can be moved, but not combined",
        ),
        (
            &["gather", &x, &dates],
            "indices must be integers, but it holds datetime64[D]",
        ),
        (
            &["gather", &x, &bytes],
            "indices must be integers, but it holds |S1",
        ),
        (
            &["gather", &x, &fields],
            "indices must be integers, but it holds [(",
        ),
        (
            &["nonzero", &bytes],
            "holds |S1, but a mask is bool or uint8",
        ),
        (
            &["boolean-mask", &x, &bytes],
            "holds |S1, but a mask is bool or uint8",
        ),
        (
            &["concat", &ordered, &types("big_date")],
            "holds datetime64[ns], but",
        ),
        (&["where", "true", &dates, "0"], "on the command line"),
        (
            &["slice", &dates, "...", "-o", &folder.path("x.safetensors")],
            "datetime64[D] has no name in .safetensors",
        ),
        (
            &["slice", &dates, "...", "-o", &folder.path("x.png")],
            "not datetime64[D]; write to .npy",
        ),
        (
            &["slice", &types("objects"), "..."],
            "Python objects, which are pickled",
        ),
        (
            &["slice", &types("field_of_objects"), "..."],
            "Python objects, which are pickled",
        ),
        (&["slice", &dates, "9"], "(2 × 3)"),
        (&["slice", &fields, "0, 0"], "#fields (2)"),
        (&["slice", &fields, "..., 0, 0"], "#fields (2)"),
    ] {
        let outcome = wgslice(args);
        assert!(
            outcome.code == Some(2) && outcome.stderr.contains(message),
            "{outcome:?}"
        );
    }
}

/// Elements of any size are moved, even elements of zero bytes.
#[test]
fn elements_of_odd_sizes_are_moved() {
    let folder = Folder::new();
    let out = folder.path("out.npy");
    for size in [0usize, 1, 3, 5, 6, 7, 12, 20, 24, 48, 1000] {
        let bytes: Vec<u8> = (0..=250).cycle().take(size * 12).collect();
        let path = folder.write("x.npy", npy(&format!("|V{size}"), &[4, 3], &bytes));
        for args in [
            &["slice", &path, "::2, ::-1"][..],
            &["index", &path, "::2, [2, 1, 0]"],
        ] {
            wgslice(&[args, &["-o", &out]].concat()).ok();
            let file = fs::read(&out).expect("the output");
            let element = |at: usize| &bytes[at * size..(at + 1) * size];
            let expected = [2, 1, 0, 8, 7, 6].map(element).concat();
            assert_eq!(&file[file.len() - expected.len()..], expected, "{size}");
        }
    }
    for (shape, text) in [
        (&[2usize, 3][..], "[[b'' b'' b'']\n [b'' b'' b'']]"),
        (&[2000], "[b'' b'' b'' ... b'' b'' b'']"),
    ] {
        let path = folder.write("x.npy", npy("|V0", shape, &[]));
        let shown = wgslice(&["slice", &path, "..."]).ok().stdout;
        assert!(shown.contains(text), "{shown}");
    }
}
