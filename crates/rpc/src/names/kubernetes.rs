//! Endpoints of a service of Kubernetes:
//! <https://kubernetes.io/docs/reference/kubernetes-api/service-resources/endpoint-slice-v1/>.

use super::http::{Api, PAUSE, TIMEOUT, json, quoted};
use super::{Resolution, Resolver, Updates, joined};
use dovetail_balance::Backend;
use serde::Deserialize;
use std::env;
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

/// The time after which a watch begins anew. A thread whose channel is gone waits no longer.
const WATCHED: u64 = 30;

/// Files of a pod's service account.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Endpoints of a service of Kubernetes that are ready, `k8s://namespace/orders:9090`, or
/// `k8s://namespace/orders:grpc` for a port with a name.
///
/// Pods ask the API server by their service account, which needs the verbs `list` and `watch` on
/// `endpointslices` of `discovery.k8s.io`. Zones are those of the endpoints.
pub struct Kubernetes {
    name: String,
    namespace: String,
    service: String,
    port: Port,
    api: Option<String>,
}

/// A port of a service.
#[derive(Debug)]
enum Port {
    Number(u16),
    Name(String),
}

#[derive(Deserialize)]
struct Slices {
    metadata: Metadata,
    items: Vec<Slice>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    resource_version: String,
}

#[derive(Deserialize)]
struct Slice {
    #[serde(default)]
    endpoints: Option<Vec<Endpoint>>,
    #[serde(default)]
    ports: Option<Vec<SlicePort>>,
}

#[derive(Deserialize)]
struct Endpoint {
    addresses: Vec<String>,
    #[serde(default)]
    conditions: Conditions,
    zone: Option<String>,
}

#[derive(Default, Deserialize)]
struct Conditions {
    /// Unknown is as good as true.
    ready: Option<bool>,
}

#[derive(Deserialize)]
struct SlicePort {
    #[serde(default)]
    name: Option<String>,
    port: Option<u16>,
}

impl Kubernetes {
    /// `name` is behind `k8s:`, with a namespace, a service and a port.
    pub(super) fn new(name: &str) -> Result<Self, String> {
        let shape = "write k8s://namespace/service:port";
        let rest = name.strip_prefix("//").ok_or(shape)?;
        let (namespace, rest) = rest.split_once('/').ok_or(shape)?;
        let (service, port) = rest.rsplit_once(':').ok_or(shape)?;
        if namespace.is_empty() || service.is_empty() || port.is_empty() {
            return Err(shape.to_owned());
        }
        let number = port.parse().map(Port::Number);
        Ok(Kubernetes {
            name: format!("k8s:{name}"),
            namespace: namespace.to_owned(),
            service: service.to_owned(),
            port: number.unwrap_or_else(|_| Port::Name(port.to_owned())),
            api: None,
        })
    }

    /// Endpoints of a service by another API server than that of the pod, such as
    /// `http://127.0.0.1:8001` of `kubectl proxy`. `place` is `namespace/service:port`. An error
    /// where it is none.
    pub fn at(api: &str, place: &str) -> Result<Self, crate::Status> {
        let made = Kubernetes::new(&format!("//{place}"));
        let made = made.map_err(|why| super::unusable(place, why))?;
        Ok(Kubernetes {
            api: Some(api.trim_end_matches('/').to_owned()),
            ..made
        })
    }

    /// The token is read each time: it is made anew every hour.
    fn api(&self) -> Result<Api, String> {
        if let Some(api) = &self.api {
            return Ok(Api::new(api.clone(), None, None));
        }
        let variable = |name: &str| {
            env::var(name)
                .map_err(|_| format!("no pod of Kubernetes: the environment has no {name}"))
        };
        let host = variable("KUBERNETES_SERVICE_HOST")?;
        let port = variable("KUBERNETES_SERVICE_PORT")?;
        let port = port
            .parse()
            .map_err(|_| "KUBERNETES_SERVICE_PORT is no port")?;
        let file = |name: &str| {
            let path = Path::new(ACCOUNT).join(name);
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let credentials = ("Authorization", format!("Bearer {}", file("token")?.trim()));
        let base = format!("https://{}", joined(&host, port));
        Ok(Api::new(
            base,
            Some(credentials),
            Some(file("ca.crt")?.as_bytes()),
        ))
    }

    /// Reads the endpoints, and waits for a change of them.
    fn read(&self, updates: &Updates) -> Result<(), String> {
        let api = self.api()?;
        let namespace = quoted(&self.namespace);
        let label = quoted(&format!("kubernetes.io/service-name={}", self.service));
        let path = format!(
            "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices?labelSelector={label}"
        );
        let slices: Slices = json(api.get(&path, TIMEOUT)?)?;
        let servers = slices.items.iter().flat_map(|slice| self.servers(slice));
        updates.found(Resolution::of(servers.collect()));
        let version = quoted(&slices.metadata.resource_version);
        let path = format!("{path}&watch=1&resourceVersion={version}&timeoutSeconds={WATCHED}");
        let watch = api.get(&path, Duration::from_secs(WATCHED) + TIMEOUT)?;
        let mut change = String::new();
        // A line is a change; the end is that of the time. What changes is read anew, as a whole.
        let read = BufReader::new(watch.into_body().into_reader()).read_line(&mut change);
        read.map(drop).map_err(|error| error.to_string())
    }

    fn servers<'a>(&'a self, slice: &'a Slice) -> impl Iterator<Item = Backend> + 'a {
        let ports = slice.ports.iter().flatten();
        let port = match &self.port {
            Port::Number(port) => Some(*port),
            Port::Name(name) => ports
                .filter(|port| port.name.as_ref() == Some(name))
                .find_map(|port| port.port),
        };
        let endpoints = slice.endpoints.iter().flatten();
        let ready = endpoints.filter(|one| one.conditions.ready != Some(false));
        ready.filter_map(move |one| {
            // All addresses of an endpoint are of one pod.
            let address = joined(one.addresses.first()?, port?);
            let mut made = Backend::new(format!("tcp://{address}"));
            made.zone.clone_from(&one.zone);
            Some(made)
        })
    }
}

impl Resolver for Kubernetes {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn authority(&self) -> Option<String> {
        let Kubernetes {
            namespace, service, ..
        } = self;
        match &self.port {
            Port::Number(port) => Some(format!("{service}.{namespace}.svc:{port}")),
            Port::Name(_) => Some(format!("{service}.{namespace}.svc")),
        }
    }

    fn watch(&self, updates: &Updates) {
        while !updates.is_over() {
            if let Err(why) = self.read(updates) {
                updates.failed(why);
                updates.wait(PAUSE);
            }
        }
    }
}

impl fmt::Debug for Kubernetes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kubernetes").field(&self.name).finish()
    }
}
