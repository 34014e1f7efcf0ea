//! The report of a gather, a scatter or a search in a mask, which is available when the device is done.

use super::{OpenDevice, argument::Argument, caps::BufferParts, dispatch::Dispatch, slots::Slot};
use crate::{
    Error, Pending, Plan, Report, gpu::DeviceBytes, moves::Move, ops::mask::Found, report::Missing,
};
use std::sync::Arc;
use wgpu::BufferUsages;

/// The size of a report on the device in bytes. One word has the number of invalid tuples. The other word has the
/// bitwise complement of the first invalid tuple's number. Because of the complement, shaders find the first tuple by
/// `atomicMax` on a word that starts at 0.
pub(in crate::gpu) const REPORT_BYTES: u32 = 8;

/// The slots in which the dispatches of a recording count invalid tuples, each with the number of the first tuple of
/// its dispatch.
#[derive(Debug, Default)]
pub(in crate::gpu) struct ReportSlots(Vec<(Slot, usize)>);

impl ReportSlots {
    /// Lends a slot for the report of a dispatch. If a single out-of-range tuple must prevent all changes, every
    /// dispatch reads the report, so all dispatches share a slot.
    pub(in crate::gpu) fn report_slot(
        &mut self,
        dispatch: &Dispatch,
        lend: impl FnOnce() -> Slot,
    ) -> Slot {
        if let Some((slot, _)) = self.0.first().filter(|_| dispatch.is_strict()) {
            return slot.clone();
        }
        let slot = lend();
        self.0.push((slot.clone(), dispatch.first_tuple));
        slot
    }
}

/// An argument whose words are read when the device is done. If the argument is a tensor, it is held until then, which
/// prevents changes to it in place.
struct LaterWords {
    device: OpenDevice,
    buffers: Vec<wgpu::Buffer>,
    parts: BufferParts,
    _tensor: Option<DeviceBytes>,
}

impl LaterWords {
    fn from_argument(device: &OpenDevice, argument: &Argument<'_>) -> Self {
        Self {
            device: device.clone(),
            buffers: argument.buffers.to_vec(),
            parts: argument.parts,
            _tensor: argument.tensor.cloned(),
        }
    }

    /// Returns whether the words can be read back.
    fn is_readable(&self) -> bool {
        let can_copy = |buffer: &wgpu::Buffer| buffer.usage().contains(BufferUsages::COPY_SRC);
        self.buffers.iter().all(can_copy)
    }

    /// Fills `words` from byte `at` of the argument.
    async fn read_words(&self, at: u64, words: &mut [u32]) -> Result<(), Error> {
        let bytes = size_of_val(words) as u64;
        let pieces = self.parts.buffer_slices(&self.buffers, at, bytes);
        self.device.read_words(pieces, words).await
    }
}

/// A recorded step, the slots in which its dispatches count out-of-range tuples, and its index tuples.
type CountedStep<'a> = (Arc<Move>, ReportSlots, Argument<'a>);

/// The capacity of a recorded search, the argument with the number of true elements, and the slot, if this argument is
/// in a slot.
type RecordedSearch<'a> = (usize, Argument<'a>, Option<Slot>);

/// Makes the report of a recorded plan, with its out-of-range tuples and the number of true elements.
pub(in crate::gpu) fn pending_report(
    device: &OpenDevice,
    plan: &Plan,
    copied_bytes: usize,
    tuples: Option<CountedStep<'_>>,
    search: Option<RecordedSearch<'_>>,
) -> Result<Pending<Report>, Error> {
    if tuples.is_none() && search.is_none() {
        let mut report = plan.report_without_findings()?;
        report.copied = copied_bytes;
        return Ok(Pending::already_known(report));
    }
    let tuples = tuples.map(|(step_move, report_slots, tuples)| {
        (
            step_move,
            report_slots.0,
            LaterWords::from_argument(device, &tuples),
        )
    });
    let search_report = search.map(|(capacity, count, slot)| {
        let unreadable_error = count.argument_error(
            "lacks the usage COPY_SRC, without which the number is not read back: create it with \
             BufferUsages::COPY_SRC"
                .into(),
        );
        (
            capacity,
            LaterWords::from_argument(device, &count),
            slot,
            unreadable_error,
        )
    });
    let empty_report = plan.report(None, None);
    Ok(Pending::from_device(device, move || async move {
        let mut report = match tuples {
            Some((step_move, report_slots, tuples)) => {
                read_reports(step_move, report_slots, tuples).await?
            }
            None => empty_report,
        };
        report.copied = copied_bytes;
        if let Some((capacity, count_words, _slot, unreadable_error)) = search_report {
            if !count_words.is_readable() {
                return Err(unreadable_error);
            }
            // The number of true elements is in words 4 and 5: see `Found::words`.
            let mut words = [0; 2];
            count_words.read_words(16, &mut words).await?;
            let count = u64::from(words[1]) << 32 | u64::from(words[0]);
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            report.count(Found { count, capacity });
        }
        Ok(report)
    }))
}

/// Reads back the reports in the slots, each with the number of the first tuple of its dispatch. Then reads the first
/// invalid tuple, if there is one.
async fn read_reports(
    step_move: Arc<Move>,
    report_slots: Vec<(Slot, usize)>,
    tuples: LaterWords,
) -> Result<Report, Error> {
    let device = &tuples.device;
    let mut missing = Missing::default();
    let max_slots = (device.shared.limits.max_buffer_size / u64::from(REPORT_BYTES)).max(1);
    for slot_group in report_slots.chunks(usize::try_from(max_slots).unwrap_or(usize::MAX)) {
        let mut words = vec![[0u32; 2]; slot_group.len()];
        let slots = slot_group
            .iter()
            .map(|(slot, _)| slot.first_bytes(REPORT_BYTES.into()));
        device.read_words(slots, words.as_flattened_mut()).await?;
        for ([count, first], (_, first_tuple)) in words.into_iter().zip(slot_group) {
            missing = missing.combine_with(Missing {
                count: count as usize,
                first: (count > 0).then(|| first_tuple.wrapping_add(!first as usize)),
            });
        }
    }
    let Some(tuple_number) = missing.first.filter(|_| tuples.is_readable()) else {
        return step_move.report(missing, |_| Vec::new());
    };
    let index_type = step_move.index_type();
    let mut words = vec![0u32; step_move.depth() * index_type.words() as usize];
    let at = (tuple_number * size_of_val(&words[..])) as u64;
    tuples.read_words(at, &mut words).await?;
    step_move.report(missing, |_| index_type.read(&words))
}
