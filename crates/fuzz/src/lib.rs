//! The code that the fuzz targets share.
//!
//! | file | content |
//! |---|---|
//! | `draw` | shapes, bounds and indices, from the fuzzer's bytes |
//! | `cases` | calls of every operation on small tensors, compared with the naive reference |
//! | `plans` | plans on shapes and arguments of any size |
//! | `assemblies`, `indices` | assembled arrays, and index expressions with arrays, of any size |
//! | `readers` | a function that passes bytes to the command's file readers |

pub mod assemblies;
pub mod cases;
pub mod draw;
pub mod indices;
pub mod plans;
pub mod readers;

/// These modules are compiled from the command's source files, because the command is not a library.
#[allow(dead_code, unused_imports, reason = "only its readers are fuzzed")]
#[path = "../../../cli/src/files/mod.rs"]
mod files;

#[allow(dead_code, reason = "`files` names its errors")]
#[path = "../../../cli/src/failure.rs"]
mod failure;

#[allow(dead_code, reason = "`files` prints a line at the end by a signal")]
#[path = "../../../cli/src/print.rs"]
mod print;

#[allow(dead_code, reason = "`files` and `failure` print sizes and shapes")]
#[path = "../../../cli/src/units.rs"]
mod units;
