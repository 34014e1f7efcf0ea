//! Runs queries: in this process, or on a Ballista cluster.

use crate::functions;
use datafusion::{
    error::Result,
    prelude::{SessionConfig, SessionContext},
};

/// Runs queries. The same query gives the same result on every engine.
pub struct Engine {
    context: SessionContext,
}

impl Engine {
    /// An engine in this process that runs up to `threads` tasks at a time.
    pub fn embedded(threads: usize) -> Result<Self> {
        let config = SessionConfig::new().with_target_partitions(threads);
        let mut context = SessionContext::new_with_config(config);
        functions::register_all(&mut context)?;
        Ok(Self { context })
    }

    /// The session in which queries are planned.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }
}
