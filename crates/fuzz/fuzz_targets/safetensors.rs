//! Any bytes as a .safetensors file give an array or an error.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wgslice_fuzz::readers::read(bytes, "safetensors"));
