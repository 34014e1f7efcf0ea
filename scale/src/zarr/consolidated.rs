//! Finds groups whose consolidated metadata is out of date. Consolidated metadata is a group's copy of the metadata of
//! all arrays below it. Readers of the group trust this copy.
//!
//! Like `zarr-python`, a job reads and writes only the array's own metadata.

use super::{Location, Piece, Place, metadata, place};
use serde_json::Value;
use std::path::Path;

/// Returns a warning for each group around an array if the group's consolidated metadata does not describe the array,
/// and for each group of Zarr V2. `metadata` is the array's `zarr.json`, which has just been written. Unreadable groups
/// give no warning, because the array does not depend on them.
pub fn stale(array: &Path, metadata: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    let Ok(location) = Location::new(array) else {
        return warnings;
    };
    let array_name = location.clone().into_name().display().to_string();
    let mut parent = location.parent();
    while let Some(group) = parent {
        parent = group.parent();
        let group = group.into_name();
        let Ok(place) = place(&group) else {
            break;
        };
        let group_name = group.display().to_string();
        let Some(key) = array_name.strip_prefix(&group_name) else {
            break;
        };
        let key = key.trim_start_matches('/');
        if let Some(group_metadata) = json(&*place, "zarr.json") {
            let consolidated = &group_metadata["consolidated_metadata"];
            if !consolidated.is_null() && !is_described_by(&consolidated["metadata"][key], metadata)
            {
                warnings.push(format!(
                    "the consolidated metadata of the group {group_name} does not describe {key} as it is now: who \
                     opens the group finds no such array, or another one. Write that metadata anew, as zarr-python's \
                     consolidate_metadata does"
                ));
            }
        } else if json(&*place, ".zgroup").is_some() {
            let consolidated = json(&*place, ".zmetadata").unwrap_or_default();
            let stale_note = match &consolidated["metadata"][format!("{key}/.zarray")] {
                Value::Null => "",
                _ => ", and its .zmetadata still describes another one there",
            };
            warnings.push(format!(
                "{group_name} is a group of Zarr V2, in which readers find no array of Zarr V3 such as \
                 {key}{stale_note}: open the array by its own name, or write it outside of the group"
            ));
        } else {
            break;
        }
    }
    warnings
}

/// Returns whether an entry of consolidated metadata contains all of an array's metadata.
fn is_described_by(entry: &Value, metadata: &Value) -> bool {
    let mut fields = metadata.as_object().into_iter().flatten();
    fields.all(|(field, value)| entry[field] == *value)
}

fn json(place: &dyn Place, key: &str) -> Option<Value> {
    let text = place.read(key, Piece::ALL).ok()??;
    metadata::json(&text).ok()
}
