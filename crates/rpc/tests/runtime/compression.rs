//! Compression on Dovetail's own wire: what large messages cost on a socket.

use crate::fixture::{LONG, MODELS, address};
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture};
use dovetail::stream::{Items, Receiver};
use dovetail::transport::Compression;
use dovetail::types::Bytes;
use dovetail::{Context, Server, Service, Status, Wire, blocking, descriptor};
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

descriptor!(static MIRROR = "Mirror" {
    echo(1 bytes: Bytes) -> Bytes;
    echoes() -> (), sink<Bytes>, stream<Bytes>;
});

/// Answers with what it got.
struct Mirror;

impl Service for Mirror {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &MIRROR
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            0 => call.unary((Bytes::new(),), |_: Context, (bytes,)| async move {
                Ok::<_, Status>(bytes)
            }),
            _ => call.chat(
                (),
                |_: Context, (), mut items: Receiver<Bytes>| async move {
                    Ok::<_, Status>(Items::<Bytes>::with(|mut out| async move {
                        while let Some(item) = items.next().await {
                            out.send(item?).await;
                        }
                        Ok(())
                    }))
                },
            ),
        }
    }
}

/// Carries one connection, and counts what the client sends and the server.
fn counted(server: &str) -> (String, JoinHandle<io::Result<[u64; 2]>>) {
    let server = server.trim_start_matches("tcp://").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    let carry = |mut from: TcpStream, mut to: TcpStream| {
        let bytes = io::copy(&mut from, &mut to);
        // If the other side has gone, there is nobody to be told.
        let _ = to.shutdown(Shutdown::Write);
        bytes
    };
    let counts = thread::spawn(move || {
        let (client, _) = listener.accept()?;
        let server = TcpStream::connect(server)?;
        let (from_client, to_server) = (client.try_clone()?, server.try_clone()?);
        let up = thread::spawn(move || carry(from_client, to_server));
        let down = carry(server, client)?;
        Ok([up.join().unwrap()?, down])
    });
    (address, counts)
}

type Echoes = blocking::Upload<Bytes, blocking::Receiver<Bytes>>;

/// A call, then items, each of them of 200 KB.
fn converse(channel: &blocking::Channel) {
    let echo =
        |bytes: &Bytes| -> Result<Bytes, Status> { channel.call(&MIRROR.methods[0], (bytes,)) };
    // From now on it is known what the server takes.
    assert_eq!(echo(&Bytes::new()), Ok(Bytes::new()));
    let text: Bytes = b"to be or not to be, ".repeat(10_000).into();
    assert_eq!(echo(&text).as_ref(), Ok(&text));
    let opened: Result<Echoes, Status> = channel.chat(&MIRROR.methods[1], ());
    let (mut items, answer) = opened.unwrap();
    let mut echoes = answer.wait().unwrap();
    for _ in 0..5 {
        items.send(&text).unwrap();
        assert_eq!(echoes.next(), Some(Ok(text.clone())));
    }
    items.finish();
    assert_eq!(echoes.next(), None);
}

#[test]
fn large_messages_take_few_bytes_on_the_wire() {
    let (zstd, lz4) = (Compression::zstd(3), Compression::lz4());
    const ALL: u64 = 1_200_000;
    // The settings of the client and the server, and how many bytes each may send.
    let rows = [
        ([None, None], [ALL + 10_000; 2]),
        ([Some(zstd), None], [10_000, ALL + 10_000]),
        ([None, Some(lz4)], [ALL + 10_000, 20_000]),
        ([Some(lz4), Some(zstd)], [20_000, 10_000]),
        (
            [Some(zstd.at_least(2_000_000)), Some(zstd)],
            [ALL + 10_000, 10_000],
        ),
    ];
    for model in MODELS {
        for ([client, server], most) in rows {
            let what = format!("{model:?}, {client:?}, {server:?}");
            let mut building = Server::new().service(Mirror).model(*model);
            if let Some(compression) = server {
                building = building.compression(compression);
            }
            let running = building
                .listen("tcp://127.0.0.1:0")
                .unwrap()
                .start()
                .unwrap();
            let (address, counts) = counted(&address(&running));
            let mut builder = blocking::Channel::builder(&address).unwrap();
            if let Some(compression) = client {
                builder = builder.compression(compression);
            }
            let channel = builder.wire(Wire::Dovetail).build();
            converse(&channel);
            drop(channel);
            let counts = counts.join().unwrap().unwrap();
            for (count, most) in counts.into_iter().zip(most) {
                assert!(count <= most, "{what}: {counts:?}");
                assert!(most < ALL || count > ALL, "{what}: {counts:?}");
            }
            assert!(running.shutdown(LONG), "{what}");
        }
    }
}
