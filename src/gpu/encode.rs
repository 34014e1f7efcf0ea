//! What is recorded for a plan.
//!
//! Nothing for an empty result; a buffer copy where the result is one contiguous piece of the
//! source and lies on word boundaries (a copy needs no pipeline, and wgpu does not clear a fresh
//! destination for it); a dispatch otherwise. Everything that wgpu would reject is named before
//! wgpu sees it.

use super::{
    Gpu,
    grid::Grid,
    params::{self, Params},
    pipeline::{PARAMS_BINDING, ParamsSpace, Variant},
};
use crate::{
    Error, Plan,
    plan::Map,
    report::{Missing, Report},
};
use std::sync::Arc;
use wgpu::{BufferSlice, BufferUsages, CommandEncoder};

/// Index tuples in a buffer on the device.
#[derive(Clone, Copy, Debug)]
pub enum DeviceIndices<'a> {
    /// 32-bit indices.
    I32(BufferSlice<'a>),
    /// 64-bit indices, in the memory order of a little-endian machine.
    I64(BufferSlice<'a>),
}

impl<'a> DeviceIndices<'a> {
    pub(crate) fn buffer(&self) -> BufferSlice<'a> {
        match self {
            Self::I32(buffer) | Self::I64(buffer) => *buffer,
        }
    }

    /// Words of an index.
    pub(crate) fn words(&self) -> u32 {
        match self {
            Self::I32(_) => 1,
            Self::I64(_) => 2,
        }
    }
}

/// Bytes of a report on the device: how many rows, and the first.
const REPORT_BYTES: u64 = 8;

/// The number of the first bad row where there is none.
const NO_ROW: u32 = u32::MAX;

/// The report of a gather that was recorded: read it once the commands have been submitted.
#[derive(Clone, Debug)]
pub struct PendingReport {
    pub(super) gpu: Gpu,
    pub(super) plan: Arc<Plan>,
    /// None where no row was gathered.
    pub(super) counts: Option<wgpu::Buffer>,
    /// The index tuples, for looking the first bad one up, and where they begin.
    pub(super) indices: wgpu::Buffer,
    pub(super) indices_offset: u64,
    pub(super) index_words: u32,
}

impl PendingReport {
    /// What the shader counted, from the bytes of the report.
    pub(super) fn missing(counts: [u32; 2]) -> Missing {
        let [count, first] = counts;
        Missing {
            count: count as usize,
            first: (first != NO_ROW).then_some(first as usize),
        }
    }

    /// Where the tuple of a row lies in the buffer of indices, in bytes: its offset and length.
    pub(super) fn tuple(&self, row: usize) -> (u64, usize) {
        let bytes = self.plan.depth() * self.index_words as usize * 4;
        (self.indices_offset + (row * bytes) as u64, bytes)
    }

    pub(super) fn spell(&self, missing: Missing, tuple: &[i64]) -> Report {
        self.plan.report(missing, |_| tuple.to_vec())
    }
}

impl Gpu {
    /// Records a slice: `source` holds the input, `dest` receives the result.
    ///
    /// Nothing is submitted and nothing waits. Both must begin at a multiple of the device's
    /// `min_storage_buffer_offset_alignment`, be at least as long as the plan says (rounded up to 4
    /// bytes; the bytes of the last word behind the result become 0), and not share a buffer. They
    /// need the usage `STORAGE`; `COPY_SRC` and `COPY_DST` let a contiguous slice be copied.
    ///
    /// # Errors
    ///
    /// [`Error::Buffer`] where a buffer does not fit; [`Error::DeviceLimit`] above a limit.
    pub fn encode(
        &self,
        encoder: &mut CommandEncoder,
        plan: &Plan,
        source: BufferSlice<'_>,
        dest: BufferSlice<'_>,
    ) -> Result<(), Error> {
        if let Map::GatherNd(_) = plan.map {
            return Err(Error::Buffer {
                argument: "indices",
                problem: "is missing: record a gather with encode_gather".into(),
            });
        }
        if plan.result_bytes() == 0 {
            return Ok(());
        }
        let source = Argument::new("source", source, plan.source_bytes())?;
        let dest = Argument::new("dest", dest, plan.result_bytes())?;
        source.check_apart(&dest)?;
        if let Some(from) = plan.contiguous()
            && self.copies(plan, from, &source, &dest)
        {
            encoder.copy_buffer_to_buffer(
                source.buffer,
                source.offset + from as u64,
                dest.buffer,
                dest.offset,
                plan.result_bytes() as u64,
            );
            return Ok(());
        }
        self.dispatch(encoder, plan, 0, &[source, dest], None)
    }

