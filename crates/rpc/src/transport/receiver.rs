use super::{Poller, Polling, Stream};
use crate::buffers::reclaim;
use bytes::BytesMut;
use std::io;
use std::time::Instant;

/// Small messages are received here and appended; larger ones go straight to their place.
const SCRATCH: usize = 16 << 10;

/// At most so much is received in one piece: its place is cleared before, and most of it may stay empty.
const PIECE: usize = 256 << 10;

/// The reading end of one connection: it knows when to poll, and where to put what comes.
#[derive(Debug)]
pub(crate) struct Receiver {
    poller: Poller,
    scratch: Vec<u8>,
}

impl Receiver {
    pub(crate) fn new(polling: Polling) -> Self {
        Receiver {
            poller: Poller::new(polling),
            scratch: vec![0; SCRATCH],
        }
    }

    /// Receives behind what `input` holds; 0 at the end.
    pub(crate) fn receive(
        &mut self,
        stream: &dyn Stream,
        input: &mut BytesMut,
        needs: usize,
        deadline: Instant,
    ) -> io::Result<usize> {
        if needs <= SCRATCH {
            let received = self.discard(stream, deadline)?;
            input.extend_from_slice(self.scratch.get(..received).unwrap_or_default());
            return Ok(received);
        }
        let start = input.len();
        input.resize(start + needs.min(PIECE), 0);
        let place = &mut input[start..];
        let result = self.poller.recv(stream, place, Some(deadline));
        input.truncate(start + result.as_ref().copied().unwrap_or(0));
        result
    }

    /// Lets go of the memory of an empty buffer that is large, or cannot be used again now.
    pub(crate) fn relax(&self, input: &mut BytesMut) {
        if input.is_empty() && !reclaim(input) {
            *input = BytesMut::new();
        }
    }

    /// Receives, and keeps nothing.
    pub(crate) fn discard(&mut self, stream: &dyn Stream, deadline: Instant) -> io::Result<usize> {
        self.poller.recv(stream, &mut self.scratch, Some(deadline))
    }
}
