//! Counts the memory accesses of a dispatch in sectors and lines, the units that memories and caches move.
//!
//! A *subgroup* is a set of invocations that a GPU runs in step: 32 on NVIDIA and AMD RDNA, 64 on AMD CDNA. A load or
//! store that its invocations execute together is one *instruction*, which requests the distinct sectors of 32 bytes
//! that they touch. An instruction is optimal if the invocations touch all bytes of its sectors; in the worst case each
//! invocation needs its own sector.

use crate::memory::Access;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The size in bytes of a sector, the unit of memory transfers.
pub const SECTOR: u64 = 32;
/// The size in bytes of a cache line.
pub const LINE: u64 = 128;

/// Options for counting.
#[derive(Clone, Copy, Debug)]
pub struct Counting {
    /// Invocations of a subgroup: 32 or 64.
    pub subgroup: u32,
    /// The most workgroups of a dispatch that all run. Of a larger dispatch only a sample runs, of this number or up to
    /// 15 more, always the same: a quarter are its first workgroups, the rest are runs of 16 elsewhere. The result is
    /// then incomplete.
    pub most_workgroups: u64,
}

/// The counts of a dispatch, or of its sampled workgroups.
#[derive(Clone, Debug, Default)]
pub struct DispatchCounts {
    /// The pipeline's label.
    pub pipeline: String,
    /// Workgroups of the dispatch.
    pub workgroups: [u32; 3],
    /// Invocations of a workgroup.
    pub workgroup_size: [u32; 3],
    /// Workgroups that ran.
    pub workgroups_run: u64,
    /// Invocations that ran.
    pub invocations: u64,
    /// Subgroups that ran.
    pub subgroups: u64,
    /// Scalar operations, counted once for each subgroup with an invocation that executes them. Operations whose result
    /// is the same in a whole workgroup do not count, since GPUs execute them once.
    pub operations: u64,
    /// The integer divisions and remainders among the operations.
    pub divisions: u64,
    /// Accesses by variable and kind.
    pub bindings: Vec<BindingCounts>,
}

/// The accesses of one kind to one variable.
#[derive(Clone, Debug)]
pub struct BindingCounts {
    /// The variable's name in WGSL.
    pub name: String,
    /// The kind of access.
    pub access: Access,
    /// Accesses of individual invocations.
    pub accesses: u64,
    /// Bytes of these accesses.
    pub bytes: u64,
    /// Instructions, counted for each subgroup.
    pub instructions: u64,
    /// Sectors that instructions request, summed over instructions.
    pub sectors: u64,
    /// Lines that instructions request, summed over instructions.
    pub lines: u64,
    /// Distinct sectors that workgroups request, summed over workgroups.
    pub by_workgroup: u64,
    /// Distinct sectors requested by the whole dispatch.
    pub distinct_sectors: u64,
    /// Distinct bytes requested by the whole dispatch.
    pub useful_bytes: u64,
}

#[derive(Debug, Default)]
struct Tally {
    accesses: u64,
    bytes: u64,
    instructions: u64,
    sectors: u64,
    lines: u64,
    by_workgroup: u64,
    /// A bit for each byte of each sector.
    touched: HashMap<u64, u32>,
    /// The sectors of the current workgroup.
    workgroup: HashSet<u64>,
}

/// Counts a dispatch while it runs.
#[derive(Debug)]
pub(crate) struct Counter {
    pub(crate) subgroup: usize,
    pub(crate) operations: u64,
    pub(crate) divisions: u64,
    tallies: BTreeMap<(String, Access), Tally>,
}

impl Counter {
    pub(crate) fn new(counting: Counting) -> Self {
        Self {
            subgroup: counting.subgroup.max(1) as usize,
            operations: 0,
            divisions: 0,
            tallies: BTreeMap::new(),
        }
    }

    /// The number of subgroups with an active lane.
    pub(crate) fn active(&self, mask: &[bool]) -> u64 {
        mask.chunks(self.subgroup)
            .filter(|lanes| lanes.contains(&true))
            .count() as u64
    }

