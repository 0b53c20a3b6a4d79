//! Opens channels as the command line says; cases ask it for clients.

use crate::interop::{
    FutureBlockingClient, FutureClient, InteropBlockingClient, InteropClient, SecondBlockingClient,
    SecondClient,
};
use crate::neovim::{EditorBlockingClient, EditorClient};
use crate::places::{PlacesBlockingClient, PlacesClient};
use crate::uuids::{UuidServiceBlockingClient, UuidServiceClient};
use dovetail::encoding::Limits;
use dovetail::protocol::ConnectionLimits;
use dovetail::tls::ClientTls;
use dovetail::{Channel, ChannelBuilder, Status, Wire, blocking};
use std::time::Duration;
use tokio::runtime::{Handle, Runtime};

/// How long calls may take that are not known to be slow.
const USUAL: Duration = Duration::from_secs(30);

pub(crate) struct Connector {
    pub(crate) address: String,
    /// Over TLS.
    pub(crate) tls: Option<ClientTls>,
    pub(crate) wire: Wire,
    pub(crate) multiplexed: bool,
    pub(crate) kind: Kind,
    pub(crate) limits: ConnectionLimits,
}

/// Which of the two clients is called.
pub(crate) enum Kind {
    Blocking,
    /// On this runtime.
    Async(Runtime),
}

/// Both clients of a service, so that a case is written once; `ask!` calls it.
pub(crate) enum Client<B, A> {
    Blocking(B),
    Async(A, Handle),
}

/// `ask!(client.method(arguments))` calls a method and waits for the answer.
macro_rules! ask {
    ($client:ident.$method:ident($($argument:expr),* $(,)?)) => {
        match &$client {
            $crate::connector::Client::Blocking(client) => client.$method($($argument),*),
            $crate::connector::Client::Async(client, runtime) => {
                runtime.block_on(client.$method($($argument),*))
            }
        }
    };
}
pub(crate) use ask;

impl Connector {
    /// A blocking channel, whatever kind of client was chosen.
    pub(crate) fn channel(&self) -> Result<blocking::Channel, Status> {
        Ok(self.blocking(&self.address)?.build())
    }

    /// The settings of a blocking channel.
    fn blocking(&self, address: &str) -> Result<blocking::ChannelBuilder, Status> {
        let builder = blocking::Channel::builder(address)?
            .wire(self.wire)
            .limits(self.limits, Limits::default());
        Ok(match &self.tls {
            Some(tls) => builder.tls(tls),
            None => builder,
        })
    }

    /// Returns the settings of an async channel.
    pub(crate) fn builder(&self) -> Result<ChannelBuilder, Status> {
        self.builder_at(&self.address)
    }

    fn builder_at(&self, address: &str) -> Result<ChannelBuilder, Status> {
        let builder = Channel::builder(address)?
            .wire(self.wire)
            .limits(self.limits, Limits::default());
        Ok(match &self.tls {
            Some(tls) => builder.tls(tls),
            None => builder,
        })
    }

    /// A channel to the service, with a client around it.
    fn open<B, A>(&self, service: &str) -> Result<Client<B, A>, Status>
    where
        B: From<blocking::Channel>,
        A: From<Channel>,
    {
        self.open_within(service, USUAL)
    }

    /// Opens a channel for calls that may take so long.
    fn open_within<B, A>(&self, service: &str, limit: Duration) -> Result<Client<B, A>, Status>
    where
        B: From<blocking::Channel>,
        A: From<Channel>,
    {
        self.open_at(&self.address, service, limit)
    }

    fn open_at<B, A>(
        &self,
        address: &str,
        service: &str,
        limit: Duration,
    ) -> Result<Client<B, A>, Status>
    where
        B: From<blocking::Channel>,
        A: From<Channel>,
    {
        let service = self.multiplexed.then_some(service);
        Ok(match &self.kind {
            Kind::Blocking => {
                let builder = self.blocking(address)?.timeout(limit);
                let named = match service {
                    Some(service) => builder.service(service),
                    None => builder,
                };
                Client::Blocking(named.build().into())
            }
            Kind::Async(runtime) => {
                let builder = self.builder_at(address)?.timeout(limit);
                let named = match service {
                    Some(service) => builder.service(service),
                    None => builder,
                };
                Client::Async(named.build().into(), runtime.handle().clone())
            }
        })
    }

    pub(crate) fn interop(&self) -> Result<Client<InteropBlockingClient, InteropClient>, Status> {
        self.open("Interop")
    }

    /// Opens a client of `Interop` for calls that may take so long.
    pub(crate) fn interop_within(
        &self,
        limit: Duration,
    ) -> Result<Client<InteropBlockingClient, InteropClient>, Status> {
        self.open_within("Interop", limit)
    }

    pub(crate) fn future(&self) -> Result<Client<FutureBlockingClient, FutureClient>, Status> {
        self.open("Interop")
    }

    pub(crate) fn second(
        &self,
        service: &str,
    ) -> Result<Client<SecondBlockingClient, SecondClient>, Status> {
        self.open(service)
    }

    pub(crate) fn places(&self) -> Result<Client<PlacesBlockingClient, PlacesClient>, Status> {
        self.open("Places")
    }

    /// Opens a client of `Places` by way of a relay at this address.
    pub(crate) fn places_by(
        &self,
        relay: &str,
    ) -> Result<Client<PlacesBlockingClient, PlacesClient>, Status> {
        self.open_at(relay, "Places", USUAL)
    }

    /// Opens a client of `Places` for calls that are given up after 300 ms.
    pub(crate) fn impatient_places(
        &self,
    ) -> Result<Client<PlacesBlockingClient, PlacesClient>, Status> {
        self.open_within("Places", Duration::from_millis(300))
    }

    pub(crate) fn editor(&self) -> Result<Client<EditorBlockingClient, EditorClient>, Status> {
        self.open("Editor")
    }

    pub(crate) fn uuid(
        &self,
    ) -> Result<Client<UuidServiceBlockingClient, UuidServiceClient>, Status> {
        self.open("UuidService")
    }
}
