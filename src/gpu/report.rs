//! The report of a gather or scatter, which arrives when the device is done.

use super::{
    DeviceBytes, Gpu, argument::Argument, caps::Parts, kernels::Dispatch, readback::POLLING,
    slots::Slot,
};
use crate::{Error, Plan, Report, ops::index::IndexType, report::Missing};
use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::{Mutex, PoisonError},
    task::{Context, Poll},
};
use wgpu::BufferUsages;

/// The size of a report on the device in bytes: one word is the number of invalid tuples, the other the bitwise
/// complement of the first invalid tuple's number, which shaders find by `atomicMax` on a word that begins as 0.
const REPORT_BYTES: u64 = 8;

/// The slots in which the dispatches of a recording count invalid tuples.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// The slots that are read back, each with the number of the first tuple of its dispatch.
    read: Vec<(Slot, usize)>,
    /// A slot that is never read. If several dispatches process the same tuples, one of them counts the invalid tuples,
    /// and the others bind this slot.
    unread: Option<Slot>,
}

impl Counts {
    pub(super) fn slot(&mut self, dispatch: &Dispatch, lend: impl FnOnce() -> Slot) -> Slot {
        if !dispatch.counts {
            return self.unread.get_or_insert_with(lend).clone();
        }
        let slot = lend();
        self.read.push((slot.clone(), dispatch.first_tuple));
        slot
    }
}

/// The report of a recorded gather or scatter.
///
/// Request the report after the commands were submitted: before, it says that no tuple was out of range. The report can
/// be [polled](Self::poll), [waited for](Self::wait) or, with [`Self::ready`], awaited. To name the first invalid
/// tuple, a request reads the buffer of indices, which must not be overwritten before; if the buffer lacks the usage
/// `COPY_SRC`, the report gives the tuple's position and leaves its indices empty.
pub struct PendingReport {
    gpu: Gpu,
    /// The tensor of indices, if there is one: while it is held, it is not changed in place.
    held: Option<DeviceBytes>,
    state: Mutex<State>,
}

enum State {
    Reading(Pin<Box<dyn Future<Output = Result<Report, Error>> + Send>>),
    Done(Result<Report, Error>),
}

impl PendingReport {
    pub(super) fn new(
        gpu: &Gpu,
        plan: &Plan,
        counts: Counts,
        indices: &Argument<'_>,
        index: IndexType,
    ) -> Self {
        let tuples = (indices.buffers.to_vec(), indices.parts);
        let reading = read(gpu.clone(), plan.clone(), counts.read, tuples, index);
        Self {
            gpu: gpu.clone(),
            held: None,
            state: Mutex::new(State::Reading(Box::pin(reading))),
        }
    }

    /// Keeps the tensor of indices unchanged for as long as the report may be requested.
    pub(super) fn holding(mut self, indices: &DeviceBytes) -> Self {
        self.held = Some(indices.clone());
        self
    }

    /// Returns the report, or `None` if the device is not done yet. Never blocks.
    ///
    /// # Errors
    ///
    /// An error of the device. If the plan's policy is [`OutOfRange::Error`](crate::options::OutOfRange::Error) and a tuple was
    /// out of range, [`GatherError::OutOfRange`](crate::error::GatherError::OutOfRange) or
    /// [`ScatterError::OutOfRange`](crate::error::ScatterError::OutOfRange).
    pub fn poll(&self) -> Result<Option<Report>, Error> {
        let now = || self.advance(&mut Context::from_waker(POLLING));
        // The first call submits the copy to read back. `Gpu::poll` runs the callback of a copy that is done.
        if now().is_pending() {
            self.gpu.poll()?;
        }
        match now() {
            Poll::Ready(report) => report.map(Some),
            Poll::Pending => Ok(None),
        }
    }

    /// Waits until the device is done, and returns the report.
    ///
    /// # Errors
    ///
    /// As [`PendingReport::poll`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(&self) -> Result<Report, Error> {
        self.gpu.wait_until(|context| self.advance(context))
    }

    /// Returns the report, or an error if the device is not done yet: browsers do not allow blocking.
    #[cfg(target_arch = "wasm32")]
    pub(crate) fn wait(&self) -> Result<Report, Error> {
        self.poll()?.ok_or(Error::WouldBlock {
            what: "the report of a gather",
            instead: "Gathered::report_async and Report::into_result",
        })
    }

    /// Returns the report when the device is done, without blocking.
    ///
    /// # Errors
    ///
    /// As [`PendingReport::poll`].
    pub async fn ready(&self) -> Result<Report, Error> {
        poll_fn(|context| self.advance(context)).await
    }

    fn advance(&self, context: &mut Context<'_>) -> Poll<Result<Report, Error>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Reading(reading) = &mut *state {
            match reading.as_mut().poll(context) {
                Poll::Ready(report) => *state = State::Done(report),
                Poll::Pending => return Poll::Pending,
            }
        }
        match &*state {
            State::Done(report) => Poll::Ready(report.clone()),
            State::Reading(_) => Poll::Pending,
        }
    }
}

impl fmt::Debug for PendingReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingReport")
            .field("gpu", &self.gpu)
            .field("held", &self.held)
            .finish_non_exhaustive()
    }
}

/// Reads back `reports`, in which each slot is paired with the number of its dispatch's first tuple. Then reads the
/// first invalid tuple, if there is one, from the index tuples in `buffers`.
async fn read(
    gpu: Gpu,
    plan: Plan,
    reports: Vec<(Slot, usize)>,
    (buffers, parts): (Vec<wgpu::Buffer>, Parts),
    index: IndexType,
) -> Result<Report, Error> {
    let mut missing = Missing::default();
    let most = (gpu.inner.limits.max_buffer_size / REPORT_BYTES).max(1);
    for some in reports.chunks(usize::try_from(most).unwrap_or(usize::MAX)) {
        let mut words = vec![[0u32; 2]; some.len()];
        let slots = some.iter().map(|(slot, _)| slot.first(REPORT_BYTES));
        let readback = gpu.read_back(slots)?;
        readback
            .copy_to(bytemuck::cast_slice_mut(&mut words))
            .await?;
        for ([count, first], (_, first_tuple)) in words.into_iter().zip(some) {
            missing = missing.and(Missing {
                count: count as usize,
                first: (count > 0).then(|| first_tuple + !first as usize),
            });
        }
    }
    let readable = |buffer: &wgpu::Buffer| buffer.usage().contains(BufferUsages::COPY_SRC);
    let Some(tuple) = missing.first.filter(|_| buffers.iter().all(readable)) else {
        return plan.report(missing, |_| Vec::new());
    };
    let mut words = vec![0u32; plan.depth() * index.words() as usize];
    let bytes = words.len() as u64 * 4;
    let readback = gpu.read_back(parts.slices(&buffers, tuple as u64 * bytes, bytes))?;
    readback
        .copy_to(bytemuck::cast_slice_mut(&mut words))
        .await?;
    plan.report(missing, |_| index.read(&words))
}
