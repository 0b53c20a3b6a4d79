//! Proxies before a server, and what they say of who calls: the PROXY protocol's second version
//! (doc/proxy-protocol.txt of HAProxy), `Forwarded` (RFC 7239) and `X-Forwarded-For`.

use bytes::{Buf, BytesMut};
use dovetail_protocol::{Headers, Wire, thrift};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Those that are believed.
#[derive(Debug, Default)]
pub(crate) struct Proxies {
    networks: Vec<(IpAddr, u8)>,
    unix: bool,
}

/// The beginning of a connection from a proxy.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Announced {
    /// More has to be received before it is known.
    More,
    /// Nothing, or nothing of who calls: the proxy calls for itself.
    Nobody,
    Caller(SocketAddr),
}

impl Proxies {
    /// Those of an address, a network (`10.0.0.0/8`), or of all Unix sockets (`unix`).
    pub(crate) fn add(&mut self, text: &str) -> io::Result<()> {
        let invalid = || {
            let what =
                format!("`{text}` is no proxy; write 10.0.0.7, 10.0.0.0/8, fd00::/8 or unix");
            io::Error::new(io::ErrorKind::InvalidInput, what)
        };
        if text == "unix" {
            self.unix = true;
            return Ok(());
        }
        let (address, bits) = text.split_once('/').unwrap_or((text, ""));
        let address: IpAddr = address.parse().map_err(|_| invalid())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            "" if !text.contains('/') => most,
            bits => bits
                .parse()
                .ok()
                .filter(|bits| *bits <= most)
                .ok_or_else(invalid)?,
        };
        self.networks.push((address.to_canonical(), bits));
        Ok(())
    }

    /// True for a proxy, by its address as a peer has it.
    pub(crate) fn knows(&self, peer: &str) -> bool {
        match peer.parse::<SocketAddr>() {
            Ok(peer) => self.knows_ip(peer.ip()),
            Err(_) => self.unix && peer == "unix",
        }
    }

    fn knows_ip(&self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        let within = |network: &(IpAddr, u8)| within(ip, network.0, network.1);
        self.networks.iter().any(within)
    }

    /// The caller of the first proxy, by the headers of a request: the last address that is no
    /// proxy's. Addresses before it are the caller's own words, and not believed.
    pub(crate) fn forwarded<'h>(&self, wire: Wire, headers: &'h Headers) -> Option<&'h str> {
        if !is_http(wire) {
            return None;
        }
        let standard = headers.get("forwarded").is_some();
        let name = if standard {
            "forwarded"
        } else {
            "x-forwarded-for"
        };
        let values = headers
            .iter()
            .filter(|(found, _)| found.eq_ignore_ascii_case(name));
        let values: Vec<&[u8]> = values.map(|(_, value)| value).collect();
        let hops = values
            .iter()
            .rev()
            .flat_map(|value| value.rsplit(|byte| *byte == b','));
        let mut caller = None;
        for hop in hops {
            let hop = std::str::from_utf8(hop).ok()?.trim();
            let hop = if standard { said_for(hop) } else { Some(hop) };
            let Some((hop, ip)) = hop.and_then(|hop| Some((hop, address(hop)?))) else {
                break;
            };
            caller = Some(hop);
            if !self.knows_ip(ip) {
                break;
            }
        }
        caller
    }
}

/// True for wires whose headers proxies of HTTP write.
fn is_http(wire: Wire) -> bool {
    match wire {
        Wire::Dovetail | Wire::MsgpackRpc | Wire::Capnp => false,
        Wire::Thrift(wire) => wire.transport == thrift::Transport::Http,
        _ => true,
    }
}

fn within(ip: IpAddr, network: IpAddr, bits: u8) -> bool {
    let (difference, width) = match (ip, network) {
        (IpAddr::V4(ip), IpAddr::V4(network)) => (u128::from(ip.to_bits() ^ network.to_bits()), 32),
        (IpAddr::V6(ip), IpAddr::V6(network)) => (ip.to_bits() ^ network.to_bits(), 128),
        _ => return false,
    };
    // Nothing is left of the bits of the network.
    difference
        .checked_shr(width - u32::from(bits))
        .unwrap_or_default()
        == 0
}

/// The node that an element of `Forwarded` is for.
fn said_for(element: &str) -> Option<&str> {
    element.split(';').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let is_for = name.trim().eq_ignore_ascii_case("for");
        is_for.then(|| value.trim().trim_matches('"'))
    })
}

