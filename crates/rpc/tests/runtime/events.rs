//! The events of `tracing` that a server emits, with their names and fields.

use crate::fixture::*;
use dovetail::Server;
use std::fmt::{Debug, Write as _};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Keeps events as text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events(Arc<Mutex<Vec<String>>>);

impl Events {
    /// Returns whether an event has all of these parts.
    pub(crate) fn has(&self, parts: &[&str]) -> bool {
        let events = self.0.lock().unwrap();
        events
            .iter()
            .any(|event| parts.iter().all(|part| event.contains(part)))
    }
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, "{field}={value:?} ");
    }
}

impl Subscriber for Events {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("dovetail")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(format!("{} ", event.metadata().level()));
        event.record(&mut fields);
        self.0.lock().unwrap().push(fields.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Bytes of a peer, and the parts of the event that tells of them.
const ROWS: &[(&[u8], &[&str])] = &[
    // Thrift's binary protocol, with a kind of message that there is not (99).
    (
        b"\0\0\0\x10\x80\x01\0\x63\0\0\0\x04ping\0\0\0\x01\0",
        &["DEBUG", "has broken the protocol", "peer=", "error="],
    ),
    // A request without a host.
    (
        b"POST /a HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
        &["DEBUG", "has broken the protocol", "Host"],
    ),
    // Dovetail's preface, and a frame of a kind that there is not.
    (
        b"\xd7DVT\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        &["DEBUG", "has broken the protocol"],
    ),
];

#[tokio::test]
async fn a_connection_that_ends_with_an_error_is_an_event() {
    let events = Events::default();
    let _listens = tracing::subscriber::set_default(events.clone());
    let server = Server::new().listen("tcp://127.0.0.1:0").unwrap();
    let address = server.addresses()[0].to_string();
    let address: SocketAddr = address.strip_prefix("tcp://").unwrap().parse().unwrap();
    let peers = async {
        for (bytes, parts) in ROWS {
            events.0.lock().unwrap().clear();
            let mut peer = TcpStream::connect(address).await.unwrap();
            peer.write_all(bytes).await.unwrap();
            until(&events, parts).await;
        }
        // Resets a connection, amid a message. One that is reset before it is accepted was none.
        let reset = ["DEBUG", "ended with an error", "peer=", "reset"];
        for _ in 0..100 {
            let mut peer = TcpStream::connect(address).await.unwrap();
            peer.write_all(ROWS[0].0.split_at(6).0).await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
            peer.set_zero_linger().unwrap();
            drop(peer);
            tokio::time::sleep(Duration::from_millis(20)).await;
            if events.has(&reset) {
                break;
            }
        }
        until(&events, &reset).await;
    };
    server.serve(peers, LONG).await.unwrap();
}

async fn until(events: &Events, parts: &[&str]) {
    for _ in 0..1_000 {
        if events.has(parts) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("no event has {parts:?}: {:#?}", events.0.lock().unwrap());
}
