//! Requests values from remote stores before threads need them.
//!
//! A thread that computes shards first finds the chunks that it will read, for its current shard and for the next one.
//! It passes them to its reader, which begins the requests in this order. Whenever the reader reads a chunk, it begins
//! further requests, as many as the memory allows. So requests are in flight while the thread decodes and encodes, and
//! a thread waits for many requests at the same time. The threads share requests: one request is enough for a chunk
//! that several shards need.
//!
//! Early requests only save time. Values that were not requested in advance are read when they are needed.

use super::{
    Cache, Piece, Place, Unread,
    store::{BegunRequest, Value},
};
use std::{
    collections::{HashMap, VecDeque},
    fmt,
    ops::Range,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};
use zarrs::storage::byte_range::ByteRange;

/// The maximum number of requested values of a process that have not been used, whether or not they have arrived.
const MAX_VALUES: usize = 512;
/// The maximum number of bytes of neighbouring values in a shard that are read by one request. A connection transfers
/// about as many bytes in the time that a remote store takes to begin an answer.
const MAX_JOINED_BYTES: u64 = 4 << 20;

/// The requests of all threads of a job.
#[derive(Default)]
pub(crate) struct Ahead {
    /// The maximum number of bytes of all requests together.
    max_bytes: usize,
    /// The number of threads that share `max_bytes` and [`MAX_VALUES`].
    thread_count: AtomicUsize,
    requests: Mutex<HashMap<RequestKey, Request>>,
}

/// Identifies a request: the number of the source, the key of the value, and the start of the range. The start is
/// `None` if the range is counted from the end.
type RequestKey = (usize, String, Option<u64>);

struct Request {
    piece: Piece,
    bytes: usize,
    /// The number of [`WantedAnswer`]s that refer to this request.
    users: usize,
    /// True if any user has taken the answer.
    is_counted: bool,
    /// The value's range of bytes in the answer. `None` if the value is the whole answer.
    part: Option<Range<usize>>,
    answer: Arc<Mutex<RequestState>>,
}

impl Request {
    fn is_done(&self) -> bool {
        // If the lock is taken, another thread is waiting for the answer.
        let answer = self.answer.try_lock();
        answer.is_ok_and(|answer| match &*answer {
            RequestState::Pending(begun) => begun.has_arrived.load(Ordering::Acquire),
            RequestState::Arrived(_) | RequestState::Failed => true,
        })
    }
}

enum RequestState {
    Pending(BegunRequest),
    Arrived(Value),
    /// The request failed or did not begin, so its users read the values directly. If the request is for a single
    /// value, its first user gets the error instead.
    Failed,
}

impl fmt::Debug for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ahead")
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

impl Ahead {
    /// Makes an empty set of requests for up to `max_bytes` bytes together.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            ..Self::default()
        }
    }

    /// Counts one more thread that shares the limits of requests.
    pub(crate) fn enter(&self) {
        self.thread_count.fetch_add(1, Ordering::Relaxed);
    }

    /// Removes one thread from the count.
    pub(crate) fn exit(&self) {
        self.thread_count.fetch_sub(1, Ordering::Relaxed);
    }

    fn requests(&self) -> MutexGuard<'_, HashMap<RequestKey, Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A chunk that will be read.
pub(crate) struct Need {
    pub(crate) at: Vec<usize>,
    /// The number of shards that need the chunk.
    pub(crate) users: usize,
    /// The elements that are needed. `None` for all.
    pub(crate) elements: Option<Range<usize>>,
}

/// The chunks that a task will read, in order.
pub(crate) type Needs<'a> = Box<dyn Iterator<Item = Need> + 'a>;

/// A value to request. `users` is the number of shards that need its chunk, or 0 for the index of a shard.
pub(super) struct WantedValue {
    pub(super) task: u64,
    pub(super) users: usize,
    pub(super) key: String,
    pub(super) piece: Piece,
    /// The maximum size of the value in bytes.
    pub(super) bytes: usize,
}

