//! Tests that views compose: several slices, transposes and broadcasts make one plan. On every device its result equals
//! that of the reference, which applies one step after another.

use crate::harness::{Sizes, broadcast, check_view, devices, elements, kind, slice, transpose};
use wgslice::{Backend, DType, Plan, View};
use wgslice_vectors::Step;

#[track_caller]
fn check(shape: &[usize], steps: &[Step]) {
    check_view(shape, steps, Sizes::All);
}

#[test]
fn slices_of_slices() {
    check(
        &[9, 8],
        &[slice("1:8"), slice("::-2, 2:"), slice("1:, ::-1")],
    );
    check(
        &[40],
        &[slice("::-1"), slice("3:30:3"), slice("::-2"), slice("1")],
    );
    check(
        &[6, 7, 5],
        &[slice("..., 1"), slice("None, ::-1"), slice("0, :, ::3")],
    );
    // Empty views stay empty.
    check(&[4, 5], &[slice("2:2"), slice("..., ::-1"), slice("None")]);
}

#[test]
fn transposes_and_broadcasts() {
    check(&[4, 5, 6], &[transpose(&[2, 0, 1]), transpose(&[1, 2, 0])]);
    check(&[7, 33], &[transpose(&[1, 0]), slice("::-1, 2:")]);
    check(
        &[5, 1, 3],
        &[broadcast(&[2, 5, 4, 3]), slice("1, ::-2, 1:, ::-1")],
    );
    check(&[1], &[broadcast(&[70]), slice("3:")]);
    check(&[], &[broadcast(&[3, 4]), transpose(&[1, 0])]);
    check(&[3, 0], &[transpose(&[1, 0]), broadcast(&[2, 0, 3])]);
    let all = [
        slice("1:, ::-1"),
        transpose(&[1, 0, 2]),
        slice("None, 2:, ..., ::2"),
    ];
    check(&[3, 6, 16], &all);
}

/// Tests transposes that are large enough for tiles in workgroup memory: one tile, several tiles and parts of tiles.
/// Rows begin at various offsets, and run forwards and backwards.
#[test]
fn transposes_in_tiles() {
    for (rows, near) in [
        (64, 64),
        (61, 43),
        (130, 21),
        (24, 129),
        (9, 270),
        (270, 9),
        (515, 6),
        (8, 513),
        (280, 140),
    ] {
        check(&[rows, near], &[transpose(&[1, 0])]);
        check(
            &[rows, near],
            &[slice("::-1, 1:"), transpose(&[1, 0]), slice("::-1, 2:")],
        );
        let some = [slice("1:, 1:-1"), transpose(&[1, 0]), slice("..., ::-2")];
        check(&[rows, near], &some);
    }
    // Planes of the result begin at any byte of a word.
    check(&[3, 37, 29], &[transpose(&[0, 2, 1])]);
    check(&[3, 37, 29], &[transpose(&[2, 0, 1]), slice("::-1, 1:")]);
    check(&[3, 36, 28], &[transpose(&[2, 0, 1]), slice("::-1, :, 2:")]);
    check(&[2, 3, 20, 33], &[transpose(&[3, 1, 0, 2])]);
    check(
        &[2, 20, 3, 33],
        &[transpose(&[3, 2, 0, 1]), slice("1:, ::-1, ::-1, ::-1")],
    );
    check(
        &[2, 3, 2, 12, 24],
        &[
            slice("::-1, :, ::-1, 1:, ::-1"),
            transpose(&[1, 4, 2, 0, 3]),
        ],
    );
    check(&[24, 40], &[transpose(&[1, 0]), broadcast(&[3, 40, 24])]);
}

/// Channels become planes. The lines of the source are shorter than what a memory access moves, and are close together.
#[test]
fn channels_become_planes() {
    for channels in [2, 3, 4, 5, 7, 16, 17, 33] {
        check(&[2, 8, 32, channels], &[transpose(&[0, 3, 1, 2])]);
        check(&[601, channels], &[transpose(&[1, 0]), slice("::-1, 3:")]);
        let some = [
            slice("1:, :, ::-1, 1:"),
            transpose(&[3, 0, 1, 2]),
            slice("..., ::-1"),
        ];
        check(&[3, 5, 41, channels], &some);
    }
    check(&[700, 4], &[slice(":, :3"), transpose(&[1, 0])]);
    // Whole lines and parts of lines, most of them backwards.
    check(&[600, 4], &[slice("::-1"), transpose(&[1, 0])]);
    check(&[600, 8], &[slice("1:, :"), transpose(&[1, 0])]);
    check(&[700, 4], &[slice("::-1, 1:3"), transpose(&[1, 0])]);
    check(&[90, 40], &[slice("::-1, 5:9"), transpose(&[1, 0])]);
}

