//! What the CPU does with a plan, in words.
