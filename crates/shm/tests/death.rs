//! A peer that is killed: a clear error, nothing leaked, and nobody else concerned. A program, as
//! it is its own peer: with an argument it is the one that gets killed, and its standard input is
//! the socket.
#![allow(clippy::unwrap_used)]

#[cfg(all(target_os = "linux", not(loom)))]
mod support;

#[cfg(not(all(target_os = "linux", not(loom))))]
fn main() {}

#[cfg(all(target_os = "linux", not(loom)))]
fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("echo") => program::echo(),
        _ => program::run(),
    }
}

#[cfg(all(target_os = "linux", not(loom)))]
mod program {
    use super::support::{SMALL, soon};
    use dovetail_shm::{Connection, Error, Handshake, Received, Shutdown};
    use std::fs;
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::net::UnixStream;
    use std::process::{Child, Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    const KILLS: u32 = 300;

    /// Sends everything back, chunks as chunks while there are any.
    pub(crate) fn echo() {
        let socket = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
        let handshake = Handshake::accept(socket, &SMALL);
        // The client may be gone, or done, at any point.
        let _ = handshake.finish(soon()).and_then(serve);
    }

    fn serve(mut connection: Connection) -> Result<(), Error> {
        let mut buffer = vec![0; 3000];
        loop {
            match connection.receiver.try_receive(&mut buffer) {
                Err(Error::WouldBlock) => connection.receiver.wait(None)?,
                Ok(Received::Bytes(0)) => return Ok(()),
                Ok(Received::Bytes(count)) => {
                    let bytes = buffer.get(..count).unwrap_or_default();
                    connection.sender.write_all(&[bytes], None)?;
                }
                Ok(Received::Chunk(chunk)) => match connection.sender.try_chunk() {
                    None => connection.sender.write_all(&[&chunk.to_vec()], None)?,
                    Some(mut answer) => {
                        let length = chunk.copy_to(0, &mut answer);
                        while let Some(again) = connection.sender.try_send(answer, length)? {
                            answer = again;
                            connection.sender.wait(None)?;
                        }
                    }
                },
                Err(e) => return Err(e),
            }
        }
    }

    fn start() -> (Child, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let child = Command::new(std::env::current_exe().unwrap())
            .arg("echo")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn()
            .unwrap();
        (child, ours)
    }

    fn connect() -> (Child, Connection) {
        let (child, socket) = start();
        let handshake = Handshake::connect(socket, &SMALL).unwrap();
        (child, handshake.finish(soon()).unwrap())
    }

    pub(crate) fn run() {
        let longest = kills_leave_nothing_behind();
        waiting_costs_nothing();
        println!("test result: ok. {KILLS} peers killed, each noticed within {longest:?}");
    }

    /// Returns how long it took at most until the other end knew.
    fn kills_leave_nothing_behind() -> Duration {
        let (mut bystander, mut connection) = connect();
        let before = resources();
        let mut longest = Duration::ZERO;
        for round in 0..KILLS {
            // Moments from before the handshake until long after it, in an order that has no
            // rhythm.
            let moment = Duration::from_micros(u64::from(round * 7919 % KILLS) * 40);
            match round % 10 {
                0 => kill_in_handshake(moment),
                _ => longest = longest.max(kill_in_conversation(moment, round % 2 == 0)),
            }
            assert_eq!(resources(), before, "round {round}");
            converse(&mut connection, round as u8).unwrap();
        }
        drop(connection);
        assert!(bystander.wait().unwrap().success());
        let after = resources();
        assert_eq!(after.mappings, 0);
        assert_eq!(after.descriptors, before.descriptors - 2);
        longest
    }

    fn kill_in_handshake(moment: Duration) {
        let (mut child, socket) = start();
        let handshake = Handshake::connect(socket, &SMALL).unwrap();
        thread::sleep(moment);
        child.kill().unwrap();
        child.wait().unwrap();
        match handshake.finish(soon()) {
            Ok(mut connection) => {
                let error = connection
                    .receiver
                    .read(&mut [0], Some(soon()))
                    .unwrap_err();
                assert!(matches!(error, Error::PeerGone), "{error:?}");
            }
            Err(error) => assert!(matches!(error, Error::PeerGone), "{error:?}"),
        }
    }

    /// Both directions are full of messages when it happens; or both wait. Returns how long it took
    /// to know.
    fn kill_in_conversation(moment: Duration, busy: bool) -> Duration {
        let (mut child, connection) = connect();
        let Connection {
            mut sender,
            mut receiver,
            ..
        } = connection;
        thread::scope(|scope| {
            let sends = scope.spawn(move || {
                loop {
                    // Without answers, where both only wait: until the ring is full for good.
                    if busy {
                        if let Some(chunk) = sender.try_chunk() {
                            sender.try_send(chunk, 4000)?;
                        }
                        sender.write_all(&[&[1; 5000]], Some(soon()))?;
                    } else {
                        sender.write_all(&[&[1; 500]], Some(soon()))?;
                        thread::sleep(Duration::from_micros(200));
                    }
                }
            });
            let receives = scope.spawn(move || {
                let mut buffer = [0; 6000];
                loop {
                    receiver.read(&mut buffer, Some(soon()))?;
                }
            });
            thread::sleep(moment);
            child.kill().unwrap();
            child.wait().unwrap();
            let killed = Instant::now();
            let ends: [Result<(), Error>; 2] = [sends.join().unwrap(), receives.join().unwrap()];
            let noticed = killed.elapsed();
            assert!(noticed < Duration::from_secs(5));
            for end in ends {
                assert!(matches!(end, Err(Error::PeerGone)), "{end:?}");
            }
            noticed
        })
    }

    /// A message there and back.
    fn converse(connection: &mut Connection, byte: u8) -> Result<(), Error> {
        let message = [byte; 9000];
        connection
            .sender
            .write_all(&[&message[..3000]], Some(soon()))?;
        let mut answer = [!byte; 3000];
        let mut received = 0;
        while received < answer.len() {
            received += connection
                .receiver
                .read(&mut answer[received..], Some(soon()))?;
        }
        assert_eq!(answer, message[..3000]);
        Ok(())
    }

    /// After its first milliseconds a wait sleeps until something happens.
    fn waiting_costs_nothing() {
        let (mut child, mut connection) = connect();
        let shutdown: Shutdown = connection.shutdown();
        thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let before = switches();
                let read = connection.receiver.read(&mut [0], None);
                assert_eq!(read.unwrap(), 0);
                switches() - before
            });
            thread::sleep(Duration::from_millis(300));
            shutdown.recv();
            let switches = waits.join().unwrap();
            assert!(switches <= 5, "it woke up {switches} times");
        });
        drop((connection, shutdown));
        assert!(child.wait().unwrap().success());
    }

    /// How often this thread went to sleep.
    fn switches() -> u32 {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.unwrap().trim().parse().unwrap()
    }

    #[derive(Debug, PartialEq, Eq)]
    struct Resources {
        descriptors: usize,
        mappings: usize,
    }

    fn resources() -> Resources {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        Resources {
            descriptors: fs::read_dir("/proc/self/fd").unwrap().count(),
            mappings: maps.matches("memfd:dovetail").count(),
        }
    }
}
