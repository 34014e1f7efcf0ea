//! The command `sql`.
