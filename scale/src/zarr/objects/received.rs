//! Memory for long answers, which is reused for later answers. New memory costs time, because the system clears and
//! maps each of its pages. This took a third of the processor time of some slices (benches/results.md).

use crate::zarr::{Buffer, Error, allocate::Purpose};
use futures::{Stream, StreamExt};
use std::sync::{Mutex, MutexGuard, PoisonError};
use zarrs::storage::Bytes;

/// The minimum size in bytes of an answer that uses this memory. Shorter answers get their own memory.
pub(super) const LONG_ANSWER_BYTES: u64 = 256 << 10;
/// The maximum number of bytes of free memory that are kept for later answers.
const MAX_FREE_BYTES: usize = 64 << 20;

const ANSWER_PURPOSE: Purpose<&str> = Purpose {
    content: "an answer of a store",
    way_out: "make smaller chunks",
};

static FREE_BUFFERS: Mutex<Vec<Buffer>> = Mutex::new(Vec::new());

fn free_buffers() -> MutexGuard<'static, Vec<Buffer>> {
    FREE_BUFFERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A received answer. Dropping it frees its memory for other answers.
struct ReceivedAnswer(Buffer);

impl AsRef<[u8]> for ReceivedAnswer {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for ReceivedAnswer {
    fn drop(&mut self) {
        let mut free = free_buffers();
        free.push(std::mem::take(&mut self.0));
        let mut free_bytes: usize = free.iter().map(Buffer::capacity).sum();
        // The memory that has been free for the longest time is released first.
        while free_bytes > MAX_FREE_BYTES {
            free_bytes -= free.remove(0).capacity();
        }
    }
}

/// Returns memory for `bytes` bytes: free memory of at most twice this size, or new memory.
fn answer_memory(bytes: usize) -> Result<ReceivedAnswer, Error> {
    let fits = |buffer: &Buffer| (bytes..=bytes.saturating_mul(2)).contains(&buffer.capacity());
    let mut buffer = {
        let mut free = free_buffers();
        let index = free.iter().rposition(fits);
        index.map_or_else(Buffer::default, |index| free.remove(index))
    };
    buffer.reset(0, bytes, ANSWER_PURPOSE)?;
    Ok(ReceivedAnswer(buffer))
}

/// Receives an answer of `bytes` bytes that arrives in several parts.
pub(super) async fn receive(
    mut parts: impl Stream<Item = object_store::Result<Bytes>> + Unpin,
    bytes: usize,
) -> object_store::Result<Bytes> {
    let failed = |error: Error| object_store::Error::Generic {
        store: "answers",
        source: Box::new(error),
    };
    let mut received = answer_memory(bytes).map_err(failed)?;
    while let Some(part) = parts.next().await {
        received.0.append(&part?).map_err(failed)?;
    }
    Ok(Bytes::from_owner(received))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{executor::block_on, stream};

    fn answer(parts: &[&'static [u8]], bytes: usize) -> Bytes {
        let parts = parts.iter().map(|part| Ok(Bytes::from_static(part)));
        block_on(receive(stream::iter(parts), bytes)).unwrap()
    }

    #[test]
    fn memory_of_answers_is_reused() {
        let first = answer(&[b"some ", b"", b"bytes"], 1000);
        assert_eq!(first, &b"some bytes"[..]);
        let address = first.as_ptr();
        let other = answer(&[b"others"], 1000);
        assert_ne!(other.as_ptr(), address, "both are used");
        // A slice of an answer keeps the answer's memory.
        let part = first.slice(5..);
        drop(first);
        assert_ne!(answer(&[b"more"], 1000).as_ptr(), address);
        assert_eq!((&part[..], &other[..]), (&b"bytes"[..], &b"others"[..]));
        drop((part, other));
        let answers: Vec<_> = (0..3).map(|_| answer(&[b"again"], 900)).collect();
        assert!(answers.iter().any(|answer| answer.as_ptr() == address));
        // An answer that is longer than announced is complete.
        assert_eq!(answer(&[&[1; 900], &[2; 900]], 900).len(), 1800);
        // Five buffers exceed the limit for free memory, so the one that was freed first is released.
        let many: Vec<_> = (0..5)
            .map(|_| answer_memory(MAX_FREE_BYTES / 4).unwrap())
            .collect();
        drop(many);
        let kept: usize = free_buffers().iter().map(Buffer::capacity).sum();
        assert!(
            (MAX_FREE_BYTES / 2..=MAX_FREE_BYTES).contains(&kept),
            "{kept} bytes"
        );
    }

    #[test]
    fn an_answer_that_breaks_off_is_an_error() {
        let parts = [
            Ok(Bytes::from_static(b"some")),
            Err(object_store::Error::NotImplemented {
                operation: "the rest".into(),
                implementer: "the server".into(),
            }),
        ];
        assert!(block_on(receive(stream::iter(parts), 8)).is_err());
        let error = block_on(receive(stream::empty(), 1 << 60)).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("an answer of a store, of 1152921504606846976 bytes"),
            "{error}"
        );
    }
}
