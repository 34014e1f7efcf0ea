//! Requests to far stores that begin before anybody waits for their answers.
//!
//! A thread that computes shards knows which chunks it will read, for this shard and for the next one. It says so to its
//! reader, which begins their requests in this order, and further ones whenever it reads a chunk, as many as memory is
//! left for. So requests are on their way while the thread decodes and encodes, and no thread waits for one request
//! alone. The threads share requests: of a chunk that several shards need, one is enough.
//!
//! All this only saves time. Values that were not requested in advance are read when they are needed.

use super::{
    Cache, Piece, Place, Unread,
    store::{Begun, Value},
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

/// The most values of a process that are requested and have not been used, on their way or come.
const VALUES: usize = 512;
/// The most bytes of neighbours in a shard that become one request. In the time that a far store takes to begin an answer,
/// a connection carries about as many.
const TOGETHER: u64 = 4 << 20;

/// The requests of all threads of a job.
#[derive(Default)]
pub(crate) struct Ahead {
    /// The most bytes of all requests together.
    limit: usize,
    /// The number of threads that divide them.
    threads: AtomicUsize,
    requests: Mutex<HashMap<Key, Request>>,
}

/// The number of the source, the key of the value, and where the range begins, `None` if it is counted from the end.
type Key = (usize, String, Option<u64>);

struct Request {
    piece: Piece,
    bytes: usize,
    /// The number of [`Wanted`] for it.
    users: usize,
    /// Whether somebody has had it.
    is_counted: bool,
    /// The bytes of the answer that are the value's. `None` if all are.
    part: Option<Range<usize>>,
    answer: Arc<Mutex<Answer>>,
}

impl Request {
    fn has_come(&self) -> bool {
        // Otherwise another thread waits for it.
        let answer = self.answer.try_lock();
        answer.is_ok_and(|answer| match &*answer {
            Answer::Coming(begun) => begun.is_come.load(Ordering::Acquire),
            Answer::Come(_) | Answer::Failed => true,
        })
    }
}

enum Answer {
    Coming(Begun),
    Come(Value),
    /// The first user has got the error, and the others ask again.
    Failed,
}

impl fmt::Debug for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ahead")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

impl Ahead {
    /// Requests of up to `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Divides the requests among one thread more.
    pub(crate) fn enter(&self) {
        self.threads.fetch_add(1, Ordering::Relaxed);
    }

    /// Divides them among one thread less.
    pub(crate) fn exit(&self) {
        self.threads.fetch_sub(1, Ordering::Relaxed);
    }

    fn requests(&self) -> MutexGuard<'_, HashMap<Key, Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A chunk that will be read.
pub(crate) struct Need {
    pub(crate) at: Vec<usize>,
    /// The number of shards that need it.
    pub(crate) users: usize,
    /// Which of its elements, `None` for all.
    pub(crate) elements: Option<Range<usize>>,
}

/// The chunks that a task will read, in order.
pub(crate) type Needs<'a> = Box<dyn Iterator<Item = Need> + 'a>;

/// A value to request: for a task, and for a chunk that `users` shards need; 0 for the index of a shard.
pub(super) struct Asked {
    pub(super) task: u64,
    pub(super) users: usize,
    pub(super) key: String,
    pub(super) piece: Piece,
    /// The most bytes of it.
    pub(super) bytes: usize,
}

/// Puts values together that are one after the other, so that one request is enough for them. In the order of the first
/// value of each group.
fn groups(values: &[Asked], mut new: Vec<(usize, Key)>) -> Vec<Vec<(usize, Key)>> {
    new.sort_by(|(_, a), (_, b)| a.cmp(b));
    let mut groups: Vec<Vec<(usize, Key)>> = Vec::new();
    let mut room = 0;
    for (number, key) in new {
        let length = match values[number].piece.range {
            ByteRange::FromStart(_, Some(length)) => length,
            _ => u64::MAX,
        };
        let last = groups.last().and_then(|group| group.last());
        let is_next = last.is_some_and(|(last, _)| {
            let (last, value) = (&values[*last], &values[number]);
            last.key == value.key
                && end(last.piece).is_some_and(|end| begin(value.piece) == Some(end))
        });
        match groups.last_mut() {
            Some(group) if is_next && length <= room => {
                room -= length;
                group.push((number, key));
            }
            _ => {
                room = TOGETHER.saturating_sub(length);
                groups.push(vec![(number, key)]);
            }
        }
    }
    groups.sort_by_key(|group| group.iter().map(|(number, _)| *number).min());
    groups
}

/// The piece from the first of pieces that are one after the other to the last.
fn around(first: Piece, last: Piece) -> Piece {
    let range = match (begin(first), end(last)) {
        (Some(begin), Some(end)) => ByteRange::FromStart(begin, Some(end - begin)),
        _ => first.range,
    };
    Piece { range, ..first }
}

fn begin(piece: Piece) -> Option<u64> {
    match piece.range {
        ByteRange::FromStart(begin, _) => Some(begin),
        ByteRange::Suffix(_) => None,
    }
}

fn end(piece: Piece) -> Option<u64> {
    match piece.range {
        ByteRange::FromStart(begin, Some(length)) => begin.checked_add(length),
        _ => None,
    }
}

/// The answer to a request is wanted until this value is dropped.
struct Wanted<'a> {
    ahead: &'a Ahead,
    key: Key,
    piece: Piece,
    /// The bytes of the request. 0 if another one began it.
    bytes: usize,
}

impl Drop for Wanted<'_> {
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

/// The values that a reader will read and has requested.
pub(super) struct Line<'a> {
    ahead: &'a Ahead,
    pub(super) cache: &'a Cache,
    /// The tasks whose chunks are not all in `next`.
    tasks: VecDeque<(u64, Needs<'a>)>,
    /// The next chunks that are not requested, each with its task.
    pub(super) next: VecDeque<(u64, Need)>,
    /// The requested values, each with its task and its [`Asked::users`].
    wanted: Vec<(u64, usize, Wanted<'a>)>,
    /// The last chunk that others need too. It is wanted until it had time to come into the cache.
    used: Option<Wanted<'a>>,
}

impl<'a> Line<'a> {
    pub(super) fn new(ahead: &'a Ahead, cache: &'a Cache) -> Self {
        Self {
            ahead,
            cache,
            tasks: VecDeque::new(),
            next: VecDeque::new(),
            wanted: Vec::new(),
            used: None,
        }
    }

    pub(super) fn add(&mut self, task: u64, needs: Needs<'a>) {
        self.tasks.push_back((task, needs));
    }

    /// The next chunk that was not looked at, and its task.
    pub(super) fn look(&mut self) -> Option<(u64, Need)> {
        /// The most chunks that are looked at before they are requested, so that the indexes of their shards are there.
        const LOOK: usize = 256;
        if self.next.len() >= LOOK {
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

    /// A chunk is being read, so that it is no longer next.
    pub(super) fn pass(&mut self, at: &[usize]) {
        self.next.pop_front_if(|(_, need)| need.at == at);
    }

    /// Gives up the requests that a task has left.
    pub(super) fn forget(&mut self, task: u64) {
        self.tasks.retain(|(of, _)| *of != task);
        self.next.retain(|(of, _)| *of != task);
        self.wanted.retain(|(of, ..)| *of != task);
        self.used = None;
    }

    /// Returns whether so little is requested that the next requests should begin. They begin many at a time, so that neighbours
    /// in a shard become one request.
    pub(super) fn is_low(&self) -> bool {
        let (count, bytes) = self.share();
        self.wanted.len() <= count / 2 && self.held() <= bytes / 2
    }

    /// Returns whether no chunk that was requested has come.
    pub(super) fn starves(&self) -> bool {
        let requests = self.ahead.requests();
        let has_come =
            |wanted: &Wanted<'_>| requests.get(&wanted.key).is_some_and(Request::has_come);
        let mut chunks = self.wanted.iter().filter(|(_, users, _)| *users > 0);
        !chunks.any(|(.., wanted)| has_come(wanted))
    }

    /// Returns whether this thread may request values of `bytes` bytes too, `more` of them.
    pub(super) fn has_room(&self, more: usize, bytes: usize) -> bool {
        let (count, most) = self.share();
        self.wanted.len() + more <= count && self.held().saturating_add(bytes) <= most
    }

    /// The most values and bytes of this thread.
    fn share(&self) -> (usize, usize) {
        let threads = self.ahead.threads.load(Ordering::Relaxed).max(1);
        (VALUES.div_ceil(threads), self.ahead.limit / threads)
    }

    fn held(&self) -> usize {
        let own = self.wanted.iter().map(|(.., wanted)| wanted.bytes);
        own.fold(0, usize::saturating_add)
    }

    /// Begins requests for values, or takes part in those that have begun. Returns how many of them, from the first on,
    /// there is room for.
    pub(super) fn begin(
        &mut self,
        (source, place): (usize, &dyn Place),
        values: &[Asked],
    ) -> usize {
        let ahead = self.ahead;
        let mut requests = ahead.requests();
        let held = requests.values().map(|request| request.bytes);
        let mut held = held.fold(0, usize::saturating_add);
        let mut new = Vec::new();
        let mut count = 0;
        for value in values {
            let key = name(source, &value.key, value.piece);
            let mut bytes = 0;
            match requests.get_mut(&key) {
                Some(request) if request.piece == value.piece => request.users += 1,
                // The answer of another range is of no use, so the value is read when it is needed.
                Some(_) => {
                    count += 1;
                    continue;
                }
                None => {
                    held = held.saturating_add(value.bytes);
                    if held > ahead.limit || requests.len() >= VALUES {
                        break;
                    }
                    bytes = value.bytes;
                    let request = Request {
                        piece: value.piece,
                        bytes,
                        users: 1,
                        is_counted: false,
                        part: None,
                        answer: Arc::new(Mutex::new(Answer::Failed)),
                    };
                    requests.insert(key.clone(), request);
                    new.push((count, key.clone()));
                }
            }
            count += 1;
            let wanted = Wanted {
                ahead,
                key,
                piece: value.piece,
                bytes,
            };
            self.wanted.push((value.task, value.users, wanted));
        }
        for group in groups(values, new) {
            let [first, last] = [&group[0], &group[group.len() - 1]];
            let piece = around(values[first.0].piece, values[last.0].piece);
            let Some(begun) = place.begin(&first.1.1, piece) else {
                continue;
            };
            let answer = Arc::new(Mutex::new(Answer::Coming(begun)));
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

    /// Returns whether the answer to a request for a value has come. `None` if it was not requested.
    pub(super) fn has(&self, source: usize, key: &str, piece: Piece) -> Option<bool> {
        let key = name(source, key, piece);
        let mut wanted = self.wanted.iter().map(|(.., wanted)| wanted);
        wanted.find(|wanted| wanted.key == key && wanted.piece == piece)?;
        Some(self.ahead.requests().get(&key)?.has_come())
    }

    /// Waits for a value that was requested, and gives it up. Also returns whether nobody has had it before. `None` if it
    /// was not requested.
    pub(super) fn take(
        &mut self,
        source: usize,
        key: &str,
        piece: Piece,
    ) -> Option<Result<(Value, bool), Unread>> {
        let key = name(source, key, piece);
        let mut wanted = self.wanted.iter().map(|(.., wanted)| wanted);
        let number = wanted.position(|wanted| wanted.key == key && wanted.piece == piece)?;
        let (_, users, wanted) = self.wanted.remove(number);
        let (answer, part, is_first) = {
            let mut requests = self.ahead.requests();
            let request = requests.get_mut(&key)?;
            let is_first = !std::mem::replace(&mut request.is_counted, true);
            (request.answer.clone(), request.part.clone(), is_first)
        };
        let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Answer::Coming(_) = *answer
            && let Answer::Coming(begun) = std::mem::replace(&mut *answer, Answer::Failed)
        {
            match (begun.wait)() {
                Ok(value) => *answer = Answer::Come(value),
                // Which of several values is to blame shows when each is read on its own.
                Err(_) if part.is_some() => {}
                Err(error) => return Some(Err(error)),
            }
        }
        let Answer::Come(value) = &*answer else {
            return None;
        };
        let value = match (value, part) {
            (Some(bytes), Some(part)) => Some(bytes.slice(part)),
            (value, _) => value.clone(),
        };
        // Whoever needs the chunk next takes it from here until the cache has it.
        self.used = (users > 1).then_some(wanted);
        Some(Ok((value, is_first)))
    }

    /// Gives up a value, which was found elsewhere.
    pub(super) fn leave(&mut self, source: usize, key: &str, piece: Piece) {
        let key = name(source, key, piece);
        let mut wanted = self.wanted.iter().map(|(.., wanted)| wanted);
        if let Some(number) = wanted.position(|wanted| wanted.key == key) {
            self.wanted.remove(number);
        }
    }
}

fn name(source: usize, key: &str, piece: Piece) -> Key {
    (source, key.to_owned(), begin(piece))
}
