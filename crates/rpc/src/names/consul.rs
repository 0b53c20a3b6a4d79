//! Services of Consul: <https://developer.hashicorp.com/consul/api-docs>.

use super::http::{Api, PAUSE, TIMEOUT, header, json, quoted};
use super::registration::{Registrar, Term};
use super::{Resolution, Resolver, Updates, joined, place};
use dovetail_balance::Backend;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::time::Duration;

/// The time that Consul may hold a question while nothing changes. A thread whose channel is gone
/// waits no longer.
const HELD: Duration = Duration::from_secs(10);

/// Instances of a service of Consul whose checks pass, `consul://127.0.0.1:8500/orders`.
///
/// Weights are those of Consul; `zone`, `priority` and `version` are read from the metadata. The
/// environment variable `CONSUL_HTTP_TOKEN` has the token, as for Consul's own programs. A server
/// registers with it, too: [`Registration::by`](super::Registration::by). It has a check with a
/// TTL.
pub struct Consul {
    name: String,
    service: String,
    api: Api,
}

/// An entry of `/v1/health/service/:service`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    node: Node,
    service: Instance,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Node {
    #[serde(default)]
    address: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Instance {
    /// Empty where it is that of the node.
    #[serde(default)]
    address: String,
    port: u16,
    #[serde(default)]
    weights: Option<Weights>,
    #[serde(default)]
    meta: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Weights {
    passing: u32,
}

impl Entry {
    fn backend(self) -> Backend {
        let Entry { node, service } = self;
        let host = match service.address.is_empty() {
            true => &node.address,
            false => &service.address,
        };
        let plain = joined(host, service.port);
        let meta = service.meta.unwrap_or_default();
        let known = |name: &str| meta.get(name).cloned();
        let mut made = Backend::new(known(ADDRESS).unwrap_or_else(|| format!("tcp://{plain}")));
        made.weight = service.weights.map_or(1, |weights| weights.passing);
        made.priority = known("priority")
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        made.zone = known("zone");
        made.version = known("version");
        made
    }
}

/// The whole address, where it is not one of plain TCP.
const ADDRESS: &str = "dovetail-address";

impl Consul {
    /// `name` is behind `consul:`, with an agent and a service.
    pub(super) fn new(name: &str) -> Result<Self, String> {
        let shape = "write consul://host:port/service";
        let rest = name.strip_prefix("//").ok_or(shape)?;
        let (agent, service) = rest.split_once('/').ok_or(shape)?;
        if agent.is_empty() || service.is_empty() || service.contains('/') {
            return Err(shape.to_owned());
        }
        let token = env::var("CONSUL_HTTP_TOKEN").ok();
        let credentials = token.map(|token| ("X-Consul-Token", token));
        Ok(Consul {
            name: format!("consul:{name}"),
            service: service.to_owned(),
            api: Api::new(format!("http://{agent}"), credentials, None),
        })
    }

    /// Waits for a change behind an index, and tells the channel. Returns the new index.
    fn read(&self, index: u64, updates: &Updates) -> Result<u64, String> {
        let service = quoted(&self.service);
        let held = HELD.as_secs();
        let path = format!("/v1/health/service/{service}?passing=true&index={index}&wait={held}s");
        // Consul answers up to a sixteenth later.
        let answer = self.api.get(&path, HELD + TIMEOUT)?;
        let new = header(answer.headers(), "x-consul-index").and_then(|text| text.parse().ok());
        let entries: Vec<Entry> = json(answer)?;
        let new = new.unwrap_or(0);
        if new != index {
            let servers = entries.into_iter().map(Entry::backend).collect();
            updates.found(Resolution::of(servers));
        }
        // An index that goes back begins anew, as Consul asks for.
        Ok(if new < index { 0 } else { new })
    }

    fn id(&self, server: &Backend) -> String {
        format!("{}-{}", self.service, place(server))
    }

    fn register(&self, server: &Backend, ttl: Duration) -> Result<(), String> {
        let (host, port) = place(server)
            .rsplit_once(':')
            .ok_or("an address has a port")?;
        let port: u16 = port.parse().map_err(|_| "an address has a port")?;
        let words = [
            (
                ADDRESS,
                Some(server.address.clone()).filter(|address| !address.starts_with("tcp://")),
            ),
            ("zone", server.zone.clone()),
            ("version", server.version.clone()),
            (
                "priority",
                Some(server.priority.to_string()).filter(|_| server.priority > 0),
            ),
        ];
        let meta = words
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        let document = serde_json::json!({
            "ID": self.id(server),
            "Name": self.service,
            "Address": host.trim_matches(['[', ']']),
            "Port": port,
            "Meta": meta.collect::<BTreeMap<_, _>>(),
            "Weights": { "Passing": server.weight, "Warning": server.weight },
            "Check": {
                "TTL": format!("{}s", ttl.as_secs()),
                "Status": "passing",
                "DeregisterCriticalServiceAfter": "1m",
            },
        });
        let path = "/v1/agent/service/register";
        self.api.put(path, &document.to_string())
    }

    /// Registers servers, and says each third of their time that they are there, until they go.
    fn hold(&self, servers: &[Backend], term: &Term) -> Result<(), String> {
        for server in servers {
            self.register(server, term.ttl())?;
        }
        term.registered();
        while term.wait(term.ttl() / 3) {
            for server in servers {
                let check = quoted(&format!("service:{}", self.id(server)));
                self.api.put(&format!("/v1/agent/check/pass/{check}"), "")?;
            }
        }
        Ok(())
    }
}

impl Resolver for Consul {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn watch(&self, updates: &Updates) {
        let mut index = 0;
        while !updates.is_over() {
            match self.read(index, updates) {
                Ok(new) => index = new,
                Err(why) => {
                    index = 0;
                    updates.failed(why);
                    updates.wait(PAUSE);
                }
            }
        }
    }
}

impl Registrar for Consul {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn keep(&self, servers: &[Backend], term: &Term) {
        while let Err(why) = self.hold(servers, term) {
            term.failed(why);
            if !term.wait(PAUSE) {
                break;
            }
        }
        for server in servers {
            let id = quoted(&self.id(server));
            let gone = self
                .api
                .put(&format!("/v1/agent/service/deregister/{id}"), "");
            if let Err(why) = gone {
                tracing::warn!(why, "Consul has not taken a registration back");
            }
        }
    }
}

impl fmt::Debug for Consul {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Consul").field(&self.name).finish()
    }
}
