//! LZ4 in numcodecs' format: the number of decoded bytes, in 4 bytes, and one block of LZ4.
//! <https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md> describes a block.

use super::decode_only::{DecodeBytes, Described};
use zarrs::{
    array::{BytesRepresentation, codec::api::CodecError},
    metadata::Configuration,
};

pub(super) const NAME: &str = "numcodecs.lz4";

#[derive(Debug)]
pub(super) struct Lz4;

impl Described for Lz4 {
    fn name(&self) -> &'static str {
        NAME
    }

    fn configuration(&self) -> Option<Configuration> {
        Some(Configuration::default())
    }
}

impl DecodeBytes for Lz4 {
    fn encoded_size(&self, _: &BytesRepresentation) -> BytesRepresentation {
        BytesRepresentation::UnboundedSize
    }

    fn decode(&self, encoded: &[u8], decoded: &BytesRepresentation) -> Result<Vec<u8>, CodecError> {
        let Some((length, block)) = encoded.split_first_chunk() else {
            return Err(damaged_block("its length is missing"));
        };
        let length = u64::from(u32::from_le_bytes(*length));
        // A wrong length could reserve too much memory.
        if decoded.size().is_some_and(|size| size < length) {
            return Err(damaged_block("it is longer than its chunk"));
        }
        let length = usize::try_from(length).map_err(|_| damaged_block("it is too long"))?;
        decode(block, length)
    }
}

fn damaged_block(problem: &str) -> CodecError {
    CodecError::Other(format!("LZ4 cannot decode it: {problem}"))
}

/// Decodes an LZ4 block with `length` decoded bytes.
fn decode(mut block: &[u8], length: usize) -> Result<Vec<u8>, CodecError> {
    let cut_short = || damaged_block("it is cut short");
    let mut decoded = Vec::new();
    decoded
        .try_reserve_exact(length)
        .map_err(|_| damaged_block("there is not enough memory"))?;
    // A sequence consists of a token, literals, and a copy of earlier decoded bytes. The last sequence has no copy.
    loop {
        let (token, rest) = block.split_first().ok_or_else(cut_short)?;
        block = rest;
        let literal_count = read_count(token >> 4, &mut block).ok_or_else(cut_short)?;
        if literal_count > length - decoded.len() {
            return Err(damaged_block("it has more bytes than it says"));
        }
        let (bytes, rest) = block
            .split_at_checked(literal_count)
            .ok_or_else(cut_short)?;
        decoded.extend_from_slice(bytes);
        block = rest;
        if block.is_empty() {
            break;
        }
        let (offset, rest) = block.split_first_chunk().ok_or_else(cut_short)?;
        block = rest;
        let offset = usize::from(u16::from_le_bytes(*offset));
        let copy_length = read_count(token & 15, &mut block).ok_or_else(cut_short)? + 4;
        if offset == 0 || offset > decoded.len() || copy_length > length - decoded.len() {
            return Err(damaged_block("it refers to bytes that are not there"));
        }
        // A copy can overlap the bytes that it writes, which then repeat.
        let mut remaining = copy_length;
        let begin = decoded.len() - offset;
        while remaining > 0 {
            let available = remaining.min(decoded.len() - begin);
            decoded.extend_from_within(begin..begin + available);
            remaining -= available;
        }
    }
    if decoded.len() != length {
        return Err(damaged_block("it has fewer bytes than it says"));
    }
    Ok(decoded)
}

/// Reads a count that begins in four bits of a token. If all four are set, it continues in the next bytes. Returns
/// `None` if the block ends before the count does.
fn read_count(bits: u8, block: &mut &[u8]) -> Option<usize> {
    let mut count = usize::from(bits);
    if bits == 15 {
        loop {
            let (&byte, rest) = block.split_first()?;
            *block = rest;
            count = count.checked_add(usize::from(byte))?;
            if byte != 255 {
                break;
            }
        }
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_decoded() {
        // The block has 3 literals, then a copy of 7 bytes from 3 bytes back, which repeats them, and 1 literal.
        let block = [0x33, 1, 2, 3, 3, 0, 0x10, 9];
        assert_eq!(
            decode(&block, 11).unwrap(),
            [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 9]
        );
        // The block has 15 + 3 literals.
        let literals: Vec<u8> = (0..18).collect();
        assert_eq!(
            decode(&[&[0xf0, 3], &literals[..]].concat(), 18).unwrap(),
            literals
        );
        // The copy has 4 + 15 + 255 + 1 bytes.
        let long = decode(&[0x1f, 7, 1, 0, 255, 1, 0], 276).unwrap();
        assert_eq!(long, [7; 276]);
    }

    #[test]
    fn damaged_blocks_are_errors() {
        let block = [0x33, 1, 2, 3, 3, 0, 0x10, 9];
        for end in 0..block.len() {
            assert!(decode(&block[..end], 11).is_err(), "{end}");
        }
        for length in [0, 3, 10, 12] {
            assert!(decode(&block, length).is_err(), "{length}");
        }
        for offset in [0, 4, 255] {
            let block = [0x33, 1, 2, 3, offset, 0, 0x10, 9];
            assert!(decode(&block, 11).is_err(), "{offset}");
        }
        for byte in 0..block.len() {
            for value in 0..=255 {
                let mut block = block;
                block[byte] = value;
                // Damaged data gives other bytes or an error.
                let decoded = decode(&block, 11);
                assert!(decoded.is_err() || decoded.is_ok_and(|bytes| bytes.len() == 11));
            }
        }
    }
}
