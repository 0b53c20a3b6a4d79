use crate::context::{CallInfo, Caller};
use crate::incoming::{Incoming, ReplyTo, Target};
use crate::reply::ReplyBody;
use crate::{Code, Context, Exceptions, Execution, Method, Status};
use dovetail_wire::{Bytes, Encoding, FieldValue, Limits, ReadParams};
use std::pin::Pin;
use std::sync::Arc;

/// The answer to a call, on its way.
pub type HandlerFuture<'a> = Pin<Box<dyn Future<Output = Reply> + Send + 'a>>;

/// An encoded answer, ready to be sent.
#[derive(Debug)]
pub struct Reply(pub(crate) Vec<u8>);

/// A call that has arrived, its parameters not yet decoded.
pub struct Call {
    context: Context,
    method: &'static Method,
    encoding: Encoding,
    body: Bytes,
    reply: ReplyTo,
    limits: Limits,
    /// Where the answer goes.
    out: Vec<u8>,
}

impl Call {
    /// A call of a method that the router has found. Its answer goes into `out`, which is empty.
    pub(crate) fn new(
        incoming: Incoming,
        method: &'static Method,
        caller: Arc<Caller>,
        limits: Limits,
        out: Vec<u8>,
    ) -> Self {
        let call = CallInfo {
            caller,
            service: match incoming.target {
                Target::Named { service, .. } => service,
                Target::Route(_) => None,
            },
            method: method.name,
            wire: incoming.reply.wire(),
            deadline: incoming.deadline,
            headers: incoming.headers,
        };
        Call {
            context: Context {
                call: Arc::new(call),
            },
            method,
            encoding: incoming.encoding,
            body: incoming.body,
            reply: incoming.reply,
            limits,
            out,
        }
    }

    /// Decodes the parameters over `initial`, runs the handler, and encodes its answer.
    /// Parameters that cannot be decoded are answered without running it.
    pub fn unary<'a, P, T, E, F>(
        mut self,
        initial: P,
        handler: impl FnOnce(Context, P) -> F,
    ) -> HandlerFuture<'a>
    where
        P: ReadParams,
        T: FieldValue,
        E: Exceptions,
        F: Future<Output = Result<T, E>> + Send + 'a,
    {
        match self.params(initial) {
            Ok(params) => {
                let running = handler(self.context.clone(), params);
                Box::pin(async move { self.reply(&running.await) })
            }
            Err(status) => self.refuse(&status),
        }
    }

    /// The answer to a method number that the service does not have: what generated code falls back to.
    pub fn no_such_method<'a>(self) -> HandlerFuture<'a> {
        let status = Status::new(Code::Unimplemented, "the service has no such method");
        self.refuse(&status)
    }

    /// Answers without running the handler: for a [`Service`](crate::Service) in front of another one, which
    /// lets only some calls pass.
    pub fn refuse<'a>(self, status: &Status) -> HandlerFuture<'a> {
        Box::pin(std::future::ready(self.fail(status)))
    }

    /// What is known about the call.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The parameters, decoded over `initial`. The body is given back afterwards: ask once.
    fn params<P: ReadParams>(&mut self, mut initial: P) -> Result<P, Status> {
        let body = std::mem::take(&mut self.body);
        let mut params = (&mut initial, self.method.params);
        let read = self.encoding.decode(&mut params, &body, self.limits);
        match read {
            Ok(read) if read == body.len() => Ok(initial),
            Ok(read) => Err(self.undecodable(&format!("{} bytes are left", body.len() - read))),
            Err(error) => Err(self.undecodable(&error.to_string())),
        }
    }

    #[cold]
    fn undecodable(&self, why: &str) -> Status {
        let message = format!(
            "the parameters of `{}` cannot be decoded: {why}",
            self.method.name
        );
        Status::new(Code::InvalidArgument, message).with_execution(Execution::NotStarted)
    }

    /// Encodes the answer.
    fn reply<T: FieldValue, E: Exceptions>(mut self, result: &Result<T, E>) -> Reply {
        if self.method.oneway {
            self.reply.accepted(&mut self.out);
            return Reply(self.out);
        }
        let failed = result.as_ref().err().and_then(Exceptions::as_status);
        if let Some(status) = failed {
            return self.fail(status);
        }
        match self
            .reply
            .reply(&mut self.out, &ReplyBody(result), self.limits)
        {
            Ok(()) => Reply(self.out),
            Err(error) => {
                let message = format!("the answer cannot be encoded: {error}");
                self.fail(&Status::new(Code::Internal, message))
            }
        }
    }

    fn fail(mut self, status: &Status) -> Reply {
        match self.method.oneway {
            true => self.reply.accepted(&mut self.out),
            false => self.reply.fail(&mut self.out, status),
        }
        Reply(self.out)
    }
}
