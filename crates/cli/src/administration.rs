//! Servers that are administered: `dovetail.admin.v1.Admin`, by what it says of itself.

use crate::caller::{Caller, Way};
use crate::failure::{Exit, Failure, Result};
use crate::headers::Headers;
use crate::idl;
use crate::remote;
use crate::tables::{Table, forever, table};
use crate::tls::ClientOptions;
use crate::values::{arguments, duration};
use clap::Args;
use dovetail::{Channel, Wire};
use dovetail_dynamic::{Contract, Reply, to_json};
use dovetail_schema::ServiceId;
use serde_json::Value as Json;
use std::sync::Arc;
use std::time::Duration;

/// The address of an administration, and how it is reached.
#[derive(Debug, Args)]
pub(crate) struct Administration {
    /// tcp://HOST:PORT, tls://HOST:PORT or unix:/PATH
    address: String,
    /// How to ask the server
    #[arg(short, long, value_name = "WIRE")]
    wire: Option<Wire>,
    /// Give up after this time
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    timeout: Duration,
    #[command(flatten)]
    headers: Headers,
    #[command(flatten)]
    tls: ClientOptions,
}

/// An administration that answers.
pub(crate) struct Server {
    contract: &'static Contract<'static>,
    service: ServiceId,
    rows: Table,
    caller: Caller,
}

const SERVICE: &str = "dovetail.admin.v1.Admin";

impl Administration {
    /// Opens a channel to it, over Dovetail's wire unless another one is asked for. Its calls may
    /// go on for as long as they like.
    pub(crate) fn channel(&self) -> Result<Channel> {
        let mut target = self.tls.target(&self.address)?;
        target.headers = self.headers.pairs()?;
        let wire = target.wire(self.wire.unwrap_or(Wire::Dovetail))?;
        self.headers.check(wire)?;
        let way = Way::new(target, wire, Some(SERVICE.to_owned()), self.timeout);
        let channel = way.channel();
        let channel = channel.map_err(|status| Failure::new(Exit::Call, status))?;
        Ok(channel.with_timeout(Duration::MAX))
    }

    /// Asks for the contract.
    pub(crate) fn reach(&self) -> Result<Server> {
        let mut target = self.tls.target(&self.address)?;
        target.headers = self.headers.pairs()?;
        let known = remote::ask(&target, self.wire, self.timeout)?;
        let wire = target.wire(self.wire.unwrap_or(known.wire))?;
        self.headers.check(wire)?;
        let contract = forever(known.schema, known.defaults);
        let service = idl::service(contract.schema(), "Admin").map_err(|failure| {
            let hint = "is this the address of `Server::admin`, and not that of the server's own services?";
            failure.help(hint)
        })?;
        let way = Way::new(target, wire, Some(SERVICE.to_owned()), self.timeout);
        Ok(Server {
            contract,
            service,
            rows: table(contract, service),
            caller: Caller::new(way, &Arc::default()),
        })
    }
}

impl Server {
    /// Calls a method with these arguments. Returns its result.
    pub(crate) fn ask(&self, name: &str, given: Json) -> Result<Json> {
        let contract = self.contract;
        let methods = contract.schema().methods(self.service).into_iter();
        let method = methods
            .map(|(_, method)| method)
            .find(|method| method.name == name);
        let found = method.and_then(|method| Some((method, self.rows.row(method)?)));
        let (method, row) = found.ok_or_else(|| {
            Failure::new(
                Exit::Usage,
                format!("the server has no `Admin.{name}`: it is older"),
            )
        })?;
        let values = arguments(contract, self.service, method, given)
            .map_err(|problem| Failure::new(Exit::Usage, problem))?;
        let answer = self.caller.call(contract, method, row, &values)?;
        let answer = answer.map_err(|status| Failure::new(Exit::Call, status))?;
        let result = method.result.as_ref();
        Ok(match (answer, result) {
            (Some(Reply::Result(Some(value))), Some(ty)) => to_json(contract, ty, &value),
            _ => Json::Null,
        })
    }
}

/// A number, which JSON may have as a text.
pub(crate) fn number(value: &Json) -> f64 {
    let text = value.as_str().and_then(|text| text.parse().ok());
    value.as_f64().or(text).unwrap_or(0.0)
}
