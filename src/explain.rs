//! Describes plans in text for people.

use crate::{
    Backend, Plan,
    backend::Device,
    layout::Axis,
    ops::{
        crop,
        indexed::{self, Dimension},
        scatter_nd, strided_slice,
    },
    pairs::Pairs,
    plan::{Map, Rows},
    text::{Shape, counted},
};

impl Plan {
    /// Describes the plan in a few lines: the operation and its shapes, the merged dimensions, the unit, and the number
    /// of bytes read and written.
    ///
    /// A dimension is written as `size*stride`, or as `size*from>to` with the strides of the source and of the
    /// destination. Strides are in units. Those of a scatter are in slices of the destination.
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
    ///   form   from unit 10879: 64*307200, 224*1280, 640*-1
    ///   units  4 bytes, elements of 4
    ///   bytes  36700160 read, 36700160 written"
    /// );
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    pub fn explain(&self) -> String {
        let name = self.map.name();
        let (source, shape) = (Shape(&self.source), Shape(&self.shape));
        let in_place = if self.is_in_place() { ", in place" } else { "" };
        let units = counted(self.rows.unit, "byte", "bytes");
        let form = self.form();
        let (read, written) = self.moved_bytes();
        let element = self.element;
        format!(
            "{name} {source} -> {shape}{in_place}\n  \
             form   {form}\n  \
             units  {units}, elements of {element}\n  \
             bytes  {read} read, {written} written"
        )
    }

    /// Describes the merged dimensions with their sizes and strides, for the line `form` of [`Self::explain`]. For a
    /// scatter, also describes its rows and slices.
    fn form(&self) -> String {
        let Rows { count, run, .. } = self.rows;
        let innermost = self.rows.run_axis();
        match &self.map {
            Map::StridedSliceUpdate(pairs) | Map::StridedSliceGrad(pairs) => match pairs {
                Some(pairs) => of_pairs(pairs),
                None => "nothing is selected".into(),
            },
            Map::ScatterNd(scatter_nd::Map {
                axes, walk, slices, ..
            }) => {
                let coordinates = joined(walk.iter().chain(axes).copied());
                let rows = counted(count, "row", "rows");
                let slices = counted(slices, "slice", "slices");
                format!("{rows} of {run} into {slices}, by {coordinates}")
            }
            _ if count == 0 => "nothing is selected".into(),
            Map::StridedSlice(strided_slice::Map { offset, axes }) => {
                let axes = joined(axes.iter().copied().chain([innermost]));
                format!("from unit {offset}: {axes}")
            }
            Map::Indexed(indexed::Map {
                offset,
                walk,
                coordinates,
                ..
            }) => {
                let walk = joined(walk.iter().map(Dimension::axis).chain([innermost]));
                let coordinates = joined(coordinates.iter().copied());
                format!("from unit {offset}: {walk}, by tuples of {coordinates}")
            }
            Map::Crop(crop::Map {
                gather, extents, ..
            }) => {
                let walk = joined(gather.walk.iter().map(Dimension::axis).chain([innermost]));
                let coordinates = joined(gather.coordinates.iter().copied());
                let steps: Vec<_> = extents.iter().map(|extent| extent.step).collect();
                let offset = gather.offset;
                format!("from unit {offset}: {walk}, at steps {steps:?} by tuples of {coordinates}")
            }
        }
    }

    /// The number of bytes that the plan reads and the number that it writes, without the bytes of indices.
    fn moved_bytes(&self) -> (usize, usize) {
        let moved = self.rows.units() * self.rows.unit;
        match &self.map {
            Map::StridedSliceGrad(_) => (self.source_bytes(), self.result_bytes()),
            Map::ScatterNd(map) if map.fresh => (moved, self.result_bytes()),
            _ => (moved, moved),
        }
    }
}

impl Backend {
    /// Returns [`Plan::explain`] with one more line, which says how this backend runs the plan. On the CPU, the line
    /// names the threads and the loop. On a GPU, it names the commands: none, copies, a clear, or the dispatches and
    /// their kernel.
    ///
    /// ```
    /// use wgslice::{slice, Backend, DType, Plan};
    ///
    /// let plan = Plan::slice(&[3, 4], &slice![1..], DType::F32)?;
    /// println!("{}", Backend::cpu().explain(&plan));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    pub fn explain(&self, plan: &Plan) -> String {
        let how = match &self.device {
            Device::Cpu => plan.explain_on_threads(self.threads),
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => gpu.how(plan),
        };
        format!("{}\n  on     {self}: {how}", plan.explain())
    }
}

fn of_pairs(pairs: &Pairs) -> String {
    let axes = pairs.axes.iter();
    let axes: Vec<String> = axes
        .map(|axis| format!("{}*{}>{}", axis.size, axis.from, axis.to))
        .collect();
    let axes = match axes.as_slice() {
        [] => "a single unit".into(),
        _ => axes.join(", "),
    };
    format!("from unit {} to unit {}: {axes}", pairs.from, pairs.to)
}

fn joined(axes: impl Iterator<Item = Axis>) -> String {
    let axes: Vec<String> = axes
        .map(|Axis { size, stride }| format!("{size}*{stride}"))
        .collect();
    axes.join(", ")
}
