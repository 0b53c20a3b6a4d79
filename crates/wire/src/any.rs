mod contract;

use crate::any_types::{self, AnyType, Registered};
use crate::description::{Incompatible, Logical, Named, Type, compare};
use crate::{
    DecodeError, EncodeError, Encoding, Kind, Message, Reader, Value, Writer, message,
    read_message, write_message,
};
use bytes::Bytes;
use std::fmt;

/// A message of any type: its name, its bytes, their encoding, and the contract that they are
/// written by. The first two fields are those of `google.protobuf.Any`, so that protobuf's
/// libraries read one whose value is in protobuf.
///
/// ```
/// use dovetail_wire::{Any, message};
///
/// #[derive(Debug, Default, PartialEq)]
/// struct Origin {
///     host: String,
/// }
///
/// message!(Origin { 1 host: String, });
///
/// let any = Any::pack(&Origin { host: "here".to_owned() })?;
/// assert!(any.is::<Origin>());
/// assert_eq!(any.unpack::<Origin>()?.host, "here");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Any {
    /// The name of the type, as in `Origin`, `shared.Origin` or
    /// `type.googleapis.com/shared.Origin`.
    pub type_name: String,
    /// The message.
    pub value: Bytes,
    /// The encoding of the message, one of [`Any::ENCODINGS`]; 0 is protobuf, which is what an
    /// `Any` of protobuf's libraries has.
    pub encoding: i32,
    /// The description of the type at the end that packed it: `docs/spec/encoding.md`,
    /// "Descriptions and fingerprints". `None` where that end said nothing, as protobuf's libraries
    /// do.
    pub contract: Option<Bytes>,
}

message!(Any [Any] {
    1 type_name as "type_url": String [implicit],
    2 value: Bytes [implicit],
    3 encoding: i32 [implicit],
    4 contract: Option<Bytes>,
});

/// With the fields of the message in JSON, where its type is known.
impl Value for Any {
    const KIND: Kind = Kind::Struct;

    fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        match writer.any_message(self, &Registered)? {
            true => Ok(()),
            false => write_message(self, writer),
        }
    }

    fn read<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        match reader.any_message(&Registered)? {
            Some(value) => {
                *self = value;
                Ok(())
            }
            None => read_message(self, reader),
        }
    }

    fn describe() -> Type<Named> {
        Type::Logical(Logical::Any)
    }
}

impl Any {
    /// The encodings that a value can be in, by number: those that say which fields come.
    pub const ENCODINGS: [Encoding; 5] = [
        Encoding::Protobuf,
        Encoding::Tagged,
        Encoding::ThriftBinary,
        Encoding::ThriftCompact,
        Encoding::ThriftJson,
    ];

    /// A message under the full name of its type, in Dovetail's tagged encoding, which carries
    /// every message.
    ///
    /// With it goes the description of the type, some ten bytes for each field, so that
    /// [`unpack`](Any::unpack) notices a type whose fields mean something else there.
    pub fn pack<M: Message + Value>(message: &M) -> Result<Self, EncodeError> {
        let name = match M::PACKAGE {
            "" => M::NAME.to_owned(),
            package => format!("{package}.{}", M::NAME),
        };
        Self::pack_in(Encoding::Tagged, &name, message)
    }

    /// A message in one of [`Any::ENCODINGS`], under a name that may say more than that of its
    /// type: protobuf's libraries want `type.googleapis.com/` in front of a full name.
    ///
    /// The description of the type goes with every encoding but protobuf, whose libraries have no
    /// field for it.
    pub fn pack_in<M: Message + Value>(
        encoding: Encoding,
        type_name: &str,
        message: &M,
    ) -> Result<Self, EncodeError> {
        let number = Self::ENCODINGS
            .iter()
            .position(|known| known.name() == encoding.name())
            .ok_or(EncodeError::Unsupported {
                what: "a message by itself, without the contract that it is read with",
            })?;
        Ok(Any {
            type_name: type_name.to_owned(),
            value: encoding.to_bytes(message)?.into(),
            encoding: number as i32,
            contract: match encoding {
                Encoding::Protobuf => None,
                _ => contract::of::<M>().map(Bytes::from_static),
            },
        })
    }

