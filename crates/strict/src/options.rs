//! The options of a device.

use crate::Counting;
use std::{fmt, sync::Arc};

/// The treatment of accesses outside of a binding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outside {
    /// The access is a fault. Faults of all other kinds are also reported.
    #[default]
    Fault,
    /// The index is clamped to the last element, as by naga on Metal, by naga on Vulkan without robustBufferAccess2,
    /// and by Tint in browsers. The only faults are loops of too many iterations and divergent barriers.
    Clamp,
    /// A write is dropped and a read gives zeros, as with robustBufferAccess2. An index into a value that is not in
    /// memory is clamped. The only faults are loops of too many iterations and divergent barriers.
    Drop,
}

/// A function that changes the WGSL of each shader before it is parsed, for example to insert bugs.
#[derive(Clone)]
pub struct Rewrite(Arc<dyn Fn(&str) -> String + Send + Sync>);

impl Rewrite {
    /// Makes a rewrite that replaces the WGSL of each shader by the result of `rewrite`.
    pub fn new(rewrite: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(rewrite))
    }

    pub(crate) fn apply(&self, source: &str) -> String {
        (self.0)(source)
    }
}

impl fmt::Debug for Rewrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rewrite")
    }
}

/// The options of a device.
#[derive(Clone, Debug)]
pub struct Options {
    /// The information that the adapter reports, such as its device type, API and name.
    pub info: wgpu::AdapterInfo,
    /// The features that the adapter has.
    pub features: wgpu::Features,
    /// The limits that the adapter has.
    pub limits: wgpu::Limits,
    /// The treatment of accesses outside of a binding.
    pub outside: Outside,
    /// The maximum number of iterations of a loop. More iterations are a fault. The default is the number of iterations
    /// after which Mesa's lavapipe leaves a loop.
    pub most_rounds: u32,
    /// True if a dispatch with faults panics, within `Queue::submit`. If false, [`StrictGpu::take_faults`] returns the
    /// faults.
    ///
    /// [`StrictGpu::take_faults`]: crate::StrictGpu::take_faults
    pub panics: bool,
    /// The seed for running invocations in random order. `None` means ascending order. In ascending order a shader
    /// whose result depends on the order can be correct by chance. For example, if all invocations store atomically to
    /// one word, the word always keeps the last invocation's value. A GPU guarantees no order except for barriers, so
    /// tests should run with seeds.
    ///
    /// With a seed, the workgroups of a dispatch run in random order. Each workgroup steps through its invocations in
    /// its own random order. If a shader has no barriers, about half of the workgroups run in two parts, in sequence.
    /// The side of an `if` that runs first is also random.
    ///
    /// Repeating a dispatch repeats its order. The order depends on the shader, the seed, the number of workgroups, the
    /// sizes of the bindings and the content of the immediates. With [`Options::counting`], the order is ascending.
    pub shuffle: Option<u64>,
    /// How accesses and operations are counted, or `None` if they are not. Counting can leave out workgroups, so races
    /// and uses of unwritten memory are then not reported.
    pub counting: Option<Counting>,
    /// The change to the WGSL of each shader, if any.
    pub rewrite: Option<Rewrite>,
    /// True if requests for pipelines are kept for [`StrictGpu::take_pipelines`].
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
            shuffle: None,
            counting: None,
            rewrite: None,
            keeps_pipelines: false,
        }
    }
}
