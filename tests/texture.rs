//! Tests copies of texels to tensors and back, on drawn devices that have textures. Plain loops compute the expected
//! values.
//!
//! The strict devices have no textures. The plans between padded rows and tensors are ordinary slices and updates, and
//! other tests run such plans on strict devices.

use crate::harness::{
    kind,
    read_buffer::read_buffer,
    run_bytes,
    texture::{
        COPIES, Case, Image, Walk, check, gpus, is_unreadable_on_gl, pattern, texture, whole,
    },
};
use wgpu::{TextureDimension, TextureFormat, TextureUsages};
use wgslice::{
    Backend, Conversion, DType, Error, Plan, SliceSpec, Tensor, View, gpu::Texels, slice,
};

/// Returns the tested formats, with their element types and numbers of channels.
fn formats() -> Vec<(TextureFormat, DType, usize)> {
    use TextureFormat as F;
    let mut formats = vec![
        (F::Rgba8UnormSrgb, DType::U8, 4),
        (F::Bgra8Unorm, DType::U8, 4),
        (F::Bgra8UnormSrgb, DType::U8, 4),
    ];
    for (formats_of_type, dtype) in [
        ([F::R8Unorm, F::Rg8Unorm, F::Rgba8Unorm], DType::U8),
        ([F::R8Uint, F::Rg8Uint, F::Rgba8Uint], DType::U8),
        ([F::R8Snorm, F::Rg8Snorm, F::Rgba8Snorm], DType::I8),
        ([F::R8Sint, F::Rg8Sint, F::Rgba8Sint], DType::I8),
        ([F::R16Unorm, F::Rg16Unorm, F::Rgba16Unorm], DType::U16),
        ([F::R16Uint, F::Rg16Uint, F::Rgba16Uint], DType::U16),
        ([F::R16Snorm, F::Rg16Snorm, F::Rgba16Snorm], DType::I16),
        ([F::R16Sint, F::Rg16Sint, F::Rgba16Sint], DType::I16),
        ([F::R16Float, F::Rg16Float, F::Rgba16Float], DType::F16),
        ([F::R32Uint, F::Rg32Uint, F::Rgba32Uint], DType::U32),
        ([F::R32Sint, F::Rg32Sint, F::Rgba32Sint], DType::I32),
        ([F::R32Float, F::Rg32Float, F::Rgba32Float], DType::F32),
    ] {
        formats.extend(
            formats_of_type
                .into_iter()
                .zip([1, 2, 4])
                .map(|(format, channels)| (format, dtype, channels)),
        );
    }
    formats
}

#[test]
fn every_format() {
    let gpus = gpus();
    let mut tested_formats = Vec::new();
    for gpu in &gpus {
        for (format, dtype, channels) in formats() {
            if !gpu.device().features().contains(format.required_features()) {
                continue;
            }
            tested_formats.push(format);
            let one_level = (TextureDimension::D2, 1);
            let texel = (channels, dtype.size());
            let mut image = Image::new(gpu, format, one_level, [1, 5, 7], texel);
            check(gpu, &mut image, &whole(0, [1, 5, 7, channels]), dtype);
            // Selects rows 3 to 1 and every second column. The channels are reversed and moved before the rows.
            let crop = Case {
                walks: [
                    Walk(0, 1, 1),
                    Walk(3, -1, 3),
                    Walk(1, 2, 3),
                    Walk(channels - 1, -1, channels),
                ],
                permutation: [0, 3, 1, 2],
                ..whole(0, [1, 5, 7, channels])
            };
            check(gpu, &mut image, &crop, dtype);
        }
    }
    let norms = [TextureFormat::R16Unorm, TextureFormat::Rgba16Snorm];
    for (format, ..) in formats() {
        let is_norm = format.required_features() == norms[0].required_features();
        assert!(
            gpus.is_empty() || is_norm || tested_formats.contains(&format),
            "{format:?}"
        );
    }
}

