//! Makes textures with known contents, and computes selections from them by plain loops.

use super::kind;
use super::{devices, read_buffer::read_buffer};
use wgpu::{TextureDimension, TextureFormat, TextureUsages};
use wgslice::{
    Backend, DType, Gpu, SliceSpec, Tensor,
    gpu::{AdapterOptions, Texels},
    spec::SliceItem,
};

/// Draws devices and returns their GPUs except strict devices, which have no textures. If an adapter has the 16-bit
/// norm formats, a device with these formats is added.
pub(crate) fn gpus() -> Vec<Gpu> {
    let mut gpus: Vec<Gpu> = devices()
        .iter()
        .filter(|device| !device.name.starts_with("strict"))
        .filter_map(|device| device.backend.gpu().cloned())
        .collect();
    let norms = wgpu::Features::TEXTURE_FORMAT_16BIT_NORM;
    let candidates = pollster::block_on(AdapterOptions::default().adapters()).unwrap();
    let with_norms = candidates.iter().find(|candidate| {
        candidate.refused.is_none()
            && !gpus.is_empty()
            && candidate.adapter.features().contains(norms)
    });
    if let Some(candidate) = with_norms {
        let descriptor = wgpu::DeviceDescriptor {
            required_features: norms,
            ..Default::default()
        };
        let opened = pollster::block_on(candidate.adapter.request_device(&descriptor));
        let (device, queue) = opened.unwrap();
        gpus.push(Gpu::new(&device, &queue));
    }
    gpus
}

/// A texture, and for each mip level the shape `[layers, height, width, channels]` and the bytes that the level should
/// have.
pub(crate) struct Image {
    pub(crate) texture: wgpu::Texture,
    pub(crate) shapes: Vec<[usize; 4]>,
    pub(crate) levels: Vec<Vec<u8>>,
    element_size: usize,
}

pub(crate) const COPIES: TextureUsages = TextureUsages::COPY_SRC.union(TextureUsages::COPY_DST);

impl Image {
    /// Makes a texture of `levels` mip levels, in which neighbouring bytes differ.
    pub(crate) fn new(
        gpu: &Gpu,
        format: TextureFormat,
        (dimension, levels): (TextureDimension, u32),
        [layers, height, width]: [u32; 3],
        (channels, element_size): (usize, usize),
    ) -> Self {
        let texture = texture(
            gpu,
            format,
            dimension,
            levels,
            [layers, height, width],
            COPIES,
        );
        let mut image = Self {
            texture,
            shapes: Vec::new(),
            levels: Vec::new(),
            element_size,
        };
        for level in 0..levels {
            let size_at_level = |size: u32| (size >> level).max(1);
            let layers = match dimension {
                TextureDimension::D3 => size_at_level(layers),
                _ => layers,
            };
            let (height, width) = (size_at_level(height), size_at_level(width));
            let shape = [layers as usize, height as usize, width as usize, channels];
            let bytes = pattern(shape.iter().product::<usize>() * element_size, 7);
            gpu.queue().write_texture(
                wgpu::TexelCopyTextureInfo {
                    mip_level: level,
                    ..image.texture.as_image_copy()
                },
                &bytes,
                wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(width * to_u32(channels * element_size)),
                    rows_per_image: Some(height),
                },
                wgpu::Extent3d {
                    width,
                    height,
                    depth_or_array_layers: layers,
                },
            );
            image.shapes.push(shape);
            image.levels.push(bytes);
        }
        image
    }

    /// Reads a level of the texture back with wgpu alone: layer by layer, or row by row if a layer is too large for the
    /// device's buffers.
    pub(crate) fn read(&self, gpu: &Gpu, level: usize) -> Vec<u8> {
        let [layers, height, width, channels] = self.shapes[level];
        let row_bytes = width * channels * self.element_size;
        let pitch = row_bytes.next_multiple_of(256);
        let max_rows = gpu.device().limits().max_buffer_size / pitch as u64;
        let rows_per_copy = if max_rows < height as u64 { 1 } else { height };
        let mut level_bytes = Vec::new();
        for (layer, row) in
            (0..layers).flat_map(|layer| (0..height / rows_per_copy).map(move |row| (layer, row)))
        {
            let buffer = gpu.device().create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: (pitch * rows_per_copy) as u64,
                usage: wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            let [x, y, z] = [0, to_u32(row), to_u32(layer)];
            encoder.copy_texture_to_buffer(
                wgpu::TexelCopyTextureInfo {
                    mip_level: to_u32(level),
                    origin: wgpu::Origin3d { x, y, z },
                    ..self.texture.as_image_copy()
                },
                wgpu::TexelCopyBufferInfo {
                    buffer: &buffer,
                    layout: wgpu::TexelCopyBufferLayout {
                        bytes_per_row: Some(to_u32(pitch)),
                        ..Default::default()
                    },
                },
                wgpu::Extent3d {
                    width: to_u32(width),
                    height: to_u32(rows_per_copy),
                    ..Default::default()
                },
            );
            gpu.queue().submit([encoder.finish()]);
            for row in read_buffer(gpu, &buffer).chunks(pitch) {
                level_bytes.extend_from_slice(&row[..row_bytes]);
            }
        }
        level_bytes
    }
}

pub(crate) fn texture(
    gpu: &Gpu,
    format: TextureFormat,
    dimension: TextureDimension,
    mip_level_count: u32,
    [layers, height, width]: [u32; 3],
    usage: TextureUsages,
) -> wgpu::Texture {
    gpu.device().create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d {
            width,
            height,
            depth_or_array_layers: layers,
        },
        mip_level_count,
        sample_count: 1,
        dimension,
        format,
        usage,
        view_formats: &[],
    })
}

