//! How a call over gRPC is answered.

use super::message::{first_field, unframe};
use crate::{Code, Method, Status};
use dovetail_protocol::grpc::{Failure, PREFIX};
use dovetail_wire::{Any, Bytes, Encode, EncodeError, Encoding, Limits};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How to answer a call: the message goes where all answers go, and what to make of it here.
#[derive(Clone)]
pub(crate) struct ReplyTo {
    method: Option<&'static Method>,
    answer: Arc<Mutex<Answer>>,
}

/// What an answer is.
#[derive(Debug, Default)]
pub(crate) enum Answer {
    /// Nothing yet.
    #[default]
    Missing,
    /// A message, with its prefix, from here on.
    Message { from: usize },
    /// No message.
    Failure(Failure),
}

impl ReplyTo {
    /// To a call of this method, where there is one.
    pub(crate) fn new(method: Option<&'static Method>) -> Self {
        let answer = Arc::default();
        ReplyTo { method, answer }
    }

    fn answer(&self) -> MutexGuard<'_, Answer> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the answer is, once it is there.
    pub(crate) fn take(&self) -> Answer {
        std::mem::take(&mut self.answer())
    }

    /// Takes a result or a declared exception.
    pub(crate) fn reply(
        &self,
        out: &mut Vec<u8>,
        body: &impl Encode,
        limits: Limits,
    ) -> Result<(), EncodeError> {
        out.extend_from_slice(&[0; PREFIX]);
        let encoded = Encoding::Protobuf.encode(body, out, limits);
        let answer = encoded.and_then(|()| self.framed(out));
        if answer.is_err() {
            out.clear();
        }
        *self.answer() = answer?;
        Ok(())
    }

    /// What the reply in `out` is, behind room for a prefix. Its first field says so: 1 is the result.
    fn framed(&self, out: &mut [u8]) -> Result<Answer, EncodeError> {
        let reply = out.get(PREFIX..).unwrap_or_default();
        if let Some((number @ 2.., header)) = first_field(reply) {
            let exception = reply.get(header..).unwrap_or_default();
            return Ok(Answer::Failure(self.exception(number - 1, exception)));
        }
        let length = out.len();
        let messages = self.method.is_some_and(|method| method.messages);
        let from = unframe(out, messages).ok_or(EncodeError::TooLong { length })?;
        Ok(Answer::Message { from })
    }

    /// A declared exception, as a detail that is named as in a `.proto` of the contract.
    fn exception(&self, id: i32, value: &[u8]) -> Failure {
        let service = self.method.map_or("", |method| method.service);
        let all = self.method.map(Method::exceptions).unwrap_or_default();
        let named = all.iter().find(|(known, _)| *known == id);
        let name = named.map_or("unknown", |(_, name)| *name);
        let name = match service.rsplit_once('.') {
            Some((package, _)) => format!("{package}.{name}"),
            None => name.to_owned(),
        };
        Failure {
            details: vec![Any {
                type_name: format!("type.googleapis.com/{name}"),
                value: Bytes::copy_from_slice(value),
                encoding: 0,
            }],
            status: Status::new(Code::Unknown, format!("the method has thrown `{name}`")),
        }
    }

    /// Takes a failure.
    pub(crate) fn fail(&self, status: &Status) {
        *self.answer() = Answer::Failure(status.clone().into());
    }

    /// Takes the empty answer to a one-way call.
    pub(crate) fn accepted(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[0; PREFIX]);
        *self.answer() = Answer::Message { from: 0 };
    }
}
