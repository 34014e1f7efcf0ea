//! The report of a gather or scatter, which arrives when the device is done.

use super::{
    DeviceBytes, Gpu,
    argument::Argument,
    caps::Parts,
    readback::{Piece, Readback},
    slots::Slot,
};
use crate::{Error, Plan, Report, ops::index::IndexType, report::Missing};
use std::{
    mem,
    sync::{Mutex, PoisonError},
};
use wgpu::BufferUsages;

/// Bytes of a report on the device: the number of invalid tuples, and the complement of the first one's number.
const REPORT_BYTES: u64 = 8;

/// The report of a recorded gather or scatter.
///
/// Request it after the commands were submitted; before, it reports that no tuple was out of range. It can be
/// [polled](Self::poll), [waited for](Self::wait) or, with [`Self::ready`], awaited; nothing blocks until then. To name
/// the first invalid tuple, it reads the buffer of indices, which must not be overwritten meanwhile; if that lacks the
/// usage `COPY_SRC`, the report gives the tuple's position and leaves its indices empty.
#[derive(Debug)]
pub struct PendingReport {
    gpu: Gpu,
    plan: Plan,
    /// The slots in which dispatches count, and the first tuple of each dispatch.
    reports: Vec<(Slot, usize)>,
    indices: Vec<wgpu::Buffer>,
    /// The tensor of indices: holding it prevents changes in place.
    held: Option<DeviceBytes>,
    indices_parts: Parts,
    index: IndexType,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Recorded,
    /// The sum of the reports already read, the number of the next one, and its readback.
    Counting(Missing, usize, Readback),
    Naming(Missing, Readback),
    Done(Result<Report, Error>),
}

impl PendingReport {
    pub(super) fn new(
        gpu: &Gpu,
        plan: &Plan,
        reports: Vec<(Slot, usize)>,
        indices: &Argument<'_>,
        index: IndexType,
    ) -> Self {
        let state = if reports.is_empty() {
            State::Done(plan.report(Missing::default(), |_| Vec::new()))
        } else {
            State::Recorded
        };
        Self {
            gpu: gpu.clone(),
            plan: plan.clone(),
            reports,
            indices: indices.buffers.to_vec(),
            held: None,
            indices_parts: indices.parts,
            index,
            state: Mutex::new(state),
        }
    }

    /// Keeps the tensor of indices unchanged for as long as the report may be requested.
    pub(super) fn holding(mut self, indices: &DeviceBytes) -> Self {
        self.held = Some(indices.clone());
        self
    }

    /// The report, if the device is done.
    ///
    /// # Errors
    ///
    /// An error of the device, or [`GatherError::OutOfRange`](crate::GatherError::OutOfRange) by the
    /// plan's policy.
    pub fn poll(&self) -> Result<Option<Report>, Error> {
        self.advance(|gpu, _| gpu.poll())
    }