/// Groups consecutive values that together have up to [`MAX_JOINED_BYTES`], so that one request is enough for each
/// group. A value is given by its index in `values` and its key. The groups are in the order of `values`.
fn groups(
    values: &[WantedValue],
    mut new_requests: Vec<(usize, RequestKey)>,
) -> Vec<Vec<(usize, RequestKey)>> {
    new_requests.sort_by(|(_, a), (_, b)| a.cmp(b));
    let mut groups: Vec<Vec<(usize, RequestKey)>> = Vec::new();
    let mut free_bytes = 0;
    for (number, key) in new_requests {
        let length = match values[number].piece.range {
            ByteRange::FromStart(_, Some(length)) => length,
            _ => u64::MAX,
        };
        let last = groups.last().and_then(|group| group.last());
        let follows_last = last.is_some_and(|(last, _)| {
            let (last, value) = (&values[*last], &values[number]);
            last.key == value.key
                && piece_end(last.piece).is_some_and(|end| piece_start(value.piece) == Some(end))
        });
        match groups.last_mut() {
            Some(group) if follows_last && length <= free_bytes => {
                free_bytes -= length;
                group.push((number, key));
            }
            _ => {
                free_bytes = MAX_JOINED_BYTES.saturating_sub(length);
                groups.push(vec![(number, key)]);
            }
        }
    }
    groups.sort_by_key(|group| group.iter().map(|(number, _)| *number).min());
    groups
}

/// Returns the piece from the first of several consecutive pieces to the last.
fn joined_piece(first: Piece, last: Piece) -> Piece {
    let range = match (piece_start(first), piece_end(last)) {
        (Some(begin), Some(end)) => ByteRange::FromStart(begin, Some(end - begin)),
        _ => first.range,
    };
    Piece { range, ..first }
}

fn piece_start(piece: Piece) -> Option<u64> {
    match piece.range {
        ByteRange::FromStart(begin, _) => Some(begin),
        ByteRange::Suffix(_) => None,
    }
}

fn piece_end(piece: Piece) -> Option<u64> {
    match piece.range {
        ByteRange::FromStart(begin, Some(length)) => begin.checked_add(length),
        _ => None,
    }
}

/// Keeps the answer to a request until this value is dropped.
struct WantedAnswer<'a> {
    ahead: &'a Ahead,
    key: RequestKey,
    piece: Piece,
    /// The number of bytes of the request, or 0 if another `WantedAnswer` began it.
    bytes: usize,
}

impl Drop for WantedAnswer<'_> {
    fn drop(&mut self) {
        let mut requests = self.ahead.requests();
        if let Some(request) = requests.get_mut(&self.key) {
            request.users -= 1;
            if request.users == 0 {
                requests.remove(&self.key);
            }
        }
    }
}

