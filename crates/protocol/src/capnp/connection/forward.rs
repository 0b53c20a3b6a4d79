//! Calls that the peer makes to an object of its own, by way of an answer of this end's: they go
//! back to it.

use super::{Connection, Object, Payload};
use crate::capnp::message::{Exception, Target};
use crate::capnp::write::Outgoing;
use dovetail_wire::EncodeError;

impl Connection {
    /// Sends a call back to the peer. The answer to it will be the answer to the question.
    pub(super) fn forward(
        &mut self,
        question: u32,
        target: &Target,
        place: (u64, u16),
        params: &Payload,
    ) {
        let sent = self.ask(target, place, true, |message, at| {
            params.copy_to(message, at)
        });
        let asked = match sent {
            Ok(asked) => asked,
            Err(problem) => return self.refuse(question, &problem.to_string()),
        };
        if let Some(own) = self.questions.get_mut(asked) {
            own.forwards = Some(question);
        }
        if let Some(answer) = self.answers.get_mut(&question) {
            answer.forwarded = Some(asked);
        }
    }

    /// Hands the answer to a call that was forwarded on to the caller, which is the peer.
    pub(super) fn answer_forwarded(&mut self, question: u32, result: Result<Payload, Exception>) {
        let results = match result {
            Ok(results) => results,
            Err(exception) => return self.answer(question, Err(exception)),
        };
        let answered = self.answer_with(question, true, |message, at| results.copy_to(message, at));
        self.release_all(&results.objects);
        if let Err(problem) = answered {
            self.refuse(question, &problem.to_string());
        }
    }
}

impl Payload {
    fn copy_to(&self, message: &mut Outgoing<'_>, at: usize) -> Result<Vec<Object>, EncodeError> {
        if let Some(content) = self.content {
            message.segment().copy(at, &self.message, content)?;
        }
        Ok(self.objects.clone())
    }
}
