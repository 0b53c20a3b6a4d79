//! How a call over gRPC is answered.

use super::message::{first_field, framed};
use crate::{Code, Method, Status};
use dovetail_protocol::grpc::{Failure, PREFIX};
use dovetail_wire::{Any, Bytes, Encode, EncodeError, Encoding, Limits};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How to answer a call: the answer is left here for the stream that waits for it.
#[derive(Clone)]
pub(crate) struct ReplyTo {
    method: Option<&'static Method>,
    answer: Arc<Mutex<Option<Answer>>>,
}

/// What a call is answered with.
#[derive(Debug)]
pub(crate) enum Answer {
    /// A message, with its prefix.
    Message(Bytes),
    /// No message.
    Failure(Failure),
}

impl ReplyTo {
    /// To a call of this method, where there is one.
    pub(crate) fn new(method: Option<&'static Method>) -> Self {
        let answer = Arc::default();
        ReplyTo { method, answer }
    }

    fn answer(&self) -> MutexGuard<'_, Option<Answer>> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first answer counts: a deadline may pass while a handler in the pool is done.
    fn put(&self, answer: Answer) {
        self.answer().get_or_insert(answer);
    }

    /// The answer, once it is there.
    pub(crate) fn take(&self) -> Option<Answer> {
        self.answer().take()
    }

    /// Takes a result or a declared exception.
    pub(crate) fn reply(&self, body: &impl Encode, limits: Limits) -> Result<(), EncodeError> {
        let mut out = vec![0; PREFIX];
        Encoding::Protobuf.encode(body, &mut out, limits)?;
        let reply = out.get(PREFIX..).unwrap_or_default();
        // The first field says what it is: 1 is the result.
        if let Some((number @ 2.., header)) = first_field(reply) {
            let exception = reply.get(header..).unwrap_or_default();
            let failure = self.exception(number - 1, exception);
            self.put(Answer::Failure(failure));
            return Ok(());
        }
        let messages = self.method.is_some_and(|method| method.messages);
        self.put(Answer::Message(framed(out, messages)?));
        Ok(())
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
        self.put(Answer::Failure(status.clone().into()));
    }

    /// Takes the empty answer to a one-way call.
    pub(crate) fn accepted(&self) {
        self.put(Answer::Message(Bytes::from_static(&[0; PREFIX])));
    }
}
