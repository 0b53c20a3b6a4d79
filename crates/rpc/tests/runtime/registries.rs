//! Consul and Kubernetes, whose API servers are played by this test: with documents as theirs have
//! them, from their references.

use crate::clients::echo;
use crate::fixture::*;
use dovetail::names::{self, Kubernetes, Policy, Registration};
use dovetail::{Running, Server, blocking};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// Documents of an API, with a number that rises when they change.
#[derive(Default)]
struct State {
    index: u64,
    /// By name: the JSON of instances, or of slices.
    documents: BTreeMap<String, serde_json::Value>,
    /// The requests that have come, but for questions.
    log: Vec<String>,
    /// Requests are answered with 503.
    down: bool,
}

/// Answers a request, its method, path and body, with an index and a document; `None` where it is
/// refused.
type Answer = fn(&Registry, &str, &str, &str) -> Option<(u64, String)>;

#[derive(Clone, Default)]
struct Registry(Arc<(Mutex<State>, Condvar)>);

impl Registry {
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.0.0.lock().unwrap();
        change(&mut state);
        state.index += 1;
        self.0.1.notify_all();
    }

    /// Waits until the index is another one.
    fn wait(&self, index: u64) {
        let state = self.0.0.lock().unwrap();
        let same = |state: &mut State| state.index == index && !state.down;
        drop(
            self.0
                .1
                .wait_timeout_while(state, Duration::from_secs(5), same)
                .unwrap(),
        );
    }

    fn read<R>(&self, read: impl FnOnce(&State) -> R) -> R {
        read(&self.0.0.lock().unwrap())
    }

    /// Answers on a port, which it returns.
    fn start(&self, answer: Answer) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let registry = self.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (registry, stream) = (registry.clone(), stream.unwrap());
                thread::spawn(move || registry.serve(&stream, answer));
            }
        });
        port
    }

    fn serve(&self, stream: &TcpStream, answer: Answer) {
        let mut reader = BufReader::new(stream);
        loop {
            let (mut line, mut length) = (String::new(), 0);
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            loop {
                let mut header = String::new();
                reader.read_line(&mut header).unwrap();
                let header = header.trim().to_ascii_lowercase();
                if let Some(number) = header.strip_prefix("content-length:") {
                    length = number.trim().parse().unwrap();
                }
                if header.is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let mut words = line.split(' ');
            let (method, path) = (words.next().unwrap(), words.next().unwrap());
            let answered = answer(self, method, path, &String::from_utf8(body).unwrap());
            let (status, index, body) = match answered {
                Some((index, body)) if !self.read(|state| state.down) => (200, index, body),
                _ => (503, 0, String::new()),
            };
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} X\r\nX-Consul-Index: {index}\r\nContent-Length: {length}\r\n\r\n{body}"
            );
            if (&*stream).write_all(head.as_bytes()).is_err() {
                return;
            }
        }
    }
}

/// A parameter of a query.
fn parameter<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let (_, query) = path.split_once('?')?;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value)
}

fn consul(registry: &Registry, method: &str, path: &str, body: &str) -> Option<(u64, String)> {
    if method == "GET" {
        assert!(
            path.starts_with("/v1/health/service/orders?passing=true&"),
            "{path}"
        );
        registry.wait(parameter(path, "index")?.parse().ok()?);
        return Some(registry.read(|state| {
            let found: Vec<_> = state.documents.values().collect();
            (state.index, serde_json::to_string(&found).unwrap())
        }));
    }
    if registry.read(|state| state.down) {
        return None;
    }
    let mut known = true;
    registry.change(|state| {
        state.log.push(format!("{method} {path}"));
        let id = path.rsplit('/').next().unwrap().replace("%3A", ":");
        match path {
            "/v1/agent/service/register" => {
                let service: serde_json::Value = serde_json::from_str(body).unwrap();
                let id = service["ID"].as_str().unwrap().to_owned();
                let entry = serde_json::json!({
                    "Node": { "Node": "n1", "Address": "127.0.0.9" },
                    "Service": service,
                    "Checks": [],
                });
                state.documents.insert(id, entry);
            }
            _ if path.contains("/deregister/") => drop(state.documents.remove(&id)),
            _ => {
                known = state
                    .documents
                    .contains_key(id.trim_start_matches("service:"))
            }
        }
    });
    known.then(|| (0, String::new()))
}

fn server(registration: Registration) -> Running {
    let server = Server::new()
        .service(Probe::default())
        .register(registration);
    server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap()
}

fn known(channel: &blocking::Channel) -> BTreeSet<String> {
    let backends = channel.backends().into_iter();
    backends.map(|one| one.backend.address).collect()
}