    /// Records a gather: `params` and `indices` are read, `dest` receives the result.
    ///
    /// Tuples that are out of range become zeros; the report says afterwards which they were. The
    /// buffers must be as for [`Gpu::encode`], and `indices` must have the usage `STORAGE`; with
    /// `COPY_SRC` the report can name the first bad tuple.
    ///
    /// # Errors
    ///
    /// As [`Gpu::encode`].
    pub fn encode_gather(
        &self,
        encoder: &mut CommandEncoder,
        plan: &Plan,
        params: BufferSlice<'_>,
        indices: DeviceIndices<'_>,
        dest: BufferSlice<'_>,
    ) -> Result<PendingReport, Error> {
        let Map::GatherNd(map) = &plan.map else {
            return Err(Error::Buffer {
                argument: "indices",
                problem: "is not used by a slice: record it with encode".into(),
            });
        };
        let mut pending = PendingReport {
            gpu: self.clone(),
            plan: Arc::new(plan.clone()),
            counts: None,
            indices: indices.buffer().buffer().clone(),
            indices_offset: indices.buffer().offset(),
            index_words: indices.words(),
        };
        if plan.result_bytes() == 0 {
            return Ok(pending);
        }
        let index_bytes = map.indices.iter().product::<usize>() * indices.words() as usize * 4;
        params::word(index_bytes / 4)?;
        let params = Argument::new("params", params, plan.source_bytes())?;
        let tuples = Argument::new("indices", indices.buffer(), index_bytes)?;
        let dest = Argument::new("dest", dest, plan.result_bytes())?;
        params.check_apart(&dest)?;
        tuples.check_apart(&dest)?;
        let report = self.new_report();
        let arguments = [params, dest, tuples];
        self.dispatch(encoder, plan, indices.words(), &arguments, Some(&report))?;
        pending.counts = Some(report);
        Ok(pending)
    }

    /// Whether a plan whose result begins at byte `from` of the source is recorded as a copy.
    fn copies(&self, plan: &Plan, from: usize, source: &Argument<'_>, dest: &Argument<'_>) -> bool {
        from.is_multiple_of(4)
            && plan.result_bytes().is_multiple_of(4)
            && (source.offset | dest.offset).is_multiple_of(4)
            && source.buffer.usage().contains(BufferUsages::COPY_SRC)
            && dest.buffer.usage().contains(BufferUsages::COPY_DST)
    }

