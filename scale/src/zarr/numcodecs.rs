//! Converts the codecs of the Python package numcodecs: the codecs of Zarr V2, and codecs of Zarr V3 with names that
//! begin with `numcodecs.`. Most of these codecs correspond to a Zarr V3 codec with another configuration.

use serde_json::{Value, json};
use zarrs::metadata::DataTypeSize;
use zarrs::metadata_ext::codec::blosc::{
    BloscCodecConfigurationNumcodecs, codec_blosc_v2_numcodecs_to_v3,
};

/// The prefix of the names of these codecs in Zarr V3.
pub(super) const PREFIX: &str = "numcodecs.";

/// The supported codecs, without the prefix. README.md lists them too.
const SUPPORTED_CODECS: [&str; 18] = [
    "adler32",
    "bitround",
    "blosc",
    "bytes",
    "bz2",
    "crc32",
    "crc32c",
    "delta",
    "fixedscaleoffset",
    "fletcher32",
    "gzip",
    "lz4",
    "quantize",
    "sharding_indexed",
    "shuffle",
    "transpose",
    "zlib",
    "zstd",
];

/// The codecs that Zarr V3 does not have under the same name.
const CODECS_NOT_IN_V3: [&str; 11] = [
    "adler32",
    "bitround",
    "bz2",
    "crc32",
    "delta",
    "fixedscaleoffset",
    "fletcher32",
    "lz4",
    "quantize",
    "shuffle",
    "zlib",
];

/// Returns the error for an unsupported codec, with a way to convert the array.
pub(super) fn unsupported(name: &str) -> String {
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    format!(
        "its codec {name} is not supported, but {} are: write the array anew with one of them, for example in Python \
         with zarr.create_array('new.zarr', data=zarr.open_array('old.zarr'))",
        SUPPORTED_CODECS.join(", ")
    )
}

/// Returns the Zarr V3 codec that decodes the output of this codec, or `None` if decoding changes nothing.
/// `element_bytes` is the size of the array's elements.
pub(super) fn to_v3(codec: Value, element_bytes: usize) -> Result<Option<Value>, String> {
    // A codec without a configuration can be just its name.
    let (name, mut configuration) = match codec {
        Value::String(name) => (name, Value::Null),
        mut codec => {
            let configuration = codec.get_mut("configuration").map(Value::take);
            let name = codec["name"].as_str().unwrap_or_default().to_owned();
            (name, configuration.unwrap_or_default())
        }
    };
    if name.strip_prefix(PREFIX).unwrap_or(&name).is_empty() {
        return Err("one of its codecs has no name".to_owned());
    }
    if !configuration.is_null() && !configuration.is_object() {
        return Err(format!(
            "the configuration of its codec {name} is {configuration}, and must be an object of JSON"
        ));
    }
    // Some writers omit the prefix.
    let name = match CODECS_NOT_IN_V3.contains(&&*name) {
        true => format!("{PREFIX}{name}"),
        false => name,
    };
    let Some(id) = name.strip_prefix(PREFIX) else {
        return Ok(Some(named_codec(&name, configuration)));
    };
    // Some versions of NetCDF write numbers as strings.
    for value in configuration
        .as_object_mut()
        .into_iter()
        .flat_map(|it| it.values_mut())
    {
        if let Some(number) = value.as_str().and_then(|text| text.parse::<i64>().ok()) {
            *value = json!(number);
        }
    }
    let level = configuration["level"].as_i64();
    Ok(Some(match id {
        "gzip" => named_codec("gzip", json!({"level": level.unwrap_or(1)})),
        "zstd" => {
            let checksum = configuration["checksum"].as_bool().unwrap_or(false);
            named_codec(
                "zstd",
                json!({"level": level.unwrap_or(0), "checksum": checksum}),
            )
        }
        // The level only matters for encoding, and some levels are not valid in Zarr V3.
        "zlib" | "bz2" => named_codec(&name, json!({"level": 1})),
        "blosc" => {
            let unread =
                |error| format!("the configuration of its codec blosc cannot be read: {error}");
            for (field, value) in [("blocksize", 0), ("shuffle", 1), ("clevel", 5)] {
                if configuration[field].is_null() {
                    configuration[field] = json!(value);
                }
            }
            if let Some(configuration) = configuration.as_object_mut() {
                configuration.remove("typesize");
            }
            let blosc: BloscCodecConfigurationNumcodecs =
                serde_json::from_value(configuration).map_err(unread)?;
            let blosc =
                codec_blosc_v2_numcodecs_to_v3(&blosc, Some(DataTypeSize::Fixed(element_bytes)));
            named_codec("blosc", serde_json::to_value(blosc).map_err(unread)?)
        }
        "crc32c"
            if configuration["location"]
                .as_str()
                .is_none_or(|it| it == "end") =>
        {
            json!({"name": "crc32c"})
        }
        // NetCDF writes 0 to mean the size of the variable's elements.
        "shuffle" => {
            let size = configuration["elementsize"].as_u64();
            let size = size
                .filter(|&size| size > 0)
                .unwrap_or(element_bytes as u64);
            named_codec(&name, json!({"elementsize": size}))
        }
        // This codec only rounds when it encodes.
        "bitround" => return Ok(None),
        "quantize" => match (&configuration["astype"], &configuration["dtype"]) {
            (stored, decoded) if stored.is_null() || stored == decoded => return Ok(None),
            (stored, decoded) => {
                return Err(format!(
                    "its codec quantize stores {stored} for {decoded}, which is not supported: write the array anew \
                     with elements of one type"
                ));
            }
        },
        _ => named_codec(&name, configuration),
    }))
}

fn named_codec(name: &str, configuration: Value) -> Value {
    match configuration {
        Value::Null => json!({"name": name}),
        configuration => json!({"name": name, "configuration": configuration}),
    }
}
