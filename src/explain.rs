//! Describes plans in text.

use crate::prelude::*;
use crate::{
    Backend, Plan,
    backend::Device,
    moves::{Effect, Move},
    text::{Shape, counted},
};

impl Plan {
    /// Describes the plan in a few lines: the operation and its shapes, the merged dimensions, the unit, and the number
    /// of bytes read and written.
    ///
    /// A dimension is written as `size*from>to`: the number of its positions, and the distances between neighbouring
    /// positions in the source and in the destination. A dimension in which index tuples select positions is written as
    /// `size*distance`; in a crop, the step of the boxes follows. Distances are in units.
    ///
    /// ```
    /// use wgslice::{slice, DType, Plan};
    ///
    /// let spec = slice![.., 16..464; 2, ..; -1];
    /// let plan = Plan::slice(&[64, 480, 640], &spec, DType::F32)?;
    /// assert_eq!(
    ///     plan.explain(),
    ///     "\
    /// strided_slice [64,480,640] -> [64,224,640]
    ///   form   from unit 10879 to unit 0: 64*307200>143360, 224*1280>640, 640*-1>1
    ///   units  4 bytes, elements of 4
    ///   bytes  36700160 read, 36700160 written"
    /// );
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    pub fn explain(&self) -> String {
        self.each_step(Move::explain)
    }

    /// Returns the explanations of all steps. If there are several steps, numbers them.
    pub(crate) fn each_step(&self, explain: impl Fn(&Move) -> String) -> String {
        if let Some(step_move) = self.single_move() {
            return explain(step_move);
        }
        let lines = self.steps().enumerate();
        let lines = lines.map(|(n, (step_move, _))| format!("step {n}: {}", explain(step_move)));
        lines.collect::<Vec<_>>().join("\n")
    }
}

impl Move {
    pub(crate) fn explain(&self) -> String {
        let name = self.name();
        let (source, shape) = (Shape(&self.source), Shape(&self.shape));
        let in_place_note = if self.is_in_place() { ", in place" } else { "" };
        let (unit_bytes, form) = match self.walk() {
            Some(walk) => (walk.unit, walk.to_string()),
            None if matches!(self.effect, Effect::Find(_)) => {
                (1, "positions of true elements, in row-major order".into())
            }
            None => (self.dtype.size(), "nothing is selected".into()),
        };
        let unit_size = counted(unit_bytes, "byte", "bytes");
        let (read_bytes, written_bytes) = self.moved_bytes();
        let element_bytes = self.dtype.size();
        format!(
            "{name} {source} -> {shape}{in_place_note}\n  \
             form   {form}\n  \
             units  {unit_size}, elements of {element_bytes}\n  \
             bytes  {read_bytes} read, {written_bytes} written"
        )
    }
}

impl Backend {
    /// Returns the text of [`Plan::explain`] with one more line, which describes how this backend runs the plan. On the
    /// CPU, the line names the threads and the loop. On a GPU, it names the commands: none, copies, a clear, or the
    /// dispatches and their kernel.
    ///
    /// ```
    /// use wgslice::{slice, Backend, DType, Plan};
    ///
    /// let plan = Plan::slice(&[3, 4], &slice![1..], DType::F32)?;
    /// let explained = Backend::cpu().explain(&plan);
    /// assert!(explained.ends_with("CPU: 32 bytes on 1 thread, pieces of 32 bytes by fixed moves"), "{explained}");
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    pub fn explain(&self, plan: &Plan) -> String {
        if let (Device::Cpu, Some(shortcut)) = (&self.device, plan.explain_shortcut(self.threads)) {
            let steps = plan.explain();
            return format!("{steps}\ninstead of the steps\n  on     {self}: {shortcut}");
        }
        plan.each_step(|step_move| {
            let description = match &self.device {
                Device::Cpu => step_move.explain_on_threads(self.threads),
                #[cfg(feature = "gpu")]
                Device::Gpu(gpu) => gpu.explain_move(step_move),
            };
            format!("{}\n  on     {self}: {description}", step_move.explain())
        })
    }
}
