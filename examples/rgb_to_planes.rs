//! Converts RGB bytes to planes of `f32` from 0 to 1, without a shader.
//!
//! Instead of this: a compute shader of about 60 lines. WGSL has no type for bytes, so such a shader reads words. A
//! pixel of three bytes can start at any byte of a word, which makes four cases, and the last word needs a separate
//! check.
//!
//! Write this: a view that puts the channels first, and a conversion. Both run in one dispatch. A reversed slice of the
//! same view gives planes in the order blue, green, red.
//!
//! ```sh
//! cargo run --example rgb_to_planes
//! ```

use wgslice::{Backend, Conversion, DType, Plan, Tensor, View, gpu::AdapterOptions, slice};

// A row has 603 bytes, so rows can start at any byte of a word.
const HEIGHT: usize = 150;
const WIDTH: usize = 201;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let backend = Backend::open_gpu(&AdapterOptions::default())?;
    println!("on {backend}");
    let bytes: Vec<u8> = (0..=250).cycle().take(HEIGHT * WIDTH * 3).collect();
    let pixels = backend.upload((&bytes, &[HEIGHT, WIDTH, 3]))?;

    let conversion = Conversion::table(DType::U8, DType::F32, -1, 1, |_, x| x / 255.0)?;
    let rgb = View::new(&[HEIGHT, WIDTH, 3])?.transpose(&[2, 0, 1])?;
    let bgr = rgb.slice(&slice![..; -1])?;

    for (view, channels) in [(rgb, [0, 1, 2]), (bgr, [2, 1, 0])] {
        let plan = Plan::contiguous(view, DType::U8)?.converted(&conversion)?;
        let (planes, _) = Tensor::run(&plan, &[&pixels])?;
        assert_eq!(planes[0].shape(), [3, HEIGHT, WIDTH]);

        let mut values = planes[0].to_vec::<f32>()?.into_iter();
        for channel in channels {
            for pixel in 0..HEIGHT * WIDTH {
                let expected = f32::from(bytes[pixel * 3 + channel]) / 255.0;
                assert_eq!(values.next(), Some(expected), "pixel {pixel} of {channel}");
            }
        }
    }
    println!("planes of RGB and of BGR are right");
    Ok(())
}