/// Of a transpose, lanes that fill a sector of 32 bytes of the result share a row, unless whole rows of the source stay
/// together.
#[cfg(feature = "gpu")]
#[test]
fn transposes_fill_sectors() {
    let explained = |gpu: &wgslice::Gpu, shape: &[usize], axes: &[usize]| {
        let view = View::new(shape).unwrap().transpose(axes).unwrap();
        gpu.as_hardware()
            .explain(&Plan::contiguous(&view, DType::F32).unwrap())
    };
    let devices = devices().iter();
    for gpu in devices
        .filter(|device| !device.is_tiny())
        .filter_map(|device| device.backend.gpu())
    {
        let sector = "8 lanes and 8 units of 4 bytes a tile";
        for (shape, axes) in [
            (&[64, 64][..], &[1, 0][..]),
            (&[40, 700], &[1, 0]),
            (&[5, 40, 3, 40], &[0, 3, 2, 1]),
        ] {
            let how = explained(gpu, shape, axes);
            assert!(how.contains(sector), "{how}");
        }
        let how = explained(gpu, &[16, 16, 16], &[1, 0, 2]);
        assert!(!how.contains(sector), "{how}");
    }
}

/// A step on a view fails with the error that it gives on an array of the view's shape.
#[test]
fn steps_that_do_not_fit_are_errors() {
    let view = View::new(&[3, 1, 4]).unwrap().slice(&"1:".parse().unwrap());
    let values = (vec![2, 1, 4], elements(8));
    for wrong in [
        slice("5"),
        slice("::0"),
        slice("0, 0, 0, 0"),
        transpose(&[0, 1]),
        transpose(&[0, 1, 1]),
        broadcast(&[2, 1, 5]),
        broadcast(&[1, 4]),
    ] {
        let error = wrong.of_view(view.as_ref().unwrap()).unwrap_err();
        let expected = wrong.of_values(values.clone()).unwrap_err();
        assert_eq!(kind(&error), expected.kind, "{wrong:?}");
    }
}

/// Tensors take other shapes and orders of dimensions. A change of one tensor leaves the others unchanged, even if they
/// share memory.
#[test]
fn tensors_take_other_shapes() {
    for device in devices() {
        let tensor = device
            .backend
            .upload((&[1u16, 2, 3, 4, 5, 6], &[2, 1, 3]))
            .unwrap();
        let flat = tensor.reshape(&[6]).unwrap();
        let squeezed = tensor.reshape(&[2, 3]).unwrap();
        assert_eq!((flat.shape(), squeezed.shape()), (&[6][..], &[2, 3][..]));
        assert_eq!(flat.to_vec::<u16>().unwrap(), [1, 2, 3, 4, 5, 6]);
        let turned = squeezed.transpose(&[1, 0]).unwrap();
        assert_eq!(turned.to_vec::<u16>().unwrap(), [1, 4, 2, 5, 3, 6]);
        let mut changed = tensor.reshape(&[3, 2]).unwrap();
        let row = device.backend.upload((&[7u16, 8], &[2])).unwrap();
        changed.slice_update(&"1".parse().unwrap(), &row).unwrap();
        assert_eq!(changed.to_vec::<u16>().unwrap(), [1, 2, 7, 8, 5, 6]);
        assert_eq!(flat.to_vec::<u16>().unwrap(), [1, 2, 3, 4, 5, 6]);
        let scalar = device
            .backend
            .upload((&[9u16], &[1, 1]))
            .unwrap()
            .reshape(&[])
            .unwrap();
        assert_eq!(scalar.shape(), [0usize; 0]);
        let error = tensor.reshape(&[4]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a tensor of shape [2,1,3] cannot be reshaped to [4]: both must have equally many elements"
        );
    }
}

/// Views of a tensor of the host: those of all elements in their order share its memory, and no others do.
#[test]
fn a_view_of_everything_in_order_shares_memory() {
    let values: Vec<u16> = (0..12).collect();
    let tensor = Backend::cpu().upload((&values, &[3, 1, 4])).unwrap();
    for (spec, order, shares) in [
        ("...", [0, 1, 2], true),
        ("...", [1, 0, 2], true),
        ("0:, :, -4:", [0, 2, 1], true),
        ("...", [2, 1, 0], false),
        ("::-1", [0, 1, 2], false),
        ("1:", [0, 1, 2], false),
        (":2", [0, 1, 2], false),
        ("..., ::2", [0, 1, 2], false),
    ] {
        let view = tensor.slice(&spec.parse().unwrap()).unwrap();
        let view = view.transpose(&order).unwrap();
        let made = view.contiguous().unwrap();
        let at = |bytes: &[u8]| bytes.as_ptr();
        let same = at(&made.bytes().unwrap()) == at(&tensor.bytes().unwrap());
        assert_eq!(same, shares, "{spec} {order:?}");
        let plan = Plan::contiguous(view.layout(), DType::U16).unwrap();
        let (expected, _) = Backend::cpu()
            .run::<u16>(&plan, &[(&values).into()])
            .unwrap();
        assert_eq!(
            made.to_vec::<u16>().unwrap(),
            expected.data,
            "{spec} {order:?}"
        );
    }
    let repeated = tensor.slice(&"1:2".parse().unwrap()).unwrap();
    let repeated = repeated
        .broadcast_to(&[3, 1, 4])
        .unwrap()
        .contiguous()
        .unwrap();
    assert_eq!(repeated.to_vec::<u16>().unwrap(), [4, 5, 6, 7].repeat(3));
}
