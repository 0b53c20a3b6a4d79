//! Human-readable JSON, by the schema: names instead of numbers, and errors that name the place.
//!
//! | type | JSON | also read |
//! |---|---|---|
//! | integers | number | text, such as `"9007199254740993"` |
//! | `double`, `float` | number; `"NaN"`, `"Infinity"`, `"-Infinity"` | text |
//! | `binary` | base64 text | without padding, URL-safe alphabet |
//! | `uuid` | text | all forms of RFC 9562 |
//! | enum | name; number if it has no name | number, number as text |
//! | `timestamp`, `timestamp_tz` | text, as in RFC 3339 | |
//! | `date` | text | |
//! | `duration` | text, as in ISO 8601: `"PT1.5S"` | days and weeks; `"1h 30m"` |
//! | `decimal` | text: `"-12.50"` | number |
//! | `any` | object with `"@type"`, `"@encoding"` and the fields; where the type is unknown, the bytes as `"@value"` | without `"@encoding"` |
//! | `dynamic` | what it is | |
//! | list, set | array | |
//! | array | array, one inside another for each dimension | |
//! | map | object where a key prints as text, else an array of `[key, value]` | either |
//! | struct, exception | object | |
//! | union | object with one member | |
//! | struct that extends the one in the contract | the same with its name under `#type` | |
//! | `ref` field | the value; with a number under `#node` if others lead to it, which are `{"#ref": number}` | |
//!
//! A field that the contract does not have is shown under `#` and its id.

pub(crate) mod array;
mod error;
mod input;
mod output;
mod shapeless;
mod text;

/// Members of an object that are no fields: which struct it is, and which node.
const TYPE: &str = "#type";
const NODE: &str = "#node";
const REF: &str = "#ref";

pub use error::JsonError;
pub use input::{arguments_from_json, from_json};
pub use output::{arguments_to_json, arguments_to_log, to_json, to_log};
