//! The Rust side of the page: the calls by which `www` uses wgslice. Errors reach the page as exceptions with the
//! library's messages.
//!
//! | file | decides |
//! |---|---|
//! | `device` | WebGPU or the CPU |
//! | `numbers` | integers that are typed in |
//! | `masks` | a slice in TensorFlow's encoding |
//! | `array` | slices and gathers of a picture or a table |
//! | `shown` | how a result looks: as pixels or as numbers |
//! | `cases` | random cases and golden vectors |

mod array;
mod cases;
mod device;
mod masks;
mod numbers;
mod shown;

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
