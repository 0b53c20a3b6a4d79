//! The pairs of programs, their ways of speaking, and the variants that a program runs with.

use super::{Peer, place};

/// The protocols, in the order of tables.
pub(crate) const PROTOCOLS: [&str; 9] = [
    "binary",
    "binary-nonstrict",
    "compact",
    "json",
    "msgpack-rpc",
    "grpc",
    "connect-json",
    "connect-proto",
    "websocket",
];

/// The transports, in the order of tables.
pub(crate) const TRANSPORTS: [&str; 8] = [
    "buffered",
    "framed",
    "nonblocking",
    "header",
    "header-zlib",
    "http",
    "zlib",
    "tls",
];

/// One way of speaking, as a peer's command line has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Way {
    /// One of `PROTOCOLS`.
    pub(crate) protocol: String,
    /// One of `TRANSPORTS`.
    pub(crate) transport: String,
    /// Whether calls name their service.
    pub(crate) multiplexed: bool,
}

/// A capability of a peer.
#[derive(Clone, Debug)]
pub(crate) struct Capability {
    /// The way of speaking.
    pub(crate) way: Way,
    /// The transport that the other side has to choose.
    pub(crate) wire: String,
    /// Whether it can call.
    pub(crate) client: bool,
    /// Whether it can answer.
    pub(crate) server: bool,
    /// Whether also over a Unix socket.
    pub(crate) unix: bool,
    /// Why not both.
    pub(crate) reason: Option<String>,
}

/// How a program runs where that is no matter of the wire: the other side must not notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Variant {
    /// The flag of its command line that chooses among variants.
    pub(crate) flag: &'static str,
    /// The value of the flag.
    pub(crate) name: &'static str,
}

/// One server, one client, one way of speaking.
#[derive(Clone, Debug)]
pub(crate) struct Pair<'a> {
    pub(crate) server: &'a Peer,
    pub(crate) client: &'a Peer,
    /// How the server names the way.
    pub(crate) serves: Way,
    /// How the client names it.
    pub(crate) calls: Way,
    /// Over a Unix socket instead of TCP.
    pub(crate) unix: bool,
}

/// Which pairs of the matrix to run.
#[derive(Default)]
pub(crate) struct Filter<'a> {
    /// Only this protocol.
    pub(crate) protocol: Option<&'a str>,
    /// Only this transport.
    pub(crate) transport: Option<&'a str>,
    /// Only pairs with one of these peers in it; all where there is none.
    pub(crate) with: &'a [&'a str],
    /// And with one of these.
    pub(crate) only: &'a [&'a str],
}

impl Filter<'_> {
    fn wants(&self, pair: &Pair<'_>) -> bool {
        let fits = |want: Option<&str>, is: &str| want.is_none_or(|want| want == is);
        let among = |names: &[&str]| {
            names.is_empty() || pair.names().iter().any(|name| names.contains(name))
        };
        fits(self.protocol, &pair.serves.protocol)
            && fits(self.transport, &pair.serves.transport)
            && among(self.with)
            && among(self.only)
    }
}

/// All pairs that the filter wants, among peers of one contract.
pub(crate) fn pairs<'a>(
    able: &[(&'a Peer, Vec<Capability>)],
    filter: &Filter<'_>,
) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    for (server, serves) in able {
        for (client, calls) in able {
            if server.contract == client.contract {
                shared(server, serves, client, calls, &mut pairs);
            }
        }
    }
    pairs.retain(|pair| filter.wants(pair));
    pairs
}

/// All ways in which the client can call the server.
fn shared<'a>(
    server: &'a Peer,
    serves: &[Capability],
    client: &'a Peer,
    calls: &[Capability],
    pairs: &mut Vec<Pair<'a>>,
) {
    for answer in serves.iter().filter(|each| each.server) {
        let fits = |call: &&Capability| {
            call.client
                && call.way.transport == answer.wire
                && call.way.protocol == answer.way.protocol
                && call.way.multiplexed == answer.way.multiplexed
        };
        // Names of services and Unix sockets are the same thing over all transports.
        let plain = matches!(answer.way.transport.as_str(), "buffered" | "framed");
        for call in calls.iter().filter(fits) {
            let mut add = |unix| {
                pairs.push(Pair {
                    server,
                    client,
                    serves: answer.way.clone(),
                    calls: call.way.clone(),
                    unix,
                });
            };
            if plain || !answer.way.multiplexed {
                add(false);
            }
            if plain && !answer.way.multiplexed && answer.unix && call.unix {
                add(true);
            }
        }
    }
}

