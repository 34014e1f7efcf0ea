//! The faults that the interpreter reports.

use crate::Access;
use std::fmt;

/// The kinds of faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// An access outside of a binding, or outside of a vector or an array of fixed size.
    Outside {
        /// The kind of access.
        access: Access,
        /// For a vector or an array of fixed size, the index. Otherwise the first byte of the access, counted from the
        /// beginning of the binding.
        at: u64,
        /// The size of the accessed binding, variable or value: in bytes for a binding or a workgroup's variable, in
        /// scalars for an invocation's own variable, and in elements for a value that is not in memory. The unit can
        /// differ from the unit of `at`.
        size: u64,
    },
    /// A use of a value that depends on unwritten memory. Loading a word with some unwritten bytes and writing these
    /// bytes back unchanged is not a fault, because a shader has no other way to write the rest of the word.
    Unwritten {
        /// The use of the value.
        what: Depends,
    },
    /// A race: two invocations of a dispatch access one word, at least one of them writes it, at least one access is
    /// not atomic, and no barrier orders the accesses.
    Race {
        /// The later access.
        access: Access,
        /// The earlier access.
        with: Access,
        /// The first byte of the word, counted from the beginning of the binding or of the workgroup's variable.
        at: u64,
    },
    /// An index that is negative, or that wrapped when it was computed. An index of 2^31 or more also counts as
    /// negative, unless it is the result of a sum, a difference, a product or a left shift.
    Wrapped {
        /// The low 32 bits of the index, which the shader sees.
        index: u32,
    },
    /// A loop that runs for more iterations than [`Options::most_rounds`](crate::Options::most_rounds).
    LongLoop {
        /// The maximum number of iterations.
        most: u32,
    },
    /// A barrier that not all invocations of the workgroup reach together.
    DivergentBarrier {
        /// The number of invocations that reach the barrier.
        arrived: usize,
        /// The number of invocations in the workgroup.
        invocations: usize,
    },
}

/// The use of a value that depends on unwritten memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depends {
    /// An index: it decides what memory is accessed.
    Index,
    /// A condition: a branch of the shader depends on it.
    Condition,
    /// A store in a buffer: all bits of the stored number depend on unwritten memory.
    Stored,
}

/// A fault and where it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of the fault.
    pub wrong: Wrong,
    /// The pipeline's label.
    pub pipeline: String,
    /// The name of the accessed variable if it is in a buffer, in the immediates or in workgroup memory. Empty for all
    /// other faults.
    pub variable: String,
    /// The position of the workgroup in the dispatch along x, y and z.
    pub workgroup: [u32; 3],
    /// The invocation's `local_invocation_index`.
    pub invocation: usize,
    /// The line of the shader's WGSL: its number, counted from 1, and its text. `None` if the line is not known, as for
    /// loops and barriers.
    pub line: Option<(u32, String)>,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outside { access, at, size } => {
                write!(f, "a {access} at {at}, beyond the end at {size}")
            }
            Self::Unwritten { what } => {
                let use_text = match what {
                    Depends::Index => "an index depends on",
                    Depends::Condition => "a condition depends on",
                    Depends::Stored => "a number is stored that depends on",
                };
                write!(f, "{use_text} memory that nobody wrote")
            }
            Self::Race { access, with, at } => {
                write!(
                    f,
                    "a {access} at byte {at} races with the {with} of another invocation"
                )
            }
            Self::Wrapped { index } => {
                write!(
                    f,
                    "an index that wrapped around: {index}, of a number beyond 32 bits"
                )
            }
            Self::LongLoop { most } => write!(f, "a loop of more than {most} rounds"),
            Self::DivergentBarrier {
                arrived,
                invocations,
            } => {
                write!(
                    f,
                    "a barrier that only {arrived} of {invocations} invocations reach"
                )
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.wrong)?;
        if !self.variable.is_empty() {
            write!(f, ", of `{}`", self.variable)?;
        }
        let ([x, y, z], invocation) = (self.workgroup, self.invocation);
        write!(
            f,
            ", by invocation {invocation} of workgroup ({x}, {y}, {z}) of \"{}\"",
            self.pipeline
        )?;
        if let Some((number, line)) = &self.line {
            write!(f, "\n  line {number}: {}", line.trim())?;
        }
        Ok(())
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Atomic => "atomic operation",
        })
    }
}
