//! Messages to send.

use super::message::{Cap, Context, Exception, ExceptionKind, Promised, Target};
use dovetail_wire::EncodeError;
use dovetail_wire::capnp::{Builder, PointerAt, Segments, Words};

type Result<T = ()> = std::result::Result<T, EncodeError>;

/// A message in the making, with its table of segments in front.
///
/// Payloads are written in place: who builds a call or an answer gets the place of the pointer that
/// leads to the parameters or results, writes them there, then [`caps`](Self::caps), then
/// [`finish`](Self::finish).
#[derive(Debug)]
pub struct Outgoing<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    root: usize,
}

/// Bytes of the table of one segment.
pub(super) const TABLE: usize = 8;

impl<'a> Outgoing<'a> {
    /// Begins a message at the end of a buffer.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        let start = out.len();
        out.extend_from_slice(&[0; TABLE]);
        let (_, root) = Builder::new(out);
        Outgoing { out, start, root }
    }

    /// Goes on with the message that begins here, and is the last one in the buffer.
    pub(super) fn resume(out: &'a mut Vec<u8>, start: usize) -> Self {
        let root = start + TABLE;
        Outgoing { out, start, root }
    }

    /// The answer to a message that this end does not know.
    pub(super) fn unimplemented(&mut self, message: &Segments) -> Result {
        let root = self.root;
        let mut segment = self.segment();
        let outer = segment.structure(root, 1, 1)?;
        segment.copy(outer.pointer(0), message, PointerAt::ROOT)
    }

    /// The segment, to write a payload into.
    pub fn segment(&mut self) -> Builder<'_> {
        Builder::resume(self.out, self.start + TABLE)
    }

    /// Ends the message.
    pub fn finish(self) {
        let words = (self.out.len() - self.start - TABLE) / 8;
        let Some(table) = self.out.get_mut(self.start + 4..self.start + TABLE) else {
            return;
        };
        table.copy_from_slice(&(words as u32).to_le_bytes());
    }

    /// Makes the message one of this kind, with a body of so many words.
    fn body(&mut self, kind: u16, data: u16, pointers: u16) -> Result<Words> {
        let root = self.root;
        let mut segment = self.segment();
        let message = segment.structure(root, 1, 1)?;
        segment.put_u16(message, 0, kind);
        segment.structure(message.pointer(0), data, pointers)
    }

    /// A question for the peer's main object.
    pub fn bootstrap(&mut self, question: u32) -> Result {
        let body = self.body(8, 1, 1)?;
        self.segment().put_u32(body, 0, question);
        Ok(())
    }

    /// A call; returns its payload: pointer 0 leads to the parameters.
    pub fn call(
        &mut self,
        question: u32,
        target: &Target,
        interface: u64,
        method: u16,
    ) -> Result<Words> {
        let body = self.body(2, 3, 3)?;
        let mut segment = self.segment();
        segment.put_u32(body, 0, question);
        segment.put_u64(body, 1, interface);
        segment.put_u16(body, 2, method);
        put_target(&mut segment, body.pointer(0), target)?;
        segment.structure(body.pointer(1), 0, 2)
    }

    /// An answer with results; returns its payload: pointer 0 leads to the results.
    pub fn results(&mut self, question: u32) -> Result<Words> {
        let body = self.answer(question, 0)?;
        self.segment().structure(body.pointer(0), 0, 2)
    }

    /// The answer to a call that failed.
    pub fn failure(&mut self, question: u32, exception: &Exception) -> Result {
        let body = self.answer(question, 1)?;
        put_exception(&mut self.segment(), body.pointer(0), exception)
    }

    /// The answer to a question that was finished first.
    pub fn canceled(&mut self, question: u32) -> Result {
        self.answer(question, 2).map(drop)
    }

    /// The answer to a call whose results stay here.
    pub fn sent_elsewhere(&mut self, question: u32) -> Result {
        self.answer(question, 3).map(drop)
    }

    fn answer(&mut self, question: u32, kind: u16) -> Result<Words> {
        let body = self.body(3, 2, 1)?;
        let mut segment = self.segment();
        segment.put_u32(body, 0, question);
        // The objects among the parameters are given back one by one: the bit says the contrary of
        // the default.
        segment.put_u16(body, 2, 1);
        segment.put_u16(body, 3, kind);
        Ok(body)
    }

    /// The end of a question; the objects of its answer are given back with it, or one by one.
    pub fn finish_question(&mut self, question: u32, release_results: bool) -> Result {
        let body = self.body(4, 1, 0)?;
        let mut segment = self.segment();
        segment.put_u32(body, 0, question);
        segment.put_u16(body, 2, u16::from(!release_results));
        Ok(())
    }

    /// References to an object of the peer's, given back.
    pub fn release(&mut self, id: u32, count: u32) -> Result {
        let body = self.body(6, 1, 0)?;
        let mut segment = self.segment();
        segment.put_u32(body, 0, id);
        segment.put_u32(body, 1, count);
        Ok(())
    }

    /// Tells the peer the object that a promise of this end has become, or the failure.
    pub fn resolve(&mut self, promise: u32, to: std::result::Result<&Cap, &Exception>) -> Result {
        let body = self.body(5, 1, 1)?;
        let mut segment = self.segment();
        segment.put_u32(body, 0, promise);
        segment.put_u16(body, 2, u16::from(to.is_err()));
        match to {
            Ok(cap) => {
                let words = segment.structure(body.pointer(0), 1, 1)?;
                put_cap(&mut segment, words, cap)
            }
            Err(exception) => put_exception(&mut segment, body.pointer(0), exception),
        }
    }

    /// A disembargo.
    pub fn disembargo(&mut self, target: &Target, context: Context) -> Result {
        let body = self.body(13, 1, 1)?;
        let mut segment = self.segment();
        let (kind, id) = match context {
            Context::Sender(id) => (0, id),
            Context::Receiver(id) => (1, id),
            Context::Other => (2, 0),
        };
        segment.put_u32(body, 0, id);
        segment.put_u16(body, 2, kind);
        put_target(&mut segment, body.pointer(0), target)
    }

    /// The end of the connection.
    pub fn abort(&mut self, exception: &Exception) -> Result {
        let root = self.root;
        let mut segment = self.segment();
        let message = segment.structure(root, 1, 1)?;
        segment.put_u16(message, 0, 1);
        put_exception(&mut segment, message.pointer(0), exception)
    }

    /// The table of the objects that a payload passes.
    pub fn caps(&mut self, payload: Words, caps: &[Cap]) -> Result {
        if caps.is_empty() {
            return Ok(());
        }
        let mut segment = self.segment();
        let mut words = segment.structs(payload.pointer(1), caps.len(), 1, 1)?;
        for cap in caps {
            put_cap(&mut segment, words, cap)?;
            words = words.next(1, 1);
        }
        Ok(())
    }
}

