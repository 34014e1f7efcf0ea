//! Counts the memory accesses of a dispatch in sectors and lines, the units that memories and caches move.
//!
//! A *subgroup* is a set of invocations that a GPU runs in lockstep: 32 invocations on NVIDIA and AMD RDNA, 64 on AMD
//! CDNA. A load or store that the invocations of a subgroup execute together is one *instruction*. It requests each
//! touched sector of 32 bytes once, even if several invocations touch the sector. An instruction is optimal if the
//! invocations touch all bytes of its sectors. In the worst case no two invocations touch the same sector.

use crate::memory::Access;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The size in bytes of a sector, the unit of memory transfers.
pub const SECTOR: u64 = 32;
/// The size in bytes of a cache line.
pub const LINE: u64 = 128;

/// Options for counting.
#[derive(Clone, Copy, Debug)]
pub struct Counting {
    /// The number of invocations of a subgroup: 32 or 64.
    pub subgroup: u32,
    /// If a dispatch has more workgroups than this, only a sample of them runs, and the result is incomplete. The
    /// sample has this many workgroups, or up to 15 more. The sample is the same in every run. Its first quarter
    /// consists of the first workgroups of the dispatch. The rest consists of stretches of 16 neighbouring workgroups
    /// that are spread over the dispatch.
    pub most_workgroups: u64,
}

/// The counts of a dispatch. If only a sample of its workgroups runs, they are the counts of the sample.
#[derive(Clone, Debug, Default)]
pub struct DispatchCounts {
    /// The pipeline's label.
    pub pipeline: String,
    /// The workgroups of the dispatch along x, y and z.
    pub workgroups: [u32; 3],
    /// The invocations of a workgroup along x, y and z.
    pub workgroup_size: [u32; 3],
    /// The number of workgroups that ran. A dispatch stops after the first workgroup with a fault, which is included.
    pub workgroups_run: u64,
    /// The number of invocations of these workgroups.
    pub invocations: u64,
    /// The number of subgroups of these workgroups.
    pub subgroups: u64,
    /// The number of scalar operations. An operation counts once for each subgroup with an invocation that executes
    /// it. An operation does not count if its result is known to be the same in a whole workgroup, because GPUs can
    /// execute it once.
    pub operations: u64,
    /// The number of integer divisions and remainders among these operations.
    pub divisions: u64,
    /// The accesses to variables in storage buffers, by variable and kind.
    pub bindings: Vec<BindingCounts>,
}

/// The accesses of one kind to one variable.
#[derive(Clone, Debug)]
pub struct BindingCounts {
    /// The variable's name in WGSL.
    pub name: String,
    /// The kind of access.
    pub access: Access,
    /// The size of the binding in bytes.
    pub size: u64,
    /// The number of accesses by invocations. A read from an address that all invocations of a workgroup share counts
    /// as one access.
    pub accesses: u64,
    /// The number of bytes that these accesses move.
    pub bytes: u64,
    /// The number of instructions that make these accesses, over all subgroups.
    pub instructions: u64,
    /// The number of sectors that an instruction requests, summed over instructions.
    pub sectors: u64,
    /// The number of cache lines that an instruction requests, summed over instructions.
    pub lines: u64,
    /// The number of distinct sectors that a workgroup requests, summed over workgroups.
    pub by_workgroup: u64,
    /// The number of distinct sectors that the whole dispatch requests.
    pub distinct_sectors: u64,
    /// The number of distinct bytes that the whole dispatch accesses.
    pub useful_bytes: u64,
}

#[derive(Debug, Default)]
struct AccessTally {
    size: u64,
    accesses: u64,
    bytes: u64,
    instructions: u64,
    sectors: u64,
    lines: u64,
    by_workgroup: u64,
    /// For each sector, by its number, a bit for each byte: 1 if the byte was accessed.
    accessed_bytes: HashMap<u64, u32>,
    /// The numbers of the sectors that the current workgroup has requested.
    workgroup_sectors: HashSet<u64>,
}

/// Counts a dispatch while it runs.
#[derive(Debug)]
pub(crate) struct DispatchCounter {
    pub(crate) subgroup_size: usize,
    pub(crate) operations: u64,
    pub(crate) divisions: u64,
    tallies: BTreeMap<(String, Access), AccessTally>,
}

impl DispatchCounter {
    pub(crate) fn new(counting: Counting) -> Self {
        Self {
            subgroup_size: counting.subgroup.max(1) as usize,
            operations: 0,
            divisions: 0,
            tallies: BTreeMap::new(),
        }
    }

    /// Returns the number of subgroups with an active lane.
    pub(crate) fn active_subgroups(&self, mask: &[bool]) -> u64 {
        mask.chunks(self.subgroup_size)
            .filter(|lanes| lanes.contains(&true))
            .count() as u64
    }

