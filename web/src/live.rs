//! Processes frames of the camera on a GPU, from texture to texture. Nothing is read back.

use crate::{
    array::{PageArray, cropped},
    device::Device,
    shown::{Layout, MAX_SIDE},
    typed::Boxes,
};
use std::{
    future::poll_fn,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Poll, Waker},
};
use wasm_bindgen::prelude::*;
use web_sys::{HtmlCanvasElement, ImageBitmap};
use wgslice::{Backend, DType, Tensor, gpu::Texels, slice, wgpu};

/// A canvas that shows processed frames, on the device of a backend.
#[wasm_bindgen]
pub struct Live {
    backend: Backend,
    /// True if the device is lost. Copying from images would then fail.
    is_lost: Arc<AtomicBool>,
    surface: wgpu::Surface<'static>,
    /// The texture of the current frame.
    frame_texture: Option<wgpu::Texture>,
    /// The current size of the surface.
    surface_size: Option<[u32; 2]>,
}

/// The array that the canvas shows: its shape, and its layout on a canvas that shows nothing else.
#[wasm_bindgen(getter_with_clone)]
pub struct Filmed {
    #[wasm_bindgen(readonly)]
    pub shape: Vec<usize>,
    #[wasm_bindgen(readonly)]
    pub height: usize,
    #[wasm_bindgen(readonly)]
    pub width: usize,
    #[wasm_bindgen(readonly)]
    pub channels: usize,
    #[wasm_bindgen(readonly)]
    pub canvas_width: usize,
    #[wasm_bindgen(readonly)]
    pub canvas_height: usize,
    /// True if a canvas can show the array. If not, the canvas keeps its previous content.
    #[wasm_bindgen(readonly)]
    pub fits: bool,
}