#[test]
fn services_of_consul() {
    let registry = Registry::default();
    registry.change(|_| ());
    let port = registry.start(consul);
    let name = format!("consul://127.0.0.1:{port}/orders");
    let register = || Registration::new(&name).unwrap().linger(Duration::ZERO);
    let first = server(register().zone("eu").weight(3).ttl(Duration::from_secs(1)));
    until("it is registered", || {
        first.registrations()[0].is_registered
    });
    let channel = blocking::Channel::builder(&name).unwrap();
    let channel = channel.policy(Policy::RoundRobin).build();
    echo(&channel, 1).unwrap();
    let backends = channel.backends();
    assert_eq!(backends[0].backend.zone.as_deref(), Some("eu"));
    assert_eq!(backends[0].backend.weight, 3);

    let second = server(register());
    until("the second one is found", || known(&channel).len() == 2);
    until("checks are passed", || {
        registry.read(|state| {
            state
                .log
                .iter()
                .any(|line| line.contains("/check/pass/service%3Aorders-"))
        })
    });
    // Another one's, at the address of its node, over TLS, not of ours.
    registry.change(|state| {
        let service = serde_json::json!({ "ID": "x", "Service": "orders", "Address": "", "Port": 7, "Meta": null });
        let entry = serde_json::json!({ "Node": { "Address": "127.0.0.9" }, "Service": service });
        state.documents.insert("x".to_owned(), entry);
    });
    until("its node is found", || {
        known(&channel).contains("tcp://127.0.0.9:7")
    });
    registry.change(|state| drop(state.documents.remove("x")));
    until("it is gone", || known(&channel).len() == 2);

    registry.change(|state| state.down = true);
    until("the failure is seen", || {
        !first.registrations()[0].is_registered
    });
    assert_eq!(known(&channel).len(), 2);
    echo(&channel, 1).unwrap();
    // A service that Consul has forgotten is registered anew.
    registry.change(|state| {
        state.down = false;
        state.documents.clear();
    });
    until("it is registered again", || {
        first.registrations()[0].is_registered
    });
    assert!(second.shutdown(LONG));
    assert!(registry.read(|state| {
        state
            .log
            .iter()
            .any(|line| line.contains("/deregister/orders-"))
    }));
    until("only the first is left", || {
        known(&channel) == BTreeSet::from([first.addresses()[0].to_string()])
    });
    echo(&channel, 1).unwrap();
}

fn kubernetes(registry: &Registry, method: &str, path: &str, _: &str) -> Option<(u64, String)> {
    let asked = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dorders";
    assert!(
        method == "GET" && path.starts_with(asked),
        "{method} {path}"
    );
    if let Some(version) = parameter(path, "resourceVersion") {
        registry.wait(version.parse().ok()?);
        return Some((0, "{\"type\":\"MODIFIED\",\"object\":{}}\n".to_owned()));
    }
    Some(registry.read(|state| {
        let items: Vec<_> = state.documents.values().collect();
        let list = serde_json::json!({
            "kind": "EndpointSliceList",
            "apiVersion": "discovery.k8s.io/v1",
            "metadata": { "resourceVersion": state.index.to_string() },
            "items": items,
        });
        (0, list.to_string())
    }))
}

/// A slice as the reference of Kubernetes has it.
fn slice(addresses: &[(&str, bool)], port: u16) -> serde_json::Value {
    let endpoint = |(address, ready): &(&str, bool)| {
        serde_json::json!({
            "addresses": [address],
            "conditions": { "ready": ready, "serving": ready, "terminating": false },
            "nodeName": "node-1",
            "zone": "us-west2-a",
        })
    };
    serde_json::json!({
        "metadata": { "name": "orders-abc", "labels": { "kubernetes.io/service-name": "orders" } },
        "addressType": "IPv4",
        "ports": [{ "name": "metrics", "protocol": "TCP", "port": 1 }, { "name": "rpc", "protocol": "TCP", "port": port }],
        "endpoints": addresses.iter().map(endpoint).collect::<Vec<_>>(),
    })
}

#[test]
fn endpoints_of_kubernetes() {
    let running = Server::new().service(Probe::default());
    let running = running
        .listen("tcp://127.0.0.1:0")
        .unwrap()
        .start()
        .unwrap();
    let place = tcp_place(&running).to_owned();
    let port = place.rsplit_once(':').unwrap().1.parse().unwrap();
    let registry = Registry::default();
    let set = |addresses: &[(&str, bool)]| {
        let slice = slice(addresses, port);
        registry.change(|state| drop(state.documents.insert("a".to_owned(), slice)));
    };
    set(&[("127.0.0.1", true), ("127.0.0.2", false)]);
    let api = format!("http://127.0.0.1:{}", registry.start(kubernetes));
    let resolver = Kubernetes::at(&api, "shop/orders:rpc").unwrap();
    let channel = blocking::Channel::resolved_by(resolver).build();
    echo(&channel, 1).unwrap();
    let backends = channel.backends();
    assert_eq!(backends.len(), 1);
    assert_eq!(backends[0].backend.address, format!("tcp://{place}"));
    assert_eq!(backends[0].backend.zone.as_deref(), Some("us-west2-a"));

    set(&[("127.0.0.1", true), ("127.0.0.2", true)]);
    until("the second is found", || known(&channel).len() == 2);
    registry.change(|state| state.down = true);
    let name = "k8s://shop/orders:rpc";
    until("the failure is seen", || {
        let channels = names::channels();
        channels
            .iter()
            .any(|one| one.name == name && one.failure.is_some())
    });
    assert_eq!(known(&channel).len(), 2);
    echo(&channel, 1).unwrap();
    set(&[("127.0.0.1", true)]);
    registry.change(|state| state.down = false);
    until("one is left", || known(&channel).len() == 1);
}
