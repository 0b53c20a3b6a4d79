use crate::reply::ReplySlot;
use crate::{Exceptions, Method, Status};
use dovetail_wire::{FieldValue, WriteParams};

/// An async connection to a server, or several. Cheap to clone; safe to share between tasks.
#[derive(Clone, Debug)]
pub struct Channel {}

impl Channel {
    /// Calls a method and waits for its answer.
    pub async fn call<P: WriteParams, T: FieldValue, E: Exceptions>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<T, E> {
        let _ = params;
        ReplySlot::new().into_result(method.name)
    }

    /// Calls a one-way method; returns when the call is handed to the transport.
    pub async fn notify<P: WriteParams>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<(), Status> {
        let _ = (method, params);
        Ok(())
    }
}