    fn new_report(&self) -> wgpu::Buffer {
        let buffer = self.inner.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("wgslice report"),
            size: REPORT_BYTES,
            usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC,
            mapped_at_creation: true,
        });
        // A buffer that could not be made reports itself through the device.
        if let Ok(mut words) = buffer.get_mapped_range_mut(..) {
            words.copy_from_slice(bytemuck::bytes_of(&[0, NO_ROW]));
        }
        buffer.unmap();
        buffer
    }

    fn dispatch(
        &self,
        encoder: &mut CommandEncoder,
        plan: &Plan,
        index_words: u32,
        arguments: &[Argument<'_>],
        report: Option<&wgpu::Buffer>,
    ) -> Result<(), Error> {
        let inner = &*self.inner;
        params::check_reach(plan)?;
        let max_groups = inner.limits.max_compute_workgroups_per_dimension;
        let grid = Grid::of(&plan.rows, self.kind(), max_groups)?;
        let params = Params {
            run: params::word(plan.rows.run)?,
            step: params::signed_word(plan.rows.step)?,
            units: params::word(plan.rows.units())?,
            tiles: params::word(grid.tiles)?,
            segments: params::word(grid.segments)?,
            segment: params::word(grid.segment)?,
            lanes_log2: grid.lanes_log2,
            grid_width: grid.width,
            source_base: 0,
            dest_base: 0,
            pad: [0; 2],
            map: params::map_words(&plan.map, index_words)?,
        };
        let mut resources = Vec::with_capacity(PARAMS_BINDING as usize + 1);
        for argument in arguments {
            resources.push(argument.binding(&inner.limits)?);
        }
        resources.extend(report.map(wgpu::Buffer::as_entire_binding));
        let mut entries: Vec<_> = (0..)
            .zip(resources)
            .map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource })
            .collect();

        let variant = Variant::of(plan, inner.params);
        let pipeline = inner.pipelines.get(&inner.device, variant);
        let uniform = (inner.params == ParamsSpace::Uniform).then(|| self.uniform(&params));
        entries.extend(uniform.as_ref().map(|buffer| wgpu::BindGroupEntry {
            binding: PARAMS_BINDING,
            resource: buffer.as_entire_binding(),
        }));
        let label = variant.to_string();
        let group = inner.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(&label),
            layout: &pipeline.bindings,
            entries: &entries,
        });
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some(&label),
            timestamp_writes: None,
        });
        pass.set_pipeline(&pipeline.pipeline);
        pass.set_bind_group(0, &group, &[]);
        if inner.params == ParamsSpace::Immediate {
            pass.set_immediates(0, bytemuck::bytes_of(&params));
        }
        pass.dispatch_workgroups(grid.width, grid.height, 1);
        Ok(())
    }

    fn uniform(&self, params: &Params) -> wgpu::Buffer {
        use wgpu::util::DeviceExt;
        self.inner
            .device
            .create_buffer_init(&wgpu::util::BufferInitDescriptor {
                label: Some("wgslice params"),
                contents: bytemuck::bytes_of(params),
                usage: BufferUsages::UNIFORM,
            })
    }
}

/// A buffer that the caller passed for an argument, and as much of it as the plan uses.
#[derive(Clone, Copy)]
struct Argument<'a> {
    name: &'static str,
    buffer: &'a wgpu::Buffer,
    offset: u64,
    /// Whole words, at least one: no binding may be empty.
    bytes: u64,
}

impl<'a> Argument<'a> {
    fn new(name: &'static str, slice: BufferSlice<'a>, bytes: usize) -> Result<Self, Error> {
        let bytes = bytes.max(1).next_multiple_of(4) as u64;
        if slice.size() < bytes {
            let problem = format!(
                "has {} bytes, but the plan needs {bytes}: pass a longer one",
                slice.size()
            );
            return Err(Error::Buffer {
                argument: name,
                problem,
            });
        }
        Ok(Self {
            name,
            buffer: slice.buffer(),
            offset: slice.offset(),
            bytes,
        })
    }

    /// Checks that what is read is not in the buffer that is written: wgpu allows no buffer to be
    /// both in one dispatch, and no copy within a buffer.
    fn check_apart(&self, dest: &Self) -> Result<(), Error> {
        if self.buffer == dest.buffer {
            return Err(self.problem("is also dest: the result needs a buffer of its own".into()));
        }
        Ok(())
    }

    /// The storage binding, within the device's limits.
    fn binding(&self, limits: &wgpu::Limits) -> Result<wgpu::BindingResource<'a>, Error> {
        let alignment = u64::from(limits.min_storage_buffer_offset_alignment);
        if !self.offset.is_multiple_of(alignment) {
            return Err(self.problem(format!(
                "begins at byte {}, which must be a multiple of the device's \
                 min_storage_buffer_offset_alignment, {alignment}",
                self.offset
            )));
        }
        if !self.buffer.usage().contains(BufferUsages::STORAGE) {
            let problem = "lacks the usage STORAGE: create it with BufferUsages::STORAGE";
            return Err(self.problem(problem.into()));
        }
        if self.bytes > limits.max_storage_buffer_binding_size {
            return Err(Error::DeviceLimit {
                what: self.name,
                limit: "max_storage_buffer_binding_size",
                needed: self.bytes,
                allowed: limits.max_storage_buffer_binding_size,
            });
        }
        Ok(wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: self.buffer,
            offset: self.offset,
            size: wgpu::BufferSize::new(self.bytes),
        }))
    }

    fn problem(&self, problem: String) -> Error {
        Error::Buffer {
            argument: self.name,
            problem,
        }
    }
}
