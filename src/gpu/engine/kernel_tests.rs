//! Runs every kernel on strict devices, as a GPU and as a software adapter, and compares results with the CPU's.

use super::program::Kernel;
use crate::{
    Backend, DType, Gpu, Plan, SliceSpec,
    options::{Boxes, Combine, CropOptions, GatherOptions, OutOfRange, ScatterOptions},
};

const KINDS: [wgpu::DeviceType; 2] = [wgpu::DeviceType::DiscreteGpu, wgpu::DeviceType::Cpu];

/// Opens a device of this kind that runs shaders in an interpreter, which reports every fault.
pub(super) fn strict(kind: wgpu::DeviceType) -> Gpu {
    let mut options = strict_gpu::Options::default();
    options.info.device_type = kind;
    let adapter = strict_gpu::StrictGpu::new(options).adapter();
    pollster::block_on(Gpu::from_adapter(&adapter)).unwrap()
}

/// Checks that `run` has the same outcome on the device as on the CPU.
fn same<R: PartialEq + std::fmt::Debug>(gpu: &Gpu, what: &str, run: impl Fn(&Backend) -> R) {
    let device = Backend::from(gpu.clone());
    assert_eq!(run(&device), run(&Backend::cpu()), "{what}");
}

fn spec(text: &str) -> SliceSpec {
    text.parse().unwrap()
}

#[expect(clippy::cast_possible_truncation, reason = "any bytes will do")]
fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|n| (n * 7 + n / 251) as u8).collect()
}

fn slices(gpu: &Gpu) {
    let words: Vec<u32> = (0..40 * 12).collect();
    for text in ["1:, 1:", "::-1, ::2", ":, 1:4", "::2, ::-1"] {
        same(gpu, text, |backend| {
            backend.slice((&words, &[40, 12]), &spec(text)).unwrap()
        });
    }
    for text in ["1:, 1:", "::2, ::2", ":, 1:4", "::-1, ::-1", ":, 5::-1"] {
        for (height, width) in [(40, 12), (39, 11), (8, 64)] {
            let data = bytes(height * width);
            same(gpu, text, |backend| {
                backend
                    .slice((&data, &[height, width]), &spec(text))
                    .unwrap()
            });
        }
    }
}

fn gathers(gpu: &Gpu) {
    same(gpu, "gather along the inner axis", |backend| {
        let options = GatherOptions {
            axis: Some(1),
            ..GatherOptions::default()
        };
        let params: Vec<u32> = (0..16).collect();
        let columns = [2i32, 7, 8, 0, 3].repeat(410);
        let gathered = backend.gather((&params, &[2, 8]), (&columns[..], &[2050]), options);
        let (array, report) = gathered.unwrap();
        (array, report.out_of_range)
    });
    let tuples = [1i32, 39, 7, 40, 0, 3, -1, 5];
    for width in [1, 3, 12] {
        let words: Vec<f32> = (0..40u16 * width).map(f32::from).collect();
        let shape = [40, width.into()];
        same(gpu, "gather", |backend| {
            let gathered = backend.gather_nd(
                (&words, &shape),
                (&tuples[..], &[8, 1]),
                GatherOptions::default(),
            );
            let (array, report) = gathered.unwrap();
            (array, report.out_of_range)
        });
        same(gpu, "gather of rows of bytes", |backend| {
            let data = bytes(40 * usize::from(width));
            let gathered = backend.gather_nd(
                (&data, &shape),
                (&tuples[..], &[8, 1]),
                GatherOptions::default(),
            );
            gathered.unwrap().0
        });
        same(gpu, "gather of bytes", |backend| {
            let options = GatherOptions {
                axis: Some(1),
                ..GatherOptions::default()
            };
            let columns = [0i64; 5];
            let data = bytes(40 * usize::from(width));
            backend
                .gather((&data, &shape), (&columns[..], &[5]), options)
                .unwrap()
                .0
        });
    }
}

fn crops(gpu: &Gpu) {
    let begins = [0i64, 1, 2, 5, -1, 0, 1, 1];
    let flips = [true, false, false, true, true, true, false, false];
    for (width, channels) in [(8, 1), (9, 1), (8, 3), (7, 3), (8, 5), (6, 32)] {
        let shape = [4, 6, width, channels];
        let data = bytes(shape.iter().product());
        let words: Vec<u32> = data.iter().map(|&byte| byte.into()).collect();
        same(gpu, "crop", |backend| {
            let options = CropOptions {
                sizes: vec![4, 4],
                ..CropOptions::default()
            };
            let begins = (&begins, &[4, 2]);
            let flips = || Some((&flips, &[4, 2]).into());
            let bytes = backend.crop((&data, &shape), begins, None, flips(), &options);
            let words = backend.crop((&words, &shape), begins, None, flips(), &options);
            (bytes.unwrap(), words.unwrap())
        });
    }
}

fn writes(gpu: &Gpu) {
    for text in ["1:, 1:", "::-1, ::2", "1:, 2::2", "1:, 3::3"] {
        let spec = spec(text);
        let shape = spec.view(&[8, 12]).unwrap().shape().to_vec();
        let value = bytes(shape.iter().product());
        let words: Vec<u32> = value.iter().map(|&byte| byte.into()).collect();
        same(gpu, text, |backend| {
            let mut dest = backend.upload((&bytes(96), &[8, 12])).unwrap();
            dest.slice_update(&spec, &backend.upload((&value, &shape)).unwrap())
                .unwrap();
            let grad = backend
                .slice_grad(&[8, 12], &spec, (&value, &shape))
                .unwrap();
            (dest.to_array::<u8>().unwrap(), grad)
        });
        same(gpu, text, |backend| {
            let mut dest = backend.upload((&[7u32; 96], &[8, 12])).unwrap();
            dest.slice_update(&spec, &backend.upload((&words, &shape)).unwrap())
                .unwrap();
            let grad = backend
                .slice_grad(&[8, 12], &spec, (&words, &shape))
                .unwrap();
            (dest.to_array::<u32>().unwrap(), grad)
        });
    }
}