/// Tests rows of lengths around 256 and 512 bytes, and of a few bytes.
#[test]
fn widths_around_256_bytes() {
    for gpu in gpus() {
        for (format, channels, widths) in [
            (TextureFormat::R8Unorm, 1, [1, 3, 255, 256, 257, 511]),
            (TextureFormat::Rgba8Unorm, 4, [1, 2, 63, 64, 65, 127]),
        ] {
            for width in widths {
                let one_level = (TextureDimension::D2, 1);
                let mut image = Image::new(&gpu, format, one_level, [2, 3, width], (channels, 1));
                let shape = image.shapes[0];
                check(&gpu, &mut image, &whole(0, shape), DType::U8);
                let mut flipped = whole(0, shape);
                flipped.walks[2] = Walk(width as usize - 1, -1, width as usize);
                check(&gpu, &mut image, &flipped, DType::U8);
            }
        }
    }
}

/// The six sides of a cube map are selected as layers.
#[test]
fn cube_maps() {
    for gpu in gpus() {
        let one_level = (TextureDimension::D2, 1);
        let mut image = Image::new(&gpu, TextureFormat::R8Unorm, one_level, [6, 3, 3], (1, 1));
        let side = Case {
            walks: [Walk(4, -2, 2), Walk(0, 1, 3), Walk(2, -1, 3), Walk(0, 1, 1)],
            ..whole(0, [6, 3, 3, 1])
        };
        check(&gpu, &mut image, &side, DType::U8);
    }
}

/// Tests mip levels, layers and depth slices, with boxes, flips, strides, and several orders of channels and
/// dimensions.
#[test]
fn boxes_levels_layers_and_orders() {
    let orders: [&[usize]; 6] = [
        &[0, 1, 2, 3],
        &[2, 1, 0, 3],
        &[2, 1, 0],
        &[3, 0, 1, 2],
        &[3],
        &[1, 3, 0],
    ];
    for gpu in gpus() {
        for (format, dtype) in [
            (TextureFormat::Bgra8Unorm, DType::U8),
            (TextureFormat::Rgba16Float, DType::F16),
        ] {
            for dimension in [TextureDimension::D2, TextureDimension::D3] {
                let size = [4, 11, 13];
                let mut image = Image::new(&gpu, format, (dimension, 3), size, (4, dtype.size()));
                for (number, order) in orders.into_iter().enumerate() {
                    let level = number % 3;
                    let [layers, height, width, _] = image.shapes[level];
                    let channels = order.len();
                    let case = Case {
                        level,
                        channels: order.to_vec(),
                        walks: [layers, height, width, channels].map(|size| Walk(0, 1, size)),
                        permutation: [[0, 1, 2, 3], [0, 3, 1, 2], [3, 2, 1, 0]][number / 2],
                    };
                    check(&gpu, &mut image, &case, dtype);
                    // Selects the last layer without its first row and its outer columns, flipped along both
                    // dimensions.
                    let crop = Case {
                        walks: [
                            Walk(layers - 1, 1, 1),
                            Walk(height - 1, -1, height - 1),
                            Walk(width - 2, -1, width - 2),
                            Walk(0, 1, channels),
                        ],
                        ..case.clone()
                    };
                    check(&gpu, &mut image, &crop, dtype);
                    // Selects every second row and column, and all channels except the first in reverse order, or the
                    // only channel.
                    let selected_count = channels.max(2) - 1;
                    let thinned = Case {
                        walks: [
                            Walk(0, 1, layers),
                            Walk(0, 2, height.div_ceil(2)),
                            Walk(width - 1, -2, width.div_ceil(2)),
                            Walk(channels - 1, -1, selected_count),
                        ],
                        ..case
                    };
                    check(&gpu, &mut image, &thinned, dtype);
                }
            }
        }
    }
}

