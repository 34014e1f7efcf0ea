//! Connections to object stores, and the threads on which requests run.
//!
//! Readers of chunks are not futures. They run on an engine's threads, which run futures and therefore cannot block on
//! another future. So requests run on a few separate threads, many at a time on each, and the readers wait for answers
//! only when they need them. The connections of an engine's own requests also use these threads, because connections
//! would time out on threads that compute shards.

use crate::zarr::Error;
#[cfg(feature = "sql")]
use object_store::client::SpawnedReqwestConnector;
use object_store::{
    BackoffConfig, ClientOptions, ObjectStore, ObjectStoreScheme, RetryConfig,
    aws::AmazonS3Builder,
    azure::MicrosoftAzureBuilder,
    client::{HttpConnector, HttpError, ReqwestConnector},
    gcp::GoogleCloudStorageBuilder,
    http::HttpBuilder,
    path::Path,
};
use std::{
    collections::HashMap,
    error,
    future::Future,
    io, iter,
    num::NonZero,
    sync::{
        Arc, LazyLock, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};
use tokio::runtime::{Builder, Runtime};
use url::{Position, Url};

/// The maximum number of threads for requests. They wait for the network and decrypt answers.
const REQUEST_THREADS: usize = 4;

static REQUEST_RUNTIME: LazyLock<io::Result<Runtime>> = LazyLock::new(|| {
    let cores = thread::available_parallelism().map_or(REQUEST_THREADS, NonZero::get);
    Builder::new_multi_thread()
        .worker_threads(cores.min(REQUEST_THREADS))
        .thread_name("objects")
        .enable_all()
        .build()
});

fn runtime() -> io::Result<&'static Runtime> {
    let started = REQUEST_RUNTIME.as_ref();
    started.map_err(|error| io::Error::new(error.kind(), format!("cannot start threads: {error}")))
}

/// Requests in progress.
pub(super) struct StartedRequests<T> {
    receiver: mpsc::Receiver<object_store::Result<T>>,
    /// True if their result has arrived.
    pub(super) has_arrived: Arc<AtomicBool>,
}

impl<T> StartedRequests<T> {
    pub(super) fn wait(self) -> io::Result<object_store::Result<T>> {
        let result = self.receiver.recv();
        result.map_err(|_| io::Error::other("a request ended without an answer"))
    }
}

/// Begins requests.
pub(super) fn start<T: Send + 'static>(
    requests: impl Future<Output = object_store::Result<T>> + Send + 'static,
) -> io::Result<StartedRequests<T>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let has_arrived = Arc::new(AtomicBool::new(false));
    let arrived = has_arrived.clone();
    runtime()?.spawn(async move {
        // Sending fails if the answer is no longer needed.
        let _ = sender.send(requests.await);
        arrived.store(true, Ordering::Release);
    });
    Ok(StartedRequests {
        receiver,
        has_arrived,
    })
}

/// Runs requests, and waits for their result. The calling thread can itself be running futures.
pub(super) fn wait<T: Send + 'static>(
    requests: impl Future<Output = object_store::Result<T>> + Send + 'static,
) -> io::Result<object_store::Result<T>> {
    start(requests)?.wait()
}

/// Returns how failed requests are retried: how many times, with which pauses, and for how long. A request fails within
/// seconds if it finds no server, and after about a minute if it gets no answer. In addition, failed tasks are tried
/// again.
fn retry_config() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(5),
            base: 3.0,
        },
        max_retries: 3,
        retry_timeout: Duration::from_secs(60),
    }
}

/// Returns the object store of a URL for requests on any threads, and the path in it.
#[cfg(feature = "sql")]
pub(crate) fn connect(url: &Url) -> Result<(Arc<dyn ObjectStore>, Path), Error> {
    static KNOWN: KnownStores = Mutex::new(None);
    let connector = || Ok(SpawnedReqwestConnector::new(runtime()?.handle().clone()));
    known_store(url, &KNOWN, connector)
}

/// Returns the object store of a URL for requests of [`start`], and the path in it.
pub(super) fn connect_for_start(url: &Url) -> Result<(Arc<dyn ObjectStore>, Path), Error> {
    static KNOWN: KnownStores = Mutex::new(None);
    known_store(url, &KNOWN, || Ok(ReqwestConnector::default()))
}

