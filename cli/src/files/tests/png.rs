use std::fs;

use wgslice::DType;

use super::{assert_says, data_folder, read_at, read_content, read_fixture};
use crate::files::write_array;

/// Returns the pixels of `make.py`'s colour image: 2 × 3 pixels of 3 channels, with the values 0, 14, 28, …
fn rgb_pixels() -> Vec<u8> {
    (0..18).map(|i| i * 14).collect()
}

fn kept_channels(count: usize) -> Vec<u8> {
    rgb_pixels()
        .chunks(3)
        .flat_map(|pixel| pixel[..count].to_vec())
        .collect()
}

#[test]
fn colour_types_become_channels() {
    let rgba: Vec<u8> = rgb_pixels()
        .chunks(3)
        .flat_map(|pixel| [pixel[0], pixel[1], pixel[2], pixel[0] + 1])
        .collect();
    let (r, g, b) = ([255, 0, 0], [0, 255, 0], [0, 0, 255]);
    let palette = [r, g, b, b, g, r].concat();
    let palette_alpha: Vec<u8> = [r, g, b, b, g, r]
        .iter()
        .flat_map(|&[r, g, b]| [r, g, b, if g == 255 { 0 } else { 255 }])
        .collect();
    let grey_transparent: Vec<u8> = kept_channels(1)
        .iter()
        .flat_map(|&grey| [grey, if grey == 42 { 0 } else { 255 }])
        .collect();
    for (name, count, pixels) in [
        ("grey", 1, kept_channels(1)),
        ("grey_transparent", 2, grey_transparent),
        ("grey_alpha", 2, kept_channels(2)),
        ("rgb", 3, rgb_pixels()),
        ("rgba", 4, rgba),
        ("grey_1", 1, vec![0, 255, 0, 255, 255, 0]),
        ("palette", 3, palette),
        ("palette_alpha", 4, palette_alpha),
    ] {
        let array = read_fixture(&format!("{name}.png"));
        assert_eq!(
            (array.dtype(), array.shape()),
            (DType::U8, &[2, 3, count][..]),
            "{name}"
        );
        assert_eq!(array.bytes(), pixels, "{name}");
    }
}

#[test]
fn sixteen_bits_become_native() {
    let array = read_fixture("grey_16.png");
    assert_eq!((array.dtype(), array.shape()), (DType::U16, &[2, 3, 1][..]));
    let expected: Vec<u8> = kept_channels(1)
        .iter()
        .flat_map(|&v| (u16::from(v) * 257 + 1).to_ne_bytes())
        .collect();
    assert_eq!(array.bytes(), expected);
}

#[test]
fn written_images_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.png");
    for dtype in [DType::U8, DType::U16] {
        for (shape, read_shape) in [
            (&[30, 50][..], [30, 50, 1]),
            (&[1, 1, 1], [1, 1, 1]),
            (&[7, 5, 2], [7, 5, 2]),
            (&[20, 30, 3], [20, 30, 3]),
            (&[2, 9, 4], [2, 9, 4]),
        ] {
            let len = shape.iter().product::<usize>() * dtype.size();
            let bytes: Vec<u8> = (0..=250).cycle().take(len).collect();
            write_array(&path, dtype, shape, &bytes).unwrap();
            let array = read_at(&path).unwrap();
            assert_eq!(
                (array.dtype(), array.shape(), array.bytes()),
                (dtype, &read_shape[..], &bytes[..])
            );
        }
    }
}

#[test]
fn arrays_that_are_not_images_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.png");
    for dtype in DType::ALL {
        if !matches!(dtype, DType::U8 | DType::U16) {
            let error = write_array(&path, dtype, &[1, 1], &vec![0; dtype.size()]).unwrap_err();
            assert_says(
                &error.to_string(),
                &["uint8 or uint16, not", dtype.name(), ".npy"],
            );
        }
    }
    for shape in [&[][..], &[4], &[1, 1, 5], &[1, 1, 0], &[1, 1, 1, 1]] {
        let bytes = vec![0; shape.iter().product()];
        let error = write_array(&path, DType::U8, shape, &bytes)
            .unwrap_err()
            .to_string();
        assert_says(
            &error,
            &[
                &format!("not {}", crate::units::format_shape(shape)),
                ".npy",
            ],
        );
    }
    for shape in [[0, 3], [3, 0], [0, 1 << 31]] {
        let error = write_array(&path, DType::U8, &shape, &[])
            .unwrap_err()
            .to_string();
        assert_says(&error, &["height and width", "2147483647", ".npy"]);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn every_truncated_image_is_rejected() {
    for name in ["rgb.png", "palette_alpha.png", "grey_16.png"] {
        let content = fs::read(data_folder().join(name)).unwrap();
        for len in 0..content.len() {
            let error = read_content("x.png", &content[..len]);
            assert!(error.is_err(), "{name} cut to {len}");
        }
        let mut damaged = content.clone();
        let middle = content.len() - 20;
        damaged[middle] ^= 1;
        assert_says(&read_content("x.png", &damaged).unwrap_err(), &["damaged"]);
    }
    assert_says(
        &read_content("x.png", b"GIF89a").unwrap_err(),
        &["not a PNG file"],
    );
}

/// The headers have correct checksums, but claim more pixels than follow.
#[test]
fn headers_that_claim_too_many_pixels_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    for (side, message) in [
        (60_000u32, "takes more than"),
        (20_000, "claims 20000 × 20000"),
    ] {
        let path = folder.path().join("x.png");
        let mut content = Vec::new();
        let mut encoder = png::Encoder::new(&mut content, side, side);
        encoder.set_color(png::ColorType::Rgba);
        let mut writer = encoder.write_header().unwrap();
        writer.write_chunk(png::chunk::IDAT, &[0; 8]).unwrap();
        drop(writer);
        fs::write(&path, content).unwrap();
        assert_says(&read_at(&path).unwrap_err(), &[message]);
    }
}
