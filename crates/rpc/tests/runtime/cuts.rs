//! A connection that is lost behind each of its frames, or of its records of TLS, in either
//! direction: every call has one outcome, and what that says of its execution is true.

#[cfg(feature = "tls")]
use crate::certificates::{Authority, NAMES};
use crate::fixture::{LONG, address};
use dovetail::client::Backoff;
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture, Model};
use dovetail::status::Execution;
use dovetail::stream::{Items, Receiver};
use dovetail::{Context, Server, Service, Status, Wire, blocking, descriptor};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

descriptor!(static ONCE = "Once" {
    run(1 token: i32) -> i32;
    items(1 token: i32) -> (), stream<i32>;
    gather(1 token: i32) -> i32, sink<i32>;
});

const RUN: usize = 0;
const ITEMS: usize = 1;
const GATHER: usize = 2;

/// How often the handler of each token ran.
#[derive(Clone, Default)]
struct Once(Arc<Mutex<HashMap<i32, usize>>>);

impl Once {
    fn note(&self, token: i32) {
        *self.0.lock().expect("no panic").entry(token).or_default() += 1;
    }

    fn runs(&self, token: i32) -> usize {
        let runs = self.0.lock().expect("no panic");
        runs.get(&token).copied().unwrap_or_default()
    }
}

impl Service for Once {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &ONCE
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            RUN => call.unary((0,), |_: Context, (token,)| async move {
                self.note(token);
                Ok::<_, Status>(token)
            }),
            ITEMS => call.stream((0,), |_: Context, (token,)| async move {
                self.note(token);
                Ok::<_, Status>(Items::<i32>::iter(0..3))
            }),
            GATHER => call.upload((0,), |_: Context, (token,), mut items| async move {
                self.note(token);
                let items: &mut Receiver<i32> = &mut items;
                let mut sum = 0;
                while let Some(item) = items.next().await {
                    sum += item?;
                }
                Ok::<_, Status>(sum)
            }),
            _ => call.no_such_method(),
        }
    }
}

/// The pieces between which a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pieces {
    Frames,
    #[cfg(feature = "tls")]
    Records,
}

impl Pieces {
    const ALL: &[Pieces] = &[
        Pieces::Frames,
        #[cfg(feature = "tls")]
        Pieces::Records,
    ];

    /// The next one, of which so many have gone before.
    fn next(self, from: &mut impl Read, before: usize) -> io::Result<Vec<u8>> {
        let head = match self {
            Pieces::Frames if before == 0 => 4,
            Pieces::Frames => 8,
            #[cfg(feature = "tls")]
            Pieces::Records => 5,
        };
        let mut piece = vec![0; head];
        from.read_exact(&mut piece)?;
        let length = match self {
            Pieces::Frames if before == 0 => 0,
            Pieces::Frames => u32::from_le_bytes([piece[0], piece[1], piece[2], 0]) as usize,
            #[cfg(feature = "tls")]
            Pieces::Records => u16::from_be_bytes([piece[3], piece[4]]).into(),
        };
        piece.resize(head + length, 0);
        from.read_exact(&mut piece[head..])?;
        Ok(piece)
    }
}

/// The place of the first connection's cut: behind so many frames in one of the directions.
#[derive(Clone, Copy, Debug)]
struct Cut {
    pieces: Pieces,
    up: bool,
    frames: usize,
}

/// Carries connections to a server, and cuts the first one.
fn proxy(server: SocketAddr, cut: Cut) -> io::Result<(SocketAddr, Arc<AtomicUsize>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let carried = Arc::new(AtomicUsize::new(0));
    let counted = carried.clone();
    thread::spawn(move || {
        for (number, client) in listener.incoming().enumerate() {
            let (Ok(client), Ok(server)) = (client, TcpStream::connect(server)) else {
                return;
            };
            for (up, from, to) in [(true, &client, &server), (false, &server, &client)] {
                let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else {
                    return;
                };
                let left = (number == 0 && cut.up == up).then_some(cut.frames);
                let counted = (number == 0 && cut.up == up).then(|| counted.clone());
                thread::spawn(move || carry(cut.pieces, from, to, left, counted));
            }
        }
    });
    Ok((address, carried))
}

