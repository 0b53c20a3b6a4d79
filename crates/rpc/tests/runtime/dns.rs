//! Names of DNS, as a name server that the test has made answers them.

use crate::clients::echo;
use crate::fixture::*;
use dovetail::names::Policy;
use dovetail::server::Model;
use dovetail::{Running, Server, blocking};
use hickory_resolver::proto::op::{Message, OpCode, ResponseCode};
use hickory_resolver::proto::rr::rdata::{A, SRV, TXT};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The answers of a name server.
#[derive(Clone, Debug)]
enum Answers {
    Records(Vec<(&'static str, RData)>),
    NoSuchName,
    /// It does not answer.
    Nothing,
}

struct NameServer {
    address: String,
    answers: Arc<Mutex<Answers>>,
}

impl NameServer {
    fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap().to_string();
        let answers = Arc::new(Mutex::new(Answers::Nothing));
        let said = answers.clone();
        thread::spawn(move || {
            let mut buffer = [0; 2048];
            while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                let asked = Message::from_vec(&buffer[..length]).unwrap();
                let said = said.lock().unwrap().clone();
                if let Some(answer) = answer(&asked, &said) {
                    socket.send_to(&answer.to_vec().unwrap(), from).unwrap();
                }
            }
        });
        NameServer { address, answers }
    }

    fn says(&self, answers: Answers) {
        *self.answers.lock().unwrap() = answers;
    }

    fn channel(&self, name: &str) -> blocking::Channel {
        let target = format!("dns://{}/{name}", self.address);
        let builder = blocking::Channel::builder(&target).unwrap();
        builder.policy(Policy::RoundRobin).build()
    }
}

fn answer(asked: &Message, answers: &Answers) -> Option<Message> {
    let mut message = Message::response(asked.metadata.id, OpCode::Query);
    message.add_queries(asked.queries.clone());
    let query = asked.queries.first()?;
    let kind = |data: &RData| match data {
        RData::A(_) => RecordType::A,
        RData::TXT(_) => RecordType::TXT,
        _ => RecordType::SRV,
    };
    match answers {
        Answers::Nothing => return None,
        Answers::NoSuchName => message.metadata.response_code = ResponseCode::NXDomain,
        Answers::Records(records) => {
            for (name, data) in records {
                let name = Name::from_ascii(name).unwrap();
                if name == *query.name() && kind(data) == query.query_type() {
                    message.add_answer(Record::from_rdata(name, 1, data.clone()));
                }
            }
        }
    }
    Some(message)
}

/// A host with these last bytes of addresses.
fn host(name: &'static str, last: &[u8]) -> Vec<(&'static str, RData)> {
    let record = |last: &u8| (name, RData::A(A(Ipv4Addr::new(127, 0, 0, *last))));
    last.iter().map(record).collect()
}

/// Servers on one port of several addresses, whose first listens on any.
fn servers(count: u8) -> (Vec<Running>, u16) {
    let start = |address: &str| {
        let server = Server::new()
            .service(Probe::default())
            .model(Model::EventLoops(Some(1)));
        server.listen(address).unwrap().start().unwrap()
    };
    let first = start("tcp://127.0.0.1:0");
    let port = tcp_place(&first)
        .rsplit_once(':')
        .unwrap()
        .1
        .parse()
        .unwrap();
    let others = (2..=count).map(|last| start(&format!("tcp://127.0.0.{last}:{port}")));
    let mut all: Vec<_> = others.collect();
    all.insert(0, first);
    (all, port)
}

fn known(channel: &blocking::Channel) -> BTreeSet<String> {
    let backends = channel.backends();
    backends
        .into_iter()
        .map(|one| one.backend.address)
        .collect()
}

#[test]
fn addresses_of_a_host_are_followed() {
    let (_servers, port) = servers(3);
    let names = NameServer::start();
    let of = |last: &[u8]| -> BTreeSet<String> {
        last.iter()
            .map(|last| format!("tcp://127.0.0.{last}:{port}"))
            .collect()
    };
    let channel = names.channel(&format!("orders.test:{port}"));
    names.says(Answers::Records(host("orders.test.", &[1, 2])));
    until("the host is found", || echo(&channel, 1).is_ok());
    assert_eq!(known(&channel), of(&[1, 2]));
    names.says(Answers::Records(host("orders.test.", &[2, 3])));
    until("the list has changed", || {
        assert!(echo(&channel, 2).is_ok());
        known(&channel) == of(&[2, 3])
    });
    // A name server that is gone, one that denies the name, and one that knows no address of it,
    // change nothing.
    for broken in [
        Answers::Nothing,
        Answers::NoSuchName,
        Answers::Records(Vec::new()),
    ] {
        names.says(broken.clone());
        thread::sleep(Duration::from_millis(1500));
        assert!(echo(&channel, 3).is_ok(), "{broken:?}");
        assert_eq!(known(&channel), of(&[2, 3]), "{broken:?}");
    }
    names.says(Answers::Records(host("orders.test.", &[1])));
    until("the channel catches up", || {
        assert!(echo(&channel, 4).is_ok());
        known(&channel) == of(&[1])
    });
}

