//! Allocates memory whose size comes from users or stores. If this machine lacks the memory, the result is an error.
//! Rust's own allocations would end the process instead.

use super::Error;
use std::fmt::Display;

/// The purpose of memory, as an error describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purpose<T> {
    /// The content of the memory, such as "a shard".
    pub(crate) content: T,
    /// What the user can do if the machine lacks the memory.
    pub(crate) way_out: &'static str,
}

/// Reserves capacity for `count` more elements.
pub(crate) fn reserve<T>(
    list: &mut Vec<T>,
    count: usize,
    purpose: Purpose<impl Display>,
) -> Result<(), Error> {
    list.try_reserve_exact(count)
        .map_err(|_| too_large(count.saturating_mul(size_of::<T>()), &purpose))
}

/// Returns the error for a number of bytes that exceeds this machine's memory.
pub(super) fn too_large(bytes: usize, purpose: &Purpose<impl Display>) -> Error {
    Error::data(format_args!(
        "{}, of {bytes} bytes, does not fit into the memory of this machine: {}",
        purpose.content, purpose.way_out
    ))
}

/// Returns `bytes` zeros.
pub(crate) fn zeros(bytes: usize, purpose: Purpose<impl Display>) -> Result<Vec<u8>, Error> {
    // `vec!` gets pages that the system has cleared, but ends the process if there is no memory. So the same size is
    // reserved first, and freed again.
    reserve(&mut Vec::<u8>::new(), bytes, purpose)?;
    Ok(vec![0; bytes])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_do_not_fit_are_errors() {
        let purpose = Purpose {
            content: "a shard",
            way_out: "make it smaller",
        };
        assert_eq!(zeros(3, purpose).unwrap(), [0; 3]);
        for bytes in [1 << 60, usize::MAX] {
            let error = zeros(bytes, purpose).unwrap_err().to_string();
            let expected = format!(
                "a shard, of {bytes} bytes, does not fit into the memory of this machine: make it smaller"
            );
            assert_eq!(error, expected);
        }
        let error = reserve(&mut Vec::<u64>::new(), usize::MAX, purpose);
        assert!(error.is_err());
    }
}
