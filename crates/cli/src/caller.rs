//! Calls of methods that only a contract at run time describes.

use crate::address::Target;
use crate::failure::Result;
use crate::link::{Cost, Counting};
use crate::remote::{block_on, full_name};
use dovetail::method::Method;
use dovetail::server::ResponseHeaders;
use dovetail::{Code, Status, Wire, blocking};
use dovetail_dynamic::{Contract, Params, Reply, ReplySlot, Struct};
use dovetail_schema as schema;
use std::sync::Arc;
use std::time::Duration;

/// How to reach a service.
pub(crate) struct Way {
    pub(crate) target: Target,
    pub(crate) wire: Wire,
    /// Named where the wire says which service is called.
    pub(crate) service: Option<String>,
    pub(crate) timeout: Duration,
    /// A place for the headers and trailers of answers, which gRPC, gRPC-Web and Connect have.
    pub(crate) said: Option<ResponseHeaders>,
}

/// A connection for calls, which counts its bytes where it can.
pub(crate) enum Caller {
    Blocking(blocking::Channel),
    /// The blocking client has no HTTP/2.
    Async(Way),
}

impl Caller {
    pub(crate) fn new(way: Way, cost: &Arc<Cost>) -> Caller {
        if way.wire.is_http2() {
            return Caller::Async(way);
        }
        let (connector, cost) = (way.target.connector(), cost.clone());
        let mut builder = blocking::Channel::through(Arc::new(Counting { connector, cost }))
            .wire(way.wire)
            .timeout(way.timeout)
            .connect_timeout(way.timeout);
        if let Some(path) = &way.target.http_path {
            builder = builder.http_path(path);
        }
        if let Some(service) = &way.service {
            builder = builder.service(service);
        }
        let headers = way.target.headers.iter();
        let builder = headers.fold(builder, |builder, (name, value)| {
            builder.header(name, value.clone())
        });
        Caller::Blocking(builder.build())
    }

    /// Makes a call; `None` is the answer to a one-way one.
    pub(crate) fn call(
        &self,
        contract: &Contract<'_>,
        method: &schema::Method,
        row: &'static Method,
        arguments: &Struct,
    ) -> Result<std::result::Result<Option<Reply>, Status>> {
        let params = Params::new(contract, method, arguments);
        let mut slot = ReplySlot::new(contract, method);
        let called = match self {
            Caller::Blocking(channel) if method.oneway => channel.notify_described(row, &params),
            Caller::Blocking(channel) => channel.call_described(row, &params, &mut slot),
            Caller::Async(way) => block_on(async {
                let channel = way.channel()?;
                match method.oneway {
                    true => channel.notify_described(row, &params).await,
                    false => channel.call_described(row, &params, &mut slot).await,
                }
            })?,
        };
        Ok(called.and_then(|()| match method.oneway {
            true => Ok(None),
            false => reply(slot).map(Some),
        }))
    }
}

/// The facts that decide whether a call names its service.
#[derive(Clone, Copy)]
pub(crate) struct Naming {
    /// The server has said what its services are.
    pub(crate) described: bool,
    /// It has several services of Thrift on its port.
    pub(crate) multiplexed: bool,
}

impl Naming {
    /// Returns the name of a service of this package that a wire has to say, if any.
    pub(crate) fn of(self, wire: Wire, package: &str, name: &str) -> Option<String> {
        match wire {
            wire if wire.is_http2() => Some(full_name(package, name)),
            Wire::Dovetail if self.described => Some(full_name(package, name)),
            _ => self.multiplexed.then(|| name.to_owned()),
        }
    }
}

impl Way {
    pub(crate) fn new(
        target: Target,
        wire: Wire,
        service: Option<String>,
        timeout: Duration,
    ) -> Self {
        Way {
            target,
            wire,
            service,
            timeout,
            said: None,
        }
    }

    /// Opens an async channel to the service.
    pub(crate) fn channel(&self) -> std::result::Result<dovetail::Channel, Status> {
        let mut builder = self
            .target
            .channel()?
            .wire(self.wire)
            .timeout(self.timeout)
            .connect_timeout(self.timeout);
        if let Some(path) = &self.target.http_path {
            builder = builder.http_path(path);
        }
        if let Some(service) = &self.service {
            builder = builder.service(service);
        }
        let channel = builder.build();
        Ok(match &self.said {
            Some(said) => channel.with_response_headers(said),
            None => channel,
        })
    }
}

/// Returns the reply; an error if the contract does not have it.
pub(crate) fn reply(slot: ReplySlot<'_>) -> std::result::Result<Reply, Status> {
    slot.into_reply().ok_or_else(|| {
        let message = "the reply has neither a result nor an exception that the contract declares";
        Status::from_peer(Code::Unknown, message)
    })
}
