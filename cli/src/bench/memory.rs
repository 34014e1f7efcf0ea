//! The peak memory of the process, on Linux.

use std::fs;

/// Resets the peak. If the system does not allow a reset, the peak counts from the start of the process.
pub(crate) fn forget_peak() {
    // By the manual page proc(5), this resets the peak of resident memory. A failure does no harm.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Returns the peak of resident memory in bytes. `None` if the system does not report it.
pub(crate) fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    parse(&status)
}

fn parse(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_in_bytes() {
        assert_eq!(parse("Name:\tx\nVmHWM:\t    2048 kB\n"), Some(2 << 20));
        assert_eq!(parse("Name:\tx\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_that_is_touched_counts() {
        let touched = std::hint::black_box(vec![1u8; 64 << 20]);
        assert!(peak().expect("Linux tells") >= 64 << 20);
        drop(touched);
    }
}
