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
    result: Vec<Range<usize>>,
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
        let result = slice_move.shape.iter().map(|&size| 0..size).collect();
        Self::from_ranges(Arc::new(slice_move), result)
    }

    fn from_ranges(slice_move: Arc<Move>, result: Vec<Range<usize>>) -> Option<Self> {
        let Part { source, plan, .. } = slice_move.part(&result, None).ok()?;
        let piece_move = plan.into_single_move()?;
        let source_range = source.into_iter().next()?;
        Some(Self {
            slice_move,
            result,
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
        let element = self.slice_move.dtype.size();
        self.source_range.start * element..self.source_range.end * element
    }

    /// Cuts the piece into two consecutive pieces. Returns `None` if the piece is a single element.
    fn split_piece(&self) -> Option<[Self; 2]> {
        let outermost_dim = self.result.iter().position(|range| range.len() > 1)?;
        let range = self.result[outermost_dim].clone();
        let middle = range.start + split_position(range.len())?;
        let half = |range| {
            let mut result = self.result.clone();
            result[outermost_dim] = range;
            Self::from_ranges(Arc::clone(&self.slice_move), result)
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