#[wasm_bindgen]
impl Live {
    /// Connects a canvas that has not been drawn on. Fails on the CPU.
    #[wasm_bindgen(constructor)]
    pub fn new(device: &Device, canvas: HtmlCanvasElement) -> Result<Self, JsError> {
        if device.backend.is_cpu() {
            return Err(JsError::new("frames stay on a GPU, and this is the CPU"));
        }
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends: wgpu::Backends::BROWSER_WEBGPU,
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        });
        let surface = instance.create_surface(wgpu::SurfaceTarget::Canvas(canvas))?;
        let backend = device.backend.clone();
        let is_lost = Arc::new(AtomicBool::new(false));
        let gpu = backend.gpu().ok_or_else(no_gpu)?;
        let is_lost_in_callback = is_lost.clone();
        gpu.device()
            .set_device_lost_callback(move |_, _| is_lost_in_callback.store(true, Relaxed));
        Ok(Self {
            backend,
            is_lost,
            surface,
            frame_texture: None,
            surface_size: None,
        })
    }

    /// Copies a camera frame to the GPU, and returns it as an array of height × width × 3.
    pub fn take(&mut self, frame: ImageBitmap) -> Result<PageArray, JsError> {
        let size = wgpu::Extent3d {
            width: frame.width(),
            height: frame.height(),
            depth_or_array_layers: 1,
        };
        self.check_not_lost()?;
        let gpu = self.backend.gpu().ok_or_else(no_gpu)?;
        if self
            .frame_texture
            .as_ref()
            .is_none_or(|texture| texture.size() != size)
        {
            self.frame_texture = Some(gpu.device().create_texture(&wgpu::TextureDescriptor {
                label: Some("frame of the camera"),
                size,
                mip_level_count: 1,
                sample_count: 1,
                dimension: wgpu::TextureDimension::D2,
                format: FORMAT,
                // The browser draws the frame into this texture.
                usage: wgpu::TextureUsages::COPY_SRC
                    | wgpu::TextureUsages::COPY_DST
                    | wgpu::TextureUsages::RENDER_ATTACHMENT,
                view_formats: &[],
            }));
        }
        let texture = self.frame_texture.as_ref().ok_or_else(no_gpu)?;
        gpu.queue().copy_external_image_to_texture(
            &wgpu::CopyExternalImageSourceInfo {
                source: wgpu::ExternalImageSource::ImageBitmap(frame),
                origin: wgpu::Origin2d::ZERO,
                flip_y: false,
            },
            wgpu::CopyExternalImageDestInfo {
                texture,
                mip_level: 0,
                origin: wgpu::Origin3d::ZERO,
                aspect: wgpu::TextureAspect::All,
                color_space: wgpu::PredefinedColorSpace::Srgb,
                premultiplied_alpha: false,
            },
            size,
        );
        let texels = Texels::new(texture)?.slice(&slice![0, .., .., ..3])?;
        let tensor = Tensor::from_texture(&self.backend, &texels)?;
        PageArray::of(&tensor, DType::U8)
    }

    /// Shows the slice that [`PageArray::slice`] makes.
    pub fn slice(&mut self, x: &PageArray, spec: &str, order: &str) -> Result<Filmed, JsError> {
        let sliced = x.view(spec, order)?.contiguous()?;
        let shape = sliced.shape().to_vec();
        self.show(&sliced, shape)
    }

    /// Shows the boxes that [`PageArray::crop`] makes, with `boxes_per_row` boxes in a row.
    pub fn crop(
        &mut self,
        x: &PageArray,
        boxes: &Boxes,
        height: usize,
        width: usize,
        boxes_per_row: usize,
    ) -> Result<Filmed, JsError> {
        let rows = boxes.count.div_ceil(boxes_per_row.max(1));
        // The last row is filled up with boxes outside of the picture, which are zeros.
        let missing_count = (rows * boxes_per_row).saturating_sub(boxes.count);
        let mut all_boxes = Boxes {
            count: boxes.count + missing_count,
            ..boxes.clone()
        };
        all_boxes.begins.extend(vec![i32::MAX; 2 * missing_count]);
        all_boxes.flips.extend(vec![0; 2 * missing_count]);
        let (crops, _report) = cropped(x, &all_boxes, height, width)?;
        let shape = [&[boxes.count], &crops.shape()[1..]].concat();
        let channels = shape[3..].iter().product();
        let sheet = crops.reshape(&[rows, boxes_per_row, height, width, channels])?;
        let sheet = sheet.transpose(&[0, 2, 1, 3, 4])?;
        let sheet = sheet.reshape(&[rows * height, boxes_per_row * width, channels])?;
        self.show(&sheet, shape)
    }

    /// Waits until the GPU has finished its work. The library waits by mapping a buffer, but frames are not read back.
    pub async fn done(&self) -> Result<(), JsError> {
        let gpu = self.backend.gpu().ok_or_else(no_gpu)?;
        let state = Arc::new(Mutex::new((false, None::<Waker>)));
        let callback_state = state.clone();
        gpu.queue().on_submitted_work_done(move || {
            let mut state = locked(&callback_state);
            state.0 = true;
            if let Some(waiting) = state.1.take() {
                waiting.wake();
            }
        });
        poll_fn(|context| {
            let mut state = locked(&state);
            if state.0 {
                return Poll::Ready(());
            }
            state.1 = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
        self.check_not_lost()
    }
}

const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

fn no_gpu() -> JsError {
    JsError::new("the device was lost: reload the page, or choose the CPU")
}

impl Live {
    fn check_not_lost(&self) -> Result<(), JsError> {
        match self.is_lost.load(Relaxed) {
            true => Err(no_gpu()),
            false => Ok(()),
        }
    }

    /// Shows an array of bytes on the canvas. `shape` is the shape of the result that the canvas displays.
    fn show(&mut self, tensor: &Tensor, shape: Vec<usize>) -> Result<Filmed, JsError> {
        let Layout {
            height,
            width,
            channels,
        } = Layout::of(tensor.shape(), DType::U8);
        let gpu = self.backend.gpu().ok_or_else(no_gpu)?;
        let max_side = MAX_SIDE.min(gpu.device().limits().max_texture_dimension_2d as usize);
        let side = |size: usize| {
            u32::try_from(size)
                .ok()
                .filter(|_| (1..=max_side).contains(&size))
        };
        let sides = side(width).zip(side(height));
        if let Some((canvas_width, canvas_height)) = sides {
            if self.surface_size != Some([canvas_width, canvas_height]) {
                self.surface.configure(
                    gpu.device(),
                    &wgpu::SurfaceConfiguration {
                        usage: wgpu::TextureUsages::COPY_SRC
                            | wgpu::TextureUsages::COPY_DST
                            | wgpu::TextureUsages::RENDER_ATTACHMENT,
                        format: FORMAT,
                        color_space: wgpu::SurfaceColorSpace::Auto,
                        width: canvas_width,
                        height: canvas_height,
                        present_mode: wgpu::PresentMode::AutoVsync,
                        desired_maximum_frame_latency: 2,
                        // The fourth channel is not written, so the canvas is opaque.
                        alpha_mode: wgpu::CompositeAlphaMode::Opaque,
                        view_formats: Vec::new(),
                    },
                );
                self.surface_size = Some([canvas_width, canvas_height]);
            }
            let wgpu::CurrentSurfaceTexture::Success(shown) = self.surface.get_current_texture()
            else {
                // The canvas keeps the previous frame.
                return Ok(filmed(shape, [width, height], true));
            };
            let texels = Texels::new(&shown.texture)?;
            let picture = tensor.reshape(&[1, height, width, channels])?;
            let written_channels = match channels {
                1 => 3,
                channels => channels,
            };
            let texels = texels.slice(&slice![.., .., .., ..written_channels])?;
            let picture = picture.broadcast_to(texels.shape())?;
            picture.write_texture(&texels)?;
            gpu.queue().present(shown);
        }
        Ok(filmed(shape, [width, height], sides.is_some()))
    }
}

fn locked<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn filmed(shape: Vec<usize>, [canvas_width, canvas_height]: [usize; 2], fits: bool) -> Filmed {
    let Layout {
        height,
        width,
        channels,
    } = Layout::of(&shape, DType::U8);
    Filmed {
        shape,
        height,
        width,
        channels,
        canvas_width,
        canvas_height,
        fits,
    }
}