impl Pair<'_> {
    /// Returns the two programs.
    pub(crate) fn names(&self) -> [&'static str; 2] {
        [self.client.name, self.server.name]
    }

    /// The kind of connection: a number, and its name where that is not plain TCP.
    pub(crate) fn connection(&self) -> (usize, &'static str) {
        match (self.unix, self.serves.multiplexed) {
            (false, false) => (0, ""),
            (false, true) => (1, "multiplex"),
            (true, _) => (2, "unix"),
        }
    }

    /// The variants of server and client: all of them in turn along each axis of the matrix, be it
    /// peer, protocol, transport or kind of connection. What a pair runs with does not depend on
    /// the filter.
    pub(crate) fn variants(&self) -> (Option<Variant>, Option<Variant>) {
        let find =
            |all: &[&str], name: &str| all.iter().position(|each| *each == name).unwrap_or(0);
        let protocol = find(&PROTOCOLS, &self.serves.protocol);
        let others = find(&TRANSPORTS, &self.serves.transport)
            + self.connection().0
            + place(self.server.name)
            + place(self.client.name);
        let pick = |all: &[Variant], turn: usize| all.get(turn % all.len().max(1)).copied();
        // Half a step for the client: otherwise each would meet half of the servers alone.
        (
            pick(&self.server.servers, others + protocol),
            pick(&self.client.clients, others + protocol / 2),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::{Contract, Status};
    use std::collections::BTreeSet;

    const SERVERS: [&str; 4] = ["a", "b", "c", "d"];
    const CLIENTS: [&str; 2] = ["x", "y"];

    fn peer(name: &'static str, varied: bool) -> Peer {
        let variants = |names: &[&'static str]| match varied {
            true => names
                .iter()
                .map(|name| Variant { flag: "", name })
                .collect(),
            false => Vec::new(),
        };
        Peer {
            name,
            title: "",
            library: "",
            version: "",
            contract: Contract::Interop,
            command: Vec::new(),
            servers: variants(&SERVERS),
            clients: variants(&CLIENTS),
            status: Status::Ready,
        }
    }

    fn capabilities(protocols: &[&str], transports: &[&str]) -> Vec<Capability> {
        let mut all = Vec::new();
        for (protocol, transport) in protocols.iter().flat_map(|protocol| {
            transports
                .iter()
                .map(move |transport| (protocol, transport))
        }) {
            all.push(Capability {
                way: Way {
                    protocol: (*protocol).to_owned(),
                    transport: (*transport).to_owned(),
                    multiplexed: false,
                },
                wire: (*transport).to_owned(),
                client: true,
                server: true,
                unix: true,
                reason: None,
            });
        }
        all
    }

    /// Returns the settings that the pairs of our program with this one run with.
    fn met(other: &'static str, protocols: &[&str], transports: &[&str]) -> BTreeSet<String> {
        let (ours, theirs) = (peer("ours", true), peer(other, other == "ours"));
        let mut able = vec![(&ours, capabilities(&PROTOCOLS, &TRANSPORTS))];
        if other != "ours" {
            able.push((&theirs, capabilities(protocols, transports)));
        }
        let filter = Filter {
            with: &["ours"],
            only: &[other],
            ..Filter::default()
        };
        let name = |variant: Option<Variant>| variant.map_or("", |variant| variant.name);
        let pairs = pairs(&able, &filter);
        let variants = pairs.iter().map(Pair::variants);
        variants
            .map(|(server, client)| [name(server), name(client)].concat())
            .collect()
    }

    #[test]
    fn every_variant_meets_every_peer() {
        let all: BTreeSet<String> = SERVERS
            .iter()
            .chain(&CLIENTS)
            .map(|s| (*s).to_owned())
            .collect();
        for name in [
            "cpp",
            "go",
            "java",
            "python",
            "rust",
            "go-uuid",
            "rust-uuid",
        ] {
            let least = met(name, &["binary", "compact"], &["buffered", "framed"]);
            assert_eq!(least, all, "{name}");
            for transport in TRANSPORTS {
                assert_eq!(
                    met(name, &PROTOCOLS, &[transport]),
                    all,
                    "{name} {transport}"
                );
            }
        }
    }

    #[test]
    fn against_ourselves_every_client_meets_every_server() {
        let all = SERVERS
            .iter()
            .flat_map(|s| CLIENTS.iter().map(move |c| [*s, *c].concat()));
        assert_eq!(met("ours", &PROTOCOLS, &TRANSPORTS), all.collect());
    }
}