    /// The report, blocking until the device is done.
    ///
    /// # Errors
    ///
    /// As [`PendingReport::poll`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(&self) -> Result<Report, Error> {
        loop {
            if let Some(report) = self.advance(|gpu, _| gpu.wait())? {
                return Ok(report);
            }
        }
    }

    /// The report, if the device is done: browsers do not allow blocking.
    #[cfg(target_arch = "wasm32")]
    pub(crate) fn wait(&self) -> Result<Report, Error> {
        self.poll()?.ok_or(Error::WouldBlock {
            what: "the report of a gather",
            instead: "Gathered::report_async and Report::require_none",
        })
    }

    /// The report, when the device is done.
    ///
    /// # Errors
    ///
    /// As [`PendingReport::poll`].
    pub async fn ready(&self) -> Result<Report, Error> {
        loop {
            let mut waiting = None;
            let report = self.advance(|_, readback| {
                waiting = Some(readback.arrival());
                Ok(())
            })?;
            match (report, waiting) {
                (Some(report), _) => return Ok(report),
                (None, Some(arrival)) => arrival.await,
                (None, None) => {}
            }
        }
    }

    /// Advances as far as readbacks have arrived. Calls `unready` once for a readback that has not.
    fn advance(
        &self,
        unready: impl FnOnce(&Gpu, &Readback) -> Result<(), Error>,
    ) -> Result<Option<Report>, Error> {
        let mut unready = Some(unready);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let readback = match &*state {
                State::Recorded => None,
                State::Counting(_, _, readback) | State::Naming(_, readback) => Some(readback),
                State::Done(report) => return report.clone().map(Some),
            };
            if let Some(readback) = readback
                && !readback.has_arrived()
            {
                match unready.take() {
                    Some(unready) => unready(&self.gpu, readback)?,
                    None => return Ok(None),
                }
                continue;
            }
            let next = match mem::replace(&mut *state, State::Recorded) {
                State::Recorded => self.count(Missing::default(), 0),
                State::Counting(missing, first, readback) => {
                    self.counted(missing, first, &readback)
                }
                State::Naming(missing, readback) => self.named(missing, &readback),
                done @ State::Done(_) => Ok(done),
            };
            *state = next.unwrap_or_else(|error| State::Done(Err(error)));
        }
    }

    /// The reports from `first` on that fit in one readback buffer.
    fn some(&self, first: usize) -> &[(Slot, usize)] {
        let most = self.gpu.inner.limits.max_buffer_size / REPORT_BYTES;
        let rest = &self.reports[first..];
        &rest[..rest.len().min(usize::try_from(most).unwrap_or(usize::MAX))]
    }

    /// Starts to read the reports from `first` on.
    fn count(&self, missing: Missing, first: usize) -> Result<State, Error> {
        let pieces = self.some(first).iter().map(|(slot, _)| Piece {
            buffer: slot.buffer(),
            offset: slot.offset().into(),
            bytes: REPORT_BYTES,
        });
        let readback = self.gpu.read_back(pieces)?;
        Ok(State::Counting(missing, first, readback))
    }

    fn counted(&self, missing: Missing, first: usize, readback: &Readback) -> Result<State, Error> {
        let some = self.some(first);
        let mut words = vec![[0u32; 2]; some.len()];
        readback.copy_to(bytemuck::cast_slice_mut(&mut words))?;
        let missing = words
            .into_iter()
            .zip(some)
            .map(|([count, first], (_, first_tuple))| Missing {
                count: count as usize,
                first: (count > 0).then(|| first_tuple + !first as usize),
            })
            .fold(missing, Missing::and);
        let next = first + some.len();
        if next < self.reports.len() {
            return self.count(missing, next);
        }
        let readable = |buffer: &wgpu::Buffer| buffer.usage().contains(BufferUsages::COPY_SRC);
        let tuple = missing.first.filter(|_| self.indices.iter().all(readable));
        let Some(tuple) = tuple else {
            let report = self.plan.report(missing, |_| Vec::new());
            return Ok(State::Done(report));
        };
        let bytes = self.index.bytes() as u64 * self.plan.depth() as u64;
        let from = tuple as u64 * bytes;
        let pieces = (from..from + bytes).step_by(4).map(|byte| {
            let Parts { offset, bytes } = self.indices_parts;
            let part = usize::try_from(byte / bytes).unwrap_or(usize::MAX);
            Piece {
                buffer: &self.indices[part],
                offset: offset + byte % bytes,
                bytes: 4,
            }
        });
        Ok(State::Naming(missing, self.gpu.read_back(pieces)?))
    }

    fn named(&self, missing: Missing, readback: &Readback) -> Result<State, Error> {
        let mut words = vec![0u32; self.plan.depth() * self.index.words() as usize];
        readback.copy_to(bytemuck::cast_slice_mut(&mut words))?;
        Ok(State::Done(
            self.plan.report(missing, |_| self.index.read(&words)),
        ))
    }
}
