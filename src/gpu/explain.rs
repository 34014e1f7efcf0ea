//! What a plan will do on a device, in words.

use super::{
    Gpu,
    encode::copied,
    window::{self, Parts, Places},
};
use crate::{Plan, plan::Rows};

impl Gpu {
    /// What is recorded for a plan on this device: nothing, copies or dispatches, and of which
    /// kernel. For buffers of the plan's own, each in one piece.
    pub fn explain(&self, plan: &Plan) -> String {
        let rows = &plan.rows;
        if plan.is_identity() {
            return format!("{plan}: the result is the source, nothing is moved");
        }
        if plan.result_bytes() == 0 {
            return format!("{plan}: nothing is recorded");
        }
        if copied(plan).is_some() {
            return format!("{plan}: {} buffer copies", rows.count);
        }
        let places = Places {
            source: Parts::ONE,
            dest: Parts::ONE,
            indices: Parts::ONE,
            index_words: 1,
        };
        match window::dispatches(&self.inner.reach, rows, &plan.map, &places) {
            Err(error) => format!("{plan}: {error}"),
            Ok(dispatches) => {
                let Rows { unit, .. } = rows;
                let mover = if *unit < 4 { "packed" } else { "wide" };
                let params = &dispatches[0].params;
                format!(
                    "{plan}: {} dispatches of the {mover} mover, the first {} x {} workgroups, \
                     {} lanes and {} units a tile",
                    dispatches.len(),
                    params.grid_width,
                    dispatches[0].height,
                    1 << params.lanes_log2,
                    params.segment,
                )
            }
        }
    }
}
