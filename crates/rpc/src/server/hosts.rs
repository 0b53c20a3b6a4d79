//! Which hosts requests over HTTP may name, so that pages of other sites cannot call under a name
//! of their own (DNS rebinding).

use super::{ListenerKind, Shared};
use crate::{Address, Code, Status};
use dovetail_protocol::Execution;
use dovetail_wire::visible;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

/// Characters of a host that its sender is shown.
const SHOWN: usize = 100;

/// True for an address that programs of this machine alone reach, and so do the pages in its
/// browsers.
pub(super) fn is_local(address: &Address) -> bool {
    match address {
        Address::Tcp(place) | Address::Tls(place) => place
            .parse::<SocketAddr>()
            .is_ok_and(|address| address.ip().to_canonical().is_loopback()),
        Address::Unix(_) | Address::Shm(_) => true,
    }
}

/// The hosts that requests may name; see [`Server::allowed_hosts`](crate::Server::allowed_hosts).
#[derive(Clone, Debug, Default)]
pub(super) struct Hosts(Vec<String>);

/// Stands for all hosts.
const ANY: &str = "*";

impl Hosts {
    pub(super) fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Hosts(names.into_iter().map(Into::into).collect())
    }

    /// True if every host is allowed.
    pub(super) fn is_any(&self) -> bool {
        self.0.iter().any(|known| known == ANY)
    }

    /// True if a request may name this host, with or without a port.
    pub(super) fn allows(&self, host: &[u8]) -> bool {
        let Ok(host) = std::str::from_utf8(host) else {
            return self.is_any();
        };
        if let Some(address) = host.strip_prefix('[') {
            let address = address.split(']').next().unwrap_or_default();
            return address.parse::<Ipv6Addr>().is_ok() || self.is_any();
        }
        if host.contains(['/', '%']) {
            return true;
        }
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let name = name.strip_suffix('.').unwrap_or(name);
        let mut known = ["localhost", ".localhost"]
            .into_iter()
            .chain(self.0.iter().map(String::as_str));
        name.parse::<Ipv4Addr>().is_ok() || known.any(|known| matches(known, name))
    }
}

fn matches(known: &str, name: &str) -> bool {
    let Some(domain) = known.strip_prefix('.') else {
        return known == ANY || known.eq_ignore_ascii_case(name);
    };
    let start = name.len().checked_sub(known.len());
    let end = start.and_then(|start| name.get(start..));
    domain.eq_ignore_ascii_case(name) || end.is_some_and(|end| end.eq_ignore_ascii_case(known))
}

impl Shared {
    /// True for connections whose requests may name known hosts alone. Over TLS the certificate
    /// says who is called.
    pub(super) fn checks_hosts(&self, kind: ListenerKind, over_tls: bool) -> bool {
        let checks = match kind {
            ListenerKind::Local | ListenerKind::LocalUpgrade => true,
            ListenerKind::Open | ListenerKind::Mounted | ListenerKind::Secure => {
                self.hosts.is_some()
            }
            ListenerKind::InProcess => false,
        };
        checks && !over_tls
    }

    /// Why a request is refused that names these hosts, of a connection that is checked.
    pub(super) fn foreign_host<'a>(
        &self,
        mut named: impl Iterator<Item = &'a [u8]>,
    ) -> Option<Status> {
        let allowed = |host| match &self.hosts {
            Some(hosts) => hosts.allows(host),
            None => Hosts::default().allows(host),
        };
        let foreign = named.find(|host| !allowed(host))?;
        let host: String = String::from_utf8_lossy(foreign)
            .chars()
            .take(SHOWN)
            .collect();
        let what = format!(
            "`{}` is no host of this server; `Server::allowed_hosts` lists those that requests may name (`--allow-host` of \
             `dovetail`)",
            visible(&host)
        );
        let status = Status::new(Code::PermissionDenied, what);
        Some(status.with_execution(Execution::NotStarted))
    }

    /// Warns of an address where a page of any site can call, by a name of its own.
    pub(super) fn warn_of_hosts(&self, address: &Address) {
        let checks = match &self.hosts {
            Some(hosts) => !hosts.is_any(),
            None => is_local(address),
        };
        if !checks && !matches!(address, Address::Tls(_)) {
            tracing::warn!(
                %address,
                "requests over HTTP may name any host: a page of another site can call by a name of its own (DNS \
                 rebinding); list the hosts with `Server::allowed_hosts`"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_a_request_may_name() {
        let (none, some, any): (Hosts, _, _) = (
            Hosts::default(),
            Hosts::new(["api.example", ".shop.example"]),
            Hosts::new(["*"]),
        );
        for (host, by_none, by_some) in [
            ("localhost", true, true),
            ("LOCALHOST:9090", true, true),
            ("a.localhost", true, true),
            ("localhost.", true, true),
            ("127.0.0.1:80", true, true),
            ("192.168.1.5", true, true),
            ("[::1]:9090", true, true),
            ("[::1]", true, true),
            ("/run/a.sock", true, true),
            ("unix:/run/a.sock", true, true),
            ("%2Frun%2Fa.sock", true, true),
            ("api.example", false, true),
            ("API.example:9090", false, true),
            ("x.api.example", false, false),
            ("shop.example", false, true),
            ("eu.shop.example", false, true),
            ("eushop.example", false, false),
            ("evil.example", false, false),
            ("localhost.evil.example", false, false),
            ("127.0.0.1.evil.example", false, false),
            ("evillocalhost", false, false),
            ("user@localhost.evil", false, false),
            ("[evil.example]", false, false),
            ("", false, false),
        ] {
            assert_eq!(none.allows(host.as_bytes()), by_none, "{host}");
            assert_eq!(some.allows(host.as_bytes()), by_some, "{host}");
            assert!(any.allows(host.as_bytes()), "{host}");
        }
        assert!(!none.allows(b"\xff") && any.allows(b"\xff"));
    }
}
