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
    /// Returns the part of [`Gpu::explain`](crate::Gpu::explain)'s text that describes the commands of a move.
    pub(in crate::gpu) fn explain_move(&self, step_move: &Move) -> String {
        let note = match step_move.is_identity() {
            true => "; on tensors nothing is moved, because the result is the source",
            false => "",
        };
        self.explain_recorded(step_move) + note
    }

    fn explain_recorded(&self, step_move: &Move) -> String {
        match choose_route(step_move, &self.limits.tuning, true) {
            Route::Nothing => return "nothing is recorded".into(),
            Route::Copies(walk) => {
                let run = walk.contiguous();
                let copies = counted(walk.units() / run, "buffer copy", "buffer copies");
                let bytes = counted(run * walk.unit, "byte", "bytes");
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
        let main_dispatch = match step_move.effect() {
            Effect::Find(_) => return explain_search(&cut),
            // The last dispatch of a pass moves or combines the rows.
            Effect::Scatter(_) => cut.passes.iter().find_map(|pass| pass.dispatches.last()),
            _ => cut.dispatches().next(),
        };
        let dispatch_and_words =
            main_dispatch.and_then(|dispatch| Some((dispatch, dispatch.uniforms.walk_words()?)));
        let Some((main_dispatch, words)) = dispatch_and_words else {
            return "nothing is recorded".into();
        };
        let kernel = main_dispatch.program.kernel.name();
        let grid = format!("{} x {} workgroups", words.groups_x, main_dispatch.height);
        let tile = explain_tile(&main_dispatch.program, words);
        let Effect::Scatter(_) = step_move.effect() else {
            let count = counted(cut.dispatches().count(), "dispatch", "dispatches");
            return format!("{count} of the {kernel} kernel, the first {grid}, {tile}");
        };
        let blocks = counted(cut.passes.len(), "block", "blocks");
        let description = match main_dispatch.bound[0].argument {
            INDICES => "each row goes straight to its place".to_owned(),
            _ => format!("{} bytes between the steps", cut.scratch_bytes),
        };
        format!("{blocks}, the first of {grid} of the {kernel} kernel, {tile}; {description}")
    }
}

/// Describes the dispatches of a search, which have different kernels.
fn explain_search(cut: &Cut) -> String {
    let describe_kernel = |kernel: Kernel| {
        let count = cut
            .dispatches()
            .filter(|dispatch| dispatch.program.kernel == kernel);
        format!("{} of the {} kernel", count.count(), kernel.name())
    };
    let kernels = [Kernel::MaskCount, Kernel::MaskScan, Kernel::MaskRows].map(describe_kernel);
    let (count, kernels) = (cut.dispatches().count(), kernels.join(", "));
    let count = counted(count, "dispatch", "dispatches");
    format!(
        "{count}, {kernels}; {} bytes between them",
        cut.scratch_bytes
    )
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
