//! Values of contracts inside values of the crate [`serde`](::serde), with the feature `serde`.
//!
//! A field with `#[serde(with = "dovetail::serde")]`, or an [`AsJson`], has the form that its value
//! has in Dovetail's JSON: names of fields and of enum values, base64 for bytes, text for integers
//! of 64 bits, protobuf's JSON for the types of a `.proto` file. This works with every type of a
//! contract, generated or derived. Decoding has the default [`Limits`](crate::encoding::Limits).
//!
//! The format must describe itself, as JSON, YAML, TOML, CBOR and MessagePack do; bincode and
//! postcard do not.
//!
#![cfg_attr(feature = "macros", doc = "```")]
#![cfg_attr(not(feature = "macros"), doc = "```ignore")]
//! use dovetail::serde::AsJson;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Clone, Debug, Default, PartialEq, dovetail::Message)]
//! struct Item {
//!     name: String,
//!     count: u32,
//! }
//!
//! #[derive(Serialize, Deserialize)]
//! struct Page {
//!     #[serde(with = "dovetail::serde")]
//!     first: Item,
//!     more: Option<AsJson<Item>>,
//! }
//!
//! let item = Item { name: "lamp".to_owned(), count: 2 };
//! let page = Page { first: item.clone(), more: None };
//! let json = serde_json::to_value(&page)?;
//! assert_eq!(json, serde_json::json!({ "first": { "name": "lamp", "count": 2 }, "more": null }));
//! let page: Page = serde_json::from_value(json)?;
//! assert_eq!(page.first, item);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use ::serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use dovetail_wire::{Decode, Encode, Encoding};
use serde_json::Value;

/// Serializes a value of a contract, for `#[serde(with = "dovetail::serde")]`.
pub fn serialize<T: Encode, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let json = Encoding::Json.to_bytes(value);
    let json = json.map_err(ser::Error::custom)?;
    let json: Value = serde_json::from_slice(&json).map_err(ser::Error::custom)?;
    json.serialize(serializer)
}

/// Deserializes a value of a contract, for `#[serde(with = "dovetail::serde")]`.
pub fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Decode + Default,
    D: Deserializer<'de>,
{
    let json = Value::deserialize(deserializer)?;
    let json = serde_json::to_vec(&json).map_err(de::Error::custom)?;
    let value = Encoding::Json.from_bytes(&json.into());
    value.map_err(de::Error::custom)
}

/// A value of a contract that is [`Serialize`] and [`Deserialize`]: for values in lists, maps and
/// options, and for whole documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AsJson<T>(pub T);

impl<T: Encode> Serialize for AsJson<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, serializer)
    }
}

impl<'de, T: Decode + Default> Deserialize<'de> for AsJson<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize(deserializer).map(AsJson)
    }
}
