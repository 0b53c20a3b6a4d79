//! A client of the demo's server on any wire.

use super::json::JsonClient;
use super::workshop::{Order, Quote, QuoteError, WorkshopBlockingClient, WorkshopClient};
use dovetail::{Status, blocking};
use tokio::runtime::Runtime;

/// The clients that there are, each for some of the wires.
pub(crate) enum Client {
    Blocking(WorkshopBlockingClient),
    /// HTTP/2 has an async client alone.
    Async(Runtime, WorkshopClient),
    Json(JsonClient),
}

impl From<blocking::Channel> for Client {
    fn from(channel: blocking::Channel) -> Self {
        Client::Blocking(WorkshopBlockingClient::from(channel))
    }
}

impl Client {
    pub(crate) fn quote(&self, order: &Order) -> Result<Quote, QuoteError> {
        match self {
            Client::Blocking(client) => client.quote(order),
            Client::Async(runtime, client) => runtime.block_on(client.quote(order)),
            Client::Json(client) => client.quote(order),
        }
    }

    pub(crate) fn note(&self, text: &str) -> Result<(), Status> {
        match self {
            Client::Blocking(client) => client.note(text),
            Client::Async(runtime, client) => runtime.block_on(client.note(text)),
            Client::Json(client) => client.note(text),
        }
    }
}
