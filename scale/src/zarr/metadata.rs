//! Converts the metadata of an array to the one form that the rest of the program reads: Zarr V3 as specified. Converts
//! Zarr V2 to V3, and repairs deviations of known writers.

use super::{
    codecs::{self, element},
    dtype, numcodecs,
};
use serde_json::{Value, json};
use wgslice::DType;
use zarrs::{
    array::{ArrayMetadataV2, Codec},
    convert::array_metadata_v2_to_v3,
    metadata::v3::MetadataV3,
    plugin::PluginCreateError,
};

/// The error for a name that belongs to a group instead of an array.
pub(super) const GROUP: &str = "it is a group; name an array in it";

const NO_OBJECT: &str = "its metadata is not an object of JSON";

/// Converts a `zarr.json` to Zarr V3 as specified. Fails if it does not describe an array, or has unsupported codecs.
pub(super) fn v3(mut metadata: Value) -> Result<Value, String> {
    if !metadata.is_object() {
        return Err(NO_OBJECT.to_owned());
    }
    if metadata["node_type"] == "group" {
        return Err(GROUP.to_owned());
    }
    let data_type = data_type(&metadata["data_type"]);
    if let Some(fill) = metadata.get_mut("fill_value") {
        *fill = fill_value(fill.take(), &data_type);
    }
    // Java writers write null for absent fields.
    if let Some(fields) = metadata.as_object_mut() {
        let optional_fields = ["attributes", "dimension_names", "storage_transformers"];
        fields.retain(|name, value| !value.is_null() || !optional_fields.contains(&&**name));
    }
    let codecs = metadata["codecs"].take();
    metadata["codecs"] = codec_chain(codecs, &data_type)?;
    Ok(metadata)
}

/// Converts a `.zarray` and its `.zattrs` to Zarr V3. Fails like [`v3`].
pub(super) fn v2(mut metadata: Value, attributes: Option<Value>) -> Result<Value, String> {
    if !metadata.is_object() {
        return Err(NO_OBJECT.to_owned());
    }
    let mut take = |field: &str| metadata.get_mut(field).map(Value::take).unwrap_or_default();
    let (fill, filters, compressor) = (take("fill_value"), take("filters"), take("compressor"));
    // The function `fill_value` converts the real value below. `zarrs` gets 0 instead, because it warns about null.
    metadata["fill_value"] = json!(0);
    // An unknown name is replaced for the conversion, and a later check rejects it if it is not an element type.
    // TensorStore writes its own names for types that NumPy lacks, always in little-endian order.
    let dtype = &mut metadata["dtype"];
    let name = dtype
        .as_str()
        .map_or_else(|| dtype.to_string(), str::to_owned);
    let is_unknown_type = element(&name).is_none();
    if is_unknown_type {
        *dtype = json!(if name == "bfloat16" { "<u2" } else { "|u1" });
    }
    // `zarrs` cannot convert Fortran order for an array without dimensions.
    if metadata["shape"] == json!([]) {
        metadata["order"] = json!("C");
    }
    let parsed: ArrayMetadataV2 =
        serde_json::from_value(metadata).map_err(|error| format!(".zarray: {error}"))?;
    let converted = array_metadata_v2_to_v3(&parsed).map_err(|error| error.to_string())?;
    let mut converted = serde_json::to_value(converted).map_err(|error| error.to_string())?;
    if is_unknown_type {
        converted["data_type"] = json!(name);
    }
    let data_type = data_type(&converted["data_type"]);
    converted["fill_value"] = fill_value(fill, &data_type);
    if let Some(attributes) = attributes {
        converted["attributes"] = attributes;
    }
    let list = |value: Value| match value {
        Value::Null => Vec::new(),
        Value::Array(values) => values,
        value => vec![value],
    };
    let mut filters = list(filters);
    // The output of a filter can have another byte order than the array.
    let mut reversed_filters = filters.iter().rev();
    let stored_element = reversed_filters.find_map(|filter| element(filter["astype"].as_str()?));
    // The converted codecs are `transpose`, if dimensions are permuted, and `bytes` with the byte order.
    let mut codecs = list(converted["codecs"].take());
    if let (Some((_, is_big)), Some(bytes)) = (stored_element, codecs.last_mut()) {
        let endian = if is_big { "big" } else { "little" };
        *bytes = json!({"name": "bytes", "configuration": {"endian": endian}});
    }
    filters.extend(list(compressor));
    codecs.extend(filters.into_iter().map(|mut codec| {
        let name = codec.get_mut("id").map(Value::take).unwrap_or_default();
        let name = name.as_str().unwrap_or_default();
        if let Some(configuration) = codec.as_object_mut() {
            configuration.remove("id");
        }
        json!({"name": format!("{}{name}", numcodecs::PREFIX), "configuration": codec})
    }));
    converted["codecs"] = codec_chain(Value::from(codecs), &data_type)?;
    Ok(converted)
}