/// Records a copy from a texture into the caller's buffer at an offset: a flipped crop with every second row and
/// column, from BGRA to RGB, with channels first. In the same submission, a channel of the result becomes the alpha of
/// another texture.
#[test]
fn recorded_into_the_callers_encoder() {
    for gpu in gpus() {
        if gpu.device().limits().max_buffer_size < 4096 {
            continue;
        }
        let one_level = (TextureDimension::D2, 1);
        let image = Image::new(
            &gpu,
            TextureFormat::Bgra8Unorm,
            one_level,
            [1, 9, 21],
            (4, 1),
        );
        let overlay = Image::new(
            &gpu,
            TextureFormat::Rgba8Unorm,
            one_level,
            [1, 4, 9],
            (4, 1),
        );
        let texels = Texels::new(&image.texture).unwrap();
        let texels = texels.slice(&slice![0, 7..;-2, 2..20;2, 2..;-1]).unwrap();
        let texels = texels.transpose(&[2, 0, 1]).unwrap();
        assert_eq!(texels.shape(), [3, 4, 9]);
        let alpha = Texels::new(&overlay.texture).unwrap();
        let alpha = alpha.slice(&slice![0, .., .., 3]).unwrap();
        assert_eq!(alpha.shape(), [4, 9]);

        let buffer = gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 256 + 108 + 4,
            usage: wgpu::BufferUsages::STORAGE
                | wgpu::BufferUsages::COPY_SRC
                | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        gpu.queue().write_buffer(&buffer, 0, &[9; 256 + 108 + 4]);
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        let prepared = gpu.prepare(&texels).unwrap();
        assert_eq!(prepared.shape(), texels.shape());
        gpu.encode_from_texture(&mut encoder, &prepared, buffer.slice(256..))
            .unwrap();
        // The green channel is copied to the other texture's alpha.
        let alpha = gpu.prepare(&alpha).unwrap();
        gpu.encode_to_texture(&mut encoder, buffer.slice(256 + 36..), &alpha)
            .unwrap();
        gpu.queue().submit([encoder.finish()]);

        let mut expected = Vec::new();
        for channel in [2, 1, 0] {
            for row in [7, 5, 3, 1] {
                for column in 1..10 {
                    expected.push(image.levels[0][(row * 21 + column * 2) * 4 + channel]);
                }
            }
        }
        let bytes = read_buffer(&gpu, &buffer);
        assert_eq!(bytes[256..][..108], expected);
        assert!(
            bytes[..256]
                .iter()
                .chain(&bytes[256 + 108..])
                .all(|&byte| byte == 9)
        );
        let mut expected_overlay = overlay.levels[0].clone();
        for (texel, &green) in expected[36..72].iter().enumerate() {
            expected_overlay[texel * 4 + 3] = green;
        }
        assert_eq!(overlay.read(&gpu, 0), expected_overlay);
    }
}

/// Rows that need no padding are copied directly between a texture and the caller's buffer, if wgpu allows the offset.
/// The other offsets give the same results.
#[test]
fn rows_of_256_bytes_at_offsets() {
    for gpu in gpus() {
        if gpu.device().limits().max_buffer_size < 4096 {
            continue;
        }
        let one_level = (TextureDimension::D2, 1);
        let image = || {
            Image::new(
                &gpu,
                TextureFormat::Rgba8Unorm,
                one_level,
                [1, 4, 64],
                (4, 1),
            )
        };
        let (frame, mut other_image) = (image(), image());
        let from = Texels::new(&frame.texture).unwrap();
        let to = Texels::new(&other_image.texture).unwrap();
        for offset in [0, 512, 4, 8, 272] {
            let buffer = gpu.device().create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: 2048,
                usage: wgpu::BufferUsages::STORAGE
                    | wgpu::BufferUsages::COPY_SRC
                    | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            gpu.queue().write_buffer(&buffer, 0, &[9; 2048]);
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            gpu.encode_from_texture(&mut encoder, &from, buffer.slice(offset as u64..))
                .unwrap();
            gpu.queue().submit([encoder.finish()]);
            let mut bytes = vec![9; 2048];
            bytes[offset..][..1024].copy_from_slice(&frame.levels[0]);
            assert!(read_buffer(&gpu, &buffer) == bytes, "{gpu}: {offset}");

            let values = pattern(2048, offset + 11);
            gpu.queue().write_buffer(&buffer, 0, &values);
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            gpu.encode_to_texture(&mut encoder, buffer.slice(offset as u64..), &to)
                .unwrap();
            gpu.queue().submit([encoder.finish()]);
            other_image.levels[0].copy_from_slice(&values[offset..][..1024]);
            assert!(
                other_image.read(&gpu, 0) == other_image.levels[0],
                "{gpu}: {offset}"
            );
        }
        // A view that reorders the elements of a tensor is also written, although its bytes cannot be copied unchanged.
        let backend = Backend::from(gpu.clone());
        let values = pattern(1024, 3);
        let columns = backend.upload((&values, &[1, 64, 4, 4])).unwrap();
        let rows = columns.transpose(&[0, 2, 1, 3]).unwrap();
        rows.write_texture(&to).unwrap();
        let mut expected = Vec::new();
        for (row, column) in (0..4).flat_map(|row| (0..64).map(move |column| (row, column))) {
            expected.extend_from_slice(&values[(column * 4 + row) * 4..][..4]);
        }
        assert_eq!(other_image.read(&gpu, 0), expected);
    }
}

