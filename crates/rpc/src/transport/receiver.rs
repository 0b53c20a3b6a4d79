use super::{Poller, Polling, Stream};
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
}

impl Receiver {
    pub(crate) fn new(polling: Polling) -> Self {
        Receiver {
            poller: Poller::new(polling),
            scratch: vec![0; SCRATCH],
            expects: 0,
        }
    }

    /// Receives behind what `input` holds; 0 at the end. The deadline is asked for where it comes to a wait.
    pub(crate) fn receive(
        &mut self,
        stream: &dyn Stream,
        input: &mut BytesMut,
        needs: usize,
        deadline: impl FnOnce() -> Instant,
    ) -> io::Result<usize> {
        let begins = input.is_empty();
        let room = input.capacity() - input.len();
        // In one allocation: to let a large buffer grow is to copy it, again and again. But not while nothing has come,
        // perhaps for long.
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
        if begins && received <= SCRATCH {
            self.expects = 0;
        }
        Ok(received)
    }

    /// Lets go of the memory of an empty buffer that is large, or cannot be used again now. One of small messages can be,
    /// most often, when the next one comes.
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
