//! Test cases for wgslice's operations, which the library's tests, the command's `verify` and other crates of this
//! repository use. Cases are read from golden vectors, or drawn at random and answered by the naive reference. They are
//! run on a device and judged, and failing cases can be reduced.
//!
//! A line of a vector file holds one case; `tests/vectors/README.md` describes its keys.
//!
//! ```
//! use wgslice_vectors::{Call, check_all, parse, random};
//!
//! let cpu = wgslice::Backend::cpu();
//! let line = r#"{"op":"gather","dtype":"int32","tensors":{"params":{"shape":[4],"data":"arange"},
//!     "indices":{"shape":[2],"data":[3,0]}},"args":{"axis":0,"batch_dims":0},
//!     "expected":{"shape":[2],"data":[3,0]}}"#;
//! for case in parse(&line.replace('\n', " ")) {
//!     let case = case?;
//!     check_all(&case, &Call::of(&case)?, &cpu).unwrap();
//! }
//!
//! // Case 12 of seed 7, with the reference's answer.
//! let case = random::answered(random::case(7, 12))?;
//! check_all(&case, &Call::of(&case)?, &cpu).unwrap();
//! # Ok::<(), wgslice_vectors::BadLine>(())
//! ```
//!
//! | file | content |
//! |---|---|
//! | `case`, `arguments` | the content of a line |
//! | `ops` | the operations and their arguments, one file for each operation or group of similar operations |
//! | `combine` | how a scatter of the reference combines two values |
//! | `step` | the steps of a view |
//! | `reference` | the operations in a slow and obvious form, which defines the correct results |
//! | `oracle` | the answer of the naive reference |
//! | `variant` | the variants in which a call can be run |
//! | `elements` | conversion of values to elements of 1 to 16 bytes, and back |
//! | `kind` | the tags of errors in vector files |
//! | `judge` | comparison of results with expectations |
//! | `random` | random cases, and the reduction of failing ones |

mod arguments;
mod case;
mod combine;
mod elements;
mod judge;
mod kind;
mod ops;
mod oracle;
pub mod random;
pub mod reference;
mod step;
mod variant;

#[cfg(test)]
mod line_tests;

pub use arguments::Arguments;
pub use case::{BadLine, Case, Expectation, Tensor, parse};
pub use judge::{Difference, check, check_all, judge};
pub use kind::kind;
pub use ops::*;
pub use oracle::{Answer, answer, expectation};
pub use step::{Step, spec_of};
pub use variant::{Outcome, Started, Variant, run, start, variants};
// When cargo builds the library's own unit tests, it compiles the library twice. This export is the copy that runs the
// cases, so that the tests can use its types.
#[doc(hidden)]
pub use wgslice;
