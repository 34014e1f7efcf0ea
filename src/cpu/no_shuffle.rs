//! Replaces `shuffle` without the standard library. No slice then uses byte shuffles, because only the standard
//! library can detect at run time which instructions a processor has.

use super::{
    memory::{LINE, NewMemory, Slice, VectorLine},
    rows::{Axis, PieceRows},
};

pub(super) const VECTOR: usize = 16;

#[derive(Clone, Copy)]
pub(super) enum Shuffles {}

pub(super) static SHUFFLES: &Option<Shuffles> = &None;

#[derive(Clone, Copy)]
pub(super) struct Shuffle {
    none: Shuffles,
    pub(super) piece: usize,
    pub(super) stride: isize,
    pub(super) planes: usize,
}

impl Shuffle {
    pub(super) fn for_row(_: usize, _: Axis) -> Option<Self> {
        None
    }

    pub(super) fn for_block(_: usize, _: Axis, _: Axis) -> Option<Self> {
        None
    }

    pub(super) fn is_reversal(&self) -> bool {
        match self.none {}
    }

    pub(super) fn reverse(&self, _: &[u8], _: &mut NewMemory<'_>) {
        match self.none {}
    }

    pub(super) fn run(&self, _: PieceRows<'_>) {
        match self.none {}
    }
}

pub(super) fn keep<const N: usize, const CHOICES: usize>(
    shuffles: Shuffles,
    _: &[u8],
    _: &[u8],
    _: &mut [u8],
) -> [usize; 2] {
    match shuffles {}
}

pub(super) fn transpose<const N: usize, const M: usize, const WIDTH: usize>(
    shuffles: Shuffles,
    _: &[[u8; WIDTH]],
    _: &mut [[u8; LINE]],
) {
    match shuffles {}
}

pub(super) fn transpose_in_registers<const N: usize, const M: usize, const R: usize>(
    shuffles: Shuffles,
    _: (&[u8], usize, isize),
    _: (usize, usize),
    _: &mut [Slice<'_>],
) {
    match shuffles {}
}

pub(super) fn transpose_lines<const N: usize, const M: usize, const R: usize>(
    shuffles: Shuffles,
    _: &[&[u8; LINE]; R],
    _: impl FnMut(usize, VectorLine),
) {
    match shuffles {}
}

pub(super) fn vectorize<R>(shuffles: Shuffles, _: impl FnOnce() -> R) -> R {
    match shuffles {}
}
