//! Slices, their gradients and updates, with any vectors and masks, have the reference's results and errors.

#![no_main]

use arbitrary::Unstructured;
use libfuzzer_sys::{Corpus, fuzz_target};
use wgslice_fuzz::cases;

fuzz_target!(|bytes: &[u8]| -> Corpus {
    match cases::slice(&mut Unstructured::new(bytes)) {
        Ok(case) => cases::check(case),
        Err(_) => return Corpus::Reject,
    }
    Corpus::Keep
});
