//! The implementation of a wgpu device.
//!
//! | file | content |
//! |---|---|
//! | `device` | creation of resources, and error scopes |
//! | `buffer` | buffers and their mapping |
//! | `bind` | bind groups and their layouts |
//! | `pipeline` | the conversion of a shader to a program |
//! | `commands` | recorded commands |
//! | `queue` | the execution of recorded commands |
//! | `request` | the pipelines that a program requested |

mod bind;
mod buffer;
mod commands;
mod device;
mod pipeline;
mod queue;
mod request;

pub use request::PipelineRequest;

use crate::{DispatchCounts, Fault, Options};
use device::{StrictAdapter, StrictDevice};
use queue::StrictQueue;
use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
    thread::ThreadId,
};

/// A device that runs shaders in an interpreter. Cloning is cheap, and clones are the same device.
#[derive(Clone, Debug)]
pub struct StrictGpu {
    shared: Arc<SharedState>,
}

impl StrictGpu {
    /// Makes a device with these options.
    pub fn new(options: Options) -> Self {
        let (features, limits) = (options.features, options.limits.clone());
        let shared = SharedState::new(Arc::new(options), Arc::default(), features, limits);
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Returns the device.
    pub fn device(&self) -> wgpu::Device {
        wgpu::Device::from_custom(StrictDevice(Arc::clone(&self.shared)))
    }

    /// Returns the queue of the device.
    pub fn queue(&self) -> wgpu::Queue {
        wgpu::Queue::from_custom(StrictQueue(Arc::clone(&self.shared)))
    }

    /// Returns an adapter. Its devices have the features and limits that a program requests. The methods `take_faults`,
    /// `take_counts`, `take_pipelines` and `take_labels` also cover these devices.
    pub fn adapter(&self) -> wgpu::Adapter {
        wgpu::Adapter::from_custom(StrictAdapter(Arc::clone(&self.shared)))
    }

    /// Returns the faults since the last call, if [`Options::panics`] is off. A dispatch stops after the first
    /// workgroup that has a fault. If a dispatch has several faults of one kind in one line of the shader, only the
    /// first is kept.
    pub fn take_faults(&self) -> Vec<Fault> {
        std::mem::take(&mut lock(&self.shared.log.faults))
    }

    /// Returns the requests for pipelines since the last call. Empty without [`Options::keeps_pipelines`].
    pub fn take_pipelines(&self) -> Vec<PipelineRequest> {
        std::mem::take(&mut lock(&self.shared.log.pipelines))
    }

    /// Returns the labels of the resources that were created since the last call. Each label follows a word for the
    /// kind of resource, as in `buffer tokens`. A resource without a label is represented by the word alone. The label
    /// of each pipeline that a dispatch ran since then follows the word `dispatch`.
    pub fn take_labels(&self) -> BTreeSet<String> {
        std::mem::take(&mut lock(&self.shared.log.labels))
    }

    /// Returns the counts of the dispatches since the last call, in the order in which they ran. Empty without
    /// [`Options::counting`].
    pub fn take_counts(&self) -> Vec<DispatchCounts> {
        std::mem::take(&mut lock(&self.shared.log.counts))
    }
}

/// The faults and counts of an adapter's devices, the requests for pipelines, and the labels of created resources.
#[derive(Debug, Default)]
struct DeviceLog {
    faults: Mutex<Vec<Fault>>,
    counts: Mutex<Vec<DispatchCounts>>,
    pipelines: Mutex<Vec<PipelineRequest>>,
    labels: Mutex<BTreeSet<String>>,
    /// The number of dispatches so far, on all these devices.
    dispatches: AtomicU64,
}

/// The state that the device, its queue, its buffers and its encoders share.
struct SharedState {
    options: Arc<Options>,
    log: Arc<DeviceLog>,
    features: wgpu::Features,
    limits: wgpu::Limits,
    /// Locked during a submission or a write to a buffer, so that submissions and writes of different threads do not
    /// overlap.
    timeline: Mutex<()>,
    /// The callbacks that the next poll calls.
    due_callbacks: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
    /// The error scopes of each thread, the innermost last.
    scopes: Mutex<HashMap<ThreadId, Vec<ErrorScope>>>,
    uncaptured_error_handler: Mutex<Option<Arc<dyn wgpu::UncapturedErrorHandler>>>,
}

struct ErrorScope {
    filter: wgpu::ErrorFilter,
    error: Option<wgpu::Error>,
}

impl SharedState {
    fn new(
        options: Arc<Options>,
        log: Arc<DeviceLog>,
        features: wgpu::Features,
        limits: wgpu::Limits,
    ) -> Self {
        Self {
            options,
            log,
            features,
            limits,
            timeline: Mutex::default(),
            due_callbacks: Mutex::default(),
            scopes: Mutex::default(),
            uncaptured_error_handler: Mutex::default(),
        }
    }

    /// Records the label of a created resource or of a dispatched pipeline. `kind` is the word that precedes the label
    /// in [`StrictGpu::take_labels`].
    fn record_label(&self, kind: &str, label: Option<&str>) {
        let label = label.map_or_else(|| kind.to_owned(), |label| format!("{kind} {label}"));
        lock(&self.log.labels).insert(label);
    }

    /// Panics with the faults if there are any and [`Options::panics`] is on. Otherwise stores them.
    fn report_faults(&self, faults: Vec<Fault>) {
        if self.options.panics && !faults.is_empty() {
            let mut messages: Vec<_> = faults.iter().map(Fault::to_string).collect();
            let shuffle_seed = self.options.shuffle;
            messages
                .extend(shuffle_seed.map(|seed| format!("in the random order of the seed {seed}")));
            panic!("{}", messages.join("\n"));
        }
        lock(&self.log.faults).extend(faults);
    }

    /// Reports a validation error to the thread's innermost scope for such errors. Without such a scope, the handler of
    /// uncaptured errors gets the error. Panics if there is no handler either.
    fn report_invalid(&self, description: String) {
        let error = wgpu::Error::Validation {
            source: description.clone().into(),
            description,
        };
        let mut scopes = lock(&self.scopes);
        let own_scopes = scopes.entry(std::thread::current().id()).or_default();
        let scope = own_scopes
            .iter_mut()
            .rev()
            .find(|scope| scope.filter == wgpu::ErrorFilter::Validation);
        if let Some(scope) = scope {
            scope.error.get_or_insert(error);
            return;
        }
        drop(scopes);
        let handler = lock(&self.uncaptured_error_handler).clone();
        match handler {
            Some(handler) => handler(error),
            None => panic!("{error}"),
        }
    }
}

impl fmt::Debug for SharedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Locks a mutex, even if a thread panicked while it held the lock, because the guarded data is always consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Panics with the name of a feature that a program uses and this device lacks.
fn panic_for_missing(feature: &str) -> ! {
    panic!("strict-gpu has no {feature}")
}
