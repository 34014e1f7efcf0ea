//! The accesses of a transpose.

use super::{
    Access, Bytes, Hull, Refusal,
    kernels::{base, moved, source_units, whole_rows},
    require, rows,
};
use crate::gpu::{kernels::Dispatch, program::Prelude};

/// The accesses of `transpose_units.wgsl` and `transpose_subword.wgsl`.
pub(super) fn accesses(dispatch: &Dispatch) -> Result<Vec<Access>, Refusal> {
    let uniforms = &dispatch.uniforms;
    let Prelude::Tile { unit, .. } = dispatch.program.form.prelude else {
        return Err("no tiles".to_owned());
    };
    let unit = unit as i128;
    let (rows, run) = whole_rows(dispatch)?;
    let [bits, shifts, near_tiles, row_tiles] = uniforms.map[20..].try_into().unwrap_or_default();
    let axes: Vec<_> = uniforms.map[4..20].chunks_exact(2).collect();
    let axes = &axes[..(uniforms.map[0] as usize).min(axes.len())];
    let near_dim = (bits & 15) as usize;
    let near = axes
        .get(near_dim)
        .filter(|near| rows::signed(near[1]).abs() == 1);
    let near = near.ok_or("no near dimension")?;
    let others: i128 = axes.iter().map(|axis| i128::from(axis[0])).product();
    require(others == rows, || {
        format!("{others} positions for {rows} rows")
    })?;
    let tiles = i128::from(near_tiles) * i128::from(row_tiles) * others / i128::from(near[0]);
    require(tiles == uniforms.tiles.into() && tiles > 0, || {
        format!("{} of {tiles} tiles", uniforms.tiles)
    })?;
    let units = source_units(dispatch, rows, run, 1, false)?;
    let to = Hull::to(rows * run - 1).plus(base(uniforms.dest_base));
    if unit < 4 {
        let per_word = 4 / unit;
        // Lines that are not shifted must begin where words begin.
        if bits >> 18 & 1 == 0 {
            let first = base(uniforms.source_base) - i128::from(shifts & 0xffff);
            let first = first
                - if near[1] == 1 {
                    0
                } else {
                    i128::from(near[0]) - 1
                };
            let apart = axes
                .iter()
                .enumerate()
                .filter(|&(d, axis)| d != near_dim && axis[0] > 1);
            let apart = apart.map(|(_, axis)| rows::signed(axis[1]));
            let mut apart = apart.chain([first, rows::signed(uniforms.step)]);
            require(apart.all(|distance| distance % per_word == 0), || {
                "lines that begin within words".to_owned()
            })?;
        }
        // Rows that are not shifted must all begin at the same byte of a word.
        require(
            bits >> 17 & 1 == 1 || rows == 1 || run % per_word == 0,
            || format!("rows of {run} units begin at different places of words"),
        )?;
    }
    // If a tile's source is one contiguous range, it is loaded from the beginning of a sector of 32 bytes.
    let block = if bits >> 16 & 1 == 1 { 32 } else { unit.max(4) };
    let bytes = units.ok_or("no source")?.bytes(unit);
    let touched = Bytes {
        begin: bytes.whole(block).begin,
        end: bytes.whole(unit.max(4)).end,
    };
    let source = Access {
        what: "source",
        binding: 0,
        touched,
        moved: Some(bytes),
    };
    Ok(vec![
        source,
        moved("result", 1, to.bytes(unit), unit.max(4)),
    ])
}
