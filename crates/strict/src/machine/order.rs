//! The order in which the workgroups of a dispatch and the invocations of a workgroup run.

use naga::{Block, Module, Statement};

/// Random numbers that depend only on a seed, from the generator splitmix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Returns the generator for this seed and these bytes.
    pub(crate) fn from_seed_and_bytes(seed: u64, bytes: impl IntoIterator<Item = u8>) -> Self {
        let mut random = Self(seed);
        for byte in bytes {
            random.0 = random.next() ^ u64::from(byte);
        }
        random
    }

    /// Returns a separate generator for each value of `purpose`, such as the number of a workgroup.
    pub(crate) fn fork(&self, purpose: u64) -> Self {
        let mut random = Self(self.0 ^ purpose);
        Self(random.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed_bits = self.0;
        mixed_bits = (mixed_bits ^ mixed_bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed_bits = (mixed_bits ^ mixed_bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed_bits ^ mixed_bits >> 31
    }

    /// Returns a number less than `limit`.
    pub(super) fn number_below(&mut self, limit: usize) -> usize {
        let scaled = (u128::from(self.next()) * limit as u128) >> 64;
        usize::try_from(scaled).expect("less than the limit")
    }

    pub(super) fn random_bool(&mut self) -> bool {
        self.next() & 1 == 1
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last_index in (1..items.len()).rev() {
            items.swap(last_index, self.number_below(last_index + 1));
        }
    }
}

/// Returns whether any function of a module waits at a barrier.
pub(super) fn has_barriers(module: &Module) -> bool {
    let entries = module.entry_points.iter().map(|entry| &entry.function);
    let functions = module.functions.iter().map(|(_, function)| function);
    entries
        .chain(functions)
        .any(|function| has_barrier(&function.body))
}

fn has_barrier(block: &Block) -> bool {
    block.iter().any(|statement| match statement {
        Statement::ControlBarrier(_) | Statement::WorkGroupUniformLoad { .. } => true,
        Statement::Block(inner) => has_barrier(inner),
        Statement::If { accept, reject, .. } => has_barrier(accept) || has_barrier(reject),
        Statement::Switch { cases, .. } => cases.iter().any(|case| has_barrier(&case.body)),
        Statement::Loop {
            body, continuing, ..
        } => has_barrier(body) || has_barrier(continuing),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_is_a_permutation_that_only_the_seed_and_the_bytes_decide() {
        let shuffled_numbers = |seed, bytes: &[u8]| {
            let mut numbers: Vec<usize> = (0..100).collect();
            Random::from_seed_and_bytes(seed, bytes.iter().copied()).shuffle(&mut numbers);
            numbers
        };
        let numbers = shuffled_numbers(1, &[2]);
        assert_eq!(numbers, shuffled_numbers(1, &[2]));
        assert_ne!(numbers, shuffled_numbers(2, &[2]));
        assert_ne!(numbers, shuffled_numbers(1, &[3]));
        let mut sorted = numbers;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    }
}
