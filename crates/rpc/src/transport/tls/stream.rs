//! TLS for threads that block.

use super::records::{RECORD, Records, broken_off, refused};
use crate::buffers;
use crate::tls::{Session, TlsPeer};
use crate::transport::{Presence, Stream, Wait};
use bytes::{Buf, BytesMut};
use std::io::{self, IoSlice};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Instant;

/// A connection over TLS.
struct TlsStream {
    stream: Arc<dyn Stream>,
    /// Never locked while anybody waits for the stream: one thread may receive while another sends.
    records: Mutex<Records>,
    /// Held by who sends: records leave in the order in which they are made.
    sending: Mutex<Sending>,
    /// Held by who receives.
    receiving: Mutex<Receiving>,
}

#[derive(Default)]
struct Sending {
    /// Records, and how much of them has left.
    records: Vec<u8>,
    sent: usize,
    /// The plaintext in them that whoever sends has not been expected of.
    sealed: usize,
}

struct Receiving {
    /// The buffer for received records.
    scratch: Vec<u8>,
    /// The bytes that were in them, and nobody has taken.
    plain: BytesMut,
}

/// Makes a TLS connection of one that has begun with these bytes. With it comes who is at the other
/// end.
pub(crate) fn handshake(
    stream: Arc<dyn Stream>,
    session: Session,
    received: &[u8],
    deadline: Instant,
) -> io::Result<(Arc<dyn Stream>, TlsPeer)> {
    let tls = TlsStream {
        stream,
        records: Mutex::new(Records::new(session)),
        sending: Mutex::default(),
        receiving: Mutex::new(Receiving {
            scratch: vec![0; RECORD],
            plain: BytesMut::new(),
        }),
    };
    let mut receiving = lock(&tls.receiving);
    let Receiving { scratch, plain } = &mut *receiving;
    tls.take_in(received, plain)?;
    let peer = loop {
        tls.say(deadline, Records::take_out)?;
        if let Some(peer) = lock(&tls.records).peer() {
            break peer;
        }
        let received = match tls.stream.recv(scratch, Wait::Until(Some(deadline)))? {
            0 => return Err(broken_off()),
            received => scratch.get(..received).unwrap_or_default(),
        };
        tls.take_in(received, plain)?;
    };
    drop(receiving);
    Ok((Arc::new(tls), peer))
}

impl TlsStream {
    /// Takes in records. A peer that breaks the rules is expected so.
    fn take_in(&self, received: &[u8], plain: &mut BytesMut) -> io::Result<()> {
        let opened = lock(&self.records).open(received, plain);
        opened.map_err(|error| {
            // Nobody waits for an alert.
            let _ = self.say(Instant::now(), Records::take_out);
            refused(&error)
        })
    }

    /// Sends what the session has to say by itself, unless somebody else is sending just now.
    fn say(
        &self,
        deadline: Instant,
        words: impl FnOnce(&mut Records, &mut Vec<u8>),
    ) -> io::Result<()> {
        let mut out = match self.sending.try_lock() {
            Ok(out) => out,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(()),
        };
        words(&mut lock(&self.records), &mut out.records);
        self.send_out(&mut out, Wait::Until(Some(deadline)))
    }

    /// Sends all records there are. Where there is no room for all of them, the rest stays there.
    fn send_out(&self, out: &mut Sending, wait: Wait) -> io::Result<()> {
        while out.sent < out.records.len() {
            out.sent += self.stream.send(&out.records[out.sent..], wait)?;
        }
        out.sent = 0;
        buffers::sent(&mut out.records);
        Ok(())
    }

    /// Seals the first of these bytes, unless that was done when they were to be sent before, and
    /// sends the records. Gives how many they are.
    fn send_first(
        &self,
        out: &mut Sending,
        slices: &[IoSlice<'_>],
        wait: Wait,
    ) -> io::Result<usize> {
        if out.sealed == 0 {
            out.sealed = lock(&self.records).seal(slices, &mut out.records)?;
        }
        self.send_out(out, wait)?;
        Ok(std::mem::take(&mut out.sealed))
    }

    /// Waits until there is something to take; false at the end.
    fn fill(&self, receiving: &mut Receiving, wait: Wait) -> io::Result<bool> {
        let Receiving { scratch, plain } = receiving;
        while plain.is_empty() {
            if lock(&self.records).has_ended() {
                return Ok(false);
            }
            match self.stream.recv(scratch, wait)? {
                0 => return lock(&self.records).end().map(|_| false),
                received => self.take_in(scratch.get(..received).unwrap_or_default(), plain)?,
            }
        }
        Ok(true)
    }

    /// Says goodbye, as long as that can be sent. What has left by halves cannot be followed by
    /// anything.
    fn say_goodbye(&self) {
        let _ = self.say(Instant::now(), Records::close);
    }
}

impl Stream for TlsStream {
    fn recv(&self, buffer: &mut [u8], wait: Wait) -> io::Result<usize> {
        let mut receiving = lock(&self.receiving);
        if !self.fill(&mut receiving, wait)? {
            return Ok(0);
        }
        let length = receiving.plain.len().min(buffer.len());
        receiving.plain.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }

    fn recv_behind(&self, input: &mut BytesMut, most: usize, wait: Wait) -> io::Result<usize> {
        let mut receiving = lock(&self.receiving);
        if !self.fill(&mut receiving, wait)? {
            return Ok(0);
        }
        let length = receiving.plain.len().min(most);
        input.reserve(most);
        input.extend_from_slice(&receiving.plain[..length]);
        receiving.plain.advance(length);
        Ok(length)
    }

    fn send(&self, bytes: &[u8], wait: Wait) -> io::Result<usize> {
        self.send_first(&mut lock(&self.sending), &[IoSlice::new(bytes)], wait)
    }

    fn send_all_vectored(
        &self,
        mut slices: &mut [IoSlice<'_>],
        deadline: Option<Instant>,
    ) -> io::Result<()> {
        let mut out = lock(&self.sending);
        IoSlice::advance_slices(&mut slices, 0);
        while !slices.is_empty() {
            let sent = self.send_first(&mut out, slices, Wait::Until(deadline))?;
            IoSlice::advance_slices(&mut slices, sent);
        }
        Ok(())
    }

    fn shutdown_recv(&self) {
        self.stream.shutdown_recv();
    }

    fn shutdown_send(&self) {
        self.say_goodbye();
        self.stream.shutdown_send();
    }

    fn shutdown(&self) {
        self.say_goodbye();
        self.stream.shutdown();
    }

    fn presence(&self) -> Presence {
        self.stream.presence()
    }

    fn peer(&self) -> String {
        self.stream.peer()
    }
}

impl Drop for TlsStream {
    fn drop(&mut self) {
        self.say_goodbye();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tls::{ClientTls, ServerTls};
    use crate::transport::memory_pair;
    use std::thread;
    use std::time::Duration;

    const LONG: Duration = Duration::from_secs(20);

    /// Both ends of a connection, and what each goes over.
    fn pair() -> [(Arc<dyn Stream>, Arc<dyn Stream>); 2] {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        let server = ServerTls::new(chain.as_bytes(), key.as_bytes()).unwrap();
        let client = ClientTls::roots(chain.as_bytes()).unwrap();
        let sessions = [
            client.session("localhost:1", None).unwrap(),
            server.session(false).unwrap(),
        ];
        let (left, right) = memory_pair();
        let ends: [Arc<dyn Stream>; 2] = [Arc::new(left), Arc::new(right)];
        let shaking = [0, 1].into_iter().zip(sessions).map(|(end, session)| {
            let below = ends[end].clone();
            thread::spawn(move || {
                let deadline = Instant::now() + LONG;
                (
                    handshake(below.clone(), session, &[], deadline).unwrap().0,
                    below,
                )
            })
        });
        let shaking: Vec<_> = shaking.collect();
        let negotiated = shaking.into_iter().map(|end| end.join().unwrap());
        negotiated.collect::<Vec<_>>().try_into().ok().unwrap()
    }

    #[test]
    fn both_ends_send_much_more_than_there_is_room_for_while_they_receive() {
        const MUCH: usize = 3 << 20;
        let ends = pair().map(|(end, _)| end);
        thread::scope(|scope| {
            for end in &ends {
                scope.spawn(|| {
                    let blob = vec![7; MUCH - 1];
                    let mut pieces = [&[1][..], &[], &blob].map(IoSlice::new);
                    end.send_all_vectored(&mut pieces, Some(Instant::now() + LONG))
                });
                scope.spawn(|| {
                    let mut input = BytesMut::new();
                    let wait = Wait::Until(Some(Instant::now() + LONG));
                    while input.len() < MUCH {
                        assert!(end.recv_behind(&mut input, MUCH, wait).unwrap() > 0);
                    }
                    assert_eq!((input[0], input[MUCH - 1]), (1, 7));
                });
            }
        });
    }

    #[test]
    fn one_thread_sends_and_receives_by_turns() {
        let [(ours, _), (theirs, _)] = pair();
        let all: Vec<u8> = (0..1 << 20).map(|at: u32| (at / 7) as u8).collect();
        let (mut sent, mut received) = (0, BytesMut::new());
        while received.len() < all.len() {
            match ours.send(&all[sent..], Wait::Poll) {
                Ok(more) => sent += more,
                Err(e) => assert_eq!(e.kind(), io::ErrorKind::WouldBlock),
            }
            while theirs
                .recv_behind(&mut received, all.len(), Wait::Poll)
                .is_ok()
            {}
        }
        assert_eq!((sent, &received[..]), (all.len(), &all[..]));
    }

    #[test]
    fn how_an_end_ends() {
        // The end that goes, whether with a goodbye, and the answer of the other one.
        for (goes, goodbye, expected) in [
            (0, true, Ok(0)),
            (1, true, Ok(0)),
            (0, false, Ok(0)),
            (1, false, Err(io::ErrorKind::UnexpectedEof)),
        ] {
            let ends = pair();
            let (end, below) = &ends[goes];
            match goodbye {
                true => end.shutdown_send(),
                false => below.shutdown_send(),
            }
            let wait = Wait::Until(Some(Instant::now() + LONG));
            let end = ends[1 - goes].0.recv(&mut [0], wait);
            assert_eq!(end.map_err(|e| e.kind()), expected, "{goes} {goodbye}");
        }
    }
}