    /// Counts an access of some lanes. Each lane accesses `bytes` bytes at its address.
    pub(crate) fn access(
        &mut self,
        name: &str,
        access: Access,
        bytes: u64,
        lanes: &[(usize, u64)],
    ) {
        let tally = self.tallies.entry((name.to_owned(), access)).or_default();
        tally.accesses += lanes.len() as u64;
        tally.bytes += lanes.len() as u64 * bytes;
        for subgroup in lanes.chunk_by(|a, b| a.0 / self.subgroup == b.0 / self.subgroup) {
            let (mut sectors, mut lines) = (HashSet::new(), HashSet::new());
            for &(_, at) in subgroup {
                let last = at + bytes - 1;
                for sector in at / SECTOR..=last / SECTOR {
                    sectors.insert(sector);
                    let from = at.max(sector * SECTOR) % SECTOR;
                    let to = last.min(sector * SECTOR + SECTOR - 1) % SECTOR;
                    let bits = (u32::MAX >> (SECTOR - 1 - (to - from))) << from;
                    *tally.touched.entry(sector).or_default() |= bits;
                }
                lines.extend(at / LINE..=last / LINE);
            }
            tally.instructions += 1;
            tally.sectors += sectors.len() as u64;
            tally.lines += lines.len() as u64;
            tally.workgroup.extend(&sectors);
        }
    }

    pub(crate) fn end_workgroup(&mut self) {
        for tally in self.tallies.values_mut() {
            tally.by_workgroup += tally.workgroup.len() as u64;
            tally.workgroup.clear();
        }
    }

    pub(crate) fn bindings(self) -> Vec<BindingCounts> {
        let counts = |((name, access), tally): ((String, Access), Tally)| BindingCounts {
            name,
            access,
            accesses: tally.accesses,
            bytes: tally.bytes,
            instructions: tally.instructions,
            sectors: tally.sectors,
            lines: tally.lines,
            by_workgroup: tally.by_workgroup,
            distinct_sectors: tally.touched.len() as u64,
            useful_bytes: tally
                .touched
                .values()
                .map(|bits| u64::from(bits.count_ones()))
                .sum(),
        };
        self.tallies.into_iter().map(counts).collect()
    }
}

/// All workgroups of a dispatch if it has at most `most`. Otherwise a sample of `most` or up to 15 more, the same each
/// time.
pub(crate) fn sample(workgroups: u64, most: u64) -> Vec<u64> {
    const STRETCH: u64 = 16;
    if workgroups <= most {
        return (0..workgroups).collect();
    }
    let mut chosen: std::collections::BTreeSet<u64> = (0..most / 4).collect();
    let room = workgroups.saturating_sub(STRETCH).max(1);
    for seed in 1.. {
        if chosen.len() as u64 >= most {
            break;
        }
        // The fractional parts of multiples of the golden ratio are spread evenly, however many there are.
        let from =
            (u128::from(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed)) * u128::from(room)) >> 64;
        let from = u64::try_from(from).expect("less than the workgroups");
        chosen.extend(from..(from + STRETCH).min(workgroups));
    }
    chosen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(bytes: u64, addresses: &[u64]) -> BindingCounts {
        let mut counter = Counter::new(Counting {
            subgroup: 32,
            most_workgroups: 1,
        });
        let lanes: Vec<_> = addresses.iter().copied().enumerate().collect();
        counter.access("x", Access::Read, bytes, &lanes);
        counter.end_workgroup();
        counter.bindings().remove(0)
    }

    #[test]
    fn neighbours_share_sectors_and_strangers_do_not() {
        let neighbours: Vec<_> = (0..64).map(|lane| 4 * lane).collect();
        let counts = counted(4, &neighbours);
        assert_eq!(
            (counts.instructions, counts.sectors, counts.lines),
            (2, 8, 2)
        );
        assert_eq!(
            (
                counts.distinct_sectors,
                counts.useful_bytes,
                counts.by_workgroup
            ),
            (8, 256, 8)
        );

        let apart: Vec<_> = (0..64).map(|lane| 128 * lane).collect();
        let counts = counted(4, &apart);
        assert_eq!(
            (counts.instructions, counts.sectors, counts.lines),
            (2, 64, 64)
        );
        assert_eq!((counts.distinct_sectors, counts.useful_bytes), (64, 256));
    }

    #[test]
    fn what_crosses_a_sector_asks_for_both() {
        let counts = counted(16, &[24]);
        assert_eq!(
            (counts.sectors, counts.lines, counts.useful_bytes),
            (2, 1, 16)
        );
        assert_eq!(counted(16, &[120]).lines, 2);
        // Two lanes request the same sector once.
        assert_eq!(counted(4, &[0, 0]).sectors, 1);
    }

    #[test]
    fn samples_are_of_the_dispatch_and_no_larger_than_a_stretch_more() {
        assert_eq!(sample(10, 10), (0..10).collect::<Vec<_>>());
        for workgroups in [11, 100, 1 << 20, u64::from(u32::MAX)] {
            let chosen = sample(workgroups, 10);
            assert!((10..10 + 16).contains(&chosen.len()), "{}", chosen.len());
            assert!(chosen.iter().all(|&group| group < workgroups));
            assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
