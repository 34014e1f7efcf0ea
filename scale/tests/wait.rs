//! Waits for the actions of other processes.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Waits until a condition holds. The test fails if that takes longer than `limit`.
pub(crate) fn until(limit: Duration, expected_fact: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(
            start.elapsed() < limit,
            "after {limit:?} it is not the case that {expected_fact}"
        );
        thread::sleep(Duration::from_millis(20));
    }
}
