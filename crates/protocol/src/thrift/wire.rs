use super::CustomProtocol;
use dovetail_wire::Encoding;
use std::fmt;
use std::str::FromStr;

/// How the bytes of a message are laid out inside its transport.
#[derive(Clone, Copy)]
pub enum Protocol {
    /// Thrift binary with the version word: what every Apache library writes unless told otherwise.
    Binary,
    /// Thrift binary as it was before the version word ("non-strict").
    BinaryOld,
    /// Thrift compact.
    Compact,
    /// Thrift JSON.
    Json,
    /// A protocol from outside this crate.
    Custom(&'static dyn CustomProtocol),
}

/// How the end of a message is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Messages follow one another with nothing between: the reader has to walk the values.
    Unframed,
    /// Each message behind its length in four bytes.
    Framed,
    /// THeader: framed, with key-value headers and compression.
    Header,
    /// One message in the body of an HTTP/1.1 request, the reply in that of its response.
    Http,
}

/// A transform of THeader for the bytes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transform {
    /// A zlib stream (RFC 1950).
    Zlib,
    /// A Zstandard frame (RFC 8878); fbthrift's, unknown to Apache's libraries.
    Zstd,
}

/// The transforms of a message, in the order in which the writer applies them; each at most once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Transforms([Option<Transform>; 2]);

/// All that both ends of a connection agree on before the first byte.
///
/// Written as `protocol`, `protocol+transport` or `protocol+header:transforms`:
///
/// | part | values | when left out |
/// |---|---|---|
/// | protocol | `binary`, `binary-old`, `compact`, `json` | `compact` with `header`, else `binary` |
/// | transport | `unframed`, `framed`, `header`, `http` | `unframed` |
/// | transforms | `zlib`, `zstd`, or both with a comma | none |
///
/// ```
/// use dovetail_protocol::thrift::Wire;
///
/// for text in ["binary", "compact+framed", "compact+header:zlib", "json+http"] {
///     assert_eq!(text.parse::<Wire>().map(|wire| wire.to_string()), Ok(text.to_owned()));
/// }
/// assert_eq!("header:zstd".parse::<Wire>().map(|w| w.to_string()), Ok("compact+header:zstd".to_owned()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// The transport, which says where a message ends.
    pub transport: Transport,
    /// The protocol inside.
    pub protocol: Protocol,
    /// With [`Transport::Header`]: what the writer does to it. Empty otherwise.
    pub transforms: Transforms,
}

/// A text that names no [`Wire`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseWireError {
    part: String,
    expected: &'static str,
}

impl Protocol {
    /// The encoding of the bodies.
    pub fn encoding(self) -> Encoding {
        match self {
            Protocol::Binary | Protocol::BinaryOld => Encoding::ThriftBinary,
            Protocol::Compact => Encoding::ThriftCompact,
            Protocol::Json => Encoding::ThriftJson,
            Protocol::Custom(custom) => Encoding::Custom(custom.codec()),
        }
    }

    /// The name in the text form of [`Wire`].
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Binary => "binary",
            Protocol::BinaryOld => "binary-old",
            Protocol::Compact => "compact",
            Protocol::Json => "json",
            Protocol::Custom(custom) => custom.name(),
        }
    }
}

/// Custom protocols are equal when their names are.
impl PartialEq for Protocol {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self.name() == other.name()
    }
}

impl Eq for Protocol {}

impl fmt::Debug for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Transport {
    /// The name in the text form of [`Wire`].
    pub fn name(self) -> &'static str {
        match self {
            Transport::Unframed => "unframed",
            Transport::Framed => "framed",
            Transport::Header => "header",
            Transport::Http => "http",
        }
    }
}

impl Transform {
    /// The name in the text form of [`Wire`].
    pub fn name(self) -> &'static str {
        match self {
            Transform::Zlib => "zlib",
            Transform::Zstd => "zstd",
        }
    }
}

impl Transforms {
    /// No transform.
    pub const NONE: Transforms = Transforms([None; 2]);

