//! `/openapi.json`: the services of a server, for tools that call them with JSON over HTTP.

use super::{Admin, PLAIN};
use crate::export::openapi;
use dovetail_protocol::connect;
use dovetail_protocol::http::Response;

impl Admin {
    /// Returns the document of the services. Those that only their IDL describes in full are left
    /// out.
    pub(super) fn document(&self) -> Response {
        let server = self.0.server.get();
        let names = server.map(|server| server.services()).unwrap_or_default();
        let services = self.0.recorder.services().iter().copied();
        let served =
            services.filter(|service| names.iter().any(|name| *name == service.full_name()));
        let described: Vec<_> = served
            .filter(|service| openapi("", &[service]).is_ok())
            .collect();
        match openapi("The services of this server", &described) {
            Ok(text) => connect::document(&text.into()),
            Err(error) => Response::new(500, PLAIN, error.to_string()),
        }
    }
}
