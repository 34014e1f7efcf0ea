//! The device, as wgpu wants one.
//!
//! | file | decides |
//! |---|---|
//! | `device` | how things are made, and how errors get to their scopes |
//! | `buffer` | buffers, and how they are mapped |
//! | `bind` | what a bind group binds, and the layouts of bind groups |
//! | `pipeline` | how a shader becomes a program |
//! | `commands` | what is recorded |
//! | `queue` | how it is run |
//! | `request` | which pipelines a program asked for |

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
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
    thread::ThreadId,
};

/// A device that runs shaders in an interpreter. Cheap to clone; clones are the same device.
#[derive(Clone, Debug)]
pub struct StrictGpu {
    shared: Arc<Shared>,
}

impl StrictGpu {
    /// A device of this kind.
    pub fn new(options: Options) -> Self {
        let (features, limits) = (options.features, options.limits.clone());
        let shared = Shared::new(Arc::new(options), Arc::default(), features, limits);
        Self {
            shared: Arc::new(shared),
        }
    }

    /// The device.
    pub fn device(&self) -> wgpu::Device {
        wgpu::Device::from_custom(StrictDevice(Arc::clone(&self.shared)))
    }

    /// Its queue.
    pub fn queue(&self) -> wgpu::Queue {
        wgpu::Queue::from_custom(StrictQueue(Arc::clone(&self.shared)))
    }

    /// An adapter whose devices have the features and limits that are asked of it. Their faults and counts come
    /// together with this one's.
    pub fn adapter(&self) -> wgpu::Adapter {
        wgpu::Adapter::from_custom(StrictAdapter(Arc::clone(&self.shared)))
    }

    /// What was found wrong since this was last asked for, with [`Options::panics`] off; of each line of a
    /// dispatch the first fault of each kind.
    pub fn take_faults(&self) -> Vec<Fault> {
        std::mem::take(&mut locked(&self.shared.log.faults))
    }

    /// The pipelines that were made since this was last asked for, where [`Options::keeps_pipelines`] is on.
    pub fn take_pipelines(&self) -> Vec<PipelineRequest> {
        std::mem::take(&mut locked(&self.shared.log.pipelines))
    }

    /// The counts of the dispatches since this was last asked for, in the order in which they ran.
    pub fn take_counts(&self) -> Vec<DispatchCounts> {
        std::mem::take(&mut locked(&self.shared.log.counts))
    }
}

/// What all devices of an adapter find.
#[derive(Debug, Default)]
struct Log {
    faults: Mutex<Vec<Fault>>,
    counts: Mutex<Vec<DispatchCounts>>,
    pipelines: Mutex<Vec<PipelineRequest>>,
    /// The number of the dispatch that comes next.
    dispatches: AtomicU64,
}

/// What the parts of a device share.
struct Shared {
    options: Arc<Options>,
    log: Arc<Log>,
    features: wgpu::Features,
    limits: wgpu::Limits,
    /// Held by whoever submits or writes: what threads submit runs one after the other, whole.
    timeline: Mutex<()>,
    /// Callbacks that are due.
    due: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
    /// Error scopes of each thread, the innermost last.
    scopes: Mutex<HashMap<ThreadId, Vec<Scope>>>,
    handler: Mutex<Option<Arc<dyn wgpu::UncapturedErrorHandler>>>,
}

struct Scope {
    filter: wgpu::ErrorFilter,
    error: Option<wgpu::Error>,
}

impl Shared {
    fn new(
        options: Arc<Options>,
        log: Arc<Log>,
        features: wgpu::Features,
        limits: wgpu::Limits,
    ) -> Self {
        Self {
            options,
            log,
            features,
            limits,
            timeline: Mutex::default(),
            due: Mutex::default(),
            scopes: Mutex::default(),
            handler: Mutex::default(),
        }
    }

    /// Panics, or keeps the faults.
    fn found(&self, faults: Vec<Fault>) {
        if self.options.panics && !faults.is_empty() {
            let all: Vec<_> = faults.iter().map(Fault::to_string).collect();
            panic!("{}", all.join("\n"));
        }
        locked(&self.log.faults).extend(faults);
    }

    /// Tells the innermost scope for validation errors, or whoever hears of errors without a scope.
    fn invalid(&self, description: String) {
        let error = wgpu::Error::Validation {
            source: description.clone().into(),
            description,
        };
        let mut scopes = locked(&self.scopes);
        let mine = scopes.entry(std::thread::current().id()).or_default();
        let scope = mine
            .iter_mut()
            .rev()
            .find(|scope| scope.filter == wgpu::ErrorFilter::Validation);
        if let Some(scope) = scope {
            scope.error.get_or_insert(error);
            return;
        }
        drop(scopes);
        let handler = locked(&self.handler).clone();
        match handler {
            Some(handler) => handler(error),
            None => panic!("{error}"),
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// A fault may have panicked with the lock held: what it guards is whole nevertheless.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// For what this device has not got.
fn missing(what: &str) -> ! {
    panic!("strict-gpu has no {what}")
}
