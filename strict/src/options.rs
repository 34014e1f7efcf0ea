//! What a device is like.

use crate::Counting;
use std::{fmt, sync::Arc};

/// What becomes of an access outside of a binding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outside {
    /// It is a fault, and so is all else that is wrong.
    #[default]
    Fault,
    /// Its index is clamped to the last element, as by drivers and compilers that do so (naga on Metal, and on
    /// Vulkan without robustBufferAccess2; Tint in browsers). Nothing is a fault but loops and barriers.
    Clamp,
    /// A write is dropped, and a read gives zeros, as with robustBufferAccess2. Nothing is a fault but loops and
    /// barriers.
    Drop,
}

/// A function of the text of each shader, to put bugs in.
#[derive(Clone)]
pub struct Rewrite(Arc<dyn Fn(&str) -> String + Send + Sync>);

impl Rewrite {
    /// By this function.
    pub fn new(rewrite: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(rewrite))
    }

    pub(crate) fn apply(&self, text: &str) -> String {
        (self.0)(text)
    }
}

impl fmt::Debug for Rewrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rewrite")
    }
}

/// What a device is like.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the device says of its adapter: its kind, its API, its name.
    pub info: wgpu::AdapterInfo,
    /// The features that the adapter has.
    pub features: wgpu::Features,
    /// The limits that the adapter has.
    pub limits: wgpu::Limits,
    /// What becomes of an access outside of a binding.
    pub outside: Outside,
    /// Rounds of a loop, at most. Mesa's lavapipe leaves loops after 65,535 rounds.
    pub most_rounds: u32,
    /// Whether a fault panics, when its dispatch is done. Otherwise [`StrictGpu::take_faults`] has them.
    ///
    /// [`StrictGpu::take_faults`]: crate::StrictGpu::take_faults
    pub panics: bool,
    /// What to count. Where it is given, workgroups may be left out, and so memory that nobody wrote and races
    /// are no faults.
    pub counting: Option<Counting>,
    /// What to do to the text of each shader.
    pub rewrite: Option<Rewrite>,
    /// Whether pipelines are told of: [`StrictGpu::take_pipelines`].
    ///
    /// [`StrictGpu::take_pipelines`]: crate::StrictGpu::take_pipelines
    pub keeps_pipelines: bool,
}

impl Default for Options {
    fn default() -> Self {
        let mut info = wgpu::AdapterInfo::new(wgpu::DeviceType::Cpu, wgpu::Backend::Vulkan);
        info.name = "strict".into();
        Self {
            info,
            features: wgpu::Features::IMMEDIATES | wgpu::Features::SHADER_INT64,
            limits: wgpu::Limits {
                max_immediate_size: 128,
                ..wgpu::Limits::default()
            },
            outside: Outside::Fault,
            most_rounds: 65_535,
            panics: true,
            counting: None,
            rewrite: None,
            keeps_pipelines: false,
        }
    }
}
