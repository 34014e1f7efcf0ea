//! Cases that the benchmark lacks: other element and index types, offsets, steps, row lengths and operations.

use super::{Case, CaseWork, HashedIndices};
use wgslice::{
    Conversion,
    DType::{self, Complex128, F16, F32, F64, I32, I64, U8},
    Plan, SliceSpec, View,
    options::{
        Boxes, Combine, CropOptions, GatherNdOptions, GatherOptions, OutOfRange, ScatterOptions,
    },
};

pub(super) fn shape_cases() -> Vec<Case> {
    let mut cases = slice_cases();
    cases.extend(transpose_cases());
    cases.extend(gather_cases());
    cases.extend(update_cases());
    cases.extend(scatter_cases());
    cases.extend(crop_cases());
    cases
}

fn parse_spec(text: &str) -> SliceSpec {
    text.parse().expect("a slice")
}

fn slice_cases() -> Vec<Case> {
    let image: &[usize] = &[64, 512, 512, 3];
    let square: &[usize] = &[4096, 4096];
    let slice = |name, description, dtype, shape: &[usize], text| {
        let plan = Plan::slice(shape, &parse_spec(text), dtype).expect("a slice");
        Case::new(name, description, CaseWork::Move(plan))
    };
    vec![
        slice(
            "f16crop",
            "f16 crop at offset 1",
            F16,
            square,
            "1:4095, 1:4001",
        ),
        slice(
            "f32crop1",
            "f32 crop at offset 1",
            F32,
            square,
            "1:4095, 1:4001",
        ),
        slice(
            "u8crop",
            "u8 crop at offset 1",
            U8,
            square,
            "1:4095, 1:4001",
        ),
        slice(
            "u8crop3999",
            "u8 crop at offset 1, rows of 3999 bytes",
            U8,
            square,
            "1:4095, 1:4000",
        ),
        slice(
            "u8crop501",
            "u8 crop at offset 1, rows of 501 bytes",
            U8,
            square,
            "1:4095, 1:502",
        ),
        slice(
            "W6odd",
            "u8 crop and flip of 481 pixels",
            U8,
            image,
            ":, 16:497, 496:15:-1, :",
        ),
        slice("rgbflip", "u8 RGB, x flipped", U8, image, ":, :, ::-1, :"),
        slice("u8rev", "u8, last axis reversed", U8, square, ":, ::-1"),
        slice("u8down", "u8 [::2, ::2]", U8, square, "::2, ::2"),
        slice("f16down", "f16 [::2, ::2]", F16, square, "::2, ::2"),
        slice(
            "f64rev",
            "f64, last axis reversed",
            F64,
            &[2048, 4096],
            ":, ::-1",
        ),
        slice("rgb0", "u8, one channel of RGB", U8, image, ":, :, :, 0"),
    ]
}

/// Returns transposes of elements other than f32, and of sizes that are not multiples of the tile size.
fn transpose_cases() -> Vec<Case> {
    let permute_case = |name, description, dtype, shape: &[usize], axes: &[usize]| {
        let view = View::new(shape).and_then(|view| view.transpose(axes));
        let plan = Plan::contiguous(view.expect("a transpose"), dtype).unwrap();
        Case::new(name, description, CaseWork::Move(plan))
    };
    let transpose =
        |name, description, dtype, shape| permute_case(name, description, dtype, shape, &[1, 0]);
    vec![
        transpose("tu8", "u8 transpose", U8, &[4096, 4096]),
        transpose("tu8odd", "u8 transpose of odd lengths", U8, &[4093, 4095]),
        transpose("tf16", "f16 transpose", F16, &[4096, 4096]),
        transpose(
            "tf16odd",
            "f16 transpose of odd lengths",
            F16,
            &[4093, 4095],
        ),
        transpose(
            "tf32odd",
            "f32 transpose of odd lengths",
            F32,
            &[4093, 4095],
        ),
        transpose("tf64", "f64 transpose", F64, &[2048, 4096]),
        transpose("tc128", "complex128 transpose", Complex128, &[2048, 2048]),
        permute_case(
            "hwcodd",
            "u8 HWC to CHW of odd sizes",
            U8,
            &[64, 511, 509, 3],
            &[0, 3, 1, 2],
        ),
    ]
}

