//! The channels to the callers of handlers, and to objects.

use crate::method::ServiceDescriptor;
use crate::{Context, ObjectRef, Status};

impl Context {
    /// A channel to the caller, on the connection by which it calls: for the services that it
    /// [serves](crate::ChannelBuilder::serve). It may be kept longer than the call, as long as the
    /// connection is there.
    ///
    /// An error where the wire of the call is neither Dovetail's own nor msgpack-rpc, and in what a
    /// blocking client serves: see [`blocking_client_channel`](Self::blocking_client_channel).
    #[cfg(feature = "async")]
    pub fn client_channel(&self) -> Result<crate::Channel, Status> {
        crate::Channel::over(self.connection()?)
    }

    /// Calls back from a handler that a [blocking client](crate::blocking::ChannelBuilder::serve)
    /// serves: a channel to the server that calls. An error elsewhere.
    pub fn blocking_client_channel(&self) -> Result<crate::blocking::Channel, Status> {
        crate::blocking::Channel::over(&self.connection()?)
    }
}

impl ObjectRef {
    /// Calls the object, as an object of this service.
    #[cfg(feature = "async")]
    pub fn channel(&self, service: &'static ServiceDescriptor) -> crate::Channel {
        crate::Channel::to_object(self, service)
    }

    /// Calls the object by a blocking channel: for references that came by one, and objects of this
    /// process.
    pub fn blocking_channel(
        &self,
        service: &'static ServiceDescriptor,
    ) -> crate::blocking::Channel {
        crate::blocking::Channel::to_object(self, service)
    }
}
