//! A relay between both ends of a connection, which keeps the bytes of each direction.

use crate::fixture::*;
use dovetail::{Channel, Running};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A relay for one connection. Clones are the same.
#[derive(Clone)]
pub(crate) struct Relay {
    address: String,
    /// The bytes to the server, and those from it.
    bytes: Arc<[Mutex<Vec<u8>>; 2]>,
}

impl Relay {
    pub(crate) fn to(running: &Running) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let relay = Relay {
            address: format!("tcp://{}", listener.local_addr().unwrap()),
            bytes: Arc::default(),
        };
        let (bytes, place) = (relay.bytes.clone(), tcp_place(running).to_owned());
        std::thread::spawn(move || {
            let (caller, _) = listener.accept().unwrap();
            let server = TcpStream::connect(place).unwrap();
            let directions = [(&caller, &server), (&server, &caller)];
            std::thread::scope(|scope| {
                for (seen, (mut from, mut to)) in bytes.iter().zip(directions) {
                    scope.spawn(move || {
                        let mut piece = vec![0; 64 << 10];
                        while let Ok(read @ 1..) = from.read(&mut piece) {
                            seen.lock().unwrap().extend_from_slice(&piece[..read]);
                            to.write_all(&piece[..read]).unwrap();
                        }
                        let _ = to.shutdown(Shutdown::Write);
                    });
                }
            });
        });
        relay
    }

    /// Returns a channel to the server by this way.
    pub(crate) fn channel(&self, wire: &str) -> Channel {
        let builder = Channel::builder(&self.address).unwrap().timeout(LONG);
        let builder = builder.pushbacks(0).local_upgrade(false);
        builder.wire(wire.parse().unwrap()).build()
    }

    /// Returns the bytes that the server has received.
    pub(crate) fn received(&self) -> Vec<u8> {
        self.bytes[0].lock().unwrap().clone()
    }

    /// Returns the bytes that the server has sent.
    pub(crate) fn sent(&self) -> Vec<u8> {
        self.bytes[1].lock().unwrap().clone()
    }
}
