//! The parts of a call that differ between the protocols, on the caller's side. No channel calls by
//! WebSocket, whose messages are those of Connect's streams.

use super::super::options::Options;
use crate::web::{Protocol, Style};
use crate::{Status, Wire};
use dovetail_protocol::grpc::{self, Web};
use dovetail_protocol::http::Header;
use dovetail_protocol::{Ask, Codec, connect};
use std::time::Duration;

impl Style {
    /// How a channel makes its calls, with streams or without.
    pub(super) fn of_caller(options: &Options, streams: bool) -> Self {
        let (protocol, codec) = match options.wire {
            Wire::Connect(codec) if streams => (Protocol::ConnectStream, codec),
            Wire::Connect(codec) => (Protocol::Connect, codec),
            Wire::GrpcWeb(codec) => (Protocol::GrpcWeb { text: false }, codec),
            _ => (Protocol::Grpc, Codec::Proto),
        };
        Style {
            coding: options.coding(),
            packs: options.packing().is_some(),
            ..Style::new(protocol, codec)
        }
    }

    /// Returns the name of the caller for servers and their logs.
    pub(super) fn agent(self) -> &'static str {
        match self.protocol {
            Protocol::Grpc | Protocol::GrpcWeb { .. } => {
                concat!("grpc-rust-dovetail/", env!("CARGO_PKG_VERSION"))
            }
            _ => concat!("dovetail/", env!("CARGO_PKG_VERSION")),
        }
    }

    /// The protocol's headers of a request.
    pub(super) fn request_headers(self, timeout: Option<Duration>) -> Vec<Header> {
        let (codec, coding) = (self.codec, self.coding);
        let ask = Ask {
            codec,
            timeout,
            coding,
        };
        match self.protocol {
            Protocol::Grpc => grpc::request_headers(&ask),
            Protocol::GrpcWeb { text } => Web { codec, text }.request_headers(&ask),
            Protocol::Connect => connect::request_headers(&ask),
            Protocol::ConnectStream | Protocol::WebSocket => connect::stream_request_headers(&ask),
        }
    }

    /// The codec of an answer with this content type; `None` where it is another protocol's.
    pub(super) fn answered(self, content_type: &[u8]) -> Option<Codec> {
        match self.protocol {
            Protocol::Grpc => grpc::codec(content_type),
            Protocol::GrpcWeb { text } => {
                let web = Web::of(content_type).filter(|web| web.text == text);
                web.map(|web| web.codec)
            }
            Protocol::Connect => connect::codec(content_type),
            Protocol::ConnectStream | Protocol::WebSocket => connect::stream_codec(content_type),
        }
    }

    /// The name of the header that says how messages of an answer are compressed.
    pub(super) fn coding_header(self) -> &'static str {
        match self.protocol {
            Protocol::Grpc | Protocol::GrpcWeb { .. } => grpc::Coding::HEADER,
            Protocol::Connect => "content-encoding",
            Protocol::ConnectStream | Protocol::WebSocket => "connect-content-encoding",
        }
    }

    /// The flag of the message that says how an answer ends; 0 where none does.
    pub(super) fn end_flag(self) -> u8 {
        match self.protocol {
            Protocol::Grpc | Protocol::Connect => 0,
            Protocol::GrpcWeb { .. } => Web::END,
            Protocol::ConnectStream | Protocol::WebSocket => connect::END,
        }
    }

    /// Returns the status for an HTTP status other than 200, if the answer has no status of its
    /// own.
    pub(super) fn refused(self, http: u16) -> Status {
        match self.protocol {
            Protocol::Grpc | Protocol::GrpcWeb { .. } => grpc::from_http(http),
            _ => connect::from_http(http),
        }
    }
}
