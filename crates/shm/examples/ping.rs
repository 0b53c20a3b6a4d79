//! The cost of shared memory: round trips, and transfers beside a copy of the same bytes in one
//! process.
//!
//! ```text
//! cargo run --release -p dovetail-shm --example ping [SECONDS]
//! ```
//!
//! The server is a second process of this program, on a core of its own. `SECONDS` is the time of
//! each figure, 1 by default.
#![allow(clippy::unwrap_used)]

#[cfg(not(all(target_os = "linux", not(loom))))]
fn main() {}

#[cfg(all(target_os = "linux", not(loom)))]
fn main() {
    program::run();
}

#[cfg(all(target_os = "linux", not(loom)))]
mod program {
    use dovetail_shm::{Connection, Error, Handshake, Receiver, Sender, Settings};
    use rustix::thread::{CpuSet, futex, sched_setaffinity};
    use std::hint::{black_box, spin_loop};
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::net::UnixStream;
    use std::process::{Command, Stdio};
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    const MESSAGE: usize = 64;

    /// The longest poll.
    const LONGEST: Duration = Duration::from_micros(50);

    pub(crate) fn run() {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["echo", waits] => echo(waits == "sleeps").unwrap(),
            ["sink", length] => sink(length.parse().unwrap()).unwrap(),
            [seconds] => measure(seconds.parse().unwrap()),
            _ => measure(1.0),
        }
    }

    /// Stays on one core, if there is such a core.
    fn pin(core: usize) {
        let mut set = CpuSet::new();
        set.set(core);
        // Without it the figures vary more.
        let _ = sched_setaffinity(None, &set);
    }

    fn measure(seconds: f64) {
        pin(0);
        let time = Duration::from_secs_f64(seconds);
        println!(
            "round trips of {MESSAGE} bytes, and of nothing but a number between two threads, µs:"
        );
        for waits in ["polls", "sleeps"] {
            let (ours, floor) = (round_trip(waits, time), floor(waits == "sleeps", time));
            println!("  {waits:8} {ours:8.2} {floor:8.2}");
        }
        println!(
            "transfers; the receiver copies the bytes out and confirms; memcpy is one copy; Gb/s:"
        );
        println!(
            "  {:>10} {:>8} {:>8} {:>8} {:>8}",
            "bytes", "ring", "chunks", "in place", "memcpy"
        );
        for length in [100_000, 16 << 20] {
            let [ring, chunks, in_place] = [Blob::Ring, Blob::Chunks, Blob::InPlace]
                .map(|blob| gigabits(length, transfers(blob, length, time), time));
            let memcpy = gigabits(length, copies(length, time), time);
            println!("  {length:10} {ring:8.1} {chunks:8.1} {in_place:8.1} {memcpy:8.1}");
        }
    }

    fn gigabits(length: usize, count: u32, time: Duration) -> f64 {
        length as f64 * 8.0 * f64::from(count) / time.as_secs_f64() / 1e9
    }

    /// Starts a server, whose standard input is the socket, for as long as it is used.
    fn with_server<T>(arguments: [&str; 2], body: impl FnOnce(&mut Connection) -> T) -> T {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut server = Command::new(std::env::current_exe().unwrap())
            .args(arguments)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        let handshake = Handshake::connect(ours, &Settings::default()).unwrap();
        let result = body(&mut handshake.finish(deadline).unwrap());
        server.wait().unwrap();
        result
    }

    fn accept() -> Result<Connection, Error> {
        pin(1);
        let socket = std::io::stdin().as_fd().try_clone_to_owned()?;
        let deadline = Instant::now() + Duration::from_secs(10);
        Handshake::accept(socket, &Settings::default()).finish(deadline)
    }

    /// Tries for [`LONGEST`] before it sleeps; or sleeps at once.
    fn patiently<H>(
        half: &mut H,
        sleeps: bool,
        mut attempt: impl FnMut(&mut H) -> Result<usize, Error>,
        wait: fn(&mut H, Option<Instant>) -> Result<(), Error>,
    ) -> Result<usize, Error> {
        // Looking costs less than asking for the time.
        const LOOKS: usize = 50;
        loop {
            let mut start = None;
            while start.is_none_or(|start: Instant| start.elapsed() < LONGEST) {
                for _ in 0..if sleeps { 1 } else { LOOKS } {
                    match attempt(half) {
                        Err(Error::WouldBlock) => spin_loop(),
                        result => return result,
                    }
                }
                if sleeps {
                    break;
                }
                start = start.or_else(|| Some(Instant::now()));
            }
            wait(half, None)?;
        }
    }

    fn read(receiver: &mut Receiver, buffer: &mut [u8], sleeps: bool) -> Result<usize, Error> {
        patiently(
            receiver,
            sleeps,
            |half| half.try_read(buffer),
            Receiver::wait,
        )
    }

    fn write_all(sender: &mut Sender, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            let written = patiently(sender, false, |half| half.try_write(&[bytes]), Sender::wait)?;
            bytes = bytes.split_at(written).1;
        }
        Ok(())
    }

    /// Fills the buffer; false at the end of the stream.
    fn read_all(receiver: &mut Receiver, buffer: &mut [u8], sleeps: bool) -> Result<bool, Error> {
        let mut rest = buffer;
        while !rest.is_empty() {
            match read(receiver, rest, sleeps)? {
                0 => return Ok(false),
                count => rest = rest.split_at_mut(count).1,
            }
        }
        Ok(true)
    }

    fn echo(sleeps: bool) -> Result<(), Error> {
        let mut connection = accept()?;
        let mut message = [0; MESSAGE];
        while read_all(&mut connection.receiver, &mut message, sleeps)? {
            connection.sender.write_all(&[&message], None)?;
        }
        Ok(())
    }

    /// Microseconds of a round trip.
    fn round_trip(waits: &str, time: Duration) -> f64 {
        let sleeps = waits == "sleeps";
        let mut message = [7; MESSAGE];
        with_server(["echo", waits], |connection| {
            median(time, || {
                connection.sender.write_all(&[&message], None).unwrap();
                read_all(&mut connection.receiver, &mut message, sleeps).unwrap();
            })
        })
    }

    /// A number that is passed on, with as much around it that nothing else is in its cache line.
    #[repr(align(128))]
    struct Number(AtomicU32);

    impl Number {
        fn pass(&self, value: u32, sleeps: bool) {
            self.0.store(value, Ordering::Release);
            if sleeps {
                futex::wake(&self.0, futex::Flags::empty(), 1).unwrap();
            }
        }

        fn wait(&self, value: u32, sleeps: bool) {
            loop {
                let now = self.0.load(Ordering::Acquire);
                match now {
                    now if now == value => return,
                    now if sleeps => drop(futex::wait(&self.0, futex::Flags::empty(), now, None)),
                    _ => spin_loop(),
                }
            }
        }
    }

    /// Microseconds of the least that could be a round trip on this machine, now.
    fn floor(sleeps: bool, time: Duration) -> f64 {
        let over = AtomicBool::new(false);
        let [there, back] = [0; 2].map(|_| Number(AtomicU32::new(0)));
        thread::scope(|scope| {
            scope.spawn(|| {
                pin(1);
                let mut value = 0;
                while !over.load(Ordering::Relaxed) {
                    value += 1;
                    there.wait(value, sleeps);
                    back.pass(value, sleeps);
                }
            });
            let mut value = 0;
            let mut pass = || {
                value += 1;
                there.pass(value, sleeps);
                back.wait(value, sleeps);
            };
            let floor = median(time, &mut pass);
            over.store(true, Ordering::Relaxed);
            // It may wait for this one already.
            there.pass(value + 1, sleeps);
            floor
        })
    }

    /// Microseconds: the median of groups of runs.
    fn median(time: Duration, mut run: impl FnMut()) -> f64 {
        const GROUP: u32 = 100;
        let mut groups = Vec::new();
        let begin = Instant::now();
        while begin.elapsed() < time {
            let start = Instant::now();
            (0..GROUP).for_each(|_| run());
            groups.push(start.elapsed() / GROUP);
        }
        groups.sort();
        groups[groups.len() / 2].as_secs_f64() * 1e6
    }

    /// Receives blobs, and confirms each with a byte.
    fn sink(length: usize) -> Result<(), Error> {
        let mut connection = accept()?;
        let mut blob = vec![0; length];
        while read_all(&mut connection.receiver, &mut blob, false)? {
            black_box(&mut blob);
            connection.sender.write_all(&[b"k"], None)?;
        }
        Ok(())
    }

    /// How a blob is sent, whose bytes are new each time.
    #[derive(Clone, Copy)]
    enum Blob {
        /// Made in a buffer, and through the ring.
        Ring,
        /// Made in a buffer, and copied into chunks.
        Chunks,
        /// Made in the chunks.
        InPlace,
    }

    /// How many blobs have been confirmed within the time.
    fn transfers(blob: Blob, length: usize, time: Duration) -> u32 {
        let mut bytes = vec![7; length];
        with_server(["sink", &length.to_string()], |connection| {
            let mut count = 0;
            let start = Instant::now();
            while start.elapsed() < time {
                if !matches!(blob, Blob::InPlace) {
                    bytes.fill(count as u8);
                }
                match blob {
                    Blob::Ring => write_all(&mut connection.sender, &bytes).unwrap(),
                    Blob::Chunks => {
                        send_chunks(connection, &bytes, |to, from| to.copy_from_slice(from));
                    }
                    Blob::InPlace => send_chunks(connection, &bytes, |to, _| to.fill(count as u8)),
                }
                read_all(&mut connection.receiver, &mut [0], false).unwrap();
                count += 1;
            }
            count
        })
    }

    /// In chunks as long as there are free ones, through the ring where there are none.
    fn send_chunks(connection: &mut Connection, bytes: &[u8], fill: impl Fn(&mut [u8], &[u8])) {
        let sender = &mut connection.sender;
        for piece in bytes.chunks(Settings::default().chunk as usize) {
            let mut chunk = sender.try_chunk();
            if chunk.is_none() {
                write_all(sender, piece).unwrap();
            }
            while let Some(mut filled) = chunk {
                fill(&mut filled[..piece.len()], piece);
                chunk = sender.try_send(filled, piece.len()).unwrap();
            }
        }
    }

    fn copies(length: usize, time: Duration) -> u32 {
        let (from, mut to) = (vec![7u8; length], vec![0; length]);
        let mut count = 0;
        let start = Instant::now();
        while start.elapsed() < time {
            to.copy_from_slice(black_box(&from));
            black_box(&mut to);
            count += 1;
        }
        count
    }
}
