//! [`Pending`], a value that a device delivers later.

use crate::Error;
#[cfg(feature = "gpu")]
use crate::{gpu::OpenDevice, lock::lock};
use core::{
    fmt,
    pin::Pin,
    task::{Context, Poll, Waker},
};
#[cfg(feature = "gpu")]
use std::sync::{Arc, Mutex};
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
use std::{
    any::Any,
    panic::{self, AssertUnwindSafe},
    thread,
};

/// The waker of calls that poll or block instead of awaiting. It does nothing, because such calls poll again by
/// themselves.
pub(crate) static POLLING_WAKER: &Waker = Waker::noop();

/// A value that a device or a thread delivers when it has finished its work, such as the [`Report`](crate::Report) of a
/// gather. The report of an operation on the CPU is available immediately.
///
/// The value can be [polled](Self::poll), [waited for](Self::wait), or awaited. Clones of a `Pending` share the
/// value. Dropping a `Pending` costs nothing and does not cancel the work.
///
/// ```
/// use wgslice::{options::GatherOptions, Backend};
///
/// let backend = Backend::cpu(); // or Backend::auto()
/// let table = backend.upload((&[1u8, 2, 3], &[3]))?;
/// let ids = backend.upload((&[2u32, 7], &[2]))?;
/// let (rows, report) = table.gather(&ids, GatherOptions::default())?;
/// assert_eq!(rows.to_vec::<u8>()?, [3, 0]);
/// assert_eq!(report.wait()?.out_of_range, 1);
/// # Ok::<(), wgslice::Error>(())
/// ```
///
/// # The report of recorded commands
///
/// Request the report after the commands were submitted. A report that is requested earlier counts no tuple as out of
/// range. The request reads the first out-of-range tuple from the buffer of indices, which must not be overwritten
/// before the report is available. If the buffer lacks the usage `COPY_SRC`, the report gives the tuple's position and
/// leaves its integers empty.
#[derive(Clone)]
pub struct Pending<T>(Source<T>);

#[derive(Clone)]
enum Source<T> {
    /// A value that was known from the start.
    Known(T),
    #[cfg(feature = "gpu")]
    Awaited {
        /// The device that the value comes from. `None` if it comes from a thread.
        device: Option<OpenDevice>,
        state: Arc<Mutex<PendingState<T>>>,
    },
}

#[cfg(feature = "gpu")]
enum PendingState<T> {
    /// The value has not been requested. Holds the function that starts to read it, or `None` after the function was
    /// taken out to be called.
    Recorded(Option<Box<dyn FnOnce() -> ReadFuture<T> + Send>>),
    Reading(ReadFuture<T>),
    Done(Result<T, Error>),
}

#[cfg(feature = "gpu")]
type ReadFuture<T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;

impl<T: Clone> Pending<T> {
    /// Makes a pending value that is already known.
    pub(crate) fn already_known(value: T) -> Self {
        Self(Source::Known(value))
    }

