//! How a connection of HTTP/1.1 becomes a socket.

use crate::http::{Method, Request, Response};
use crate::metadata::lists;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha1::{Digest, Sha1};

/// The text that RFC 6455 has servers put behind the key, to show that they know of WebSocket.
const MAGIC: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// True for a request that asks for a socket.
pub fn asks(request: &Request) -> bool {
    let protocols = request.headers.get("upgrade").unwrap_or_default();
    request.method == Method::Get && request.upgrades && lists(protocols, "websocket")
}

/// Appends the answer to a request that [asks](asks) for a socket, behind which the connection is
/// one; or the answer to one that cannot have any.
pub fn accept(request: &Request, out: &mut Vec<u8>) -> Result<(), Response> {
    if request.headers.get("sec-websocket-version") != Some(b"13") {
        let what = "the version of WebSocket is 13 (RFC 6455)\n";
        return Err(Response::new(426, TEXT, what)
            .with("Upgrade", "websocket")
            .with("Sec-WebSocket-Version", "13"));
    }
    let key = request.headers.get("sec-websocket-key").unwrap_or_default();
    if !BASE64_STANDARD.decode(key).is_ok_and(|key| key.len() == 16) {
        let what = "`Sec-WebSocket-Key` is 16 bytes in base64\n";
        return Err(Response::new(400, TEXT, what));
    }
    let accept = Sha1::new().chain_update(key).chain_update(MAGIC).finalize();
    let accept = BASE64_STANDARD.encode(accept);
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    out.extend_from_slice(head.as_bytes());
    Ok(())
}

const TEXT: &str = "text/plain; charset=utf-8";
