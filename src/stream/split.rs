//! What the host does of a piece, and what is left to a device.
//!
//! The host packs what the piece needs of the source into upload memory, and the device does the
//! rest. The host copies in memory order and whole stretches: it leaves out what lies between them
//! where that is long, and takes it along where it is short, since the device leaves it out faster.
//! So the device gets the flips, the steps and the fine crops, and no byte crosses the bus for
//! nothing but a few between two that are needed.
//!
//! | of `x[::3, 199:99:-2]` on `[3000, 4000]` f32 | takes | gives |
//! |---|---|---|
//! | host | 99 elements of every third row | `[1000, 99]` |
//! | device | `[:, ::-2]` of that | `[1000, 50]` |

use super::piece::Piece;
use crate::{Plan, View, layout::Axis, plan::Rows};

/// A piece as two slices: from the bytes of its span to a packed array, and from that to the result.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    pub(crate) host: Plan,
    pub(crate) device: Plan,
}

/// Bytes between two stretches that are taken along, at most: about what the next stretch costs the
/// host as a copy of its own.
const SHORT_GAP: usize = 64;

/// Bytes that are taken along for one that is needed, at most.
const MOST_READ: usize = 4;

impl Piece {
    pub(crate) fn split(&self) -> Split {
        let Rows {
            unit, run, step, ..
        } = self.rows;
        let mut axes = self.map.axes.clone();
        axes.push(Axis {
            size: run,
            stride: step,
        });
        // The innermost axes that the host reads through, and the units from the first to the last.
        let (mut through, mut stretch, mut needed) = (0, 1, 1);
        for axis in axes.iter().rev() {
            let apart = axis.stride.unsigned_abs();
            let longer = (axis.size - 1) * apart + stretch;
            needed *= axis.size;
            if apart.saturating_sub(stretch) * unit > SHORT_GAP || longer > MOST_READ * needed {
                break;
            }
            stretch = longer;
            through += 1;
        }
        let packed = axes.len() - through;
        let mut host = View::flat(stretch);
        let mut device = View {
            shape: Vec::new(),
            strides: Vec::new(),
            ..View::flat(0)
        };
        let mut packed_units = stretch;
        for (number, axis) in axes.iter().enumerate().rev() {
            let mut stride = axis.stride;
            if number < packed {
                host.shape.insert(0, axis.size);
                host.strides
                    .insert(0, axis.stride.unsigned_abs().cast_signed());
                stride = axis.stride.signum() * packed_units.cast_signed();
                packed_units *= axis.size;
            }
            if stride < 0 {
                device.offset += (axis.size - 1) * stride.unsigned_abs();
            }
            device.shape.insert(0, axis.size);
            device.strides.insert(0, stride);
        }
        host.source = vec![self.map.span(&self.rows).len()];
        device.source = vec![packed_units];
        Split {
            host: Plan::of_view(host, unit),
            device: Plan::of_view(device, unit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        DType, SliceSpec,
        stream::piece::{
            Pieces,
            tests::{cases, run},
        },
    };

    #[test]
    fn the_two_halves_of_a_split_make_the_piece() {
        for (plan, source) in cases() {
            for most in [1, 16, 100, 1 << 20] {
                for piece in Pieces::new(&plan, |piece| piece.result_bytes() <= most) {
                    let source = &source[piece.span()];
                    let Split { host, device } = piece.split();
                    assert!(host.result_bytes() <= MOST_READ * piece.result_bytes());
                    assert_eq!(host.result_bytes(), device.source_bytes());
                    let result = run(&device, &run(&host, source));
                    assert_eq!(
                        result,
                        run(&piece.plan(), source),
                        "{plan}: {host}, {device}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_host_skips_long_gaps_and_the_device_does_the_rest() {
        let spec: SliceSpec = "::3, 199:99:-2".parse().unwrap();
        let plan = Plan::strided_slice(&[3000, 4000], &spec, DType::F32).unwrap();
        let Split { host, device } = Piece::whole(&plan).unwrap().split();
        assert_eq!(host.result_bytes(), 1000 * 99 * 4);
        assert_eq!(device.result_bytes(), 1000 * 50 * 4);
        // Whole rows are packed by the host, and nothing is left to do.
        let spec: SliceSpec = "::3".parse().unwrap();
        let plan = Plan::strided_slice(&[3000, 4000], &spec, DType::F32).unwrap();
        let Split { host, device } = Piece::whole(&plan).unwrap().split();
        assert_eq!(host.result_bytes(), 1000 * 4000 * 4);
        assert!(device.is_identity());
    }
}
