//! Loops that store contiguous units a small, fixed step apart.
//!
//! A unit and the gap after it form one word or one array of a constant size. The loop that stores the units also
//! keeps the bytes of the gaps or sets them to zero. The compiler turns the loops over words into vector operations.

/// Returns whether there is a loop for rows of `count` units of `unit` bytes. The units begin `pitch` bytes apart in
/// the destination.
pub(super) fn is_supported(unit: usize, count: usize, pitch: usize) -> bool {
    let is_small_pitch = [2, 3, 4].map(|step| step * unit).contains(&pitch);
    count >= MIN_ROW_UNITS && [1, 2, 4, 8].contains(&unit) && is_small_pitch
}

/// The smallest number of units in a row for which a vector loop saves more time than its setup and its remainder take.
const MIN_ROW_UNITS: usize = 16;

/// Writes `units`, contiguous units of `unit` bytes, to `dest`. In `dest` they begin `pitch` bytes apart: the first
/// unit is at the beginning of `dest`, and the last unit is at its end. With `ZEROS` the bytes between units become
/// zero, otherwise they are kept.
pub(super) fn store_units<const ZEROS: bool>(
    unit: usize,
    pitch: usize,
    units: &[u8],
    dest: &mut [u8],
) {
    match (unit, pitch / unit) {
        (1, 2) => u8_in_u16::<ZEROS>(units, dest),
        (1, 3) => in_array::<1, 3, ZEROS>(units, dest),
        (1, _) => u8_in_u32::<ZEROS>(units, dest),
        (2, 2) => u16_in_u32::<ZEROS>(units, dest),
        (2, 3) => in_array::<2, 6, ZEROS>(units, dest),
        (2, _) => u16_in_u64::<ZEROS>(units, dest),
        (4, 2) => u32_in_u64::<ZEROS>(units, dest),
        (4, 3) => in_array::<4, 12, ZEROS>(units, dest),
        (4, _) => in_array::<4, 16, ZEROS>(units, dest),
        (_, 2) => in_array::<8, 16, ZEROS>(units, dest),
        (_, 3) => in_array::<8, 24, ZEROS>(units, dest),
        _ => in_array::<8, 32, ZEROS>(units, dest),
    }
}

macro_rules! in_word {
    ($name:ident, $unit:ty, $word:ty) => {
        fn $name<const ZEROS: bool>(units: &[u8], dest: &mut [u8]) {
            let (units, _) = units.as_chunks::<{ size_of::<$unit>() }>();
            let (words, tail) = dest.as_chunks_mut::<{ size_of::<$word>() }>();
            for (to, from) in words.iter_mut().zip(units) {
                let gap_bytes = match ZEROS {
                    true => 0,
                    false => <$word>::from_le_bytes(*to) & (<$word>::MAX << <$unit>::BITS),
                };
                *to = (gap_bytes | <$word>::from(<$unit>::from_le_bytes(*from))).to_le_bytes();
            }
            store_last(units, tail);
        }
    };
}

in_word!(u8_in_u16, u8, u16);
in_word!(u8_in_u32, u8, u32);
in_word!(u16_in_u32, u16, u32);
in_word!(u16_in_u64, u16, u64);
in_word!(u32_in_u64, u32, u64);

fn in_array<const N: usize, const PITCH: usize, const ZEROS: bool>(units: &[u8], dest: &mut [u8]) {
    let (units, _) = units.as_chunks::<N>();
    let (arrays, tail) = dest.as_chunks_mut::<PITCH>();
    for (to, from) in arrays.iter_mut().zip(units) {
        if ZEROS {
            *to = [0; PITCH];
        }
        to[..N].copy_from_slice(from);
    }
    store_last(units, tail);
}

/// Writes the last of `units` to `tail`, the bytes of the destination after the last gap.
fn store_last<const N: usize>(units: &[[u8; N]], tail: &mut [u8]) {
    if let (Some(unit), Some(to)) = (units.last(), tail.first_chunk_mut()) {
        *to = *unit;
    }
}
