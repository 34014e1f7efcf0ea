//! The accesses to the scratch memory of a scatter: items 6 and 10 of the contract.

use super::{Access, Bytes, Refusal, require, rows};
use crate::gpu::{kernels::Dispatch, maps::Op};

/// The number of words of a binding.
fn words(dispatch: &Dispatch, binding: usize) -> i128 {
    i128::from(dispatch.spans[binding].bytes / 4)
}

/// The numbers of the bindings that hold the arrays `head` and `rows`. `None` if the operation binds neither.
fn bindings(op: Op) -> Option<[usize; 2]> {
    match op {
        Op::ScatterResolve | Op::ScatterSort => Some([0, 1]),
        Op::ScatterMove | Op::ScatterCombine => Some([2, 3]),
        _ => None,
    }
}

/// The number of slices that have an entry in `head`. Every entry belongs to a slice, except entry 0, which counts the
/// rows out of range.
pub(super) fn slices(dispatch: &Dispatch) -> i128 {
    bindings(dispatch.program.op).map_or(0, |[head, _]| words(dispatch, head) - 1)
}

/// The access to words `begin..end` of the scratch memory that is bound as number `binding`.
fn scratch(what: &'static str, binding: usize, begin: i128, end: i128) -> Access {
    let bytes = Bytes {
        begin: begin * 4,
        end: end * 4,
    };
    Access {
        what,
        binding,
        touched: bytes,
        moved: Some(bytes),
    }
}

/// The accesses by which the last step of a scatter finds out where rows go. Empty for other operations.
pub(super) fn heads(dispatch: &Dispatch, rows: i128) -> impl Iterator<Item = Access> {
    let both = bindings(dispatch.program.op).map(|[head, of_rows]| {
        [
            scratch("entries of slices", head, 0, slices(dispatch) + 1),
            scratch("slices of rows", of_rows, 0, rows),
        ]
    });
    both.into_iter().flatten()
}

/// The access to the links from each row to the next row of its list.
pub(super) fn links(dispatch: &Dispatch, rows: i128) -> Option<Access> {
    let [_, of_rows] = bindings(dispatch.program.op)?;
    let links = i128::from(dispatch.uniforms.map[1]);
    Some(scratch("links", of_rows, links, links + rows))
}

/// The accesses of `scatter_resolve.wgsl` and of the shaders that sort.
pub(super) fn accesses(dispatch: &Dispatch) -> Result<Vec<Access>, Refusal> {
    let uniforms = &dispatch.uniforms;
    let [rows, tiles, segment] = [uniforms.units, uniforms.tiles, uniforms.segment].map(i128::from);
    require(rows > 0, || "no rows".to_owned())?;
    if dispatch.program.op == Op::ScatterResolve {
        return resolve(dispatch, rows, tiles);
    }
    let map = &uniforms.map;
    let [longest, links, long] = [map[0], map[1], map[2]].map(i128::from);
    let name = dispatch.program.source.name;
    if name == "sort" {
        require(
            segment <= 32 && (tiles - 1) * segment < rows && tiles * segment >= rows,
            || format!("{tiles} tiles of {segment} for {rows} rows"),
        )?;
    }
    require(links >= rows && i128::from(map[3]) + rows < 1 << 31, || {
        format!("{rows} rows from {}, links at word {links}", map[3])
    })?;
    // The shaders note the lists of more than `longest` rows: those of up to 256 rows in one place, longer ones in
    // another. There are at most `rows / (longest + 1)` in the first place, and `rows / 257` in the second.
    let noted = [
        scratch(
            "lists noted",
            1,
            2 * links,
            2 * links + 4 + rows / (longest + 1),
        ),
        scratch("long lists noted", 1, long, long + rows / 257),
    ];
    require(noted[0].touched.end <= noted[1].touched.begin, || {
        format!("{noted:?} overlap")
    })?;
    let all = [
        scratch("entries of slices", 0, 0, slices(dispatch) + 1),
        scratch("slices and links of rows", 1, 0, links + rows),
    ];
    Ok(all.into_iter().chain(noted).collect())
}

fn resolve(dispatch: &Dispatch, rows: i128, tiles: i128) -> Result<Vec<Access>, Refusal> {
    let flags = dispatch.uniforms.map[0];
    let (checks, chains) = (flags & 0x20_0000 != 0, flags & 0x40_0000 != 0);
    require((tiles - 1) * 4 < rows && tiles * 4 >= rows, || {
        format!("{tiles} tiles of four for {rows} rows")
    })?;
    let slices = i128::from(dispatch.uniforms.map[3]);
    let first = i128::from(dispatch.uniforms.dest_base);
    require(checks || first + rows < 1 << 31, || {
        format!("{rows} rows from {first}")
    })?;
    let vectors = match (checks, chains) {
        (true, _) => 0,
        (_, false) => tiles,
        (_, true) => 2 * tiles + 1,
    };
    let entries = if checks { 0 } else { slices };
    let mut all = vec![
        scratch("entries of slices", 0, 0, 1 + entries),
        scratch("slices and links of rows", 1, 0, 4 * vectors),
    ];
    // A tile always looks up four rows. Where tuples are read as words, rows beyond the last one are clamped to it.
    let vectors = dispatch.program.lookup.vectors;
    let tuples = rows::tuples(dispatch, rows)?;
    all.extend(tuples.map(|tuples| tuples.access(vectors)));
    Ok(all)
}

/// Checks that all steps of a block agree on the layout of the scratch memory, and that every slice that the first
/// step finds has an entry in the `head` of the other steps.
pub(super) fn agree(dispatches: &[Dispatch]) -> Result<(), Refusal> {
    let resolve = dispatches
        .iter()
        .find(|dispatch| dispatch.program.op == Op::ScatterResolve);
    let Some(resolve) = resolve.filter(|resolve| resolve.uniforms.map[0] & 0x20_0000 == 0) else {
        return Ok(());
    };
    let bound = i128::from(resolve.uniforms.map[3]);
    let (links, first) = (4 * resolve.uniforms.tiles, resolve.uniforms.dest_base);
    for step in dispatches {
        let (op, map) = (step.program.op, &step.uniforms.map);
        let said = match op {
            Op::ScatterSort => (map[1], map[3]),
            Op::ScatterMove | Op::ScatterCombine => (map[1], map[2]),
            _ => continue,
        };
        require(slices(step) >= bound && said == (links, first), || {
            format!(
                "{op:?} has entries for {} slices, links and first row {said:?}; the first step has {bound}, {:?}",
                slices(step),
                (links, first)
            )
        })?;
    }
    Ok(())
}