fn put_cap(segment: &mut Builder<'_>, words: Words, cap: &Cap) -> Result {
    let (kind, id) = match cap {
        Cap::None => (0, 0),
        Cap::SenderHosted(id) => (1, *id),
        Cap::SenderPromise(id) => (2, *id),
        Cap::ReceiverHosted(id) => (3, *id),
        Cap::ReceiverAnswer(promised) => {
            put_promised(segment, words.pointer(0), promised)?;
            (4, 0)
        }
    };
    segment.put_u16(words, 0, kind);
    segment.put_u32(words, 1, id);
    Ok(())
}

fn put_target(segment: &mut Builder<'_>, at: usize, target: &Target) -> Result {
    let words = segment.structure(at, 1, 1)?;
    match target {
        Target::Hosted(id) => segment.put_u32(words, 0, *id),
        Target::Promised(promised) => {
            segment.put_u16(words, 2, 1);
            put_promised(segment, words.pointer(0), promised)?;
        }
    }
    Ok(())
}

fn put_promised(segment: &mut Builder<'_>, at: usize, promised: &Promised) -> Result {
    let words = segment.structure(at, 1, 1)?;
    segment.put_u32(words, 0, promised.question);
    if promised.path.is_empty() {
        return Ok(());
    }
    let mut step = segment.structs(words.pointer(0), promised.path.len(), 1, 0)?;
    for pointer in &promised.path {
        segment.put_u16(step, 0, 1);
        segment.put_u16(step, 1, *pointer);
        step = step.next(1, 0);
    }
    Ok(())
}

fn put_exception(segment: &mut Builder<'_>, at: usize, exception: &Exception) -> Result {
    let words = segment.structure(at, 1, 2)?;
    let kind = match exception.kind {
        ExceptionKind::Failed => 0,
        ExceptionKind::Overloaded => 1,
        ExceptionKind::Disconnected => 2,
        ExceptionKind::Unimplemented => 3,
    };
    segment.put_u16(words, 2, kind);
    segment.text(words.pointer(0), &exception.reason)
}
