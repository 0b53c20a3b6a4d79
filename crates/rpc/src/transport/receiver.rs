use super::{Poller, Polling, Stream, Wait};
use crate::buffers::{KEPT, reclaim};
use bytes::BytesMut;
use std::io;
use std::time::Instant;

/// Small messages are received here and appended; larger ones go straight to their place.
const SCRATCH: usize = 16 << 10;

/// The reading end of one connection: it knows when to poll, and where to put what comes.
#[derive(Debug)]
pub(crate) struct Receiver {
    poller: Poller,
    scratch: Vec<u8>,
    /// How long messages have been lately, where that is more than `scratch` holds.
    expects: usize,
    /// Little has come since the buffer was empty last: all of a short message, or the beginning of
    /// a long one.
    little: bool,
}

impl Receiver {
    pub(crate) fn new(polling: Polling) -> Self {
        Receiver {
            poller: Poller::new(polling),
            scratch: vec![0; SCRATCH],
            expects: 0,
            little: false,
        }
    }

    /// Receives behind what `input` holds; 0 at the end. The deadline is asked for where it comes
    /// to a wait.
    pub(crate) fn receive(
        &mut self,
        stream: &dyn Stream,
        input: &mut BytesMut,
        needs: usize,
        deadline: impl FnOnce() -> Instant,
    ) -> io::Result<usize> {
        let begins = input.is_empty();
        if begins && std::mem::take(&mut self.little) {
            self.expects = 0;
        }
        let room = input.capacity() - input.len();
        // In one allocation: to let a large buffer grow is to copy it, again and again. But not
        // while nothing has come, perhaps for long.
        let expected = match begins {
            true => self.expects.min(KEPT),
            false => self.expects.saturating_sub(input.len()),
        };
        let wanted = needs.max(expected);
        if wanted <= SCRATCH && room < SCRATCH {
            let until = || Some(deadline());
            let received = self.poller.recv_until(stream, &mut self.scratch, until)?;
            input.extend_from_slice(self.scratch.get(..received).unwrap_or_default());
            return Ok(received);
        }
        let most = wanted.max(room);
        self.expects = self.expects.max(input.len() + needs);
        let received = self
            .poller
            .recv_behind(stream, input, most, || Some(deadline()))?;
        self.little = begins && received <= SCRATCH;
        Ok(received)
    }

    /// Receives what is there; `WouldBlock` where that is nothing.
    pub(crate) fn take(
        &mut self,
        stream: &dyn Stream,
        input: &mut BytesMut,
        needs: usize,
    ) -> io::Result<usize> {
        stream.recv_behind(input, needs.max(SCRATCH), Wait::Poll)
    }

    /// Lets go of the memory of an empty buffer that is large, or cannot be used again now. One of
    /// small messages can be, most often, when the next one comes.
    pub(crate) fn relax(&self, input: &mut BytesMut) {
        if self.expects > 0 && input.is_empty() && !reclaim(input) {
            *input = BytesMut::new();
        }
    }

    /// Receives, and keeps nothing.
    pub(crate) fn discard(&mut self, stream: &dyn Stream, deadline: Instant) -> io::Result<usize> {
        self.poller.recv(stream, &mut self.scratch, Some(deadline))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::memory_pair;
    use std::time::Duration;

    /// Receives a message of which pieces of these lengths come, one after the other, and gives the
    /// capacity of the buffer behind each.
    fn receive(receiver: &mut Receiver, pieces: &[usize]) -> Vec<usize> {
        let (ours, theirs) = memory_pair();
        let (mut input, all) = (BytesMut::new(), pieces.iter().sum::<usize>());
        let until = || Instant::now() + Duration::from_secs(20);
        let capacities = pieces.iter().map(|piece| {
            let most = input.len() + piece;
            theirs.send_all(&vec![7; *piece], None).expect("room");
            while input.len() < most {
                // As a connection does, which trusts the announced length a few times as far as has
                // come.
                let needs = match input.len() {
                    0 => 1,
                    received => (all - received).min(4 * received),
                };
                let received = receiver.receive(&ours, &mut input, needs, until);
                assert!(received.expect("a piece") > 0);
            }
            input.capacity()
        });
        let capacities = capacities.collect();
        receiver.relax(&mut BytesMut::new());
        capacities
    }

    #[test]
    fn a_long_message_has_its_room_at_once_behind_another_one() {
        const LONG: usize = 1_000_000;
        const LITTLE_FIRST: &[usize] = &[10_000, 90_000, 200_000, 200_000, 250_000, 250_000];
        const MUCH_FIRST: &[usize] = &[200_000, 200_000, 200_000, 200_000, 200_000];
        let mut receiver = Receiver::new(Polling::Never);
        for (pieces, at_once) in [
            (LITTLE_FIRST, false),
            (LITTLE_FIRST, true),
            (MUCH_FIRST, true),
            (LITTLE_FIRST, true),
            // Behind a short one more of them may come.
            (&[100], false),
            (LITTLE_FIRST, false),
            (MUCH_FIRST, true),
        ] {
            let capacities = receive(&mut receiver, pieces);
            let there = capacities.iter().take(2).any(|capacity| *capacity >= LONG);
            assert_eq!(there, at_once, "{pieces:?}: {capacities:?}");
        }
    }
}
