//! Opens channels as the command line says; cases ask it for clients.

use crate::interop::{FutureBlockingClient, InteropBlockingClient, SecondBlockingClient};
use dovetail::protocol::thrift::Wire;
use dovetail::{Status, blocking::Channel};

pub(crate) struct Connector {
    pub(crate) address: String,
    pub(crate) wire: Wire,
    pub(crate) multiplexed: bool,
}

impl Connector {
    fn channel(&self, service: &str) -> Result<Channel, Status> {
        let builder = Channel::builder(&self.address)?.wire(self.wire);
        Ok(match self.multiplexed {
            true => builder.service(service).build(),
            false => builder.build(),
        })
    }

    pub(crate) fn interop(&self) -> Result<InteropBlockingClient, Status> {
        Ok(self.channel("Interop")?.into())
    }

    pub(crate) fn future(&self) -> Result<FutureBlockingClient, Status> {
        Ok(self.channel("Interop")?.into())
    }

    pub(crate) fn second(&self, service: &str) -> Result<SecondBlockingClient, Status> {
        Ok(self.channel(service)?.into())
    }
}