/// The values that a reader will read, and those that it has requested.
pub(super) struct ReadQueue<'a> {
    ahead: &'a Ahead,
    pub(super) cache: &'a Cache,
    /// The tasks with chunks that are not in `next` yet.
    tasks: VecDeque<(u64, Needs<'a>)>,
    /// The next chunks to request, each with its task.
    pub(super) next: VecDeque<(u64, Need)>,
    /// The requested values, each with its task and its [`WantedValue::users`].
    wanted: Vec<(u64, usize, WantedAnswer<'a>)>,
    /// The request for the last chunk that other shards also need. It is kept until the chunk can be in the cache.
    last_shared: Option<WantedAnswer<'a>>,
}

impl<'a> ReadQueue<'a> {
    pub(super) fn new(ahead: &'a Ahead, cache: &'a Cache) -> Self {
        Self {
            ahead,
            cache,
            tasks: VecDeque::new(),
            next: VecDeque::new(),
            wanted: Vec::new(),
            last_shared: None,
        }
    }

    pub(super) fn add(&mut self, task: u64, needs: Needs<'a>) {
        self.tasks.push_back((task, needs));
    }

    /// Takes the next chunk that is not in `next` yet. Returns the chunk and its task, or `None` if `next` is full or
    /// has all chunks.
    pub(super) fn take_unqueued(&mut self) -> Option<(u64, Need)> {
        /// The maximum number of chunks in `next`. The indexes of their shards are requested when the chunks enter
        /// `next`, so that these indexes have arrived when the chunks are requested.
        const MAX_NEXT: usize = 256;
        if self.next.len() >= MAX_NEXT {
            return None;
        }
        while let Some((task, needs)) = self.tasks.front_mut() {
            if let Some(need) = needs.next() {
                return Some((*task, need));
            }
            self.tasks.pop_front();
        }
        None
    }

    /// Removes the first chunk of `next` if it is the chunk that is being read.
    pub(super) fn pass(&mut self, at: &[usize]) {
        self.next.pop_front_if(|(_, need)| need.at == at);
    }

    /// Drops the remaining requests of a task.
    pub(super) fn forget(&mut self, task: u64) {
        self.tasks.retain(|(owner, _)| *owner != task);
        self.next.retain(|(owner, _)| *owner != task);
        self.wanted.retain(|(owner, ..)| *owner != task);
        self.last_shared = None;
    }

    /// Returns whether so few values are requested that the next requests should begin. Many requests begin at a time,
    /// so that neighbouring chunks of a shard become one request.
    pub(super) fn is_low(&self) -> bool {
        let (max_values, max_bytes) = self.limits();
        self.wanted.len() <= max_values / 2 && self.requested_bytes() <= max_bytes / 2
    }

    /// Returns whether none of the requested chunks has arrived.
    pub(super) fn has_no_answer(&self) -> bool {
        let requests = self.ahead.requests();
        let is_done =
            |wanted: &WantedAnswer<'_>| requests.get(&wanted.key).is_some_and(Request::is_done);
        let mut chunks = self.wanted.iter().filter(|(_, users, _)| *users > 0);
        !chunks.any(|(.., wanted)| is_done(wanted))
    }

    /// Returns whether this thread can request `value_count` additional values of `bytes` bytes in total.
    pub(super) fn has_room(&self, value_count: usize, bytes: usize) -> bool {
        let (max_values, max_bytes) = self.limits();
        self.wanted.len() + value_count <= max_values
            && self.requested_bytes().saturating_add(bytes) <= max_bytes
    }

    /// Returns the maximum number of values and bytes for this thread.
    fn limits(&self) -> (usize, usize) {
        let threads = self.ahead.thread_count.load(Ordering::Relaxed).max(1);
        (MAX_VALUES.div_ceil(threads), self.ahead.max_bytes / threads)
    }

    /// Returns the number of bytes of the requests that this reader began and has not used yet.
    fn requested_bytes(&self) -> usize {
        let own_bytes = self.wanted.iter().map(|(.., wanted)| wanted.bytes);
        own_bytes.fold(0, usize::saturating_add)
    }

    /// Begins requests for values, or shares requests that have begun. Stops at the first value that does not fit into
    /// the limits, and returns the number of values before it.
    pub(super) fn begin(
        &mut self,
        (source_number, place): (usize, &dyn Place),
        values: &[WantedValue],
    ) -> usize {
        let ahead = self.ahead;
        let mut requests = ahead.requests();
        let total_bytes = requests.values().map(|request| request.bytes);
        let mut total_bytes = total_bytes.fold(0, usize::saturating_add);
        let mut new_requests = Vec::new();
        let mut count = 0;
        for value in values {
            let key = request_key(source_number, &value.key, value.piece);
            let mut bytes = 0;
            match requests.get_mut(&key) {
                Some(request) if request.piece == value.piece => request.users += 1,
                // An answer for another range cannot be used, so the value is read when it is needed.
                Some(_) => {
                    count += 1;
                    continue;
                }
                None => {
                    total_bytes = total_bytes.saturating_add(value.bytes);
                    if total_bytes > ahead.max_bytes || requests.len() >= MAX_VALUES {
                        break;
                    }
                    bytes = value.bytes;
                    let request = Request {
                        piece: value.piece,
                        bytes,
                        users: 1,
                        is_counted: false,
                        part: None,
                        answer: Arc::new(Mutex::new(RequestState::Failed)),
                    };
                    requests.insert(key.clone(), request);
                    new_requests.push((count, key.clone()));
                }
            }
            count += 1;
            let wanted = WantedAnswer {
                ahead,
                key,
                piece: value.piece,
                bytes,
            };
            self.wanted.push((value.task, value.users, wanted));
        }
        for group in groups(values, new_requests) {
            let [first, last] = [&group[0], &group[group.len() - 1]];
            let piece = joined_piece(values[first.0].piece, values[last.0].piece);
            let Some(begun) = place.begin(&first.1.1, piece) else {
                continue;
            };
            let answer = Arc::new(Mutex::new(RequestState::Pending(begun)));
            let mut offset = 0;
            for (number, key) in &group {
                let end = offset + values[*number].bytes;
                if let Some(request) = requests.get_mut(key) {
                    request.part = (group.len() > 1).then_some(offset..end);
                    request.answer = answer.clone();
                }
                offset = end;
            }
        }
        count
    }

    /// Returns whether the answer to the request for a value has arrived, or `None` if it was not requested.
    pub(super) fn has_arrived(
        &self,
        source_number: usize,
        key: &str,
        piece: Piece,
    ) -> Option<bool> {
        let key = request_key(source_number, key, piece);
        let mut wanted = self.wanted.iter().map(|(.., wanted)| wanted);
        wanted.find(|wanted| wanted.key == key && wanted.piece == piece)?;
        Some(self.ahead.requests().get(&key)?.is_done())
    }

    /// Waits for a requested value, and removes it. Also returns whether this is its first use. Returns `None` if the
    /// value must be read directly, because it was not requested or a shared request failed.
    pub(super) fn take(
        &mut self,
        source_number: usize,
        key: &str,
        piece: Piece,
    ) -> Option<Result<(Value, bool), Unread>> {
        let key = request_key(source_number, key, piece);
        let mut wanted = self.wanted.iter().map(|(.., wanted)| wanted);
        let index = wanted.position(|wanted| wanted.key == key && wanted.piece == piece)?;
        let (_, users, wanted) = self.wanted.remove(index);
        let (answer, part, is_first_use) = {
            let mut requests = self.ahead.requests();
            let request = requests.get_mut(&key)?;
            let is_first_use = !std::mem::replace(&mut request.is_counted, true);
            (request.answer.clone(), request.part.clone(), is_first_use)
        };
        let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
        if let RequestState::Pending(_) = *answer
            && let RequestState::Pending(begun) =
                std::mem::replace(&mut *answer, RequestState::Failed)
        {
            match (begun.wait)() {
                Ok(value) => *answer = RequestState::Arrived(value),
                // Several values share the request. Reading each separately shows which one failed.
                Err(_) if part.is_some() => {}
                Err(error) => return Some(Err(error)),
            }
        }
        let RequestState::Arrived(value) = &*answer else {
            return None;
        };
        let value = match (value, part) {
            (Some(bytes), Some(part)) => Some(bytes.slice(part)),
            (value, _) => value.clone(),
        };
        // Other threads can take the chunk from this request until it is in the cache.
        self.last_shared = (users > 1).then_some(wanted);
        Some(Ok((value, is_first_use)))
    }

    /// Drops the request for a value that was found elsewhere.
    pub(super) fn drop_request(&mut self, source_number: usize, key: &str, piece: Piece) {
        let key = request_key(source_number, key, piece);
        let mut wanted = self.wanted.iter().map(|(.., wanted)| wanted);
        if let Some(index) = wanted.position(|wanted| wanted.key == key) {
            self.wanted.remove(index);
        }
    }
}

fn request_key(source_number: usize, key: &str, piece: Piece) -> RequestKey {
    (source_number, key.to_owned(), piece_start(piece))
}