    /// Makes types known to JSON, which shows a message in an `Any` with its fields: for the whole
    /// process, before the first call. Without it such a message is base64, and refused where a
    /// peer sends its fields.
    ///
    /// ```
    /// use dovetail_wire::{Any, AnyType, Encoding, json, message};
    ///
    /// #[derive(Debug, Default, PartialEq)]
    /// struct Origin {
    ///     host: String,
    /// }
    ///
    /// message!(Origin { 1 host: String, });
    ///
    /// Any::register(&[AnyType::of::<Origin>("shared.Origin")]);
    /// let any: Any = json::from_bytes(br#"{"@type": "example.com/shared.Origin", "host": "here"}"#)?;
    /// assert_eq!(any.unpack::<Origin>()?.host, "here");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn register(types: &[AnyType]) {
        any_types::register(types);
    }

    /// The name of the type without what stands before the last slash.
    pub fn name(&self) -> &str {
        let name = self.type_name.rsplit('/').next();
        name.unwrap_or(&self.type_name)
    }

    /// The encoding of the value; `None` for a number without meaning.
    pub fn encoding(&self) -> Option<Encoding> {
        let number = usize::try_from(self.encoding).ok()?;
        Self::ENCODINGS.get(number).copied()
    }

    /// Returns whether the name is that of this type. A package is compared where both the name and
    /// the type have one.
    pub fn is<M: Message>(&self) -> bool {
        let package = match self.name().strip_suffix(M::NAME) {
            Some("") => return true,
            Some(rest) => rest.strip_suffix('.'),
            None => None,
        };
        package.is_some_and(|package| M::PACKAGE.is_empty() || M::PACKAGE == package)
    }

    /// The message, if it is of this type, and the contract that it was packed by does not
    /// contradict this type: fields may be added, removed and renamed, but a field keeps its number
    /// and its type.
    pub fn unpack<M: Message + Value>(&self) -> Result<M, UnpackError> {
        if !self.is::<M>() {
            return Err(UnpackError::Type {
                expected: M::NAME,
                found: self.type_name.clone(),
            });
        }
        self.compare_contract(contract::of::<M>())
            .map_err(UnpackError::Contract)?;
        let encoding = self.encoding();
        let encoding = encoding.ok_or(UnpackError::Encoding(self.encoding))?;
        encoding.from_bytes(&self.value).map_err(UnpackError::Value)
    }
}

impl Any {
    /// Compares the description of a type with that of the end that packed the message, where both
    /// are there.
    #[doc(hidden)]
    pub fn compare_contract(&self, ours: Option<&[u8]>) -> Result<(), Incompatible> {
        match (ours, &self.contract) {
            (Some(ours), Some(theirs)) => compare(ours, theirs),
            _ => Ok(()),
        }
    }
}

/// Why an [`Any`] is not the message that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnpackError {
    /// It is of another type.
    Type {
        /// The type that was asked for.
        expected: &'static str,
        /// The type that it has.
        found: String,
    },
    /// The type is another one at the end that packed it.
    Contract(Incompatible),
    /// Its encoding has a number without meaning.
    Encoding(i32),
    /// Its value is no message of its type.
    Value(DecodeError),
}

impl fmt::Display for UnpackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type { expected, found } => {
                write!(
                    f,
                    "expected a value of the type {expected}, found {found:?}"
                )
            }
            Self::Contract(problem) => write!(f, "packed by another contract: {problem}"),
            Self::Encoding(number) => write!(f, "no encoding has the number {number}"),
            Self::Value(problem) => problem.fmt(f),
        }
    }
}

impl std::error::Error for UnpackError {}
