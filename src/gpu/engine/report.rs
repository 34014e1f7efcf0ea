//! The report of a gather or a scatter, which is available when the device is done.

use super::{OpenDevice, argument::Argument, caps::Parts, dispatch::Dispatch, slots::Slot};
use crate::{Error, Found, Pending, Plan, Report, report::Missing};
use std::sync::Arc;
use wgpu::BufferUsages;

/// The size of a report on the device in bytes: a word with the number of invalid tuples, and a word with the bitwise
/// complement of the first invalid tuple's number, so that shaders find the first by `atomicMax` on a word that begins
/// as 0.
pub(in crate::gpu) const REPORT_BYTES: u32 = 8;

/// The slots in which the dispatches of a recording count invalid tuples.
#[derive(Debug, Default)]
pub(in crate::gpu) struct Counts {
    /// The slot of the first dispatch whose report is read, with the number of that dispatch's first tuple.
    first: Option<(Slot, usize)>,
    /// The slots of further dispatches, each with the number of the dispatch's first tuple. They are separate from the
    /// first, so that a single dispatch allocates no list.
    others: Vec<(Slot, usize)>,
}

impl Counts {
    /// Lends a slot for the report of a dispatch whose report is read. If a single tuple out of range forbids all
    /// changes, every dispatch reads the report, so all share a slot.
    pub(in crate::gpu) fn slot(
        &mut self,
        dispatch: &Dispatch,
        lend: impl FnOnce() -> Slot,
    ) -> Slot {
        if let Some((slot, _)) = self.first.as_ref().filter(|_| dispatch.is_strict()) {
            return slot.clone();
        }
        let slot = lend();
        let counted = (slot.clone(), dispatch.first_tuple);
        match &self.first {
            None => self.first = Some(counted),
            Some(_) => self.others.push(counted),
        }
        slot
    }
}

/// The pending report of a recorded gather or scatter. If the indices are a tensor, it holds the tensor until the
/// report is read, so that nobody changes the tensor in place.
pub(in crate::gpu) fn pending(
    device: &OpenDevice,
    plan: &Arc<Plan>,
    counts: Counts,
    indices: &Argument<'_>,
) -> Pending<Report> {
    let parts = indices.parts;
    // The report reads the first invalid tuple from the buffers of the indices: the buffers of the tensor that it
    // holds, or the one buffer that the caller passed.
    let tensor = indices.tensor.cloned();
    let passed = indices
        .buffers
        .first()
        .filter(|_| tensor.is_none())
        .cloned();
    let (reading, plan) = (device.clone(), Arc::clone(plan));
    Pending::later(device, move || async move {
        let reports = counts.first.into_iter().chain(counts.others).collect();
        let buffers = match &tensor {
            Some(tensor) => tensor.buffers(),
            None => passed.as_slice(),
        };
        read(reading, plan, reports, (buffers, parts)).await
    })
}

/// Reads back `reports`, in which each slot is paired with the number of its dispatch's first tuple. Then reads the
/// first invalid tuple, if there is one, from the index tuples in `buffers`.
async fn read(
    device: OpenDevice,
    plan: Arc<Plan>,
    reports: Vec<(Slot, usize)>,
    (buffers, parts): (&[wgpu::Buffer], Parts),
) -> Result<Report, Error> {
    let mut missing = Missing::default();
    let most = (device.shared.limits.max_buffer_size / u64::from(REPORT_BYTES)).max(1);
    for some in reports.chunks(usize::try_from(most).unwrap_or(usize::MAX)) {
        let mut words = vec![[0u32; 2]; some.len()];
        let slots = some.iter().map(|(slot, _)| slot.first(REPORT_BYTES.into()));
        device.read_words(slots, words.as_flattened_mut()).await?;
        for ([count, first], (_, first_tuple)) in words.into_iter().zip(some) {
            missing = missing.and(Missing {
                count: count as usize,
                first: (count > 0).then(|| first_tuple.wrapping_add(!first as usize)),
            });
        }
    }
    let readable = |buffer: &wgpu::Buffer| buffer.usage().contains(BufferUsages::COPY_SRC);
    let Some(tuple) = missing.first.filter(|_| buffers.iter().all(readable)) else {
        return plan.report(missing, |_| Vec::new());
    };
    let index = plan.index_type();
    let mut words = vec![0u32; plan.depth() * index.words() as usize];
    let bytes = words.len() as u64 * 4;
    let pieces = parts.slices(buffers, tuple as u64 * bytes, bytes);
    device.read_words(pieces, &mut words).await?;
    plan.report(missing, |_| index.read(&words))
}

/// The pending number of true elements that a recorded search leaves in `count`. If that is a tensor, it is held until the
/// number is read, so that nobody changes it in place.
pub(in crate::gpu) fn found(
    device: &OpenDevice,
    capacity: usize,
    count: &Argument<'_>,
) -> Pending<Found> {
    let (parts, tensor) = (count.parts, count.tensor.cloned());
    let (reading, buffers) = (device.clone(), count.buffers.to_vec());
    let readable = buffers
        .iter()
        .all(|buffer| buffer.usage().contains(BufferUsages::COPY_SRC));
    let unreadable = count.problem(
        "lacks the usage COPY_SRC, without which the number is not read back: create it with \
         BufferUsages::COPY_SRC"
            .into(),
    );
    Pending::later(device, move || async move {
        if !readable {
            return Err(unreadable);
        }
        let mut words = [0u32; 2];
        let pieces = parts.slices(&buffers, 16, 8);
        reading.read_words(pieces, &mut words).await?;
        drop(tensor);
        let count = u64::from(words[1]) << 32 | u64::from(words[0]);
        Ok(Found {
            count: usize::try_from(count).unwrap_or(usize::MAX),
            capacity,
        })
    })
}
