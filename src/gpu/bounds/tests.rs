//! Tests that dispatches with faults are refused. All kernels have a dispatch here, and each kind of fault occurs.

use super::{Memory, check};
use crate::gpu::{
    Gpu,
    caps::Kind,
    kernel_tests::{run_all, strict},
    kernels::Dispatch,
    maps::Op,
    work::{Pass, Work},
};
use std::collections::BTreeMap;

fn passes(work: &Work) -> Vec<Pass<Dispatch>> {
    let dispatches = |pass: &Pass<_>| Pass {
        cleared: pass.cleared.clone(),
        dispatches: pass.dispatches.iter().map(dispatch_of).collect(),
    };
    work.passes.iter().map(dispatches).collect()
}

fn dispatch_of(launch: &crate::gpu::work::Launch) -> Dispatch {
    launch.dispatch
}

fn checked(gpu: &Gpu, work: &Work, passes: &[Pass<Dispatch>]) -> Result<(), String> {
    let memory = Memory::of(&work.plan, &work.places, work.scratch);
    check(&gpu.inner.reach, &memory, passes)
}

/// Changes a dispatch. Returns false if the change is not a fault in this dispatch.
type Fault = fn(&mut Dispatch) -> bool;

/// A number that is larger than any offset in the plans of these tests.
const FAR: u32 = 1 << 27;

/// Whether the shader compares units of the source with the number of bound units.
fn is_guarded(dispatch: &Dispatch) -> bool {
    let name = dispatch.program.source.name;
    let guards = ["serial rows", "coalesced rows", "subword"].contains(&name);
    guards && matches!(dispatch.program.op, Op::Gather | Op::Crop)
}

/// Adds `more` to a word of the row map.
fn map(dispatch: &mut Dispatch, word: usize, more: u32) -> bool {
    let word = &mut dispatch.uniforms.map[word];
    *word = word.wrapping_add(more);
    true
}

fn shorter(dispatch: &mut Dispatch, binding: usize) -> bool {
    let bound = dispatch.program.op.facts().buffers.len();
    let span = &mut dispatch.spans[binding];
    let is_long = binding < bound && span.bytes > 32;
    span.bytes = span.bytes.min(4);
    is_long
}

fn later(dispatch: &mut Dispatch, binding: usize) -> bool {
    let bound = dispatch.program.op.facts().buffers.len();
    dispatch.spans[binding].offset += 4096;
    binding < bound && dispatch.program.op != Op::StridedSliceGrad
}

/// Moves rows, tuples or links beyond their binding, by increasing a word of the row map: the stride of a dimension
/// with several positions, the length of a row, the distance between slices, or the word where tuples or links begin.
fn far_row(dispatch: &mut Dispatch) -> bool {
    let words = dispatch.uniforms.map;
    match dispatch.program.op {
        Op::StridedSlice => {
            let axes = (4..20).step_by(2).take(words[0] as usize);
            let inner = axes.clone().skip(1).find(|&word| words[word] > 1);
            inner.is_some_and(|word| map(dispatch, word + 1, FAR))
        }
        Op::StridedSliceUpdate => {
            let axes = (4..24).step_by(4).take(words[0] as usize);
            let inner = axes.clone().skip(1).find(|&word| words[word] > 1);
            inner.is_some_and(|word| map(dispatch, word + 2, FAR))
        }
        Op::StridedSliceGrad => {
            let sources = words[15] > 0;
            sources && dispatch.uniforms.tiles > 1 && map(dispatch, 2, FAR)
        }
        // The word where tuples begin.
        Op::Gather | Op::ScatterResolve | Op::ScatterAtomic => map(dispatch, 4, FAR),
        Op::Crop => map(dispatch, 1, FAR),
        // The word where links begin, or the distance between slices.
        Op::ScatterSort => map(dispatch, 1, FAR),
        Op::ScatterMove | Op::ScatterCombine => {
            dispatch.spans[2].bytes > 8 && map(dispatch, 0, FAR)
        }
    }
}