/// Recorded work reads only scratch memory that it wrote itself, even if other work is submitted between its recording
/// and its submission.
#[test]
fn recordings_do_not_disturb_each_other() {
    for gpu in gpus() {
        let one_level = (TextureDimension::D2, 1);
        let [first_image, second_image] = [3u32, 5].map(|width| {
            Image::new(
                &gpu,
                TextureFormat::R8Unorm,
                one_level,
                [1, 2, width],
                (1, 1),
            )
        });
        let backend = Backend::from(gpu.clone());
        let dest = backend.upload((&[0u8; 6], &[1, 2, 3, 1])).unwrap();
        let texels = Texels::new(&first_image.texture).unwrap();
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        gpu.encode_from_texture(&mut encoder, &texels, dest.buffers().unwrap()[0].slice(..))
            .unwrap();
        let second_tensor =
            Tensor::from_texture(&backend, &Texels::new(&second_image.texture).unwrap()).unwrap();
        let later_tensor = backend.upload((&[7u8; 512], &[512])).unwrap();
        gpu.queue().submit([encoder.finish()]);
        assert_eq!(dest.to_vec::<u8>().unwrap(), first_image.levels[0]);
        assert_eq!(
            second_tensor.to_vec::<u8>().unwrap(),
            second_image.levels[0]
        );
        assert_eq!(later_tensor.to_vec::<u8>().unwrap(), [7; 512]);
        gpu.trim();
    }
}

/// A view of a tensor is broadcast and transposed while it is copied to the texture.
#[test]
fn a_mask_is_broadcast_to_all_channels() {
    for gpu in gpus() {
        let one_level = (TextureDimension::D2, 1);
        let mut image = Image::new(
            &gpu,
            TextureFormat::Rgba8Unorm,
            one_level,
            [1, 3, 2],
            (4, 1),
        );
        let backend = Backend::from(gpu.clone());
        let mask = backend.upload((&[1u8, 2, 3, 4, 5, 6], &[2, 3, 1])).unwrap();
        let view = mask.transpose(&[1, 0, 2]).unwrap();
        let view = view.broadcast_to(&[1, 3, 2, 4]).unwrap();
        let texels = Texels::new(&image.texture).unwrap();
        for (channels, has_alpha) in [(vec![0, 1, 2, 3], true), (vec![2, 1, 0], false)] {
            let chosen = texels.channels(&channels).unwrap();
            let view = view
                .slice(&slice![.., .., .., ..(channels.len() as i64)])
                .unwrap();
            view.write_texture(&chosen).unwrap();
            for (texel, value) in [1, 4, 2, 5, 3, 6].into_iter().enumerate() {
                let alpha = if has_alpha {
                    value
                } else {
                    image.levels[0][texel * 4 + 3]
                };
                image.levels[0][texel * 4..][..4].copy_from_slice(&[value, value, value, alpha]);
            }
            assert_eq!(image.read(&gpu, 0), image.levels[0]);
        }
    }
}

