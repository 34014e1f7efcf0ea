//! Names from `alloc` that are in the prelude of the standard library, but not in the prelude of the core library.

pub(crate) use alloc::{
    borrow::ToOwned,
    boxed::Box,
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};
