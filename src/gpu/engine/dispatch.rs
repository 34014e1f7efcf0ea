//! A dispatch: a program, its uniforms, its grid, and the ranges of a move's arguments that it binds. A move is cut
//! into passes of dispatches.

use super::{
    caps::{BindingRange, BufferParts, DispatchLimits},
    program::Program,
    uniforms::{Uniforms, WalkWords, flags},
};

/// The numbers of the arguments that a dispatch can bind. Recording passes the arguments in this order.
pub(crate) const SOURCE: usize = 0;
pub(crate) const DEST: usize = 1;
pub(crate) const INDICES: usize = 2;
/// The memory between the steps of a scatter or a search.
pub(crate) const SCRATCH: usize = 3;
/// The tables of a move that converts, which belong to its work.
pub(crate) const TABLES: usize = 4;

/// The maximum estimated number of dispatches of a move. More dispatches would take the host too much time and memory.
/// They would be needed only for tensors that no device can hold, or on devices with tiny limits.
pub(super) const MAX_DISPATCHES: u64 = 1 << 18;

/// The locations of a move's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ArgumentPlaces {
    /// The locations of source, destination and indices, indexed by the number of the argument. All other arguments
    /// start at offset 0 of their buffer.
    pub(crate) parts: [BufferParts; 3],
}

impl ArgumentPlaces {
    /// Each argument starts at offset 0 of its buffer.
    pub(crate) const AT_BEGIN: Self = Self {
        parts: [BufferParts::ONE_PART; 3],
    };

    pub(crate) fn parts_of(&self, argument: usize) -> BufferParts {
        self.parts
            .get(argument)
            .copied()
            .unwrap_or(BufferParts::ONE_PART)
    }

    /// Returns the binding of bytes `from..to` of an argument, and the offset of byte `from` in it: see
    /// [`DispatchLimits::binding_range`].
    pub(crate) fn bind_range(
        &self,
        limits: &DispatchLimits,
        argument: usize,
        from: u64,
        to: u64,
    ) -> Option<(BoundRange, usize)> {
        let (span, begin) = limits.binding_range(self.parts_of(argument), from, to)?;
        Some((BoundRange { argument, span }, usize::try_from(begin).ok()?))
    }
}

/// A range of an argument that a dispatch binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BoundRange {
    pub(crate) argument: usize,
    pub(crate) span: BindingRange,
}

impl BoundRange {
    /// Binds the first `bytes` bytes of an argument that starts at offset 0 of its buffer.
    pub(crate) fn first(argument: usize, bytes: u64) -> Self {
        let span = BindingRange {
            bytes,
            ..BindingRange::default()
        };
        Self { argument, span }
    }
}

/// A dispatch: its program, uniforms, grid and bindings. Its uniforms have a type `U` that depends on the kernel, until
/// the dispatch is added to a [`Pass`].
#[derive(Clone, Debug)]
pub(crate) struct Dispatch<U = Uniforms> {
    pub(crate) program: Program,
    pub(crate) uniforms: U,
    /// The number of workgroups along y. The uniforms hold the number along x.
    pub(crate) height: u32,
    /// The contents of the bindings in [`BUFFERS_GROUP`](super::program::BUFFERS_GROUP), in order.
    pub(crate) bound: Vec<BoundRange>,
    /// The number of the dispatch's first tuple among the tuples of the move, if the dispatch
    /// [reports](Dispatch::is_reporting).
    pub(crate) first_tuple: usize,
}

impl<U> Dispatch<U> {
    /// Makes a dispatch of `groups` workgroups that reports nothing. `width` selects the uniform that has the number
    /// of workgroups along x. Returns `None` if the device does not allow this number of workgroups.
    pub(super) fn new(
        limits: &DispatchLimits,
        program: Program,
        mut uniforms: U,
        width: fn(&mut U) -> &mut u32,
        groups: usize,
        bound: Vec<BoundRange>,
    ) -> Option<Self> {
        let (groups_x, height) = grid_size(groups, limits.max_groups)?;
        *width(&mut uniforms) = groups_x;
        Some(Self {
            program,
            uniforms,
            height,
            bound,
            first_tuple: 0,
        })
    }

    fn map_uniforms<V>(self, convert: impl FnOnce(U) -> V) -> Dispatch<V> {
        Dispatch {
            program: self.program,
            uniforms: convert(self.uniforms),
            height: self.height,
            bound: self.bound,
            first_tuple: self.first_tuple,
        }
    }
}

impl Dispatch {
    fn has_flag(&self, flag: u32) -> bool {
        let walk = self.uniforms.walk_words();
        walk.is_some_and(|words| words.flags & flag != 0)
    }

    /// Returns whether the dispatch counts tuples that are out of range.
    pub(crate) fn is_reporting(&self) -> bool {
        self.has_flag(flags::FLAG_REPORTS)
    }

    /// Returns whether the dispatch writes nothing if the report has counted an out-of-range tuple.
    pub(crate) fn is_strict(&self) -> bool {
        self.has_flag(flags::FLAG_STRICT)
    }
}

/// The passes into which a move is cut.
#[derive(Debug, Default)]
pub(super) struct Cut {
    pub(super) passes: Vec<Pass<Dispatch>>,
    /// The size in bytes of the scratch memory that the passes share.
    pub(super) scratch_bytes: u64,
}

impl Cut {
    /// Makes a cut of a single pass.
    pub(super) fn single_pass(pass: Pass<Dispatch>, scratch_bytes: u64) -> Self {
        Self {
            passes: vec![pass],
            scratch_bytes,
        }
    }

    pub(super) fn dispatches(&self) -> impl Iterator<Item = &Dispatch> {
        self.passes.iter().flat_map(|pass| &pass.dispatches)
    }
}

/// The dispatches of one compute pass.
#[derive(Debug)]
pub(super) struct Pass<D> {
    /// The number of bytes at the beginning of scratch memory that are cleared before the pass.
    pub(super) cleared_bytes: usize,
    pub(super) dispatches: Vec<D>,
}

impl Pass<Dispatch> {
    /// Makes a pass of dispatches of one kind. Before the pass, the first `cleared_bytes` bytes of scratch memory are
    /// cleared.
    pub(super) fn from_dispatches<U>(
        cleared_bytes: usize,
        dispatches: Vec<Dispatch<U>>,
        to_uniforms: impl Fn(U) -> Uniforms,
    ) -> Self {
        let dispatches = dispatches
            .into_iter()
            .map(|dispatch| dispatch.map_uniforms(&to_uniforms));
        Self {
            cleared_bytes,
            dispatches: dispatches.collect(),
        }
    }
}

/// A dispatch of a walk.
pub(crate) type WalkDispatch = Dispatch<WalkWords>;

impl WalkDispatch {
    pub(super) fn from_walk(
        limits: &DispatchLimits,
        program: Program,
        words: WalkWords,
        groups: usize,
        bound: Vec<BoundRange>,
    ) -> Option<Self> {
        Self::new(
            limits,
            program,
            words,
            |words| &mut words.groups_x,
            groups,
            bound,
        )
    }
}

/// Returns the width and height of a grid of at least `groups` workgroups. Both are at most `limit`. Returns `None` if
/// no such grid exists.
pub(super) fn grid_size(groups: usize, limit: u32) -> Option<(u32, u32)> {
    let groups = u32::try_from(groups).ok()?;
    let limit = limit.min(0xffff);
    let height = groups.div_ceil(limit.max(1)).max(1);
    (height <= limit).then_some((groups.div_ceil(height), height))
}