/// Tests conversions with boxes, flips and orders of channels and dimensions. Texels are read as numbers of other
/// types, and as floats by tables for each channel, row, column or layer, or for all texels. Tensors of other types are
/// written.
#[test]
fn texels_are_converted_while_copied() {
    let table = |axis: isize, size: usize| {
        let function = |position: usize, x: f32| x * 0.25 - 3.0 * position as f32;
        Conversion::table(DType::U8, DType::F32, axis, size, function).unwrap()
    };
    for gpu in gpus() {
        for (format, texel_type, orders) in [
            (
                TextureFormat::Bgra8Unorm,
                DType::U8,
                [vec![2, 1, 0, 3], vec![2, 1, 0]],
            ),
            (TextureFormat::Rg8Snorm, DType::I8, [vec![1, 0], vec![1]]),
            (
                TextureFormat::Rgba16Float,
                DType::F16,
                [vec![0, 1, 2, 3], vec![3, 0, 1]],
            ),
            (TextureFormat::R32Float, DType::F32, [vec![0], vec![0]]),
        ] {
            let channels = orders[0].len();
            let one_level = (TextureDimension::D2, 1);
            let texel = (channels, texel_type.size());
            let mut image = Image::new(&gpu, format, one_level, [3, 7, 9], texel);
            for (number, order) in orders.into_iter().enumerate() {
                let channel_count = order.len();
                let case = Case {
                    channels: order,
                    walks: [
                        Walk(2, -1, 2),
                        Walk(1, 2, 3),
                        Walk(7, -2, 3),
                        Walk(0, 1, channel_count),
                    ],
                    permutation: [[0, 1, 2, 3], [0, 3, 1, 2]][number],
                    ..whole(0, image.shapes[0])
                };
                let mut conversions = vec![
                    Conversion::to(DType::F32),
                    Conversion::to(DType::U8),
                    Conversion::to(DType::F16),
                ];
                if texel_type == DType::U8 {
                    let sizes = [(-1, channel_count), (0, 3), (1, 7), (-2, 9), (3, 1)];
                    conversions.extend(sizes.map(|(axis, size)| table(axis, size)));
                    conversions.push(Conversion::scaled(DType::F16, -1, &[0.5], &[1.0]));
                }
                for conversion in conversions {
                    check_converted_read(&gpu, &image, &case, texel_type, &conversion);
                }
                let to_texel_type = Conversion::to(texel_type);
                for (tensor_type, conversion) in [
                    (DType::F32, to_texel_type.clone()),
                    (DType::F16, to_texel_type.clone()),
                    (DType::U8, to_texel_type),
                    (DType::U8, Conversion::scaled(texel_type, 1, &[2.0], &[0.5])),
                ] {
                    check_converted_write(
                        &gpu,
                        &mut image,
                        &case,
                        (tensor_type, texel_type),
                        &conversion,
                    );
                }
            }
        }
    }
}

/// Compares converted texels with the same conversion on the CPU, which other tests compare with the reference.
#[track_caller]
fn check_converted_read(
    gpu: &wgslice::Gpu,
    image: &Image,
    case: &Case,
    texel_type: DType,
    conversion: &Conversion,
) {
    let description = format!("{gpu}: {:?} {case:?}", image.texture.format());
    let texels = case.texels(image).converted(conversion).unwrap();
    let read = Tensor::from_texture(&Backend::from(gpu.clone()), &texels);
    if is_unreadable_on_gl(gpu, &image.texture) {
        return assert_eq!(kind(&read.unwrap_err()), "not_on_gl", "{description}");
    }
    let read = match read {
        // The device has too few bindings, or they are too small.
        Err(Error::DeviceLimit { .. }) => return,
        read => read.expect(&description),
    };
    // Keeps only the chosen channels of the level.
    let [layers, height, width, channels] = image.shapes[0];
    let element_size = texel_type.size();
    let texels = image.levels[0].chunks(channels * element_size);
    let chosen = texels.flat_map(|texel| {
        let channel_bytes = |&channel: &usize| &texel[channel * element_size..][..element_size];
        case.channels.iter().flat_map(channel_bytes).copied()
    });
    let chosen: Vec<u8> = chosen.collect();
    let view = View::new(&[layers, height, width, case.channels.len()]).unwrap();
    let view = view.slice(&case.spec()).unwrap();
    let plan = Plan::contiguous(view.transpose(&case.permutation).unwrap(), texel_type).unwrap();
    let plan = plan.converted(conversion).unwrap();
    let mut expected = vec![0; plan.outputs()[0].bytes()];
    run_bytes(&plan, &chosen, None, &mut expected).unwrap();
    assert_eq!(
        (read.shape(), read.dtype()),
        (plan.shape(), plan.dtype()),
        "{description}"
    );
    assert!(
        read.bytes().unwrap() == expected,
        "{description}: {conversion:?}"
    );
}

