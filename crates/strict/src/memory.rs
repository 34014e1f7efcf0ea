//! The memory of buffers and workgroups: its content, its unwritten bytes, and the accesses to each word during a
//! dispatch.

/// The size in bytes of a word, the unit in which accesses are recorded.
pub(crate) const WORD_BYTES: u64 = 4;

/// The kind of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Access {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An atomic operation of any kind.
    Atomic,
}

/// One invocation of a dispatch at one point of its program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Invocation {
    /// The number of the workgroup in the dispatch.
    pub(crate) group: u32,
    /// The number of the invocation in the workgroup.
    pub(crate) local: u32,
    /// The number of barriers for this memory that the workgroup has passed.
    pub(crate) phase: u32,
}

/// The accesses of one kind to a word that a later access could race with. If they are accesses of several workgroups,
/// `group` is [`SEVERAL`]. If they are accesses of several invocations of one workgroup, `local` is [`SEVERAL`].
#[derive(Clone, Copy, Debug, Default)]
struct EarlierAccesses {
    /// The number of the workgroup plus one, [`SEVERAL`], or 0 for no access.
    group: u32,
    /// The number of the invocation in the workgroup, or [`SEVERAL`].
    local: u32,
    phase: u32,
}

const SEVERAL: u32 = u32::MAX;

impl EarlierAccesses {
    /// Returns whether any of these accesses is not ordered before an access of this invocation.
    fn can_race_with(&self, invocation: Invocation) -> bool {
        let same_group = self.group == invocation.group + 1;
        self.group != 0
            && !(same_group && (self.local == invocation.local || self.phase < invocation.phase))
    }

    fn add_access(&mut self, invocation: Invocation) {
        let group = invocation.group + 1;
        if self.group == 0 || (self.group == group && self.phase < invocation.phase) {
            *self = Self {
                group,
                local: invocation.local,
                phase: invocation.phase,
            };
        } else if self.group != group {
            self.group = SEVERAL;
        } else if self.local != invocation.local {
            self.local = SEVERAL;
        }
    }
}

/// The accesses to a word during one dispatch.
#[derive(Clone, Copy, Debug, Default)]
struct WordAccesses {
    dispatch_number: u64,
    read: EarlierAccesses,
    write: EarlierAccesses,
    atomic: EarlierAccesses,
}

/// The number of words in a page. The records of accesses to a page are allocated together, at the first access.
const PAGE_WORDS: usize = 1024;

/// Words, with the bytes that were written and the accesses to each word.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    words: Vec<u32>,
    /// For each word, a bit for each of its four bytes: 1 if the byte was written.
    written_masks: Vec<u8>,
    /// The accesses to each word, by pages. A page is empty until the first recorded access to it, so a large buffer
    /// with few accessed words takes little memory.
    access_pages: Vec<Vec<WordAccesses>>,
}

