use super::messages::{PartialSuccess, Resource, Response};
use crate::method::Method;
use crate::{Channel, ChannelBuilder, Status, Wire};
use dovetail_wire::FieldValue;
use std::io;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// A collector has this long to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The way to a collector, for a thread that sends.
pub(crate) struct Collector {
    runtime: Runtime,
    channel: Channel,
    pub(crate) resource: Resource,
}

impl Collector {
    /// Makes the way by a channel with these settings. `service` is the `service.name` of this
    /// process, the attributes are further ones of its resource.
    pub(crate) fn new(
        channel: ChannelBuilder,
        service: &str,
        attributes: &[(&str, &str)],
    ) -> io::Result<Self> {
        // The calls of an exporter belong to no call of the process.
        let channel = channel.wire(Wire::Grpc).timeout(TIMEOUT).inherits(false);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let channel = {
            let _inside = runtime.enter();
            channel.build()
        };
        Ok(Collector {
            runtime,
            channel,
            resource: Resource::new(service, attributes),
        })
    }

    /// Sends a request, and waits for the answer. Returns the part of it that was refused.
    pub(crate) fn send<T: FieldValue>(
        &self,
        method: &'static Method,
        request: &T,
    ) -> Result<Option<PartialSuccess>, Status> {
        let export = self.channel.call(method, (request,));
        let answer: Result<Response, Status> = self.runtime.block_on(export);
        let partial = answer?.partial_success;
        Ok(partial.filter(|partial| partial.rejected > 0))
    }
}