fn scatters(gpu: &Gpu) {
    let rows = [3i32, 1, 3, 9, 0, 3];
    let update = |combine| ScatterOptions {
        combine: Some(combine),
        out_of_range: OutOfRange::Zero,
        ..ScatterOptions::default()
    };
    for combine in [Combine::Add, Combine::Update] {
        let floats: Vec<f32> = (0..18u8).map(|n| f32::from(n) / 3.0).collect();
        let integers: Vec<i32> = (0..18).collect();
        same(gpu, "scatter", |backend| {
            let options = update(combine);
            let of_floats =
                backend.scatter_nd(&[5, 3], (&rows[..], &[6, 1]), (&floats, &[6, 3]), options);
            let of_integers =
                backend.scatter_nd(&[5, 3], (&rows[..], &[6, 1]), (&integers, &[6, 3]), options);
            let of_bytes = backend.scatter_nd(
                &[5, 3],
                (&rows[..], &[6, 1]),
                (&bytes(18), &[6, 3]),
                options,
            );
            (
                of_floats.unwrap().0,
                of_integers.unwrap().0,
                of_bytes.unwrap().0,
            )
        });
    }
}

fn transposes(gpu: &Gpu) {
    let words: Vec<u32> = (0..70 * 67).collect();
    same(gpu, "transpose", |backend| {
        let words = backend.upload((&words, &[70, 67])).unwrap().view();
        let bytes = backend.upload((&bytes(70 * 67), &[70, 67])).unwrap().view();
        let [words, bytes] = [words, bytes].map(|view| {
            let turned = view.transpose(&[1, 0]).unwrap();
            turned.to_tensor().unwrap()
        });
        (
            words.to_array::<u32>().unwrap(),
            bytes.to_array::<u8>().unwrap(),
        )
    });
}

/// Checks a scatter with [`same`]. Its lists have 15, 15, 369 and 1 rows. A list of more than 256 rows is too long to
/// be sorted in workgroup memory.
fn lists(gpu: &Gpu) {
    let rows: Vec<i32> = (0..400)
        .map(|n| if n < 30 { n % 2 } else { 2 + n / 399 })
        .collect();
    let updates: Vec<f32> = (0..400u16).map(|n| f32::from(n) / 3.0).collect();
    same(gpu, "lists", |backend| {
        let options = ScatterOptions::default();
        let sums = backend.scatter_nd(&[5], (&rows[..], &[400, 1]), (&updates, &[400]), options);
        sums.unwrap().0
    });
}

/// Runs every kernel.
fn run_all(gpu: &Gpu) {
    for run in [slices, transposes, gathers, crops, writes, scatters, lists] {
        run(gpu);
    }
}

#[test]
fn every_kernel_runs_and_agrees_with_the_cpu() {
    for kind in KINDS {
        let gpu = strict(kind);
        run_all(&gpu);
        let seen = gpu.engine.pipelines.compiled();
        for &kernel in Kernel::ALL {
            let runs = seen.iter().any(|program| program.kernel == kernel);
            assert!(runs, "{kernel:?} on {kind:?}");
        }
    }
}

/// A result of one dimension has no neighbouring rows, so its lanes share a row instead of leaving it to four of them.
#[test]
fn a_single_row_keeps_all_lanes_busy() {
    let gpu = strict(KINDS[0]);
    let backend = Backend::from(gpu.clone());
    backend.slice((&bytes(999), &[999]), &spec("::3")).unwrap();
    let compiled = gpu.engine.pipelines.compiled();
    let rows: Vec<_> = compiled
        .iter()
        .map(|program| program.constant("ROWS"))
        .collect();
    assert_eq!(rows, [Some(1)]);
}

/// All boxes of a crop are one dispatch, and other begins, flips and items need no other pipeline.
#[test]
fn a_crop_is_one_dispatch_and_other_boxes_compile_nothing() {
    let gpu = strict(KINDS[0]);
    let backend = Backend::from(gpu.clone());
    let (shape, options) = (
        [4, 16, 16, 3],
        CropOptions {
            sizes: vec![8, 8],
            ..CropOptions::default()
        },
    );
    let images = backend
        .upload((&bytes(shape.iter().product()), &shape))
        .unwrap();
    let mut compiled = Vec::new();
    for (begins, items, flip) in [
        ([0i32, 0, 1, 2, 8, 8, 3, 5], [0i32, 1, 2, 3], false),
        ([-1, 0, 20, 2, 8, 9, 3, 5], [3, -1, 0, 0], true),
    ] {
        let begins = backend.upload((&begins, &[4, 2])).unwrap();
        let items = backend.upload((&items, &[4])).unwrap();
        let flips = backend.upload((&[flip; 8], &[4, 2])).unwrap();
        let (_, report) = images
            .crop(&begins, Some(&items), Some(&flips), &options)
            .unwrap();
        assert_eq!(
            report.wait().unwrap().out_of_range,
            if flip { 3 } else { 0 }
        );
        compiled.push(gpu.engine.pipelines.compiled().len());
    }
    assert_eq!(compiled[0], compiled[1]);
    let boxes = Boxes {
        count: 256,
        box_indices: true,
        flips: true,
    };
    let plan = Plan::crop(&shape, boxes, &options, DType::U8).unwrap();
    let explained = backend.explain(&plan);
    assert!(
        explained.contains("1 dispatch of the copy_words kernel"),
        "{explained}"
    );
}
