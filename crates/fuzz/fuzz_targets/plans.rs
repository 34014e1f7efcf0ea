//! Slices, gathers, crops, pastes, scatters and masks, with shapes and arguments of any size, return an error or a plan
//! that can be explained and run.

#![no_main]

use arbitrary::Unstructured;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    match wgslice_fuzz::plans::check(&mut Unstructured::new(bytes)) {
        Ok(()) => Corpus::Keep,
        Err(_) => Corpus::Reject,
    }
});
