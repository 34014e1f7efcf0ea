//! The Rust side of the page: the functions that `www` calls. Errors reach the page as exceptions with the library's
//! messages.
//!
//! | file | content |
//! |---|---|
//! | `device` | WebGPU or the CPU |
//! | `numbers`, `typed` | parsing typed integers, boxes and updates |
//! | `spelled` | a slice as Python, Rust and TensorFlow spell it |
//! | `array` | the operations on a picture, a table or the array of a file |
//! | `scatter` | scatters that accumulate |
//! | `update` | writing by an index expression |
//! | `live` | frames of the camera, which stay on the GPU |
//! | `outcome`, `shown` | the result that the page gets: its report, and its pixels, numbers and file |
//! | `cases` | random cases and golden vectors |

mod array;
mod cases;
mod device;
mod live;
mod numbers;
mod outcome;
mod scatter;
mod shown;
mod spelled;
mod typed;
mod update;

use std::panic;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn log_error(message: &str);
}

/// Makes a panic write its message to the browser's console, which would otherwise only show "unreachable executed".
#[wasm_bindgen(start)]
fn start() {
    panic::set_hook(Box::new(|panic| log_error(&panic.to_string())));
}