impl Memory {
    /// Makes memory of `bytes` bytes, rounded up to whole words. All bytes count as unwritten, but are zero, as wgpu
    /// guarantees for buffers.
    pub(crate) fn new(bytes: u64) -> Self {
        let word_count =
            usize::try_from(bytes.div_ceil(WORD_BYTES)).expect("a buffer that fits in memory");
        Self {
            words: vec![0; word_count],
            written_masks: vec![0; word_count],
            access_pages: Vec::new(),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.words.len() as u64 * WORD_BYTES
    }

    pub(crate) fn word(&self, word_index: usize) -> u32 {
        self.words[word_index]
    }

    /// Returns a mask of the unwritten bits of a word.
    pub(crate) fn unknown_bits(&self, word_index: usize) -> u32 {
        if self.written_masks[word_index] == 0b1111 {
            return 0;
        }
        let bytes = (0..4).map(|byte| {
            if self.written_masks[word_index] >> byte & 1 == 1 {
                0
            } else {
                0xff
            }
        });
        u32::from_le_bytes(bytes.collect::<Vec<u8>>().try_into().expect("four bytes"))
    }

    /// Writes a word. `unknown_bits` is a mask of its unwritten bits. A byte with any unwritten bit counts as
    /// unwritten.
    pub(crate) fn set_word(&mut self, word_index: usize, word: u32, unknown_bits: u32) {
        self.words[word_index] = word;
        if unknown_bits == 0 {
            self.written_masks[word_index] = 0b1111;
            return;
        }
        let known_bytes = unknown_bits.to_le_bytes().map(|byte| u8::from(byte == 0));
        self.written_masks[word_index] = (0..)
            .zip(known_bytes)
            .map(|(byte, is_known)| is_known << byte)
            .sum();
    }

    /// Reads `bytes` bytes from byte `from` on, which need not be the first byte of a word.
    pub(crate) fn read(&self, from: u64, bytes: usize) -> Vec<u8> {
        let first_word = to_usize(from / WORD_BYTES);
        let skipped_bytes = to_usize(from % WORD_BYTES);
        let word_count = (skipped_bytes + bytes).div_ceil(4);
        let words = self.words[first_word..first_word + word_count].iter();
        words
            .flat_map(|word| word.to_le_bytes())
            .skip(skipped_bytes)
            .take(bytes)
            .collect()
    }

    /// Writes bytes from byte `from` on, which need not be the first byte of a word.
    pub(crate) fn write(&mut self, from: u64, bytes: &[u8]) {
        if from.is_multiple_of(WORD_BYTES) {
            let (words, tail_bytes) = bytes.as_chunks::<4>();
            for (word_index, &word) in (to_usize(from / WORD_BYTES)..).zip(words) {
                self.set_word(word_index, u32::from_le_bytes(word), 0);
            }
            let whole_word_bytes = (bytes.len() - tail_bytes.len()) as u64;
            self.write_bytes(from + whole_word_bytes, tail_bytes);
        } else {
            self.write_bytes(from, bytes);
        }
    }

    fn write_bytes(&mut self, from: u64, bytes: &[u8]) {
        for (at, &byte) in (from..).zip(bytes) {
            let (word_index, byte_index) = (to_usize(at / WORD_BYTES), to_usize(at % WORD_BYTES));
            let mut word_bytes = self.words[word_index].to_le_bytes();
            word_bytes[byte_index] = byte;
            self.words[word_index] = u32::from_le_bytes(word_bytes);
            self.written_masks[word_index] |= 1 << byte_index;
        }
    }

    /// Records an access to a word. Returns the kind of an earlier access of the same dispatch that races with it, if
    /// any.
    pub(crate) fn record_access(
        &mut self,
        word_index: usize,
        dispatch_number: u64,
        access: Access,
        invocation: Invocation,
    ) -> Option<Access> {
        if self.access_pages.is_empty() {
            self.access_pages = vec![Vec::new(); self.words.len().div_ceil(PAGE_WORDS)];
        }
        let page = &mut self.access_pages[word_index / PAGE_WORDS];
        if page.is_empty() {
            *page = vec![WordAccesses::default(); PAGE_WORDS.min(self.words.len())];
        }
        let word_accesses = &mut page[word_index % PAGE_WORDS];
        if word_accesses.dispatch_number != dispatch_number {
            *word_accesses = WordAccesses {
                dispatch_number,
                ..WordAccesses::default()
            };
        }
        let race_with =
            |earlier: &EarlierAccesses, access| earlier.can_race_with(invocation).then_some(access);
        let write_race = race_with(&word_accesses.write, Access::Write);
        let conflict = match access {
            Access::Read => write_race.or_else(|| race_with(&word_accesses.atomic, Access::Atomic)),
            Access::Write => write_race
                .or_else(|| race_with(&word_accesses.atomic, Access::Atomic))
                .or_else(|| race_with(&word_accesses.read, Access::Read)),
            Access::Atomic => write_race.or_else(|| race_with(&word_accesses.read, Access::Read)),
        };
        match access {
            Access::Read => word_accesses.read.add_access(invocation),
            Access::Write => word_accesses.write.add_access(invocation),
            Access::Atomic => word_accesses.atomic.add_access(invocation),
        }
        conflict
    }
}

/// Converts a position in memory to `usize`, which can hold every position in allocated memory.
pub(crate) fn to_usize(at: u64) -> usize {
    usize::try_from(at).expect("a place in memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invocation_at(group: u32, local: u32, phase: u32) -> Invocation {
        Invocation {
            group,
            local,
            phase,
        }
    }

    /// Returns the kind of the earlier access that races with the last of these accesses, if any.
    fn racing_access(accesses: &[(Access, Invocation)]) -> Option<Access> {
        let mut memory = Memory::new(4);
        let mut conflict = None;
        for &(access, invocation) in accesses {
            assert_eq!(conflict, None, "an earlier access raced: {accesses:?}");
            conflict = memory.record_access(0, 1, access, invocation);
        }
        conflict
    }

    #[test]
    fn accesses_race_unless_they_are_ordered_or_harmless() {
        use Access::{Atomic, Read, Write};
        let (a, b) = (invocation_at(0, 0, 0), invocation_at(0, 1, 0));
        for (first, second, races) in [
            (Read, Read, false),
            (Atomic, Atomic, false),
            (Write, Write, true),
            (Write, Read, true),
            (Read, Write, true),
            (Write, Atomic, true),
            (Atomic, Write, true),
            (Atomic, Read, true),
            (Read, Atomic, true),
        ] {
            assert_eq!(
                racing_access(&[(first, a), (second, b)]),
                races.then_some(first)
            );
            // Accesses of one invocation are ordered.
            assert_eq!(racing_access(&[(first, a), (second, a)]), None);
            // A barrier orders the invocations of a workgroup, but not workgroups.
            assert_eq!(
                racing_access(&[(first, a), (second, invocation_at(0, 1, 1))]),
                None
            );
            assert_eq!(
                racing_access(&[(first, a), (second, invocation_at(1, 1, 1))]),
                races.then_some(first)
            );
        }
    }

    #[test]
    fn one_of_several_readers_does_not_hide_the_others() {
        use Access::{Read, Write};
        let (a, b) = (invocation_at(0, 0, 0), invocation_at(0, 1, 0));
        assert_eq!(
            racing_access(&[(Read, a), (Read, b), (Write, b)]),
            Some(Read)
        );
        assert_eq!(
            racing_access(&[(Read, a), (Read, invocation_at(7, 0, 0)), (Write, a)]),
            Some(Read)
        );
        assert_eq!(
            racing_access(&[(Read, a), (Read, b), (Write, invocation_at(0, 1, 1))]),
            None
        );
    }

    #[test]
    fn accesses_of_different_dispatches_do_not_race() {
        let mut memory = Memory::new(4);
        assert_eq!(
            memory.record_access(0, 1, Access::Write, invocation_at(0, 0, 0)),
            None
        );
        assert_eq!(
            memory.record_access(0, 2, Access::Write, invocation_at(0, 1, 0)),
            None
        );
    }

    #[test]
    fn written_bytes_can_be_read_at_any_offset() {
        let mut memory = Memory::new(12);
        memory.write(3, &[1, 2, 3, 4, 5]);
        assert_eq!(memory.read(2, 7), [0, 1, 2, 3, 4, 5, 0]);
        assert_eq!(memory.unknown_bits(0), 0x00ff_ffff);
        memory.set_word(0, 7, 0x0000_0100);
        assert_eq!(memory.unknown_bits(0), 0x0000_ff00);
    }
}