#[track_caller]
fn check_converted_write(
    gpu: &wgslice::Gpu,
    image: &mut Image,
    case: &Case,
    (tensor_type, texel_type): (DType, DType),
    conversion: &Conversion,
) {
    let description = format!(
        "{gpu}: {tensor_type} to {:?} {case:?}",
        image.texture.format()
    );
    let texels = case
        .texels(image)
        .converted_from(tensor_type, conversion)
        .unwrap();
    assert_eq!(texels.dtype(), tensor_type);
    let plan = Plan::contiguous(View::new(texels.shape()).unwrap(), tensor_type).unwrap();
    let plan = plan.converted(conversion).unwrap();
    let values = pattern(plan.inputs()[0].bytes(), 5);
    let mut expected = vec![0; plan.outputs()[0].bytes()];
    run_bytes(&plan, &values, None, &mut expected).unwrap();
    let backend = Backend::from(gpu.clone());
    let tensor = Tensor::from_bytes(&backend, values, tensor_type, texels.shape()).unwrap();
    match tensor.write_texture(&texels) {
        Err(Error::DeviceLimit { .. }) => return,
        Err(error) if is_unreadable_on_gl(gpu, &image.texture) => {
            return assert_eq!(kind(&error), "not_on_gl", "{description}");
        }
        outcome => outcome.expect(&description),
    }
    let element_size = texel_type.size();
    case.for_each_element(image.shapes[0], |from, to| {
        image.levels[0][to * element_size..][..element_size]
            .copy_from_slice(&expected[from * element_size..][..element_size]);
    });
    assert!(
        image.read(gpu, 0) == image.levels[0],
        "{description}: {conversion:?}"
    );
}

/// Rows that are converted are not copied directly, even if they need no padding, and results must begin at a multiple
/// of 4 bytes.
#[test]
fn converted_rows_begin_at_a_multiple_of_4_bytes() {
    for gpu in gpus() {
        if gpu.device().limits().max_buffer_size < 4096 {
            continue;
        }
        let one_level = (TextureDimension::D2, 1);
        let image = Image::new(&gpu, TextureFormat::R8Uint, one_level, [1, 2, 256], (1, 1));
        let texels = Texels::new(&image.texture).unwrap();
        let floats = texels.converted(&Conversion::to(DType::F32)).unwrap();
        let usage = wgpu::BufferUsages::STORAGE | COPY;
        let buffer = gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 2048 + 16,
            usage,
            mapped_at_creation: false,
        });
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        let prepared = match gpu.prepare(&floats) {
            Err(Error::DeviceLimit { .. }) => continue,
            prepared => prepared.unwrap(),
        };
        let error = gpu.encode_from_texture(&mut encoder, &prepared, buffer.slice(2..));
        let message = error.unwrap_err().to_string();
        assert!(
            message.contains("dest") && message.contains("multiple of 4"),
            "{message}"
        );
        gpu.encode_from_texture(&mut encoder, &prepared, buffer.slice(16..))
            .unwrap();
        gpu.queue().submit([encoder.finish()]);
        let expected = image.levels[0]
            .iter()
            .flat_map(|&x| f32::from(x).to_ne_bytes());
        assert!(read_buffer(&gpu, &buffer)[16..] == expected.collect::<Vec<_>>());
    }
}

