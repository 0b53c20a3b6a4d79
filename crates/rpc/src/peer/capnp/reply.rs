//! The answer to a call.

use super::methods::Method;
use super::peer::Peer;
use crate::peer::link::Link;
use crate::peer::objects::{SentCaps, Transfer};
use crate::{Code, Status};
use dovetail_wire::{Encode, EncodeError, Encoding, Limits as Encoded, ObjectNumbers};
use std::sync::Arc;

/// How to answer a call.
#[derive(Clone)]
pub(crate) struct CapnpReplyTo {
    link: Arc<Link>,
    question: u32,
    method: &'static Method,
    /// The objects of the answer.
    caps: Option<Arc<SentCaps>>,
}

impl CapnpReplyTo {
    pub(crate) fn new(link: Arc<Link>, question: u32, method: &'static Method) -> Self {
        CapnpReplyTo {
            link,
            question,
            method,
            caps: None,
        }
    }

    pub(crate) fn question(&self) -> u32 {
        self.question
    }

    /// The connection, where calls can be addressed to objects in the answer.
    pub(crate) fn promised_to(&self) -> Option<&Arc<Link>> {
        self.method.returns.as_ref().map(|_| &self.link)
    }

    /// Lets the answer name objects by their places in its table.
    pub(crate) fn table(&mut self, transfer: Arc<Transfer>) -> Arc<dyn ObjectNumbers> {
        let caps = Arc::new(SentCaps::new(transfer));
        self.caps = Some(caps.clone());
        caps
    }

    /// Appends the answer. A declared exception, for which the language has no word, is an
    /// exception whose reason has it in JSON.
    pub(crate) fn reply(
        &self,
        out: &mut Vec<u8>,
        body: &impl Encode,
        limits: Encoded,
    ) -> Result<(), EncodeError> {
        self.answer(out, |machine| {
            let caps = self.caps.as_deref();
            let written = machine.reply(self.question, self.method, body, caps, limits);
            if let Err(problem) = written {
                let thrown = thrown(body, limits).ok_or(problem)?;
                machine.fail(self.question, &thrown);
            }
            Ok(())
        })
    }

    /// Appends the answer of a method that has none.
    pub(crate) fn accepted(&self, out: &mut Vec<u8>) {
        // It cannot fail.
        let _ = self.answer(out, |machine| {
            machine.accepted(self.question);
            Ok(())
        });
    }

    pub(crate) fn fail(&self, out: &mut Vec<u8>, status: &Status) {
        // It cannot fail.
        let _ = self.answer(out, |machine| {
            machine.fail(self.question, status);
            Ok(())
        });
    }

    fn answer(
        &self,
        out: &mut Vec<u8>,
        work: impl FnOnce(&mut Peer) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let mut table = self.link.lock();
        let answered = table.capnp().map_or(Ok(()), work);
        let queued = table.transmit_beside(out);
        drop(table);
        if queued {
            self.link.flush();
        }
        answered
    }
}

/// The declared exception that an answer is.
fn thrown(body: &impl Encode, limits: Encoded) -> Option<Status> {
    let mut json = Vec::new();
    Encoding::Json.encode(body, &mut json, limits).ok()?;
    if json.starts_with(b"{\"success\"") {
        return None;
    }
    let json = String::from_utf8_lossy(&json);
    Some(Status::new(
        Code::Unknown,
        format!("the method threw {json}"),
    ))
}