    /// Adds one behind those that are there, unless it is among them.
    pub fn push(&mut self, transform: Transform) {
        if !self.iter().any(|have| have == transform)
            && let Some(free) = self.0.iter_mut().find(|slot| slot.is_none())
        {
            *free = Some(transform);
        }
    }

    /// In the order in which the writer applies them.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Transform> {
        self.0.into_iter().flatten()
    }

    /// Returns whether there are none.
    pub fn is_empty(self) -> bool {
        self.0[0].is_none()
    }
}

impl FromIterator<Transform> for Transforms {
    fn from_iter<I: IntoIterator<Item = Transform>>(iter: I) -> Self {
        let mut transforms = Transforms::NONE;
        iter.into_iter().for_each(|item| transforms.push(item));
        transforms
    }
}

impl Wire {
    /// A wire without transforms.
    pub const fn new(protocol: Protocol, transport: Transport) -> Self {
        Wire {
            transport,
            protocol,
            transforms: Transforms::NONE,
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.protocol.name())?;
        if self.transport != Transport::Unframed {
            write!(f, "+{}", self.transport.name())?;
        }
        for (index, transform) in self.transforms.iter().enumerate() {
            let separator = if index == 0 { ':' } else { ',' };
            write!(f, "{separator}{}", transform.name())?;
        }
        Ok(())
    }
}

impl FromStr for Wire {
    type Err = ParseWireError;

    fn from_str(text: &str) -> Result<Self, ParseWireError> {
        let (rest, transforms) = match text.split_once(':') {
            Some((rest, transforms)) => (rest, Some(transforms)),
            None => (text, None),
        };
        let (protocol, transport) = match rest.split_once('+') {
            Some((protocol, transport)) => (Some(protocol), parse_transport(transport)?),
            None => match parse_transport(rest) {
                Ok(transport) => (None, transport),
                Err(_) => (Some(rest), Transport::Unframed),
            },
        };
        let protocol = match protocol {
            Some(name) => parse_protocol(name)?,
            None if transport == Transport::Header => Protocol::Compact,
            None => Protocol::Binary,
        };
        if transport == Transport::Header && protocol == Protocol::BinaryOld {
            return Err(refuse(text, "no header around the old binary protocol"));
        }
        let transforms = match transforms {
            None => Transforms::NONE,
            Some(_) if transport != Transport::Header => {
                return Err(refuse(text, "transforms with `header` only"));
            }
            Some(names) => names
                .split(',')
                .map(parse_transform)
                .collect::<Result<_, _>>()?,
        };
        Ok(Wire {
            transport,
            protocol,
            transforms,
        })
    }
}

fn parse_protocol(name: &str) -> Result<Protocol, ParseWireError> {
    Ok(match name {
        "binary" => Protocol::Binary,
        "binary-old" => Protocol::BinaryOld,
        "compact" => Protocol::Compact,
        "json" => Protocol::Json,
        _ => return Err(refuse(name, "`binary`, `binary-old`, `compact` or `json`")),
    })
}

fn parse_transport(name: &str) -> Result<Transport, ParseWireError> {
    Ok(match name {
        "unframed" => Transport::Unframed,
        "framed" => Transport::Framed,
        "header" => Transport::Header,
        "http" => Transport::Http,
        _ => return Err(refuse(name, "`unframed`, `framed`, `header` or `http`")),
    })
}

fn parse_transform(name: &str) -> Result<Transform, ParseWireError> {
    Ok(match name {
        "zlib" => Transform::Zlib,
        "zstd" if cfg!(feature = "zstd") => Transform::Zstd,
        "zstd" => return Err(refuse(name, "`zlib`, or a build with the feature `zstd`")),
        _ => return Err(refuse(name, "`zlib` or `zstd`")),
    })
}

fn refuse(part: &str, expected: &'static str) -> ParseWireError {
    ParseWireError {
        part: part.to_owned(),
        expected,
    }
}

impl fmt::Display for ParseWireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ParseWireError { part, expected } = self;
        write!(f, "`{part}` in the name of a wire: expected {expected}")
    }
}

impl std::error::Error for ParseWireError {}