const COPY: wgpu::BufferUsages = wgpu::BufferUsages::COPY_SRC.union(wgpu::BufferUsages::COPY_DST);

#[test]
fn conversions_of_texels_that_are_not_possible_are_named() {
    for gpu in gpus() {
        let one_level = (TextureDimension::D2, 1);
        let image = Image::new(
            &gpu,
            TextureFormat::Rgba8Unorm,
            one_level,
            [1, 2, 3],
            (4, 1),
        );
        let texels = Texels::new(&image.texture).unwrap();
        let backend = Backend::from(gpu.clone());
        let floats = texels.converted(&Conversion::to(DType::F32)).unwrap();
        let bytes = Conversion::to(DType::U8);
        let written = texels.converted_from(DType::F32, &bytes).unwrap();
        let scaled = |axis, count| Conversion::scaled(DType::F32, axis, &vec![1.0; count], &[0.0]);
        let tensor = backend.upload((&[1.0f32; 24], &[1, 2, 3, 4])).unwrap();
        for (outcome, expected_kind) in [
            (floats.converted(&bytes).map(drop), "texels_convert"),
            (written.converted(&bytes).map(drop), "texels_convert"),
            (
                floats.converted_from(DType::F32, &bytes).map(drop),
                "texels_convert",
            ),
            (tensor.write_texture(&floats), "texels_convert"),
            (
                Tensor::from_texture(&backend, &written).map(drop),
                "texels_convert",
            ),
            (texels.converted(&scaled(4, 4)).map(drop), "axis"),
            (
                texels.converted(&scaled(-1, 3)).map(drop),
                "convert_positions",
            ),
            (
                texels
                    .converted(&Conversion::to(DType::Complex64))
                    .map(drop),
                "convert_dtype",
            ),
            (
                texels.converted_from(DType::F32, &scaled(0, 1)).map(drop),
                "dtype_mismatch",
            ),
            (tensor.write_texture(&texels), "dtype_mismatch"),
        ] {
            assert_eq!(kind(&outcome.unwrap_err()), expected_kind);
        }
    }
}

