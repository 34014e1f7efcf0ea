//! Consecutive pieces of the result of a slice. A piece is a [`Part`] of the slice. The source is treated as one
//! dimension, so a piece needs a single range of the source.

use crate::{Part, layout::split_position, moves::Move};
use std::{iter, ops::Range, sync::Arc};

/// A contiguous part of the result of a slice.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// The move of the whole slice, with its source as one dimension.
    slice_move: Arc<Move>,
    /// The box of the result that the piece makes: single positions in the outermost dimensions, then a range of one
    /// dimension, then whole dimensions.
    result_box: Vec<Range<usize>>,
    /// The range of the source that the piece needs, in elements.
    source_range: Range<usize>,
    /// The move that makes the piece. Its source has only the bytes of [`Piece::span`].
    pub(crate) piece_move: Move,
}

impl Piece {
    /// Returns the whole result of a move as one piece, or `None` if the result is empty or the move is not a slice.
    pub(crate) fn whole(step_move: &Move) -> Option<Self> {
        step_move.walk()?;
        let slice_move = Move {
            source: vec![step_move.source.iter().product()],
            ..step_move.clone()
        };
        let result_box = slice_move.shape.iter().map(|&size| 0..size).collect();
        Self::for_box(Arc::new(slice_move), result_box)
    }

    fn for_box(slice_move: Arc<Move>, result_box: Vec<Range<usize>>) -> Option<Self> {
        let Part { source, plan, .. } = slice_move.part(&result_box, None).ok()?;
        let piece_move = plan.into_single_move()?;
        let source_range = source.into_iter().next()?;
        Some(Self {
            slice_move,
            result_box,
            source_range,
            piece_move,
        })
    }

    /// Returns the size in bytes of the piece's part of the result.
    pub(crate) fn result_bytes(&self) -> usize {
        self.piece_move.result_bytes()
    }

    /// Returns the range of the source from the lowest to the highest byte that the piece reads.
    pub(crate) fn span(&self) -> Range<usize> {
        let element_bytes = self.slice_move.dtype.size();
        self.source_range.start * element_bytes..self.source_range.end * element_bytes
    }

    /// Cuts the piece into two consecutive pieces. Returns `None` if the piece is a single element.
    fn split_piece(&self) -> Option<[Self; 2]> {
        let cut_dim = self.result_box.iter().position(|range| range.len() > 1)?;
        let range = self.result_box[cut_dim].clone();
        let middle = range.start + split_position(range.len())?;
        let half = |range| {
            let mut half_box = self.result_box.clone();
            half_box[cut_dim] = range;
            Self::for_box(Arc::clone(&self.slice_move), half_box)
        };
        Some([half(range.start..middle)?, half(middle..range.end)?])
    }
}

/// Returns the pieces of a slice, in the order of the result. Pieces are halved until `fits` accepts them or they are
/// single elements.
pub(crate) fn cut_into_pieces(
    slice_move: Option<&Move>,
    fits: impl Fn(&Piece) -> bool,
) -> impl Iterator<Item = Piece> {
    // The pieces that have not been returned yet. The last one is returned next.
    let mut remaining_pieces: Vec<Piece> = slice_move.and_then(Piece::whole).into_iter().collect();
    iter::from_fn(move || {
        let mut piece = remaining_pieces.pop()?;
        while !fits(&piece) {
            // A single element is returned even if it does not fit.
            let Some([head, tail]) = piece.split_piece() else {
                break;
            };
            remaining_pieces.push(tail);
            piece = head;
        }
        Some(piece)
    })
}
