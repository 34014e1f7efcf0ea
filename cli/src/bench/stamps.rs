//! Times work on the device, by timestamps before and after it.

use super::{adapter::Adapter, measured::Problem};
use std::time::Duration;
use wgpu::{BufferUsages, CommandEncoder};

/// Two timestamps and the buffer that they are resolved to.
#[derive(Debug)]
pub(crate) struct Stamps {
    set: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    /// Nanoseconds per tick.
    period: f64,
}

const COUNT: u32 = 2;
const BYTES: u64 = 16;

fn buffer(device: &wgpu::Device, usage: BufferUsages) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("timestamps"),
        size: BYTES,
        usage,
        mapped_at_creation: false,
    })
}

impl Stamps {
    pub(crate) fn new(device: &wgpu::Device, period: f32) -> Self {
        Self {
            set: device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("timestamps"),
                ty: wgpu::QueryType::Timestamp,
                count: COUNT,
            }),
            resolved: buffer(device, BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC),
            period: period.into(),
        }
    }

    /// Submits the recorded work, and returns the time that the device takes for it.
    pub(crate) fn time(
        &self,
        adapter: &Adapter,
        record: impl FnOnce(&mut CommandEncoder) -> Result<(), Problem>,
    ) -> Result<Duration, Problem> {
        // Each call has its own: after a wait that failed the buffer stays mapped, and a mapped buffer takes no copies.
        let staging = buffer(
            &adapter.device,
            BufferUsages::COPY_DST | BufferUsages::MAP_READ,
        );
        let mut encoder = adapter.device.create_command_encoder(&Default::default());
        encoder.write_timestamp(&self.set, 0);
        record(&mut encoder)?;
        encoder.write_timestamp(&self.set, 1);
        encoder.resolve_query_set(&self.set, 0..COUNT, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &staging, 0, BYTES);
        adapter.queue.submit([encoder.finish()]);
        // If mapping fails, `get_mapped_range` fails below.
        staging.map_async(wgpu::MapMode::Read, .., drop);
        adapter.wait()?;
        let ticks = {
            let mapped = staging.get_mapped_range(..);
            let mapped = mapped.map_err(|error| Problem::Device(error.to_string()))?;
            let mut ticks = [[0; 8]; COUNT as usize];
            ticks.as_flattened_mut().copy_from_slice(&mapped);
            ticks.map(u64::from_le_bytes)
        };
        let nanoseconds = ticks[1].saturating_sub(ticks[0]) as f64 * self.period;
        Ok(Duration::from_secs_f64(nanoseconds * 1e-9))
    }
}
