//! Tests that the contract of `bounds` accepts sound dispatches and refuses broken ones.

use super::{
    bounds::{check, constant, memory, one},
    dispatch::{Dispatch, Places},
    kernel_tests::{plans, strict},
    program::Kernel,
    uniforms::{NONE, Uniforms},
};

/// Whether a dispatch's kernel reads a word of its uniforms.
type Reads = fn(&Dispatch) -> bool;

type Word = fn(&mut Uniforms) -> &mut u32;

const ALL: Reads = |_| true;
const ROWS: Reads = |dispatch| {
    let kernel = dispatch.program.kernel;
    kernel != Kernel::MaskScan && constant(dispatch, "FILLS") == 0
};
const LANES: Reads = |dispatch| {
    use Kernel::{MaskCount, MaskRows, MaskScan};
    !matches!(dispatch.program.kernel, MaskCount | MaskRows | MaskScan)
};
const CHUNKS: Reads = |dispatch| !LANES(dispatch) && constant(dispatch, "FILLS") == 0;
const POSITIONS: Reads =
    |dispatch| dispatch.program.kernel == Kernel::MaskRows && constant(dispatch, "FILLS") == 0;
const WRITES: Reads = |dispatch| dispatch.bound.len() >= 3;
const COPIES: Reads = |dispatch| {
    use Kernel::{Convert, Copy, CopyUnaligned, CopyWords, UpdateWords};
    let kernel = dispatch.program.kernel;
    // A clear reads nothing.
    let clears =
        dispatch.uniforms.coordinates[0].size == 0 && dispatch.uniforms.coordinates_used > 0;
    matches!(
        kernel,
        Convert | Copy | CopyWords | CopyUnaligned | UpdateWords
    ) && !clears
};
const LONG: Reads = |dispatch| COPIES(dispatch) && dispatch.uniforms.dims[0].size > 1;
const INDEXED: Reads = |dispatch| {
    constant(dispatch, "COORDINATES") > 0 && dispatch.uniforms.coordinates[0].column != NONE
};

/// Words that break a dispatch if these numbers are added to them.
const FAULTS: [(Reads, Word, u32); 16] = [
    (ALL, |words| &mut words.groups_x, u32::MAX),
    (ALL, |words| &mut words.groups_x, 1 << 17),
    (LANES, |words| &mut words.lanes_log2, 12),
    (ROWS, |words| &mut words.rows, 1 << 20),
    (CHUNKS, |words| &mut words.segments, 1 << 20),
    (CHUNKS, |words| &mut words.first_row, 1 << 20),
    (POSITIONS, |words| &mut words.slices, 1 << 20),
    (POSITIONS, |words| &mut words.tuple_words, 1),
    (POSITIONS, |words| &mut words.first_slice, 1 << 31),
    (COPIES, |words| &mut words.run, 1 << 20),
    (COPIES, |words| &mut words.from_base, u32::MAX << 20),
    (WRITES, |words| &mut words.to_base, 1 << 20),
    (LONG, |words| &mut words.dims[0].size, 1),
    (LONG, |words| &mut words.dims[0].from_stride, 1 << 20),
    (INDEXED, |words| &mut words.coordinates[0].count, 1),
    (INDEXED, |words| &mut words.tuples, 1 << 20),
];

/// Sound dispatches are accepted, and each of them is refused with each fault.
#[test]
fn every_fault_is_refused() {
    let places = Places::at_begin(true);
    let gpu = strict(wgpu::DeviceType::DiscreteGpu);
    let reach = &gpu.engine.reach;
    let mut tried = [0; FAULTS.len()];
    for plan in plans() {
        let cut = gpu.engine.cut(&plan, &places).unwrap();
        check(reach, &plan, &places, &cut).unwrap();
        let memory = memory(&plan, &places, cut.scratch);
        let refuse = |what: &str, broken: &Dispatch| {
            let refused = one(reach, &memory, broken).is_err();
            assert!(refused, "{what}: {plan}\n{broken:#?}");
        };
        for dispatch in cut.dispatches() {
            let mut broken = dispatch.clone();
            let last = &mut broken.bound.last_mut().unwrap().span.bytes;
            if *last > 4 {
                *last = 4;
                refuse("a binding is too short", &broken);
            }
            broken.clone_from(dispatch);
            broken.bound[0].span.offset += 4;
            refuse("a binding is not aligned", &broken);
            for (number, (reads, word, added)) in FAULTS.into_iter().enumerate() {
                if reads(dispatch) {
                    tried[number] += 1;
                    broken.clone_from(dispatch);
                    let word = word(&mut broken.uniforms);
                    *word = word.wrapping_add(added);
                    refuse(&format!("fault {number}"), &broken);
                }
            }
        }
    }
    assert!(tried.iter().all(|&count| count >= 3), "{tried:?}");
}