/// Replaces an 8-bit float type, which `zarrs` lacks, by `uint8`. Returns the name of the original type. Fails if the
/// fill value is not a number of this type.
pub(super) fn replace_float8(metadata: &mut Value) -> Result<String, String> {
    let name = data_type(&metadata["data_type"]);
    if dtype::is_float8(&name) {
        let fill = &metadata["fill_value"];
        let bits = dtype::float8_bits(&name, fill);
        let bits =
            bits.ok_or_else(|| format!("its fill value {fill} is not a number of type {name}"))?;
        metadata["data_type"] = json!("uint8");
        metadata["fill_value"] = json!(bits);
    }
    Ok(name)
}

/// Parses JSON. Python's writers write NaN and infinities in attributes, although JSON does not have such numbers.
/// These become strings, as in fill values.
pub(super) fn json(text: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(text)
        .or_else(|error| serde_json::from_slice(&quoted(text)).map_err(|_| error))
}

/// Quotes `NaN`, `Infinity` and `-Infinity`, except within strings.
fn quoted(text: &[u8]) -> Vec<u8> {
    let mut quoted = Vec::with_capacity(text.len());
    let mut rest = text;
    let mut is_in_string = false;
    while let Some((&byte, next)) = rest.split_first() {
        let names: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];
        let name = names.into_iter().find(|name| rest.starts_with(name));
        if let Some(name) = name.filter(|_| !is_in_string) {
            quoted.extend([b"\"", name, b"\""].concat());
            rest = &rest[name.len()..];
            continue;
        }
        quoted.push(byte);
        rest = next;
        match byte {
            b'"' => is_in_string = !is_in_string,
            b'\\' => {
                // The escaped character does not end the string.
                if let Some((&escaped, next)) = rest.split_first() {
                    quoted.push(escaped);
                    rest = next;
                }
            }
            _ => {}
        }
    }
    quoted
}

/// Returns the name of an element type.
fn data_type(metadata: &Value) -> String {
    let name = metadata.get("name").unwrap_or(metadata);
    name.as_str().unwrap_or_default().to_owned()
}

/// Converts the codecs of a chunk to Zarr V3 and sorts them: first the codecs that change elements, then the codec that
/// converts elements to bytes, and then the codecs that change bytes.
fn codec_chain(codecs: Value, data_type: &str) -> Result<Value, String> {
    let Value::Array(codecs) = codecs else {
        return Err("its codecs are not a list".to_owned());
    };
    let dtype = DType::ALL
        .into_iter()
        .find(|dtype| dtype.name() == data_type);
    let element_bytes = dtype.map_or(1, DType::size);
    let mut codecs_by_kind = [Vec::new(), Vec::new(), Vec::new()];
    for codec in codecs {
        let Some(mut codec) = numcodecs::to_v3(codec, element_bytes)? else {
            continue;
        };
        // A transpose of no dimensions, which `zarrs` rejects, changes nothing.
        if codec["name"] == "transpose" && codec["configuration"]["order"] == json!([]) {
            continue;
        }
        if codec["name"] == "sharding_indexed" {
            for field in ["codecs", "index_codecs"] {
                let inner_codecs = &mut codec["configuration"][field];
                let data_type = if field == "codecs" {
                    data_type
                } else {
                    "uint64"
                };
                *inner_codecs = codec_chain(inner_codecs.take(), data_type)?;
            }
        }
        let kind_index = match make_codec(&codec)? {
            Codec::ArrayToArray(_) => 0,
            Codec::ArrayToBytes(_) => 1,
            Codec::BytesToBytes(_) => 2,
        };
        if codec["name"] == "transpose" {
            codec["name"] = json!(codecs::TRANSPOSE);
        }
        codecs_by_kind[kind_index].push(codec);
    }
    let [elements, mut bytes, compressors] = codecs_by_kind;
    // GDAL and zarrita omit this codec in Zarr V3.
    if bytes.is_empty() {
        bytes.push(json!({"name": "bytes", "configuration": {"endian": "little"}}));
    }
    Ok([elements, bytes, compressors].concat().into())
}

fn make_codec(codec: &Value) -> Result<Codec, String> {
    codecs::register();
    let metadata: MetadataV3 =
        serde_json::from_value(codec.clone()).map_err(|error| format!("{codec}: {error}"))?;
    Codec::from_metadata(&metadata).map_err(|error| match error {
        PluginCreateError::Unsupported(_) => numcodecs::unsupported(metadata.name()),
        error => format!("the codec {codec} cannot be read: {error}"),
    })
}

