//! Splits a piece into a slice on the host and a slice on the device.
//!
//! The host packs the bytes of the source that the piece needs into upload memory, in memory order and in
//! long runs. It skips long gaps between runs and copies short ones, which the device skips faster. So the
//! device does flips, steps and fine crops, and few unneeded bytes are uploaded.
//!
//! | for `x[::3, 199:99:-2]` on `[3000, 4000]` f32 | reads | result |
//! |---|---|---|
//! | host | 99 elements of every third row | `[1000, 99]` |
//! | device | `[:, ::-2]` of the packed array | `[1000, 50]` |

use super::piece::Piece;
use crate::{Plan, View, layout::Axis, plan::Rows};

/// A piece as two slices: from the bytes of its span to a packed array, and from there to the result.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    pub(crate) host: Plan,
    pub(crate) device: Plan,
}

/// Bytes of the longest gap that is copied along: copying it costs about as much as starting another copy.
const SHORT_GAP: usize = 64;

/// Packed bytes for each needed byte, at most.
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
        // `through` innermost axes are copied with their gaps, as one run of `length` units.
        let (mut through, mut length, mut needed) = (0, 1, 1);
        for axis in axes.iter().rev() {
            let apart = axis.stride.unsigned_abs();
            let longer = (axis.size - 1) * apart + length;
            needed *= axis.size;
            if apart.saturating_sub(length) * unit > SHORT_GAP || longer > MOST_READ * needed {
                break;
            }
            length = longer;
            through += 1;
        }
        let packed = axes.len() - through;
        let mut host = View::flat(length);
        let mut device = View {
            shape: Vec::new(),
            strides: Vec::new(),
            ..View::flat(0)
        };
        let mut packed_units = length;
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
            pieces,
            tests::{cases, run},
        },
    };

    #[test]
    fn the_two_halves_of_a_split_make_the_piece() {
        for (plan, source) in cases() {
            for most in [1, 16, 100, 1 << 20] {
                for piece in pieces(&plan, |piece| piece.result_bytes() <= most) {
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
        // The host packs whole rows, and the device has nothing to do.
        let spec: SliceSpec = "::3".parse().unwrap();
        let plan = Plan::strided_slice(&[3000, 4000], &spec, DType::F32).unwrap();
        let Split { host, device } = Piece::whole(&plan).unwrap().split();
        assert_eq!(host.result_bytes(), 1000 * 4000 * 4);
        assert!(device.is_identity());
    }
}