/// The connected stores, by their URLs.
type KnownStores = Mutex<Option<HashMap<String, Arc<dyn ObjectStore>>>>;

/// Returns the object store of a URL, and the path in it. The store's settings come from environment variables with the
/// names that `object_store` gives them: `AWS_…`, `GOOGLE_…` and `AZURE_…`.
fn known_store<C: HttpConnector>(
    url: &Url,
    stores: &KnownStores,
    connector: impl FnOnce() -> io::Result<C>,
) -> Result<(Arc<dyn ObjectStore>, Path), Error> {
    let unfit = |problem: &dyn error::Error| {
        Error::usage(format_args!(
            "cannot open {url}: {}",
            error_message(problem)
        ))
    };
    let (scheme, path) = ObjectStoreScheme::parse(url).map_err(|error| unfit(&error))?;
    // Arrays in the same bucket share connections.
    let store_url = url.as_str().trim_end_matches('/');
    let store_url = store_url.strip_suffix(path.as_ref()).unwrap_or(store_url);
    let mut stores = stores.lock().unwrap_or_else(PoisonError::into_inner);
    let stores = stores.get_or_insert_default();
    if let Some(store) = stores.get(store_url) {
        return Ok((store.clone(), path));
    }
    let connector = connector().map_err(|error| unfit(&error))?;
    let store: object_store::Result<Arc<dyn ObjectStore>> = match scheme {
        ObjectStoreScheme::AmazonS3 => AmazonS3Builder::from_env()
            .with_url(url.as_str())
            .with_retry(retry_config())
            .with_http_connector(connector)
            .build()
            .map(|store| Arc::new(store) as _),
        ObjectStoreScheme::GoogleCloudStorage => GoogleCloudStorageBuilder::from_env()
            .with_url(url.as_str())
            .with_retry(retry_config())
            .with_http_connector(connector)
            .build()
            .map(|store| Arc::new(store) as _),
        ObjectStoreScheme::MicrosoftAzure => MicrosoftAzureBuilder::from_env()
            .with_url(url.as_str())
            .with_retry(retry_config())
            .with_http_connector(connector)
            .build()
            .map(|store| Arc::new(store) as _),
        _ => HttpBuilder::new()
            .with_url(&url[..Position::BeforePath])
            // Without this option, the client rejects URLs that begin with `http://`, whose connections are not
            // encrypted.
            .with_client_options(ClientOptions::new().with_allow_http(url.scheme() == "http"))
            .with_retry(retry_config())
            .with_http_connector(connector)
            .build()
            .map(|store| Arc::new(store) as _),
    };
    let store = store.map_err(|error| {
        let error = unfit(&error);
        Error::usage(format_args!(
            "{error}: set the variables of the environment that it needs, which begin with AWS_, GOOGLE_ or AZURE_"
        ))
    })?;
    stores.insert(store_url.to_owned(), store.clone());
    Ok((store, path))
}

/// Converts an error of an object store to an I/O error of the kind that fits best.
pub(super) fn to_io_error(error: &object_store::Error) -> io::Error {
    use object_store::Error as E;
    let kind = match error {
        E::NotFound { .. } => io::ErrorKind::NotFound,
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => io::ErrorKind::PermissionDenied,
        E::AlreadyExists { .. } | E::Precondition { .. } => io::ErrorKind::AlreadyExists,
        E::NotSupported { .. } | E::NotImplemented { .. } => io::ErrorKind::Unsupported,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error_message(error))
}

/// Returns whether a request failed for lack of an answer, so that another request would have to wait as long.
pub(super) fn is_unanswered(error: &object_store::Error) -> bool {
    let first: &dyn error::Error = error;
    let mut causes = iter::successors(Some(first), |error| error.source());
    causes.any(|cause| cause.is::<HttpError>())
}

/// Returns the error and its innermost cause on one line. For example, the error alone does not tell whether a
/// connection was refused.
fn error_message(error: &dyn error::Error) -> String {
    /// The maximum number of characters in a message. A server's answer can be a whole web page.
    const MAX_MESSAGE_LENGTH: usize = 600;
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        cause = error.source();
        let innermost = error.to_string();
        if cause.is_none() && !text.contains(&innermost) {
            text = format!("{text}: {innermost}");
        }
    }
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(MAX_MESSAGE_LENGTH) {
        line.truncate(end);
        line.push('…');
    }
    line
}