/// The address of a node, with or without a port.
fn address(node: &str) -> Option<IpAddr> {
    let bare = node
        .strip_prefix('[')
        .and_then(|node| node.strip_suffix(']'));
    let whole = node.parse::<SocketAddr>().map(|address| address.ip());
    bare.unwrap_or(node).parse().or(whole).ok()
}

const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// The signature, the version and the command, the family, and the length of what follows.
const HEAD: usize = 16;

/// Takes what a proxy says off the front of what has been received. An error where it is said
/// wrongly.
pub(crate) fn take_announced(received: &mut BytesMut) -> io::Result<Announced> {
    let begun = received.len().min(SIGNATURE.len());
    if received[..begun] != SIGNATURE[..begun] {
        return Ok(Announced::Nobody);
    }
    let Some(&[command, family, high, low]) = received.get(SIGNATURE.len()..HEAD) else {
        return Ok(Announced::More);
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    let Some(body) = received.get(HEAD..HEAD + length) else {
        return Ok(Announced::More);
    };
    let caller = match (command, family) {
        (0x20, _) | (0x21, 0x00 | 0x12 | 0x22 | 0x31 | 0x32) => Some(None),
        (0x21, 0x11) => source::<4>(body, 8).map(Some),
        (0x21, 0x21) => source::<16>(body, 32).map(Some),
        _ => None,
    };
    received.advance(HEAD + length);
    match caller {
        Some(Some(caller)) => Ok(Announced::Caller(caller)),
        Some(None) => Ok(Announced::Nobody),
        None => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a PROXY protocol header that cannot be read",
        )),
    }
}

/// The address that comes first, whose port is behind both.
fn source<const N: usize>(body: &[u8], port: usize) -> Option<SocketAddr>
where
    IpAddr: From<[u8; N]>,
{
    let ip: [u8; N] = *body.first_chunk()?;
    let port: [u8; 2] = *body.get(port..)?.first_chunk()?;
    Some((IpAddr::from(ip), u16::from_be_bytes(port)).into())
}

/// Addresses that count as one: one of IPv4, or a /64 of IPv6, of which a customer has all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    V4(Ipv4Addr),
    V6(u64),
}

impl Source {
    pub(crate) fn of(ip: IpAddr) -> Self {
        match ip.to_canonical() {
            IpAddr::V4(ip) => Source::V4(ip),
            IpAddr::V6(ip) => Source::V6((Ipv6Addr::to_bits(ip) >> 64) as u64),
        }
    }
}

