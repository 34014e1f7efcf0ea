//! Describes in words how a plan runs on a device.

use super::{
    Gpu,
    caps::Parts,
    kernels::Dispatch,
    route::{Route, route},
    window::{Cutter, Places},
};
use crate::{Plan, ops::index::IndexType, plan::Map, text::counted};

/// The most dispatches, by an estimate, that [`Gpu::explain`] works out for a plan. Working out more would take too
/// long. Only plans on very large tensors, or on devices with small limits, have more.
const MOST_SPELLED_OUT: u64 = 1 << 16;

impl Gpu {
    /// Describes the commands that are recorded for a plan on this device: nothing, a clear, copies, or dispatches and
    /// the kernel of the first. Assumes that each argument is the whole of one buffer.
    pub fn explain(&self, plan: &Plan) -> String {
        format!("{plan}: {}", self.how(plan))
    }

    /// The text of [`Gpu::explain`] without the plan's description.
    pub(crate) fn how(&self, plan: &Plan) -> String {
        let recorded = self.recorded(plan);
        match plan.is_identity() {
            true => {
                format!("{recorded}; of tensors nothing is moved, since the result is the source")
            }
            false => recorded,
        }
    }

    fn recorded(&self, plan: &Plan) -> String {
        let rows = &plan.rows;
        match route(plan, self.inner.reach.kind, true) {
            Route::Nothing => return "nothing is recorded".into(),
            Route::Copies => {
                let copies = counted(rows.count, "buffer copy", "buffer copies");
                let bytes = counted(rows.run * rows.unit, "byte", "bytes");
                return format!("{copies} of {bytes}");
            }
            Route::Clear => {
                let bytes = counted(plan.result_bytes(), "byte", "bytes");
                return format!("{bytes} are cleared");
            }
            Route::Dispatches => {}
        }
        let places = Places {
            source: Parts::ONE,
            dest: Parts::ONE,
            indices: Parts::ONE,
            index: IndexType::I32,
            whole: true,
        };
        let reach = &self.inner.reach;
        let windows = |bytes: usize| bytes as u64 / reach.binding.min(reach.dispatch).max(1) + 1;
        let least = windows(plan.result_bytes());
        if least.saturating_mul(windows(plan.source_bytes())) > MOST_SPELLED_OUT {
            return format!("{least} dispatches or more");
        }
        if let Map::ScatterNd(map) = &plan.map {
            return match self.scatter_steps(plan, map, &places) {
                Err(error) => error.to_string(),
                Ok(steps) => {
                    let dispatches = &steps.blocks[0].dispatches;
                    let applied = &dispatches[dispatches.len() - 1];
                    let blocks = counted(steps.blocks.len(), "block", "blocks");
                    let kernel = applied.program.source.name;
                    let (grid, tile) = (grid(applied), tile(applied));
                    let bytes = steps.scratch.head + steps.scratch.rows;
                    let cleared = if map.fresh {
                        "; the result is cleared first"
                    } else {
                        ""
                    };
                    format!(
                        "{blocks}, the first of {grid} of the {kernel} kernel, {tile}; \
                         {bytes} bytes between the steps{cleared}"
                    )
                }
            };
        }
        let cutter = Cutter {
            reach: &self.inner.reach,
            rows,
            places: &places,
        };
        match cutter.dispatches(&plan.map) {
            Err(error) => error.to_string(),
            Ok(dispatches) => {
                let first = &dispatches[0];
                let dispatches = counted(dispatches.len(), "dispatch", "dispatches");
                let kernel = first.program.source.name;
                let (grid, tile) = (grid(first), tile(first));
                format!("{dispatches} of the {kernel} kernel, the first {grid}, {tile}")
            }
        }
    }
}

fn grid(dispatch: &Dispatch) -> String {
    let width = dispatch.uniforms.grid_width();
    format!("{width} x {} workgroups", dispatch.height)
}

fn tile(dispatch: &Dispatch) -> String {
    let lanes = counted(dispatch.uniforms.lanes(), "lane", "lanes");
    let units = counted(dispatch.uniforms.segment, "unit", "units");
    let bytes = counted(dispatch.tile_unit, "byte", "bytes");
    format!("{lanes} and {units} of {bytes} a tile")
}
