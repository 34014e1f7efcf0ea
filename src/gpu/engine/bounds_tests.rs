//! Tests that the contract of `bounds` accepts valid dispatches and rejects invalid ones.

use super::{
    bounds::{argument_memory, check_cut, check_dispatch, constant_value},
    dispatch::{ArgumentPlaces, Dispatch},
    kernel_tests::{make_all_moves, open_strict},
    program::{Constant, Kernel},
    uniforms::{NO_NUMBER, SearchWords, Uniforms, WalkWords},
};

/// A function that returns whether a dispatch's kernel reads a certain word of its uniforms.
type ReadsWord<W> = fn(&Dispatch, &W) -> bool;

type WordOf<W> = fn(&mut W) -> &mut u32;

/// A list of faults. Each fault adds a number to a word of the uniforms, which makes the dispatch invalid.
type WordFaults<W> = [(ReadsWord<W>, WordOf<W>, u32)];

const READS_POSITIONS: ReadsWord<SearchWords> = |dispatch, _| {
    dispatch.program.kernel == Kernel::MaskRows
        && constant_value(dispatch, Constant::Fills) == Ok(0)
};
const READS_CHUNKS: ReadsWord<SearchWords> = |dispatch, words| {
    dispatch.program.kernel != Kernel::MaskRows || READS_POSITIONS(dispatch, words)
};
const READS_ELEMENTS: ReadsWord<SearchWords> =
    |dispatch, words| dispatch.program.kernel != Kernel::MaskScan && READS_CHUNKS(dispatch, words);
const READS_SECOND_DIM: ReadsWord<SearchWords> =
    |dispatch, words| READS_POSITIONS(dispatch, words) && words.dims[1].size > 0;
const WRITES_DEST: ReadsWord<WalkWords> = |dispatch, _| dispatch.bound.len() >= 3;
const COPIES: ReadsWord<WalkWords> = |dispatch, words| {
    use Kernel::{Convert, Copy, CopyWords, UpdateWords};
    let kernel = dispatch.program.kernel;
    // A clear reads nothing.
    let clears = words.coordinates[0].size == 0 && words.coordinates_used > 0;
    matches!(kernel, Convert | Copy | CopyWords | UpdateWords) && !clears
};
const READS_FIRST_DIM: ReadsWord<WalkWords> =
    |dispatch, words| COPIES(dispatch, words) && words.dims[0].size > 1;
const IS_INDEXED: ReadsWord<WalkWords> = |dispatch, words| {
    constant_value(dispatch, Constant::Coordinates).is_ok_and(|count| count > 0)
        && words.coordinates[0].column != NO_NUMBER
};

const WALK_FAULTS: &WordFaults<WalkWords> = &[
    (|_, _| true, |words| &mut words.groups_x, u32::MAX),
    (|_, _| true, |words| &mut words.groups_x, 1 << 17),
    (|_, _| true, |words| &mut words.lanes_log2, 12),
    (|_, _| true, |words| &mut words.rows, 1 << 20),
    (COPIES, |words| &mut words.run, 1 << 20),
    (COPIES, |words| &mut words.from_base, u32::MAX << 20),
    (WRITES_DEST, |words| &mut words.to_base, 1 << 20),
    (READS_FIRST_DIM, |words| &mut words.dims[0].size, 1),
    (
        READS_FIRST_DIM,
        |words| &mut words.dims[0].from_stride,
        1 << 20,
    ),
    (IS_INDEXED, |words| &mut words.coordinates[0].count, 1),
    (IS_INDEXED, |words| &mut words.tuples, 1 << 20),
];

const SEARCH_FAULTS: &WordFaults<SearchWords> = &[
    (|_, _| true, |words| &mut words.groups_x, u32::MAX),
    (|_, _| true, |words| &mut words.groups_x, 1 << 17),
    (READS_ELEMENTS, |words| &mut words.begin, 1 << 20),
    (READS_ELEMENTS, |words| &mut words.elements, 1 << 20),
    (READS_CHUNKS, |words| &mut words.chunks, 1 << 20),
    (READS_CHUNKS, |words| &mut words.first_chunk, 1 << 20),
    (READS_POSITIONS, |words| &mut words.rows, 1 << 20),
    (READS_POSITIONS, |words| &mut words.row_words, 1),
    (READS_POSITIONS, |words| &mut words.first_row, 1 << 31),
    (READS_POSITIONS, |words| &mut words.result, 1 << 20),
    (READS_SECOND_DIM, |words| &mut words.dims[1].column, 1),
    (READS_SECOND_DIM, |words| &mut words.dims[1].first, 1 << 20),
];

/// Returns, for each fault in a word that the dispatch's kernel reads, the number of the fault and a copy of the
/// dispatch with this fault.
fn with_faults<W: Copy>(
    dispatch: &Dispatch,
    words: W,
    to_uniforms: fn(W) -> Uniforms,
    faults: &WordFaults<W>,
) -> Vec<(usize, Dispatch)> {
    let numbered_faults = faults.iter().enumerate();
    let applicable_faults = numbered_faults.filter(|(_, (reads, ..))| reads(dispatch, &words));
    let broken_dispatches = applicable_faults.map(|(number, (_, word_of, added))| {
        let mut words = words;
        let word = word_of(&mut words);
        *word = word.wrapping_add(*added);
        let mut dispatch = dispatch.clone();
        dispatch.uniforms = to_uniforms(words);
        (number, dispatch)
    });
    broken_dispatches.collect()
}

/// Valid dispatches are accepted, and a dispatch with any fault is rejected.
#[test]
fn every_fault_is_refused() {
    let places = ArgumentPlaces::AT_BEGIN;
    let gpu = open_strict(wgpu::DeviceType::DiscreteGpu);
    let limits = &gpu.engine.limits;
    let mut tried_faults = [vec![0; WALK_FAULTS.len()], vec![0; SEARCH_FAULTS.len()]];
    for tested_move in make_all_moves() {
        let cut = gpu.engine.cut_move(&tested_move, &places).unwrap();
        check_cut(limits, &tested_move, &places, &cut).unwrap();
        let memory = argument_memory(&tested_move, &places, cut.scratch_bytes);
        let assert_refused = |fault: &str, broken: &Dispatch| {
            let refused = check_dispatch(limits, &memory, broken).is_err();
            assert!(refused, "{fault}: {tested_move}\n{broken:#?}");
        };
        for dispatch in cut.dispatches() {
            let mut shortened_dispatch = dispatch.clone();
            let last_bytes = &mut shortened_dispatch.bound.last_mut().unwrap().span.bytes;
            if *last_bytes > 4 {
                *last_bytes = 4;
                assert_refused("a binding is too short", &shortened_dispatch);
            }
            let mut shifted_dispatch = dispatch.clone();
            shifted_dispatch.bound[0].span.offset += 4;
            assert_refused("a binding is not aligned", &shifted_dispatch);
            let (list_number, faulty_dispatches) = match dispatch.uniforms {
                Uniforms::Walk(words) => {
                    (0, with_faults(dispatch, words, Uniforms::Walk, WALK_FAULTS))
                }
                Uniforms::Search(words) => (
                    1,
                    with_faults(dispatch, words, Uniforms::Search, SEARCH_FAULTS),
                ),
            };
            for (number, faulty_dispatch) in faulty_dispatches {
                tried_faults[list_number][number] += 1;
                assert_refused(&format!("fault {number}"), &faulty_dispatch);
            }
        }
    }
    assert!(
        tried_faults.concat().iter().all(|&count| count >= 3),
        "{tried_faults:?}"
    );
}
