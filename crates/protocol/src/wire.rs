use crate::Codec;
use crate::thrift::{self, ParseWireError};
use std::fmt;
use std::str::FromStr;

/// The protocol between two ends of a connection.
///
/// ```
/// use dovetail_protocol::Wire;
///
/// assert_eq!("dovetail".parse(), Ok(Wire::Dovetail));
/// assert_eq!("msgpack-rpc".parse(), Ok(Wire::MsgpackRpc));
/// let connect: Wire = "connect".parse()?;
/// assert_eq!(connect.to_string(), "connect+proto");
/// let framed: Wire = "compact+framed".parse()?;
/// assert_eq!(framed.to_string(), "compact+framed");
/// # Ok::<(), dovetail_protocol::thrift::ParseWireError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Dovetail's own.
    Dovetail,
    /// msgpack-rpc.
    MsgpackRpc,
    /// Cap'n Proto's.
    Capnp,
    /// gRPC.
    Grpc,
    /// gRPC-Web, gRPC for browsers, in JSON or protobuf.
    GrpcWeb(Codec),
    /// Connect's protocol, in JSON or protobuf.
    Connect(Codec),
    /// Calls by WebSocket, in JSON. Servers only.
    WebSocket,
    /// One of Apache Thrift's.
    Thrift(thrift::Wire),
}

impl From<thrift::Wire> for Wire {
    fn from(wire: thrift::Wire) -> Self {
        Wire::Thrift(wire)
    }
}

impl Wire {
    /// True for what clients speak over HTTP/2.
    pub const fn is_http2(self) -> bool {
        matches!(self, Wire::Grpc | Wire::GrpcWeb(_) | Wire::Connect(_))
    }

    /// Returns true if calls have headers.
    pub const fn has_headers(self) -> bool {
        use thrift::Transport;
        match self {
            Wire::MsgpackRpc | Wire::Capnp => false,
            Wire::Thrift(wire) => matches!(wire.transport, Transport::Header | Transport::Http),
            _ => true,
        }
    }
}

/// Reads the name of a wire: `dovetail`, `grpc`, `connect`, `connect+json`, `grpc-web`,
/// `grpc-web+json`, `msgpack-rpc`, `capnp`, or protocol and transport of Thrift, as in
/// `binary+framed`. Connect and gRPC-Web are in protobuf unless the name says otherwise.
impl FromStr for Wire {
    type Err = ParseWireError;

    fn from_str(text: &str) -> Result<Self, ParseWireError> {
        match text {
            "dovetail" => Ok(Wire::Dovetail),
            "msgpack-rpc" => Ok(Wire::MsgpackRpc),
            "capnp" => Ok(Wire::Capnp),
            "grpc" => Ok(Wire::Grpc),
            "grpc-web" | "grpc-web+proto" => Ok(Wire::GrpcWeb(Codec::Proto)),
            "grpc-web+json" => Ok(Wire::GrpcWeb(Codec::Json)),
            "connect" | "connect+proto" => Ok(Wire::Connect(Codec::Proto)),
            "connect+json" => Ok(Wire::Connect(Codec::Json)),
            _ => text.parse().map(Wire::Thrift),
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wire::Dovetail => f.write_str("dovetail"),
            Wire::MsgpackRpc => f.write_str("msgpack-rpc"),
            Wire::Grpc => f.write_str("grpc"),
            Wire::GrpcWeb(codec) => write!(f, "grpc-web+{}", codec.name()),
            Wire::Connect(codec) => write!(f, "connect+{}", codec.name()),
            Wire::WebSocket => f.write_str("websocket"),
            Wire::Capnp => f.write_str("capnp"),
            Wire::Thrift(wire) => fmt::Display::fmt(wire, f),
        }
    }
}
