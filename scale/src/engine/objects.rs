//! Finds the object stores of the files that queries read: tables, and the lists of tasks of a job that writes to an
//! object store.

use crate::zarr::objects::connect;
use datafusion::{
    error::{DataFusionError, Result},
    execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry},
};
use object_store::ObjectStore;
use std::sync::Arc;
use url::Url;

/// Finds the object store of a URL. If no store is registered for the URL, each process takes the store's settings from
/// its environment variables.
#[derive(Debug, Default)]
pub(super) struct Registry(DefaultObjectStoreRegistry);

impl ObjectStoreRegistry for Registry {
    fn register_store(
        &self,
        url: &Url,
        store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        self.0.register_store(url, store)
    }

    fn deregister_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        self.0.deregister_store(url)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        if let Ok(store) = self.0.get_store(url) {
            return Ok(store);
        }
        let store = connect(url).map_err(|error| DataFusionError::External(error.into()))?;
        Ok(store.0)
    }
}
