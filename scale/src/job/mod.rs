//! A job makes a result store from a source store, one task for each shard of the result.
