//! The types of messages in an [`Any`], which JSON shows with their fields.

use crate::{Any, DecodeError, Dynamic, DynamicList, DynamicMap, EncodeError, Encoding, Limits};
use crate::{Form, Message, Value};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::RwLock;

/// Somebody who knows the types of messages in an [`Any`], by their full names.
pub trait AnyTypes {
    /// Whether JSON has a form of its own for the type, which then is no object with fields. `None`
    /// for an unknown type.
    fn has_own_form(&self, name: &str) -> Option<bool>;

    /// The message of a known type in JSON.
    fn to_json(&self, any: &Any, limits: Limits) -> Result<Vec<u8>, EncodeError>;

    /// The bytes in protobuf of a message of a known type.
    fn to_protobuf(&self, name: &str, json: Bytes, limits: Limits) -> Result<Vec<u8>, DecodeError>;
}

/// A type that a message in an [`Any`] can have, see [`Any::register`].
#[derive(Clone, Copy, Debug)]
pub struct AnyType {
    name: &'static str,
    own_form: bool,
    to_json: fn(&Any, Limits) -> Result<Vec<u8>, EncodeError>,
    from_json: fn(&Bytes, Limits) -> Result<Vec<u8>, DecodeError>,
}

impl AnyType {
    /// A message under its full name in protobuf, `shared.Origin`.
    pub const fn of<M: Message + Value>(name: &'static str) -> Self {
        Self::with_form::<M>(name, !matches!(M::FORM, Form::Fields))
    }

    const fn with_form<M: Value>(name: &'static str, own_form: bool) -> Self {
        AnyType {
            name,
            own_form,
            to_json: to_json::<M>,
            from_json: from_json::<M>,
        }
    }
}

fn to_json<M: Value>(any: &Any, limits: Limits) -> Result<Vec<u8>, EncodeError> {
    let mut message = M::default();
    let encoding = any.encoding().unwrap_or(Encoding::Protobuf);
    encoding
        .decode(&mut message, &any.value, limits)
        .map_err(|_| UNREADABLE)?;
    let mut out = Vec::new();
    Encoding::Json.encode(&message, &mut out, limits)?;
    Ok(out)
}

fn from_json<M: Value>(json: &Bytes, limits: Limits) -> Result<Vec<u8>, DecodeError> {
    let mut message = M::default();
    Encoding::Json.decode(&mut message, json, limits)?;
    let mut out = Vec::new();
    let written = Encoding::Protobuf.encode(&message, &mut out, limits);
    written.map_err(|error| DecodeError::malformed(error.to_string()))?;
    Ok(out)
}

/// Why an `Any` cannot be shown with its fields.
pub const UNREADABLE: EncodeError = EncodeError::Unsupported {
    what: "an any whose bytes are no message of its type, in JSON",
};

/// Those of protobuf that are types here.
const WELL_KNOWN: &[AnyType] = &[
    AnyType::with_form::<Any>("google.protobuf.Any", true),
    AnyType::with_form::<Dynamic>("google.protobuf.Value", true),
    AnyType::of::<DynamicList>("google.protobuf.ListValue"),
    AnyType::of::<DynamicMap>("google.protobuf.Struct"),
    #[cfg(feature = "time")]
    AnyType::with_form::<crate::protobuf::Duration>("google.protobuf.Duration", true),
    #[cfg(feature = "time")]
    AnyType::with_form::<crate::protobuf::Timestamp>("google.protobuf.Timestamp", true),
];

static REGISTERED: RwLock<BTreeMap<&'static str, AnyType>> = RwLock::new(BTreeMap::new());

/// Makes these types known, in the place of others with their names.
pub(crate) fn register(types: &[AnyType]) {
    let mut registered = REGISTERED
        .write()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    registered.extend(types.iter().map(|known| (known.name, *known)));
}

/// The types that the program has registered, and those of protobuf itself.
pub(crate) struct Registered;

fn find(name: &str) -> Option<AnyType> {
    let registered = REGISTERED
        .read()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let known = registered.get(name).copied();
    known.or_else(|| WELL_KNOWN.iter().find(|known| known.name == name).copied())
}

impl AnyTypes for Registered {
    fn has_own_form(&self, name: &str) -> Option<bool> {
        find(name).map(|known| known.own_form)
    }

    fn to_json(&self, any: &Any, limits: Limits) -> Result<Vec<u8>, EncodeError> {
        let known = find(any.name()).ok_or(UNREADABLE)?;
        (known.to_json)(any, limits)
    }

    fn to_protobuf(&self, name: &str, json: Bytes, limits: Limits) -> Result<Vec<u8>, DecodeError> {
        let known = find(name).ok_or_else(|| unknown(name))?;
        (known.from_json)(&json, limits)
    }
}

/// An `Any` of a type that nobody here knows.
#[cold]
pub(crate) fn unknown(name: &str) -> DecodeError {
    let shown: String = name.chars().take(64).collect();
    DecodeError::malformed(format!(
        "an any of the type {shown:?}, which is not registered"
    ))
}