/// Converts a fill value to the form that Zarr V3 specifies for the type. Writers store it as a number of another type,
/// as a string, or as null if it does not matter.
fn fill_value(value: Value, data_type: &str) -> Value {
    if value.is_null() && dtype::is_float8(data_type) {
        return json!(0);
    }
    let Some(dtype) = DType::ALL
        .into_iter()
        .find(|dtype| dtype.name() == data_type)
    else {
        return value;
    };
    let number = |value: &Value| -> Option<Value> {
        match value {
            Value::Null => Some(json!(0)),
            Value::Number(_) => Some(value.clone()),
            // Other strings are NaN, Infinity, or the bits of a number.
            Value::String(text) => {
                let integer = text.parse::<i64>().map(Value::from);
                let integer = integer.or_else(|_| text.parse::<u64>().map(Value::from));
                let number =
                    integer.or_else(|_| serde_json::from_str::<f64>(text).map(Value::from));
                number.ok()
            }
            _ => None,
        }
    };
    let converted = match dtype {
        DType::Bool => match &value {
            Value::Bool(_) => None,
            value => number(value).and_then(|number| match number.as_f64() {
                Some(0.0) => Some(json!(false)),
                Some(1.0) => Some(json!(true)),
                _ => None,
            }),
        },
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 => number(&value),
        DType::Complex64 | DType::Complex128 => match &value {
            Value::Array(components) => {
                let components = components
                    .iter()
                    .map(|component| number(component).unwrap_or(component.clone()));
                Some(components.collect())
            }
            value => number(value).map(|real| json!([real, 0])),
        },
        _ => number(&value).and_then(|number| integer(&number)),
    };
    converted.unwrap_or(value)
}

/// Returns a JSON number as an integer, or `None` if the number might not be exactly an integer.
fn integer(number: &Value) -> Option<Value> {
    /// Above this number, some integers have no 64-bit float.
    const MAX_EXACT_INTEGER: f64 = (1_u64 << 53) as f64;
    if number.is_i64() || number.is_u64() {
        return Some(number.clone());
    }
    let number = number.as_f64()?;
    (number.trunc() == number && number.abs() <= MAX_EXACT_INTEGER).then(|| json!(number as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_json_does_not_have_become_strings() {
        let text = br#"{"a": [NaN, -Infinity,Infinity], "NaN": "NaN, \"Infinity", "b\\": NaN}"#;
        let expected = json!({
            "a": ["NaN", "-Infinity", "Infinity"], "NaN": "NaN, \"Infinity", "b\\": "NaN"
        });
        assert_eq!(super::json(text).unwrap(), expected);
        for damaged in ["{\"a\": nan}", "NaNNaN", "{\"a\": \"\\", ""] {
            assert!(super::json(damaged.as_bytes()).is_err(), "{damaged}");
        }
    }

    #[test]
    fn fill_values_are_converted_to_their_type() {
        let cases = [
            ("int32", json!(0.0), json!(0)),
            ("int32", json!(-3.0), json!(-3)),
            ("int16", json!("0"), json!(0)),
            ("int64", json!("-9223372036854775808"), json!(i64::MIN)),
            ("uint64", json!("18446744073709551615"), json!(u64::MAX)),
            ("uint64", json!(u64::MAX), json!(u64::MAX)),
            ("uint8", json!("7.0"), json!(7)),
            ("uint8", Value::Null, json!(0)),
            ("bool", json!(0), json!(false)),
            ("bool", json!(1.0), json!(true)),
            ("bool", json!(true), json!(true)),
            ("bool", Value::Null, json!(false)),
            ("float32", json!("NaN"), json!("NaN")),
            ("float32", json!("0x7fc00001"), json!("0x7fc00001")),
            ("float64", json!("-9999"), json!(-9999)),
            ("float64", json!("1e20"), json!(1e20)),
            ("float64", json!(-0.0), json!(-0.0)),
            ("complex64", Value::Null, json!([0, 0])),
            ("complex64", json!(2.5), json!([2.5, 0])),
            ("complex128", json!(["NaN", "1"]), json!(["NaN", 1])),
            // Values that the type cannot hold stay unchanged, so that a later check rejects them.
            ("int32", json!(0.5), json!(0.5)),
            ("int64", json!(1e19), json!(1e19)),
            ("int32", json!("NaN"), json!("NaN")),
            ("bool", json!(2), json!(2)),
            ("int32", json!([0]), json!([0])),
        ];
        for (dtype, value, expected) in cases {
            assert_eq!(
                fill_value(value.clone(), dtype),
                expected,
                "{dtype} {value}"
            );
        }
    }
}