/// Lengthens a dimension that indices point into, and claims that all of it is bound.
fn long_dimension(dispatch: &mut Dispatch) -> bool {
    match dispatch.program.op {
        Op::Gather if dispatch.uniforms.map[7] != 0 => {
            map(dispatch, 6, FAR) && map(dispatch, 3, FAR) && {
                dispatch.uniforms.map[2] = u32::MAX;
                true
            }
        }
        Op::Crop => {
            let stride = dispatch.uniforms.map[10];
            map(dispatch, 9, FAR) && map(dispatch, 3, FAR) && stride != 0
        }
        _ => false,
    }
}

const FAULTS: [(&str, Fault); 17] = [
    ("a short source", |dispatch| shorter(dispatch, 0)),
    ("a short result", |dispatch| shorter(dispatch, 1)),
    ("a short third binding", |dispatch| shorter(dispatch, 2)),
    ("a short fourth binding", |dispatch| shorter(dispatch, 3)),
    ("a source further on", |dispatch| later(dispatch, 0)),
    ("a result further on", |dispatch| later(dispatch, 1)),
    ("a third binding further on", |dispatch| later(dispatch, 2)),
    ("a fourth binding further on", |dispatch| later(dispatch, 3)),
    ("an offset that is not aligned", |dispatch| {
        dispatch.spans[0].offset += 4;
        true
    }),
    ("too many bytes", |dispatch| {
        dispatch.spans[1].bytes = 1 << 40;
        true
    }),
    ("a far source", |dispatch| {
        let base = &mut dispatch.uniforms.source_base;
        *base = base.wrapping_add(FAR);
        let reads = match dispatch.program.op {
            Op::StridedSliceGrad => dispatch.uniforms.map[15] > 0,
            op => !matches!(op, Op::ScatterResolve | Op::ScatterSort),
        };
        reads && !is_guarded(dispatch)
    }),
    ("a far result", |dispatch| {
        let far = match dispatch.program.op {
            Op::ScatterResolve => 1 << 31,
            _ => FAR,
        };
        let base = &mut dispatch.uniforms.dest_base;
        *base = base.wrapping_add(far);
        dispatch.program.op != Op::ScatterSort
    }),
    ("more tiles", |dispatch| {
        dispatch.uniforms.tiles += FAR;
        true
    }),
    ("more units", |dispatch| {
        dispatch.uniforms.units += FAR;
        let name = dispatch.program.source.name;
        ![
            "serial rows",
            "coalesced rows",
            "packed bytes",
            "gathered units",
            "combine",
        ]
        .contains(&name)
            && (name != "row words" || dispatch.program.op == Op::StridedSliceUpdate)
    }),
    ("no workgroups", |dispatch| {
        dispatch.uniforms.grid &= !0xffff;
        true
    }),
    ("rows that lie far away", far_row),
    ("a longer dimension", long_dimension),
];

#[test]
fn faulty_dispatches_are_refused() {
    let mut refused = BTreeMap::<_, usize>::new();
    let mut kernels = BTreeMap::<_, usize>::new();
    for kind in [Kind::Hardware, Kind::Software] {
        let gpu = strict(kind);
        run_all(&gpu);
        for work in gpu.inner.works.kept() {
            let passes = passes(&work);
            checked(&gpu, &work, &passes).unwrap();
            for (number, pass) in passes.iter().enumerate() {
                for (step, dispatch) in pass.dispatches.iter().enumerate() {
                    *kernels.entry(dispatch.program.source.name).or_default() += 1;
                    for (name, fault) in FAULTS {
                        let mut faulty = *dispatch;
                        if !fault(&mut faulty) {
                            continue;
                        }
                        let mut passes = self::passes(&work);
                        passes[number].dispatches[step] = faulty;
                        let outcome = checked(&gpu, &work, &passes);
                        assert!(outcome.is_err(), "{name}: {}: {faulty:#?}", work.plan);
                        *refused.entry(name).or_default() += 1;
                    }
                }
            }
        }
    }
    println!("{refused:#?}\n{kernels:#?}");
    assert_eq!(refused.len(), FAULTS.len(), "{refused:#?}");
    assert_eq!(
        kernels.len(),
        crate::gpu::kernels::KERNELS.len(),
        "{kernels:#?}"
    );
}
