//! Splits a piece into a slice on the host and a slice on the device.
//!
//! The host packs the source bytes that the piece needs into upload memory, in memory order and in long runs. It leaves
//! out long gaps between these bytes. It copies short gaps too, because starting another copy takes longer, and the
//! device then skips these gaps. So few unneeded bytes are uploaded. The device does the flips, the steps and the rest
//! of the cropping.
//!
//! | for `x[::3, 199:99:-2]` on `[3000, 4000]` f32 | reads | result |
//! |---|---|---|
//! | host | 99 elements of every third row | `[1000, 99]` |
//! | device | `[:, ::-2]` of the packed array | `[1000, 50]` |

use super::piece::Piece;
use crate::{DType, View, moves::Move, walk::Side};

/// A piece as two slices. The second slice reads the result of the first.
#[derive(Clone, Debug)]
pub(crate) struct PieceSplit {
    /// Reads the bytes of [`Piece::span`] and writes a packed array.
    pub(crate) host: Move,
    /// Reads the packed array and writes the result of the piece.
    pub(crate) device: Move,
}

/// The size in bytes of the longest gap that the host copies: copying this gap takes about as long as starting another
/// copy.
const MAX_COPIED_GAP_BYTES: usize = 64;

/// The maximum number of bytes that the host packs for each byte that the piece needs. It limits how many bytes of gaps
/// are uploaded.
const MAX_PACKED_PER_NEEDED: usize = 4;

impl Piece {
    pub(crate) fn split(&self) -> PieceSplit {
        let dims = self.piece_move.walk().map_or(&[][..], |walk| &walk.dims);
        let unit_bytes = self.piece_move.walk().map_or(1, |walk| walk.unit);
        // The host copies the `run_dims` innermost dimensions with their gaps, as one run of `run_length` units, and
        // leaves out the gaps of the other dimensions. `needed_units` is the number of units of a run that the piece
        // needs.
        let (mut run_dims, mut run_length, mut needed_units) = (0, 1, 1);
        for dim in dims.iter().rev() {
            let distance = dim.from.unsigned_abs();
            let longer_length = (dim.size - 1) * distance + run_length;
            needed_units *= dim.size;
            if distance.saturating_sub(run_length) * unit_bytes > MAX_COPIED_GAP_BYTES
                || longer_length > MAX_PACKED_PER_NEEDED * needed_units
            {
                break;
            }
            run_length = longer_length;
            run_dims += 1;
        }
        let packed_dims = dims.len() - run_dims;
        let mut host = View::flat(run_length);
        let mut device = View {
            shape: Vec::new(),
            strides: Vec::new(),
            ..View::flat(0)
        };
        let mut packed_units = run_length;
        for (d, dim) in dims.iter().enumerate().rev() {
            let mut stride = dim.from;
            if d < packed_dims {
                host.shape.insert(0, dim.size);
                host.strides.insert(0, stride.abs());
                stride = stride.signum() * packed_units.cast_signed();
                packed_units *= dim.size;
            }
            if stride < 0 {
                device.offset += (dim.size - 1) * stride.unsigned_abs();
            }
            device.shape.insert(0, dim.size);
            device.strides.insert(0, stride);
        }
        host.source = vec![
            self.piece_move
                .walk()
                .map_or(0, |walk| walk.span(Side::Source).len()),
        ];
        device.source = vec![packed_units];
        PieceSplit {
            host: Move::from_view(host, DType::of_size(unit_bytes)),
            device: Move::from_view(device, DType::of_size(unit_bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Plan, SliceSpec, stream::piece::cut_into_pieces};

    fn run_on_cpu(slice_move: &Move, source: &[u8]) -> Vec<u8> {
        let mut dest = vec![0; slice_move.result_bytes()];
        slice_move.run_cpu(source, None, &mut dest).unwrap();
        dest
    }

    /// The concatenated pieces are the result of the slice. If the two slices of a split run in order, they make the
    /// piece.
    #[test]
    fn splits_make_pieces_and_pieces_the_result() {
        let specs = [
            "...",
            "::-1",
            "::3, 1:9:2",
            "5:, ::-2, 1",
            ":, ::-1, ::-1",
            "1:2, 3, ::5",
            "::2, ::7, 2:",
        ];
        let dtypes = [DType::U8, DType::U16, DType::F32, DType::Complex128];
        for (spec, dtype) in specs
            .iter()
            .flat_map(|spec| dtypes.map(|dtype| (spec, dtype)))
        {
            let spec: SliceSpec = spec.parse().unwrap();
            let slice_move = Plan::slice(&[9, 40, 15], &spec, dtype).unwrap().only_move();
            let bytes = (0..=250u8).map(|i| i.wrapping_mul(7)).cycle();
            let source: Vec<u8> = bytes.take(slice_move.source_bytes()).collect();
            for max_bytes in [1, 16, 100, 1 << 20] {
                let mut result = Vec::new();
                for piece in
                    cut_into_pieces(Some(&slice_move), |piece| piece.result_bytes() <= max_bytes)
                {
                    assert!(piece.result_bytes() <= max_bytes.max(16));
                    let source = &source[piece.span()];
                    let whole_result = run_on_cpu(&piece.piece_move, source);
                    let PieceSplit { host, device } = piece.split();
                    assert!(host.result_bytes() <= MAX_PACKED_PER_NEEDED * piece.result_bytes());
                    assert_eq!(host.result_bytes(), device.source_bytes());
                    let split_result = run_on_cpu(&device, &run_on_cpu(&host, source));
                    assert_eq!(split_result, whole_result, "{slice_move}: {host}, {device}");
                    result.extend(whole_result);
                }
                assert_eq!(
                    result,
                    run_on_cpu(&slice_move, &source),
                    "{slice_move} in pieces of {max_bytes}"
                );
            }
        }
    }

    #[test]
    fn the_host_skips_long_gaps_and_the_device_does_the_rest() {
        // In the second case the host packs whole rows, so the device's slice copies all of them unchanged.
        for (spec, packed_columns, selected_columns) in
            [("::3, 199:99:-2", 99, 50), ("::3", 4000, 4000)]
        {
            let slice_move = Plan::slice(&[3000, 4000], &spec.parse().unwrap(), DType::F32);
            let slice_move = slice_move.unwrap().only_move();
            let PieceSplit { host, device } = Piece::whole(&slice_move).unwrap().split();
            assert_eq!(host.result_bytes(), 1000 * packed_columns * 4);
            assert_eq!(device.result_bytes(), 1000 * selected_columns * 4);
            assert_eq!(device.is_identity(), packed_columns == selected_columns);
        }
    }
}