fn gather_cases() -> Vec<Case> {
    let gather = |name: &str, description: &str, dtype, shape: &[usize], rows, is_64_bit| {
        let index_type = if is_64_bit { I64 } else { I32 };
        let tuples = (&[rows, 1], index_type);
        let plan = Plan::gather_nd(shape, tuples, GatherNdOptions::default(), dtype);
        let indices = HashedIndices {
            rows,
            sizes: vec![shape[0]],
            is_64_bit,
            is_unique: false,
        };
        Case::new(
            name,
            description,
            CaseWork::Gather(plan.expect("a gather"), indices),
        )
    };
    let mut cases = Vec::new();
    for bytes in [4, 12, 64, 100, 512, 4096] {
        // The table of rows has 64 MiB, or less if a row has less than 64 bytes.
        let rows = (64 << 20) / bytes.max(64);
        let description = format!("gather of rows of {bytes} bytes");
        let shape = [rows, bytes / 4];
        cases.push(gather(
            &format!("g{bytes}"),
            &description,
            F32,
            &shape,
            rows / 2,
            false,
        ));
    }
    cases.push(gather(
        "g1u8",
        "gather of single u8",
        U8,
        &[1 << 22, 1],
        1 << 21,
        false,
    ));
    cases.push(gather(
        "g6f16",
        "gather of rows of 3 f16",
        F16,
        &[1 << 20, 3],
        1 << 20,
        false,
    ));
    cases.push(gather(
        "g256i64",
        "gather of rows of 256 bytes, i64 indices",
        F32,
        &[200_000, 64],
        100_000,
        true,
    ));
    cases.push(gather(
        "g4i64",
        "gather of single f32, i64 indices",
        F32,
        &[1 << 22],
        1 << 20,
        true,
    ));
    let options = GatherNdOptions {
        batch_dims: 1,
        ..GatherNdOptions::default()
    };
    let plan = Plan::gather_nd(&[64, 1024, 64], &[64, 512, 1], options, F32).expect("a gather");
    let indices = |rows, size| HashedIndices {
        rows,
        sizes: vec![size],
        is_64_bit: false,
        is_unique: false,
    };
    let work = CaseWork::Gather(plan, indices(64 * 512, 1024));
    cases.push(Case::new(
        "gbatch",
        "gather of rows of 256 bytes, batch_dims 1",
        work,
    ));
    let options = GatherOptions {
        axis: Some(1),
        ..GatherOptions::default()
    };
    let plan = Plan::gather(&[4096, 4096], &[2048], options, F32).expect("a gather");
    let work = CaseWork::Gather(plan, indices(2048, 4096));
    cases.push(Case::new("gaxis1", "gather of f32 columns, axis 1", work));
    cases
}

/// Returns the update and the gradient of each of five slices.
fn update_cases() -> Vec<Case> {
    let shape = [4096, 4096];
    let slices = [
        ("crop", "of an f32 crop", F32, "1:4095, 32:4000"),
        ("crop1", "of an f32 crop at offset 1", F32, "1:4095, 1:4000"),
        ("2", "of f32 [::2, ::2]", F32, "::2, ::2"),
        ("u8", "of a u8 crop at offset 1", U8, "1:4095, 1:4000"),
        ("u82", "of u8 [::2, ::2]", U8, "::2, ::2"),
    ];
    let case = |(name, slice_description, dtype, text): (_, _, DType, _)| {
        let spec = parse_spec(text);
        let slice = Plan::slice(&shape, &spec, dtype).expect("a slice");
        let update = Plan::slice_update(&shape, &spec, slice.shape(), dtype);
        let gradient = Plan::slice_grad(&shape, &spec, slice.shape(), dtype);
        [("upd", "update", update), ("grad", "gradient", gradient)].map(|(prefix, word, plan)| {
            let work = CaseWork::Move(plan.expect("the shape of the slice"));
            let description = format!("{word} {slice_description}");
            Case::new(&format!("{prefix}{name}"), &description, work)
        })
    };
    slices.into_iter().flat_map(case).collect()
}

