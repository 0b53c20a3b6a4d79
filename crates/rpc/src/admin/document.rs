//! `/openapi.json`: the services of a server, for tools that call them with JSON over HTTP.

use super::{Admin, PLAIN};
use crate::export::{ExportError, openapi};
use crate::web::Page;
use dovetail_protocol::connect;
use dovetail_protocol::http::Response;
use dovetail_wire::Bytes;
use std::sync::OnceLock;

impl Admin {
    /// Returns the page. Its document is made once, as services do not change while a server runs.
    pub(super) fn document_page(&self) -> Page {
        let admin = self.clone();
        let known = OnceLock::new();
        Box::new(move |_| {
            let document = match admin.0.server.get() {
                Some(_) => known.get_or_init(|| admin.document()).clone(),
                None => admin.document(),
            };
            match document {
                Ok(text) => connect::document(&text),
                Err(error) => Response::new(500, PLAIN, error.to_string()),
            }
        })
    }

    /// Returns the document of the services. Those that only their IDL describes in full are left
    /// out.
    fn document(&self) -> Result<Bytes, ExportError> {
        let server = self.0.server.get();
        let names = server.map(|server| server.services()).unwrap_or_default();
        let services = self.0.recorder.services().iter().copied();
        let served =
            services.filter(|service| names.iter().any(|name| *name == service.full_name()));
        let described: Vec<_> = served
            .filter(|service| openapi("", &[service]).is_ok())
            .collect();
        openapi("The services of this server", &described).map(Bytes::from)
    }
}
