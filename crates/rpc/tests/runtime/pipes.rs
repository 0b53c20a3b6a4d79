//! Pipes as a connection: waiting, ending, and whole servers over them.

use crate::fixture::*;
use dovetail::blocking::Channel;
use dovetail::status::Execution;
use dovetail::transport::{Connector, Pipe, Stream, Wait};
use dovetail::types::Bytes;
use dovetail::{Server, Status};
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

fn pair() -> (Arc<Pipe>, Arc<Pipe>) {
    let ((a_in, b_out), (b_in, a_out)) = (io::pipe().unwrap(), io::pipe().unwrap());
    let pipe = |input: io::PipeReader, output: io::PipeWriter| {
        Arc::new(Pipe::new(input.into(), output.into(), "a test").unwrap())
    };
    (pipe(a_in, a_out), pipe(b_in, b_out))
}

fn soon() -> Option<Instant> {
    Some(Instant::now() + Duration::from_millis(20))
}

#[test]
fn nothing_comes() {
    let (a, _b) = pair();
    let error = |wait| a.recv(&mut [0], wait).unwrap_err().kind();
    assert_eq!(error(Wait::Poll), ErrorKind::WouldBlock);
    assert_eq!(error(Wait::Until(soon())), ErrorKind::TimedOut);
}

#[test]
fn nobody_reads() {
    let (a, _b) = pair();
    let sent = a.send_all(&vec![0; 1 << 20], soon());
    assert_eq!(sent.unwrap_err().kind(), ErrorKind::TimedOut);
    let error = |wait| a.send(&[0], wait).unwrap_err().kind();
    assert_eq!(error(Wait::Poll), ErrorKind::WouldBlock);
    assert_eq!(error(Wait::Until(soon())), ErrorKind::TimedOut);
}

#[test]
fn the_other_end_is_gone() {
    let (a, b) = pair();
    b.send_all(b"last words", None).unwrap();
    drop(b);
    let mut buffer = [0; 16];
    assert_eq!(a.recv(&mut buffer, Wait::Until(None)).unwrap(), 10);
    assert_eq!(a.recv(&mut buffer, Wait::Until(None)).unwrap(), 0);
    let sent = a.send_all(b"x", None);
    assert_eq!(sent.unwrap_err().kind(), ErrorKind::BrokenPipe);
}

#[test]
fn a_shutdown_ends_waiting() {
    let (a, b) = pair();
    thread::scope(|scope| {
        let receiving = scope.spawn(|| a.recv(&mut [0; 4], Wait::Until(None)));
        let sending = scope.spawn(|| a.send_all(&vec![0; 1 << 20], None));
        settle();
        a.shutdown();
        assert_eq!(receiving.join().unwrap().unwrap(), 0);
        let sent = sending.join().unwrap();
        assert_eq!(sent.unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
    // Bytes that were sent before still arrive, and then the end.
    let mut received = 0;
    while let Ok(1..) = b
        .recv(&mut [0; 1 << 16], Wait::Until(None))
        .inspect(|n| received += n)
    {}
    assert!(received > 0);
}

/// Gives its one stream away.
struct Once(Mutex<Option<Arc<Pipe>>>);

impl Connector for Once {
    fn connect(&self, _: Instant) -> io::Result<Arc<dyn Stream>> {
        match self.0.lock().expect("no panic").take() {
            Some(stream) => Ok(stream),
            None => Err(ErrorKind::ConnectionRefused.into()),
        }
    }

    fn target(&self) -> String {
        "a pipe".to_owned()
    }
}

#[test]
fn a_server_over_pipes() {
    for model in MODELS {
        let (ours, theirs) = pair();
        let probe = Probe::default();
        probe.open(1);
        let server = Server::new().service(probe).model(*model);
        let serving = thread::spawn(move || server.serve_stream(theirs));
        let channel = Channel::through(Arc::new(Once(Mutex::new(Some(ours))))).build();
        let waited: Result<i32, Status> = channel.call(&PROBE.methods[WAIT], (&1,));
        assert_eq!(waited, Ok(1), "{model:?}");
        let sent = Bytes::from(vec![1; 1 << 20]);
        let taken: Result<i32, Status> = channel.call(&PROBE.methods[TAKE], (&sent,));
        assert_eq!(taken, Ok(1 << 20), "{model:?}");
        drop(channel);
        serving.join().unwrap().unwrap();
    }
}

/// Takes no byte: whoever sends waits until somebody else receives, and then the connection breaks.
#[derive(Default)]
struct Stuck {
    sending: Flag,
    received: Flag,
    failed: Flag,
    connected: AtomicUsize,
}

/// Something that happens once, and is waited for.
#[derive(Default)]
struct Flag(Mutex<bool>, Condvar);

impl Flag {
    fn set(&self) {
        *self.0.lock().expect("no panic") = true;
        self.1.notify_all();
    }

    fn wait(&self) {
        let set = self.0.lock().expect("no panic");
        drop(self.1.wait_while(set, |set| !*set).expect("no panic"));
    }
}

struct StuckConnector(Arc<Stuck>);

struct StuckStream(Arc<Stuck>);

impl Connector for StuckConnector {
    fn connect(&self, _: Instant) -> io::Result<Arc<dyn Stream>> {
        match self.0.connected.fetch_add(1, Ordering::SeqCst) {
            0 => Ok(Arc::new(StuckStream(self.0.clone()))),
            _ => Err(ErrorKind::ConnectionRefused.into()),
        }
    }

    fn target(&self) -> String {
        "nobody".to_owned()
    }
}

impl Stream for StuckStream {
    fn recv(&self, _: &mut [u8], _: Wait) -> io::Result<usize> {
        self.0.received.set();
        self.0.failed.wait();
        // For long enough to let the one who sends find out first.
        settle();
        Err(ErrorKind::ConnectionReset.into())
    }

    fn send(&self, _: &[u8], _: Wait) -> io::Result<usize> {
        self.0.sending.set();
        self.0.received.wait();
        self.0.failed.set();
        Err(ErrorKind::BrokenPipe.into())
    }

    fn shutdown_recv(&self) {}
    fn shutdown_send(&self) {}
    fn shutdown(&self) {}

    fn peer(&self) -> String {
        "nobody".to_owned()
    }
}

#[test]
fn a_call_that_nobody_has_begun_to_send_was_not_sent() {
    let stuck = Arc::new(Stuck::default());
    let channel = Channel::through(Arc::new(StuckConnector(stuck.clone())));
    let channel = channel.connect_wait(Duration::ZERO).build();
    let call = || channel.call::<_, i32, Status>(&PROBE.methods[WAIT], (&1,));
    let executions = thread::scope(|scope| {
        let sending = scope.spawn(call);
        stuck.sending.wait();
        // Queues its call behind the one that is sent, and then receives.
        let queued = scope.spawn(call);
        [sending, queued].map(|caller| caller.join().unwrap().unwrap_err().execution())
    });
    let expected = [Execution::NotSent, Execution::MayHaveRun];
    let all = expected
        .iter()
        .all(|execution| executions.contains(execution));
    assert!(all, "{executions:?}");
    assert_eq!(
        stuck.connected.load(Ordering::SeqCst),
        2,
        "one of them tried again"
    );
}