    /// Makes a pending value that a device delivers. The first request calls `start`, which begins to read the value.
    /// The future is not made earlier, because making it takes time and most reports are dropped without a request.
    #[cfg(feature = "gpu")]
    pub(crate) fn from_device<F: Future<Output = Result<T, Error>> + Send + 'static>(
        device: &OpenDevice,
        start: impl FnOnce() -> F + Send + 'static,
    ) -> Self {
        let start = Box::new(move || -> ReadFuture<T> { Box::pin(start()) });
        Self(Source::Awaited {
            device: Some(device.clone()),
            state: Arc::new(Mutex::new(PendingState::Recorded(Some(start)))),
        })
    }

    /// Makes a pending value that `work` computes on its own thread. In a browser, which has no such threads, this call
    /// runs `work` before it returns.
    #[cfg(feature = "gpu")]
    pub(crate) fn on_own_thread(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Self
    where
        T: Send + 'static,
    {
        #[cfg(target_arch = "wasm32")]
        let state = PendingState::Done(work());
        #[cfg(not(target_arch = "wasm32"))]
        let state = {
            type AwaitedResult<T> = Mutex<(Option<thread::Result<Result<T, Error>>>, Vec<Waker>)>;
            let shared_result = Arc::new(AwaitedResult::default());
            let own_result = Arc::clone(&shared_result);
            let run = move || {
                // Every thread that requests the value gets the panic. Otherwise these threads would wait forever.
                let outcome = panic::catch_unwind(AssertUnwindSafe(work));
                let mut own_result = lock(&own_result);
                own_result.0 = Some(outcome);
                own_result.1.drain(..).for_each(Waker::wake);
            };
            if let Err(run) = spawn_thread(run) {
                run();
            }
            PendingState::Reading(Box::pin(std::future::poll_fn(move |context| {
                let mut shared_result = lock(&shared_result);
                match shared_result.0.take() {
                    Some(Ok(result)) => Poll::Ready(result),
                    Some(Err(payload)) => {
                        let message = text_of(&*payload);
                        shared_result.0 = Some(Err(payload));
                        panic!("{message}");
                    }
                    None => {
                        let waker = context.waker();
                        if !shared_result.1.iter().any(|other| other.will_wake(waker)) {
                            shared_result.1.push(waker.clone());
                        }
                        Poll::Pending
                    }
                }
            })))
        };
        Self(Source::Awaited {
            device: None,
            state: Arc::new(Mutex::new(state)),
        })
    }

    /// Returns the value, or `None` if the device or the thread is not done yet. Never blocks.
    ///
    /// # Errors
    ///
    /// An error of the device; [`Error::InvalidIndices`] for a report under
    /// [`OutOfRange::Error`](crate::options::OutOfRange::Error) if a tuple was out of range.
    pub fn poll(&self) -> Result<Option<T>, Error> {
        let poll_now = || self.advance(&mut Context::from_waker(POLLING_WAKER));
        // The first `poll_now` submits the copy that reads the value back. `OpenDevice::poll_callbacks` runs the
        // callback of a copy that is done.
        #[cfg(feature = "gpu")]
        if let Source::Awaited {
            device: Some(device),
            ..
        } = &self.0
            && poll_now().is_pending()
        {
            device.poll_callbacks()?;
        }
        match poll_now() {
            Poll::Ready(value) => value.map(Some),
            Poll::Pending => Ok(None),
        }
    }

    /// Waits until the device or the thread is done, and returns the value. In a browser, which does not allow
    /// blocking, the call fails with [`Error::WouldBlock`] unless the value is already known. Await the value in a
    /// browser.
    ///
    /// # Errors
    ///
    /// The errors of [`Pending::poll`].
    pub fn wait(&self) -> Result<T, Error> {
        #[cfg(feature = "gpu")]
        if let Source::Awaited { device, .. } = &self.0 {
            match device {
                Some(device) if device.may_block => {
                    return device.wait_until(|context| self.advance(context));
                }
                // A thread makes the value. A browser has no threads, so there the value is already made, and `poll`
                // below returns it.
                #[cfg(not(target_arch = "wasm32"))]
                None => return pollster::block_on(self.clone()),
                _ => {}
            }
        }
        self.poll()?.ok_or(Error::WouldBlock {
            what: "the report of a gather, a crop or a scatter",
            instead: "`.await` on the Pending instead of `.wait()`",
        })
    }

    fn advance(&self, context: &mut Context<'_>) -> Poll<Result<T, Error>> {
        let _ = &context;
        match &self.0 {
            Source::Known(value) => Poll::Ready(Ok(value.clone())),
            #[cfg(feature = "gpu")]
            Source::Awaited { state, .. } => lock(state).advance(context),
        }
    }
}

#[cfg(feature = "gpu")]
impl<T: Clone> PendingState<T> {
    fn advance(&mut self, context: &mut Context<'_>) -> Poll<Result<T, Error>> {
        if let Self::Recorded(start) = self
            && let Some(start) = start.take()
        {
            *self = Self::Reading(start());
        }
        if let Self::Reading(reading) = self {
            match reading.as_mut().poll(context) {
                Poll::Ready(value) => *self = Self::Done(value),
                Poll::Pending => return Poll::Pending,
            }
        }
        match self {
            Self::Done(value) => Poll::Ready(value.clone()),
            Self::Recorded(_) | Self::Reading(_) => Poll::Pending,
        }
    }
}

/// Runs `work` on a new thread. Returns `work` if the operating system allows no more threads.
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
fn spawn_thread<W: FnOnce() + Send + 'static>(work: W) -> Result<(), W> {
    let work = Arc::new(Mutex::new(Some(work)));
    let take = |work: &Mutex<Option<W>>| lock(work).take();
    let shared_work = Arc::clone(&work);
    let run = move || take(&shared_work).into_iter().for_each(|work| work());
    match thread::Builder::new().spawn(run) {
        Ok(_) => Ok(()),
        Err(_) => take(&work).map_or(Ok(()), Err),
    }
}

/// Returns the message of a panic.
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a thread that made a value panicked")
        .to_owned()
}

/// Awaits the value. The errors are the same as for [`Pending::poll`].
impl<T: Clone> Future for Pending<T> {
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.advance(context)
    }
}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Pending");
        #[cfg(feature = "gpu")]
        if let Source::Awaited { device, .. } = &self.0 {
            debug.field("device", device);
        }
        debug.finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "gpu"))]
mod tests {
    use super::Pending;
    use crate::Error;
    use std::{panic, thread};

    /// If the thread that makes a value panics, every waiting thread panics too instead of waiting forever.
    #[test]
    fn a_panic_reaches_all_who_wait() {
        let work = || -> Result<u8, Error> {
            thread::yield_now();
            panic!("no value")
        };
        let pending = Pending::on_own_thread(work);
        let wait = |pending: Pending<u8>| move || pending.wait();
        let waiting_threads = [0; 3].map(|_| thread::spawn(wait(pending.clone())));
        for thread in waiting_threads {
            let payload = thread.join().unwrap_err();
            assert_eq!(payload.downcast_ref::<String>().unwrap(), "no value");
        }
        let poll_outcome = panic::catch_unwind(panic::AssertUnwindSafe(|| pending.poll()));
        assert!(poll_outcome.is_err());
    }
}
