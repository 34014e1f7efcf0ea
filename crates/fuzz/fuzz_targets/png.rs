//! Any bytes in a .png file result in an array or an error.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wgslice_fuzz::readers::read(bytes, "png"));
