//! Concatenations, paddings, rolls and repetitions of any size give an error or pieces that write all of the result.

#![no_main]

use arbitrary::Unstructured;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    match wgslice_fuzz::assemblies::check(&mut Unstructured::new(bytes)) {
        Ok(()) => Corpus::Keep,
        Err(_) => Corpus::Reject,
    }
});
