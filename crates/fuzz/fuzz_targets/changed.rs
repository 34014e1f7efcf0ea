//! Random calls of every operation, after a few changes of numbers and shapes, match the reference's results and
//! errors.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use wgslice_fuzz::cases;

fuzz_target!(|bytes: &[u8]| -> Corpus { cases::fuzz(bytes, cases::changed) });
