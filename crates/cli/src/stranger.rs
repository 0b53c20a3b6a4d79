//! The protocol of a server that none of the wires has reached. It gives itself away by its answer
//! to a request of HTTP, or to the beginning of a TLS handshake.

use dovetail::Address;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Long enough for a server that answers such a thing at all.
const PATIENCE: Duration = Duration::from_secs(1);

/// Longest part of an answer that is looked at.
const LOOK: u64 = 512;

/// A request (RFC 9112, 2.1).
const HTTP: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// A record with a message `ClientHello` that is too short (RFC 8446, 4.1.2 and 5.1).
const HELLO: &[u8] = b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00";

/// Returns advice about the server at this address. `None` where it does not give itself away.
pub(crate) fn advice(address: &Address) -> Option<String> {
    let Address::Tcp(place) = address else {
        return None;
    };
    let spoken = [HTTP, HELLO]
        .into_iter()
        .find_map(|said| spoken(&answer(place, said)?))?;
    Some(match spoken {
        Spoken::Http => "an HTTP server answers there: is it the right port? JSON over HTTP needs the contract, as in \
                         `--wire connect+json --idl FILE`"
            .to_owned(),
        Spoken::Http2 => "a server of HTTP/2 answers there, as gRPC's do: `--wire grpc --idl FILE` calls one that has \
                          no reflection"
            .to_owned(),
        Spoken::Tls => format!("the server speaks TLS: say tls://{place}"),
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spoken {
    Http,
    Http2,
    Tls,
}

/// Returns the beginning of the answer to these bytes.
fn answer(place: &str, said: &[u8]) -> Option<Vec<u8>> {
    let address = place.to_socket_addrs().ok()?.next()?;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.write_all(said).ok()?;
    let mut answer = Vec::new();
    // The bytes that come before the time is over, or the connection, are enough.
    let _ = stream.take(LOOK).read_to_end(&mut answer);
    Some(answer)
}

fn spoken(answer: &[u8]) -> Option<Spoken> {
    let text = String::from_utf8_lossy(answer);
    match answer {
        // Servers that say in plain text that they want TLS: those of Go, and nginx.
        _ if text.contains("HTTPS server") || text.contains("HTTPS port") => Some(Spoken::Tls),
        [b'H', b'T', b'T', b'P', b'/', b'1', ..] => Some(Spoken::Http),
        // The settings of the server, or its end (RFC 9113, 6.5 and 6.8).
        [0, _, _, 4 | 7, ..] => Some(Spoken::Http2),
        // An alert (RFC 8446, 6).
        [0x15, 3, ..] => Some(Spoken::Tls),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beginnings of answers of stock servers.
    #[test]
    fn servers_give_themselves_away() {
        let rows: &[(&str, &[u8], Option<Spoken>)] = &[
            (
                "Python's http.server",
                b"HTTP/1.0 200 OK\r\nServer: SimpleHTTP/0.6 Python/3.11.7\r\n",
                Some(Spoken::Http),
            ),
            (
                "grpcio",
                b"\x00\x00\x18\x04\x00\x00\x00\x00\x00\x00\x04\x00@\x00\x00\x00\x05\x00@\x00\x00",
                Some(Spoken::Http2),
            ),
            ("OpenSSL's s_server", b"\x15\x03\x03\x00\x02\x022", Some(Spoken::Tls)),
            (
                "Go's net/http with TLS",
                b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n",
                Some(Spoken::Tls),
            ),
            ("one that closes", b"", None),
            ("SSH", b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n", None),
        ];
        for (server, answer, expected) in rows {
            assert_eq!(spoken(answer), *expected, "{server}");
        }
    }
}