/// A config in a TXT record counts before the settings of the builder, which counts again once it
/// is gone.
#[cfg(feature = "service-config")]
#[test]
fn service_configs_of_a_host_are_followed() {
    let (servers, port) = servers(2);
    let names = NameServer::start();
    let config = |text: &str| {
        let text = TXT::new(vec![format!("grpc_config={text}")]);
        ("_grpc_config.orders.test.", RData::TXT(text))
    };
    let policy = |name: &str| {
        let balance = format!(r#"{{"loadBalancingConfig":[{{"{name}":{{}}}}]}}"#);
        config(&format!(r#"[{{"serviceConfig":{balance}}}]"#))
    };
    let says = |config: Option<(&'static str, RData)>| {
        let mut records = host("orders.test.", &[1, 2]);
        records.extend(config);
        names.says(Answers::Records(records));
    };
    says(Some(policy("pick_first")));
    let channel = names.channel(&format!("orders.test:{port}"));
    until("the host is found", || echo(&channel, 1).is_ok());
    // Returns the number of servers that get calls.
    let called = || {
        let calls = || servers.iter().map(|one| one.counters().calls);
        let before: Vec<_> = calls().collect();
        assert!((0..10).all(|number| echo(&channel, number).is_ok()));
        calls()
            .zip(before)
            .filter(|(now, before)| now > before)
            .count()
    };
    assert_eq!(called(), 1);
    says(Some(policy("round_robin")));
    until("calls go to both", || called() == 2);
    says(Some(policy("pick_first")));
    until("calls go to one again", || called() == 1);
    // A config that cannot be read, or used, changes nothing; the second one is said.
    says(Some(config("[{")));
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(called(), 1);
    says(Some(config(
        r#"[{"serviceConfig":{"methodConfig":[{"timeout":"soon"}]}}]"#,
    )));
    let failures = || {
        dovetail::names::channels()
            .into_iter()
            .filter_map(|one| one.failure)
    };
    until("it is said", || {
        failures().any(|why| why.contains("`soon` is no time"))
    });
    assert_eq!(called(), 1);
    says(None);
    until("the builder's policy counts", || called() == 2);
}

#[test]
fn services_have_ports_priorities_and_weights() {
    let (servers, port) = servers(2);
    let names = NameServer::start();
    let service = |priority, weight, target: &str| {
        let target = Name::from_ascii(target).unwrap();
        (
            "_probe._tcp.test.",
            RData::SRV(SRV::new(priority, weight, port, target)),
        )
    };
    let mut records = host("a.test.", &[1]);
    records.extend(host("b.test.", &[2]));
    records.extend([service(1, 5, "a.test."), service(2, 0, "b.test.")]);
    names.says(Answers::Records(records));
    let channel = names.channel("_probe._tcp.test");
    until("the service is found", || echo(&channel, 1).is_ok());
    let listed = |channel: &blocking::Channel| -> Vec<_> {
        let backends = channel.backends().into_iter().map(|one| one.backend);
        backends
            .map(|one| (one.address, one.priority, one.weight))
            .collect()
    };
    let mut expected = vec![
        (format!("tcp://127.0.0.1:{port}"), 1, 5),
        (format!("tcp://127.0.0.2:{port}"), 2, 1),
    ];
    expected.sort();
    let mut found = listed(&channel);
    found.sort();
    assert_eq!(found, expected);
    let calls = || {
        servers
            .iter()
            .map(|one| one.counters().calls)
            .collect::<Vec<_>>()
    };
    assert_eq!(calls()[1], 0);
    let mut servers = servers;
    assert!(servers.remove(0).shutdown(LONG));
    until("the other priority is called", || echo(&channel, 2).is_ok());
    assert!(servers[0].counters().calls > 0);
}

#[test]
fn a_name_that_is_not_there_is_said() {
    let names = NameServer::start();
    names.says(Answers::NoSuchName);
    let channel = names.channel("nobody.test:9090");
    let error = echo(&channel, 1).unwrap_err();
    let begins = format!(
        "cannot find the servers of dns://{}/nobody.test:9090: ",
        names.address
    );
    assert!(error.message().starts_with(&begins), "{error}");
}
