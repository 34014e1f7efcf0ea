//! Describes how a move runs on a device.

use super::{
    Engine,
    dispatch::{ArgumentPlaces, Cut, INDICES},
    program::{Constant, Kernel, Prelude, Program},
    route::{Route, choose_route},
    uniforms::WalkWords,
};
use crate::{
    moves::{Effect, Move},
    text::counted,
};

impl Engine {
    /// Returns the text of [`Gpu::explain`](crate::Gpu::explain) without the description of the move.
    pub(in crate::gpu) fn explain_move(&self, step_move: &Move) -> String {
        let movement = match step_move.is_identity() {
            true => "; of tensors nothing is moved, since the result is the source",
            false => "",
        };
        self.explain_recorded(step_move) + movement
    }

    fn explain_recorded(&self, step_move: &Move) -> String {
        match choose_route(step_move, &self.reach.tuning, true) {
            Route::Nothing => return "nothing is recorded".into(),
            Route::Copies(walk) => {
                let row = walk.contiguous();
                let copies = counted(walk.units() / row, "buffer copy", "buffer copies");
                let bytes = counted(row * walk.unit, "byte", "bytes");
                return format!("{copies} of {bytes}");
            }
            Route::Clear => {
                let bytes = counted(step_move.result_bytes(), "byte", "bytes");
                return format!("{bytes} are cleared");
            }
            Route::Dispatches => {}
        }
        let cut = match self.cut_move(step_move, &ArgumentPlaces::AT_BEGIN) {
            Err(error) => return error.to_string(),
            Ok(cut) => cut,
        };
        let described = match step_move.effect() {
            Effect::Find(_) => return explain_search(&cut),
            // The last dispatch of a pass moves or combines the rows.
            Effect::Scatter(_) => cut.passes.iter().find_map(|block| block.dispatches.last()),
            _ => cut.dispatches().next(),
        };
        let walked = described.and_then(|of| Some((of, of.uniforms.walk_words()?)));
        let Some((described, words)) = walked else {
            return "nothing is recorded".into();
        };
        let kernel = described.program.kernel.name();
        let grid = format!("{} x {} workgroups", words.groups_x, described.height);
        let tile = explain_tile(&described.program, words);
        let Effect::Scatter(_) = step_move.effect() else {
            let count = counted(cut.dispatches().count(), "dispatch", "dispatches");
            return format!("{count} of the {kernel} kernel, the first {grid}, {tile}");
        };
        let blocks = counted(cut.passes.len(), "block", "blocks");
        let description = match described.bound[0].argument {
            INDICES => "each row goes straight to its place".to_owned(),
            _ => format!("{} bytes between the steps", cut.scratch),
        };
        format!("{blocks}, the first of {grid} of the {kernel} kernel, {tile}; {description}")
    }
}

/// Describes the dispatches of a search, which have different kernels.
fn explain_search(cut: &Cut) -> String {
    let count_of = |kernel: Kernel| {
        let count = cut
            .dispatches()
            .filter(|dispatch| dispatch.program.kernel == kernel);
        format!("{} of the {} kernel", count.count(), kernel.name())
    };
    let kernels = [Kernel::MaskCount, Kernel::MaskScan, Kernel::MaskRows].map(count_of);
    let (count, kernels) = (cut.dispatches().count(), kernels.join(", "));
    let count = counted(count, "dispatch", "dispatches");
    format!("{count}, {kernels}; {} bytes between them", cut.scratch)
}

fn explain_tile(program: &Program, words: &WalkWords) -> String {
    let lanes = counted(1_u32 << words.lanes_log2, "lane", "lanes");
    let units = counted(words.segment, "unit", "units");
    let bytes = match (program.kernel, program.prelude) {
        (_, Prelude::Unit(bytes) | Prelude::Words(bytes)) => bytes,
        (Kernel::CopyWords, _) => {
            let element = program.constant_value(Constant::Element);
            element.map_or(4, |bytes| 4 * bytes as usize)
        }
        _ => 4,
    };
    let bytes = counted(bytes, "byte", "bytes");
    format!("{lanes} and {units} of {bytes} a tile")
}
