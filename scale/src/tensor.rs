//! Columns of tensors: their types and their values.
