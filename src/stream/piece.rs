//! Consecutive pieces of the result of a slice. A piece is itself a slice of the source.

use crate::{
    Plan,
    ops::strided_slice::Map,
    plan::{self, Rows},
};
use std::{iter, ops::Range};

/// A contiguous part of the result of a slice.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) rows: Rows,
    pub(crate) map: Map,
}

impl Piece {
    /// The whole result of a plan as one piece. `None` if the result is empty or the plan is not a slice.
    pub(crate) fn whole(plan: &Plan) -> Option<Self> {
        match &plan.map {
            plan::Map::StridedSlice(map) if plan.rows.count > 0 => Some(Self {
                rows: plan.rows,
                map: map.clone(),
            }),
            _ => None,
        }
    }

    /// The size of the piece in bytes.
    pub(crate) fn result_bytes(&self) -> usize {
        self.rows.units() * self.rows.unit
    }

    /// The range of the source, in bytes, from the lowest byte that the piece reads to the highest.
    pub(crate) fn span(&self) -> Range<usize> {
        let units = self.map.span(&self.rows);
        units.start * self.rows.unit..units.end * self.rows.unit
    }

    /// Cuts the piece into two consecutive pieces. `None` if it is a single unit.
    fn halves(&self) -> Option<[Self; 2]> {
        let halves = self.map.halves(&self.rows)?;
        Some(halves.map(|(rows, map)| Self { rows, map }))
    }

    /// The plan that makes the piece. The plan's source is only the bytes of [`Piece::span`].
    pub(crate) fn plan(&self) -> Plan {
        let read = self.map.span(&self.rows);
        let map = Map {
            offset: self.map.offset - read.start,
            axes: self.map.axes.clone(),
        };
        Plan {
            shape: vec![self.rows.units()],
            element: self.rows.unit,
            source: vec![read.len()],
            rows: self.rows,
            map: plan::Map::StridedSlice(map),
        }
    }
}

/// The pieces of a slice, in the order of the result. A piece is halved until `fits` accepts it.
pub(crate) fn pieces(plan: &Plan, fits: impl Fn(&Piece) -> bool) -> impl Iterator<Item = Piece> {
    // The parts of the result that are not returned yet, the next one last.
    let mut left: Vec<Piece> = Piece::whole(plan).into_iter().collect();
    iter::from_fn(move || {
        let mut piece = left.pop()?;
        while !fits(&piece) {
            // A single unit is returned even if it does not fit.
            let Some([head, tail]) = piece.halves() else {
                break;
            };
            left.push(tail);
            piece = head;
        }
        Some(piece)
    })
}