#[test]
fn textures_and_selections_that_do_not_fit_are_named() {
    let small_size = [1, 2, 2];
    for gpu in gpus() {
        let make =
            |format, usage| texture(&gpu, format, TextureDimension::D2, 1, small_size, usage);
        let rgba = make(TextureFormat::Rgba8Unorm, COPIES);
        let texels = Texels::new(&rgba).unwrap();
        let backend = Backend::from(gpu.clone());
        let check_error = |error: Error, expected_parts: &[&str]| {
            let text = error.to_string();
            assert!(
                expected_parts.iter().all(|part| text.contains(part)),
                "{text}"
            );
        };

        let packed = make(TextureFormat::Rgb10a2Unorm, COPIES);
        check_error(
            Texels::new(&packed).unwrap_err(),
            &["Rgb10a2Unorm", "Rgba8Unorm"],
        );
        let depth = make(TextureFormat::Depth32Float, TextureUsages::COPY_SRC);
        check_error(Texels::new(&depth).unwrap_err(), &["Depth32Float"]);
        let multisampled = gpu.device().create_texture(&wgpu::TextureDescriptor {
            label: None,
            size: rgba.size(),
            mip_level_count: 1,
            sample_count: 4,
            dimension: TextureDimension::D2,
            format: TextureFormat::Rgba8Unorm,
            usage: TextureUsages::RENDER_ATTACHMENT,
            view_formats: &[],
        });
        check_error(
            Texels::new(&multisampled).unwrap_err(),
            &["4 samples", "resolve"],
        );
        check_error(
            Texels::of_level(&rgba, 1).unwrap_err(),
            &["level is 1", "[0, 1)"],
        );
        check_error(texels.channels(&[2, 4]).unwrap_err(), &["[2, 4]", "[0, 4)"]);
        check_error(
            texels.channels(&[1, 1]).unwrap_err(),
            &["[1, 1]", "at most once"],
        );
        let sliced = texels.slice(&slice![0]).unwrap();
        check_error(sliced.channels(&[0]).unwrap_err(), &["[2,2,4]", "first"]);
        check_error(texels.slice(&slice![1]).unwrap_err(), &["out of bounds"]);
        let block = SliceSpec::block(texels.shape(), &[0, 0, 1, 0], &[1, 2, 2, 4]);
        check_error(block.unwrap_err(), &["size[2]"]);
        check_error(texels.transpose(&[0, 1]).unwrap_err(), &["permutation"]);

        let write_only =
            Texels::new(&make(TextureFormat::Rgba8Unorm, TextureUsages::COPY_DST)).unwrap();
        check_error(
            Tensor::from_texture(&backend, &write_only).unwrap_err(),
            &["COPY_SRC", "reading"],
        );
        let read_only =
            Texels::new(&make(TextureFormat::Rgba8Unorm, TextureUsages::COPY_SRC)).unwrap();
        let tensor = backend.upload((&[1u8; 16], &[1, 2, 2, 4])).unwrap();
        check_error(
            tensor.write_texture(&read_only).unwrap_err(),
            &["COPY_DST", "writing"],
        );
        // A whole box can be written without being read first. Some channels of a box cannot.
        tensor.write_texture(&write_only).unwrap();
        let alpha = write_only.slice(&slice![.., .., .., 3..]).unwrap();
        let mask = backend.upload((&[1u8; 4], &[1, 2, 2, 1])).unwrap();
        check_error(
            mask.write_texture(&alpha).unwrap_err(),
            &["COPY_SRC", "channels"],
        );

        check_error(
            mask.write_texture(&texels).unwrap_err(),
            &["[1,2,2,1]", "[1,2,2,4]"],
        );
        let signed = backend.upload((&[1i8; 16], &[1, 2, 2, 4])).unwrap();
        check_error(signed.write_texture(&texels).unwrap_err(), &["i8", "u8"]);
        let error = Tensor::from_texture(&Backend::cpu(), &texels).unwrap_err();
        assert_eq!(kind(&error), "on_cpu");
        let on_cpu = Backend::cpu().upload((&[1u8; 16], &[1, 2, 2, 4])).unwrap();
        assert_eq!(on_cpu.write_texture(&texels).unwrap_err(), error);

        // A row of 300 texels of 4 bytes is padded from 1,200 to 1,280 bytes.
        let size = [1, 1, 300];
        let wide_texture = texture(
            &gpu,
            TextureFormat::Rgba8Unorm,
            TextureDimension::D2,
            1,
            size,
            COPIES,
        );
        let read = Tensor::from_texture(&backend, &Texels::new(&wide_texture).unwrap());
        match gpu.device().limits().max_buffer_size {
            1024 => check_error(read.unwrap_err(), &["max_buffer_size", "1280", "1024"]),
            _ => assert_eq!(read.unwrap().shape(), [1, 1, 300, 4]),
        }

        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        let buffer = |size, usage| {
            gpu.device().create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage,
                mapped_at_creation: false,
            })
        };
        let short_buffer = buffer(12, wgpu::BufferUsages::STORAGE);
        let error = gpu.encode_from_texture(&mut encoder, &texels, short_buffer.slice(..));
        check_error(error.unwrap_err(), &["dest", "12 bytes", "16"]);
        let error = gpu.encode_to_texture(&mut encoder, short_buffer.slice(..), &texels);
        check_error(error.unwrap_err(), &["source", "12 bytes", "16"]);
        // With an empty selection nothing is copied, so a buffer of any usage and size is accepted.
        let empty_texels = texels.slice(&slice![.., 1..1]).unwrap();
        gpu.encode_from_texture(&mut encoder, &empty_texels, short_buffer.slice(..))
            .unwrap();
        gpu.encode_to_texture(&mut encoder, short_buffer.slice(..), &empty_texels)
            .unwrap();
        gpu.queue().submit([encoder.finish()]);
        let empty = Tensor::from_texture(&backend, &empty_texels).unwrap();
        assert_eq!(empty.shape(), [1, 0, 2, 4]);
    }
}