/// Returns the address of a peer without its port.
pub(crate) fn host(peer: &str) -> &str {
    let parsed = peer.parse::<SocketAddr>();
    let parts = parsed.ok().and_then(|_| peer.rsplit_once(':'));
    parts.map_or(peer, |(host, _)| {
        host.trim_matches(|bracket| matches!(bracket, '[' | ']'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(texts: &[&str]) -> Proxies {
        let mut proxies = Proxies::default();
        texts.iter().for_each(|text| proxies.add(text).unwrap());
        proxies
    }

    #[test]
    fn networks() {
        for (network, peer, known) in [
            ("10.0.0.7", "10.0.0.7:1", true),
            ("10.0.0.7", "10.0.0.8:1", false),
            ("10.0.0.0/8", "10.255.0.8:1", true),
            ("10.0.0.0/8", "11.0.0.8:1", false),
            ("10.0.0.0/8", "[::ffff:10.1.1.1]:1", true),
            ("0.0.0.0/0", "1.2.3.4:1", true),
            ("0.0.0.0/0", "[::1]:1", false),
            ("fd00::/8", "[fd12::1]:1", true),
            ("fd00::/8", "[fe00::1]:1", false),
            ("::/0", "[fe00::1]:1", true),
            ("unix", "unix", true),
            ("10.0.0.7", "unix", false),
            ("unix", "in-process", false),
        ] {
            assert_eq!(proxies(&[network]).knows(peer), known, "{network} {peer}");
        }
        for bad in [
            "",
            "proxy",
            "10.0.0.0/33",
            "10.0.0.0/",
            "10.0.0.0/-1",
            "::1/129",
        ] {
            assert!(Proxies::default().add(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_last_address_that_is_no_proxy_calls() {
        let proxies = proxies(&["10.0.0.0/8", "fd00::/8"]);
        let wire: Wire = "connect".parse().unwrap();
        for (name, value, caller) in [
            ("X-Forwarded-For", "192.0.2.1", Some("192.0.2.1")),
            (
                "X-Forwarded-For",
                "6.6.6.6, 192.0.2.1, 10.0.0.2",
                Some("192.0.2.1"),
            ),
            (
                "X-Forwarded-For",
                "192.0.2.1:99,10.0.0.2",
                Some("192.0.2.1:99"),
            ),
            ("X-Forwarded-For", "2001:db8::1", Some("2001:db8::1")),
            ("X-Forwarded-For", "10.0.0.3, 10.0.0.2", Some("10.0.0.3")),
            (
                "X-Forwarded-For",
                "192.0.2.1, nonsense, 10.0.0.2",
                Some("10.0.0.2"),
            ),
            ("X-Forwarded-For", "nonsense", None),
            (
                "Forwarded",
                "for=192.0.2.1;proto=http, For=\"[fd00::1]:80\"",
                Some("192.0.2.1"),
            ),
            (
                "Forwarded",
                "by=x; for=\"[2001:db8::1]\"",
                Some("[2001:db8::1]"),
            ),
            ("Forwarded", "for=192.0.2.1, for=_hidden", None),
            ("Other", "192.0.2.1", None),
        ] {
            let headers: Headers = [(name, bytes::Bytes::from_static(value.as_bytes()))]
                .into_iter()
                .collect();
            assert_eq!(proxies.forwarded(wire, &headers), caller, "{value}");
            let other = "binary+header".parse().unwrap();
            assert_eq!(proxies.forwarded(other, &headers), None, "{value}");
        }
    }

    #[test]
    fn sources() {
        for (one, other, same) in [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("10.0.0.1", "::ffff:10.0.0.1", true),
            ("10.0.0.1", "10.0.0.2", false),
            ("2001:db8::1", "2001:db8::ffff:0:0:1", true),
            ("2001:db8:0:1::1", "2001:db8:0:2::1", false),
            ("2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
        ] {
            let of = |text: &str| Source::of(text.parse().unwrap());
            assert_eq!(of(one) == of(other), same, "{one}, {other}");
        }
    }

    /// Bytes that HAProxy 2.6.12 has sent, with `send-proxy-v2`: for callers by IPv4, by IPv6, with
    /// a checksum, and to see whether the server is there.
    #[test]
    fn haproxy_announces_callers() {
        const V4: &[u8] =
            b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\x09\x7f\0\0\x01\x9c\x41\xbb\xe5";
        const V6: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x21\0\x24\
            \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x9c\x42\xbb\xe5";
        const SUMMED: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x16\
            \x7f\0\0\x09\x7f\0\0\x01\x9c\x43\xbb\xe6\x03\0\x04\x38\xf6\x33\x8d\x05\0\0";
        const CHECK: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";
        let caller = |text: &str| Announced::Caller(text.parse().unwrap());
        for (header, expected) in [
            (V4, caller("127.0.0.9:40001")),
            (V6, caller("[::1]:40002")),
            (SUMMED, caller("127.0.0.9:40003")),
            (CHECK, Announced::Nobody),
        ] {
            let mut bytes = BytesMut::from(&[header, b"X"].concat()[..]);
            assert_eq!(take_announced(&mut bytes).unwrap(), expected);
            assert_eq!(bytes, "X");
            for cut in 0..header.len() {
                let mut bytes = BytesMut::from(&header[..cut]);
                assert_eq!(take_announced(&mut bytes).unwrap(), Announced::More);
                assert_eq!(bytes.len(), cut);
            }
        }
        let mut other = BytesMut::from("POST / HTTP/1.1\r\n");
        assert_eq!(take_announced(&mut other).unwrap(), Announced::Nobody);
        assert_eq!(other.len(), 17);
        for (at, byte) in [(12, 0x31), (12, 0x22), (13, 0x13), (15, 3)] {
            let mut wrong = V4.to_vec();
            wrong[at] = byte;
            let wrong = take_announced(&mut BytesMut::from(&wrong[..]));
            assert!(wrong.is_err(), "{at}: {byte:#x}");
        }
    }

    #[test]
    fn addresses_have_no_ports() {
        for (peer, expected) in [
            ("10.0.0.7:4711", "10.0.0.7"),
            ("[2001:db8::1]:4711", "2001:db8::1"),
            ("10.0.0.7", "10.0.0.7"),
            ("unix", "unix"),
            ("2001:db8::1", "2001:db8::1"),
            ("", ""),
        ] {
            assert_eq!(host(peer), expected);
        }
    }
}
