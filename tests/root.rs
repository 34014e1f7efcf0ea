//! The integration tests, one binary.

mod golden;
mod reference;
mod vector_lines;