fn scatter_cases() -> Vec<Case> {
    let scatter = |name: &str, description: &str, combine, dtype, rows, run, slices| {
        let is_unique = name.starts_with("uniq");
        let options = ScatterOptions {
            combine: Some(combine),
            out_of_range: OutOfRange::Ignore,
            unique: is_unique,
            ..ScatterOptions::default()
        };
        let plan =
            Plan::tensor_scatter_nd(&[slices, run], &[rows, 1], &[rows, run], options, dtype);
        let indices = HashedIndices {
            rows,
            sizes: vec![slices],
            is_64_bit: false,
            is_unique,
        };
        Case::new(
            name,
            description,
            CaseWork::Scatter(plan.expect("a scatter"), indices),
        )
    };
    let (update, add, m) = (Combine::Update, Combine::Add, 1 << 20);
    // Cases with long rows have fewer rows, so that the interpreter runs such a case in a minute.
    let few_rows = m / 8;
    vec![
        scatter("su1", "scatter of single f32", update, F32, m, 1, 2 * m),
        scatter(
            "su64",
            "scatter of rows of 64 f32",
            update,
            F32,
            few_rows,
            64,
            2 * few_rows,
        ),
        scatter("su8", "scatter of rows of 3 u8", update, U8, m, 3, 2 * m),
        scatter(
            "su100",
            "scatter of rows of 100 u8",
            update,
            U8,
            few_rows,
            100,
            2 * few_rows,
        ),
        // This case scatters few rows into a tensor of 1 GiB.
        scatter(
            "su64few",
            "scatter of 64 rows of 256 bytes into 1 GiB",
            update,
            F32,
            64,
            64,
            4 * m,
        ),
        scatter(
            "uniqfew",
            "64 unique rows of 256 bytes into 1 GiB",
            update,
            F32,
            64,
            64,
            4 * m,
        ),
        scatter(
            "uniq64",
            "unique rows of 64 f32",
            update,
            F32,
            few_rows,
            64,
            2 * few_rows,
        ),
        scatter("uniq8", "unique rows of 3 u8", update, U8, m, 3, 2 * m),
        scatter(
            "uniqa64",
            "unique rows of 64 f32, added",
            add,
            F32,
            few_rows,
            64,
            2 * few_rows,
        ),
        scatter("sa1", "scatter-add of single f32", add, F32, m, 1, 2 * m),
        scatter(
            "sa64",
            "scatter-add of rows of 64 f32",
            add,
            F32,
            few_rows,
            64,
            2 * few_rows,
        ),
        scatter(
            "saf",
            "scatter-add of single f32 to few slices",
            add,
            F32,
            m,
            1,
            64,
        ),
        scatter(
            "sa1k",
            "scatter-add of single f32 to 1024 slices",
            add,
            F32,
            m,
            1,
            1024,
        ),
        scatter("sai1", "scatter-add of single i32", add, I32, m, 1, 2 * m),
        scatter(
            "sai64",
            "scatter-add of rows of 64 i32",
            add,
            I32,
            few_rows,
            64,
            2 * few_rows,
        ),
        scatter("sa8", "scatter-add of rows of 3 u8", add, U8, m, 3, 2 * m),
        scatter(
            "sah64",
            "scatter-add of rows of 64 f16",
            add,
            F16,
            few_rows,
            64,
            2 * few_rows,
        ),
    ]
}

/// Returns variants of the crops of W15: rows of an odd number of bytes, pixels of one byte, pixels of 12 bytes, and a
/// conversion to normalised f32.
fn crop_cases() -> Vec<Case> {
    let crop = |name: &str, description: &str, dtype, shape: &[usize], size: usize| {
        let options = CropOptions {
            sizes: vec![size; 2],
            ..CropOptions::default()
        };
        let boxes = Boxes::of_tuples(&[shape[0], 4], false, true);
        let begin_counts = shape[1..3].iter().map(|dim| dim - size + 1);
        let indices = HashedIndices {
            rows: shape[0],
            sizes: begin_counts.chain([2, 2]).collect(),
            is_64_bit: false,
            is_unique: false,
        };
        let plan = Plan::crop(shape, boxes, &options, dtype).expect("a crop");
        Case::new(name, description, CaseWork::Gather(plan, indices))
    };
    vec![
        crop(
            "W15odd",
            "random crop and flip, 223 pixels",
            U8,
            &[256, 256, 256, 3],
            223,
        ),
        crop(
            "W15gray",
            "random crop and flip, gray",
            U8,
            &[256, 256, 256, 1],
            224,
        ),
        crop(
            "W15f32",
            "random crop and flip, f32 RGB",
            F32,
            &[64, 256, 256, 3],
            224,
        ),
        normalised_case(),
    ]
}

/// Returns a case that prepares pictures for a network in one dispatch: it crops at random positions, flips, moves the
/// channels first and normalises.
fn normalised_case() -> Case {
    let options = CropOptions {
        sizes: vec![3, 224, 224],
        ..CropOptions::default()
    };
    let boxes = Boxes::of_tuples(&[64, 6], false, true);
    let view = View::new(&[64, 256, 256, 3]).and_then(|view| view.transpose(&[0, 3, 1, 2]));
    let crop = view.and_then(|view| Plan::crop(view, boxes, &options, U8));
    let table = Conversion::table(U8, F32, -1, 3, |c, x| (x / 255.0 - 0.45) / (c + 1) as f32);
    let plan = crop.and_then(|crop| crop.converted(&table?));
    let indices = HashedIndices {
        rows: 64,
        sizes: vec![1, 33, 33, 1, 1, 2],
        is_64_bit: false,
        is_unique: false,
    };
    let work = CaseWork::Gather(plan.expect("a crop that converts"), indices);
    Case::new(
        "W15norm",
        "random crop and flip to normalised CHW f32",
        work,
    )
}