/// Returns `count` bytes. Each is larger than the byte before it by `step`, modulo 256. After every 251 bytes, 3 more
/// are added, so that few rows are equal.
pub(crate) fn pattern(count: usize, step: usize) -> Vec<u8> {
    let byte = |i: usize| (i * step + i / 251 * 3 + step).to_le_bytes()[0];
    (0..count).map(byte).collect()
}

fn to_u32(number: usize) -> u32 {
    number.try_into().expect("textures of tests are small")
}

/// Positions along a dimension. `Walk(first, step, count)` is `count` positions from `first` on, `step` apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk(pub(crate) usize, pub(crate) isize, pub(crate) usize);

impl Walk {
    fn position(self, number: usize) -> usize {
        self.0.wrapping_add_signed(self.1 * number.cast_signed())
    }

    fn slice_item(self) -> SliceItem {
        let end = self.0 as i64 + self.1 as i64 * self.2 as i64;
        SliceItem::Range {
            begin: Some(self.0 as i64),
            end: (end >= 0).then_some(end),
            stride: self.1 as i64,
        }
    }
}

/// A selection from a mip level: its channels, the positions along each dimension, and the order of dimensions.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) level: usize,
    pub(crate) channels: Vec<usize>,
    pub(crate) walks: [Walk; 4],
    pub(crate) permutation: [usize; 4],
}

impl Case {
    pub(crate) fn spec(&self) -> SliceSpec {
        self.walks.map(Walk::slice_item).into_iter().collect()
    }

    pub(crate) fn texels(&self, image: &Image) -> Texels {
        let spec = self.spec();
        let texels = Texels::of_level(&image.texture, to_u32(self.level)).unwrap();
        assert_eq!(texels.shape(), image.shapes[self.level]);
        let chosen = texels.channels(&self.channels).unwrap();
        let sliced = chosen.slice(&spec).unwrap();
        sliced.transpose(&self.permutation).unwrap()
    }

    /// Calls `visit` for every element of the selection, in order, with the element's index in the selection and its
    /// index in the level. `shape` is the level's shape.
    pub(crate) fn for_each_element(&self, shape: [usize; 4], mut visit: impl FnMut(usize, usize)) {
        let count = |dimension: usize| self.walks[self.permutation[dimension]].2;
        let mut index = 0;
        for a in 0..count(0) {
            for b in 0..count(1) {
                for c in 0..count(2) {
                    for d in 0..count(3) {
                        let mut coordinates = [0; 4];
                        for (place, number) in [a, b, c, d].into_iter().enumerate() {
                            let dimension = self.permutation[place];
                            coordinates[dimension] = self.walks[dimension].position(number);
                        }
                        let [layer, row, column, channel] = coordinates;
                        let texel = (layer * shape[1] + row) * shape[2] + column;
                        visit(index, texel * shape[3] + self.channels[channel]);
                        index += 1;
                    }
                }
            }
        }
    }
}

/// Returns whether the device uses OpenGL and the texture is of a kind that wgpu cannot copy to a buffer on OpenGL. See
/// `Texels::check_readable`.
pub(crate) fn is_unreadable_on_gl(gpu: &Gpu, texture: &wgpu::Texture) -> bool {
    let size = texture.size();
    let is_cube = size.width == size.height && size.depth_or_array_layers.is_multiple_of(6);
    let is_snorm = format!("{:?}", texture.format()).ends_with("Snorm");
    let is_3d = texture.dimension() == TextureDimension::D3;
    gpu.adapter_info().backend == wgpu::Backend::Gl && (is_cube || is_snorm || is_3d)
}

/// Checks that a selection is read into a tensor, and that another tensor is written to the selection.
#[track_caller]
pub(crate) fn check(gpu: &Gpu, image: &mut Image, case: &Case, dtype: DType) {
    let description = format!("{gpu}: {:?} {case:?}", image.texture.format());
    let backend = Backend::from(gpu.clone());
    let (level, shape, element_size) = (case.level, image.shapes[case.level], image.element_size);
    let texels = case.texels(image);
    if is_unreadable_on_gl(gpu, &image.texture) {
        let error = Tensor::from_texture(&backend, &texels).expect_err(&description);
        assert_eq!(kind(&error), "not_on_gl", "{description}: {error}");
        return;
    }
    assert_eq!(
        (texels.dtype(), dtype.size()),
        (dtype, element_size),
        "{description}"
    );
    let mut expected = vec![0; texels.shape().iter().product::<usize>() * dtype.size()];
    case.for_each_element(shape, |to, from| {
        expected[to * element_size..][..element_size]
            .copy_from_slice(&image.levels[level][from * element_size..][..element_size]);
    });
    let read = Tensor::from_texture(&backend, &texels).expect(&description);
    assert_eq!(
        (read.shape(), read.dtype()),
        (texels.shape(), dtype),
        "{description}"
    );
    assert!(
        read.bytes().unwrap() == expected,
        "{description}: {:?}, expected {expected:?}",
        read.bytes()
    );

    let values = pattern(expected.len(), 5);
    case.for_each_element(shape, |from, to| {
        image.levels[level][to * element_size..][..element_size]
            .copy_from_slice(&values[from * element_size..][..element_size]);
    });
    let tensor = Tensor::from_bytes(&backend, values, dtype, texels.shape()).unwrap();
    tensor.write_texture(&texels).expect(&description);
    assert!(
        image.read(gpu, level) == image.levels[level],
        "written: {description}"
    );
}

/// Selects a whole level, in order.
pub(crate) fn whole(level: usize, [layers, height, width, channels]: [usize; 4]) -> Case {
    Case {
        level,
        channels: (0..channels).collect(),
        walks: [layers, height, width, channels].map(|size| Walk(0, 1, size)),
        permutation: [0, 1, 2, 3],
    }
}