/// Carries frames until the end, or until so many have been carried.
fn carry(
    pieces: Pieces,
    mut from: TcpStream,
    mut to: TcpStream,
    left: Option<usize>,
    counted: Option<Arc<AtomicUsize>>,
) {
    let _ = to.set_nodelay(true);
    for number in 0.. {
        if left == Some(number) {
            // Behind the last frame there is nothing, not even an orderly end.
            let _ = to.shutdown(Shutdown::Both);
            break;
        }
        match pieces.next(&mut from, number) {
            Ok(frame) if to.write_all(&frame).is_ok() => {}
            _ => break,
        }
        if let Some(counted) = &counted {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    }
    let _ = to.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Both);
}

type Gather = blocking::Upload<i32, i32>;

/// Four calls, one after the other; each with its outcome.
fn calls(channel: &blocking::Channel) -> Vec<Result<i32, Status>> {
    let run = |token: i32| channel.call(&ONCE.methods[RUN], (&token,));
    let items = |token: i32| -> Result<i32, Status> {
        let items: Result<blocking::Receiver<i32>, Status> =
            channel.stream(&ONCE.methods[ITEMS], (&token,));
        let items: Vec<i32> = items?.collect::<Result<_, _>>()?;
        assert_eq!(items, [0, 1, 2]);
        Ok(token)
    };
    let gather = |token: i32| -> Result<i32, Status> {
        let (mut items, answer): Gather = channel.upload(&ONCE.methods[GATHER], (&token,))?;
        // If the connection is lost, the answer says so.
        let sent = (0..3).all(|item| items.send(&item).is_ok());
        items.finish();
        let sum = answer.wait()?;
        assert!(sent && sum == 3);
        Ok(token)
    };
    vec![run(0), items(1), gather(2), run(3)]
}

#[test]
fn a_connection_cut_behind_each_of_its_frames() {
    #[cfg(feature = "tls")]
    let authority = Authority::new();
    #[cfg(feature = "tls")]
    let tls = authority.sign(NAMES).server();
    let ways = Pieces::ALL
        .iter()
        .flat_map(|pieces| [(*pieces, true), (*pieces, false)]);
    for (pieces, up) in ways {
        let mut frames = 0;
        loop {
            let cut = Cut { pieces, up, frames };
            let once = Once::default();
            let server = Server::new().service(once.clone());
            #[cfg(feature = "tls")]
            let server = server.tls(&tls);
            let running = server
                .model(Model::ThreadPerConnection)
                .listen("tcp://127.0.0.1:0")
                .expect("a port")
                .start()
                .expect("a server");
            let server = address(&running);
            let server = server
                .trim_start_matches("tcp://")
                .parse()
                .expect("an address");
            let (place, carried) = proxy(server, cut).expect("a proxy");
            let builder = blocking::Channel::builder(&format!("tcp://{place}"));
            let builder = builder.expect("an address").wire(Wire::Dovetail);
            // A client that could not connect tries again at once.
            let builder = builder.backoff(Backoff {
                first: Duration::ZERO,
                most: Duration::ZERO,
            });
            #[cfg(feature = "tls")]
            let builder = match pieces {
                Pieces::Frames => builder,
                Pieces::Records => builder.tls(&authority.trusted()),
            };
            let channel = builder.build();
            let outcomes = calls(&channel);
            drop(channel);
            assert!(running.shutdown(LONG), "{cut:?}");
            for (token, outcome) in (0..).zip(&outcomes) {
                let runs = once.runs(token);
                assert!(runs <= 1, "{cut:?}: {token} ran {runs} times");
                match outcome {
                    Ok(result) => assert_eq!((*result, runs), (token, 1), "{cut:?}"),
                    Err(status) => match status.execution() {
                        Execution::NotSent | Execution::NotStarted => {
                            assert_eq!(runs, 0, "{cut:?}: {status}");
                        }
                        Execution::MayHaveRun => {}
                        Execution::Finished => panic!("{cut:?}: {status}"),
                    },
                }
            }
            // One connection was lost, with at most one call on it.
            assert!(
                outcomes.iter().filter(|outcome| outcome.is_err()).count() <= 1,
                "{cut:?}"
            );
            if carried.load(Ordering::SeqCst) < frames {
                // It had fewer: all of them have been tried.
                assert!(outcomes.iter().all(Result::is_ok), "{cut:?}");
                break;
            }
            frames += 1;
        }
        assert!(frames > 8, "{frames} frames are no conversation");
    }
}
