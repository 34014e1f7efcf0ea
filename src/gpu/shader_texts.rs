//! Lists, for tests, every program that the table of kernels can build, and the programs' texts.

use super::{
    caps::Kind,
    kernels::KERNELS,
    maps::{Lookup, Op},
    program::{Form, Program, Reads, UniformSpace},
};
use crate::ops::index::IndexType;
use std::collections::{HashMap, HashSet};

/// How the uniforms may reach the shaders of a device of this kind.
pub(super) fn spaces(kind: Kind) -> &'static [UniformSpace] {
    use UniformSpace::{Immediate, Storage, Uniform};
    match kind {
        Kind::Hardware => &[Immediate, Uniform],
        Kind::Software => &[Immediate, Uniform, Storage],
    }
}

/// Every program that the table of kernels has for a device of this kind, with workgroups of 64 invocations.
pub(super) fn programs(kind: Kind) -> HashSet<Program> {
    let mut all = HashSet::new();
    for kernel in &KERNELS {
        for op in Op::ALL {
            for form in (kernel.forms)(op, kind) {
                for lookup in lookups(op, &form) {
                    all.insert(Program {
                        source: kernel.source,
                        op,
                        form,
                        lookup,
                        workgroup: 64,
                    });
                }
            }
        }
    }
    all
}

/// Every way in which a kernel of this form reads an operation's index tuples; only the default if the operation has no
/// tuples.
fn lookups(op: Op, form: &Form) -> HashSet<Lookup> {
    if !op.facts().reports {
        return [Lookup::default()].into();
    }
    let types = [IndexType::I32, IndexType::I64].into_iter();
    if !op.facts().unrolls {
        return types.map(Lookup::of).collect();
    }
    let all = types.flat_map(|index| (0..=3).map(move |depth| (index, depth)));
    let of = |(index, depth)| {
        let loops = Lookup::of(index);
        let plain = loops.plain(depth, true);
        // The steps of a scatter use the plain lookup only if it needs no loop over the coordinates of a tuple.
        let plain = match plain.unrolled {
            0 if op != Op::Gather => loops,
            _ => plain,
        };
        match form.reads {
            Reads::Words => vec![loops, plain],
            Reads::Either => vec![loops, plain, plain.vectors(true)],
            Reads::Vectors => vec![plain.vectors(true)],
        }
    };
    let all = all.flat_map(of);
    all.filter(|lookup| lookup.vectors || form.reads != Reads::Vectors)
        .collect()
}

/// Every text of every kind of device, with one of the programs that have this text.
pub(super) fn texts() -> HashMap<String, (Program, UniformSpace)> {
    let mut texts = HashMap::new();
    for kind in [Kind::Hardware, Kind::Software] {
        for program in programs(kind) {
            for &space in spaces(kind) {
                texts.entry(program.text(space)).or_insert((program, space));
            }
        }
    }
    texts
}