    /// Counts an access by some lanes to a variable with a binding of `size` bytes. `lane_addresses` has pairs of a
    /// lane and its address, in the order of the lanes. Each lane accesses `bytes` bytes at its address.
    pub(crate) fn count_access(
        &mut self,
        (name, size): (&str, u64),
        access: Access,
        bytes: u64,
        lane_addresses: &[(usize, u64)],
    ) {
        let tally = self.tallies.entry((name.to_owned(), access)).or_default();
        tally.size = size;
        tally.accesses += lane_addresses.len() as u64;
        tally.bytes += lane_addresses.len() as u64 * bytes;
        for subgroup in
            lane_addresses.chunk_by(|a, b| a.0 / self.subgroup_size == b.0 / self.subgroup_size)
        {
            let (mut sectors, mut lines) = (HashSet::new(), HashSet::new());
            for &(_, first_byte) in subgroup {
                let last_byte = first_byte + bytes - 1;
                for sector in first_byte / SECTOR..=last_byte / SECTOR {
                    sectors.insert(sector);
                    let first_bit = first_byte.max(sector * SECTOR) % SECTOR;
                    let last_bit = last_byte.min(sector * SECTOR + SECTOR - 1) % SECTOR;
                    let bits = (u32::MAX >> (SECTOR - 1 - (last_bit - first_bit))) << first_bit;
                    *tally.accessed_bytes.entry(sector).or_default() |= bits;
                }
                lines.extend(first_byte / LINE..=last_byte / LINE);
            }
            tally.instructions += 1;
            tally.sectors += sectors.len() as u64;
            tally.lines += lines.len() as u64;
            tally.workgroup_sectors.extend(&sectors);
        }
    }

    pub(crate) fn end_workgroup(&mut self) {
        for tally in self.tallies.values_mut() {
            tally.by_workgroup += tally.workgroup_sectors.len() as u64;
            tally.workgroup_sectors.clear();
        }
    }

    pub(crate) fn into_binding_counts(self) -> Vec<BindingCounts> {
        let counts = |((name, access), tally): ((String, Access), AccessTally)| BindingCounts {
            name,
            access,
            size: tally.size,
            accesses: tally.accesses,
            bytes: tally.bytes,
            instructions: tally.instructions,
            sectors: tally.sectors,
            lines: tally.lines,
            by_workgroup: tally.by_workgroup,
            distinct_sectors: tally.accessed_bytes.len() as u64,
            useful_bytes: tally
                .accessed_bytes
                .values()
                .map(|bits| u64::from(bits.count_ones()))
                .sum(),
        };
        self.tallies.into_iter().map(counts).collect()
    }
}

/// Returns the numbers of all workgroups of a dispatch, if there are at most `max_workgroups`. Otherwise returns the
/// numbers of a sample of `max_workgroups` workgroups, or up to 15 more. The sample depends only on these two numbers.
pub(crate) fn sample_workgroups(workgroup_count: u64, max_workgroups: u64) -> Vec<u64> {
    const STRETCH_WORKGROUPS: u64 = 16;
    if workgroup_count <= max_workgroups {
        return (0..workgroup_count).collect();
    }
    let mut sampled: std::collections::BTreeSet<u64> = (0..max_workgroups / 4).collect();
    let start_count = workgroup_count.saturating_sub(STRETCH_WORKGROUPS).max(1);
    for factor in 1.. {
        if sampled.len() as u64 >= max_workgroups {
            break;
        }
        // The fractional parts of the first n multiples of the golden ratio are spread evenly, for every n.
        let first_workgroup = (u128::from(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(factor))
            * u128::from(start_count))
            >> 64;
        let first_workgroup =
            u64::try_from(first_workgroup).expect("less than the number of workgroups");
        sampled
            .extend(first_workgroup..(first_workgroup + STRETCH_WORKGROUPS).min(workgroup_count));
    }
    sampled.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count_reads(bytes: u64, addresses: &[u64]) -> BindingCounts {
        let mut counter = DispatchCounter::new(Counting {
            subgroup: 32,
            most_workgroups: 1,
        });
        let lane_addresses: Vec<_> = addresses.iter().copied().enumerate().collect();
        counter.count_access(("x", 1 << 20), Access::Read, bytes, &lane_addresses);
        counter.end_workgroup();
        counter.into_binding_counts().remove(0)
    }

    #[test]
    fn adjacent_lanes_share_sectors_and_distant_lanes_do_not() {
        let adjacent_addresses: Vec<_> = (0..64).map(|lane| 4 * lane).collect();
        let counts = count_reads(4, &adjacent_addresses);
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

        let distant_addresses: Vec<_> = (0..64).map(|lane| 128 * lane).collect();
        let counts = count_reads(4, &distant_addresses);
        assert_eq!(
            (counts.instructions, counts.sectors, counts.lines),
            (2, 64, 64)
        );
        assert_eq!((counts.distinct_sectors, counts.useful_bytes), (64, 256));
    }

    #[test]
    fn an_access_across_a_sector_boundary_requests_both_sectors() {
        let counts = count_reads(16, &[24]);
        assert_eq!(
            (counts.sectors, counts.lines, counts.useful_bytes),
            (2, 1, 16)
        );
        assert_eq!(count_reads(16, &[120]).lines, 2);
        // A sector that two lanes access is requested once.
        assert_eq!(count_reads(4, &[0, 0]).sectors, 1);
    }

    #[test]
    fn samples_are_distinct_workgroups_of_the_dispatch() {
        assert_eq!(sample_workgroups(10, 10), (0..10).collect::<Vec<_>>());
        for workgroups in [11, 100, 1 << 20, u64::from(u32::MAX)] {
            let sampled = sample_workgroups(workgroups, 10);
            assert!((10..10 + 16).contains(&sampled.len()), "{}", sampled.len());
            assert!(sampled.iter().all(|&group| group < workgroups));
            assert!(sampled.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
