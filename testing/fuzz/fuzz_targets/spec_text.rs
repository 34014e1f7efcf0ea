//! Any text is read as a slice or refused. A slice that is read prints as text that reads as the same slice. The
//! position of an error lies in the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wgslice::{Error, SliceSpec, spec::TfStridedSlice};

fuzz_target!(|text: &str| match text.parse::<SliceSpec>() {
    Ok(spec) => {
        let printed = spec.to_string();
        assert_eq!(
            printed.parse::<SliceSpec>().as_ref(),
            Ok(&spec),
            "{printed:?}"
        );
        if let Ok(encoded) = TfStridedSlice::try_from(&spec) {
            assert_eq!(
                SliceSpec::try_from(&encoded).as_ref(),
                Ok(&spec),
                "{printed:?}"
            );
        }
        for shape in [&[][..], &[5], &[3, 1, 0, 4], &[usize::MAX >> 1], &[2; 9]] {
            if let Ok(view) = spec.view(shape) {
                let elements: usize = view.shape().iter().product();
                assert_eq!(view.len(), elements, "{printed:?} of {shape:?}");
            }
        }
    }
    Err(Error::Parse(error)) => {
        assert!(error.position() <= text.len(), "{error}");
        let message = error.to_string();
        assert!(message.len() < 2000, "{} bytes of error", message.len());
    }
    Err(other) => panic!("{other}"),
});
