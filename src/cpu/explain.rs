//! How the CPU runs a plan, in words. It asks the executor for its decisions and repeats none of them.

use super::{
    gather::Group,
    kernel::Kernel,
    place::{self, StoreLoop},
    scatter,
    slice::LoopNest,
};
use crate::{
    Plan,
    ops::{strided_slice_grad, strided_slice_update},
    plan::Map,
    text::counted,
};
use std::fmt;

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |bytes| counted(bytes, "byte", "bytes");
        match self {
            Self::Copy { bytes } => write!(f, "pieces of {} by memcpy", of(bytes)),
            Self::Pieces { bytes } => write!(f, "pieces of {} by fixed moves", of(bytes)),
            Self::Strided { unit, stride } => {
                let (step, unit) = (stride / unit.cast_signed(), of(unit));
                write!(f, "units of {unit} at step {step} by a loop for this step")
            }
        }
    }
}

impl fmt::Display for LoopNest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tiles {
            Some(tiles) => {
                let bytes = counted(tiles.piece, "byte", "bytes");
                write!(f, "transposed pieces of {bytes} in tiles")
            }
            None => self.kernel.fmt(f),
        }
    }
}

impl fmt::Display for StoreLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repeat { bytes } => write!(f, "a piece of {bytes} bytes again and again"),
            Self::Contiguous(kernel) | Self::Each(kernel) => kernel.fmt(f),
            Self::Strided { unit, pitch } => {
                let step = pitch / unit;
                write!(
                    f,
                    "units of {unit} bytes laid {step} apart by a loop for this step"
                )
            }
        }
    }
}

impl Plan {
    /// Describes in one line how [`Plan::run`] and [`Plan::run_with`] move the bytes on the CPU.
    ///
    /// ```
    /// use wgslice::{slice, DType, Plan};
    ///
    /// let plan = Plan::strided_slice(&[32, 32], &slice![4..20, ..; 2], DType::F32)?;
    /// assert_eq!(
    ///     plan.explain_cpu(),
    ///     "1024 bytes on 1 thread, units of 4 bytes at step 2 by a loop for this step"
    /// );
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    pub fn explain_cpu(&self) -> String {
        let bytes = self.rows.units() * self.rows.unit;
        if bytes == 0 {
            return "nothing to move".into();
        }
        let (kernel, threads) = match &self.map {
            Map::StridedSlice(map) => {
                let nest = LoopNest::of(&self.rows, map);
                (nest.to_string(), nest.threads(bytes))
            }
            Map::StridedSliceUpdate(strided_slice_update::Map { pairs })
            | Map::StridedSliceGrad(strided_slice_grad::Map { pairs }) => match pairs {
                Some(pairs) => (
                    StoreLoop::of(pairs).to_string(),
                    place::threads(pairs, bytes),
                ),
                None => return format!("{} of zeros", counted(bytes, "byte", "bytes")),
            },
            Map::ScatterNd(map) => {
                let bytes = counted(bytes, "byte", "bytes");
                return format!("{bytes}, {}", scatter::explain(&self.rows, map));
            }
            Map::Indexed(map) => {
                let group = Group::of(&self.rows, map);
                (group.kernel().to_string(), group.threads(bytes))
            }
        };
        let bytes = counted(bytes, "byte", "bytes");
        let threads = counted(threads, "thread", "threads");
        format!("{bytes} on {threads}, {kernel}")
    }
}
