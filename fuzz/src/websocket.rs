//! WebSocket on arbitrary bytes in arbitrary pieces.

use bytes::BytesMut;
use dovetail_protocol::ConnectionLimits;
use dovetail_protocol::websocket::{Message, Reader, Said, write_close};

/// Small, so that a fuzzer reaches it.
const MAX: usize = 1 << 10;

/// Frames of a client: their pieces make no difference. The first byte cuts the rest.
pub(crate) fn frames(data: &[u8]) {
    let Some((cut, input)) = data.split_first() else {
        return;
    };
    let whole = read(input, input.len().max(1));
    let pieces = read(input, usize::from(*cut) + 1);
    assert_eq!(whole, pieces, "in pieces of {}", usize::from(*cut) + 1);
}

/// The messages, and why there are no more.
fn read(input: &[u8], size: usize) -> Vec<String> {
    let limits = ConnectionLimits {
        message_bytes: MAX,
        ..ConnectionLimits::default()
    };
    let mut reader = Reader::new(&limits);
    let (mut buffer, mut said) = (BytesMut::new(), Vec::new());
    for piece in input.chunks(size) {
        buffer.extend_from_slice(piece);
        loop {
            match reader.receive(&mut buffer) {
                Ok(Some(Message::Text(text))) => {
                    assert!(text.len() <= MAX && std::str::from_utf8(&text).is_ok());
                    said.push(format!("{text:?} {:?}", Said::read(&text)));
                }
                Ok(Some(message)) => said.push(format!("{message:?}")),
                Ok(None) => break,
                Err(error) => {
                    let mut out = Vec::new();
                    write_close(error.code(), &error.to_string(), &mut out);
                    assert!(out.len() <= 127, "{error}");
                    said.push(error.to_string());
                    return said;
                }
            }
        }
        assert!((1..=MAX).contains(&reader.needs()));
    }
    said.push(format!("{} {}", buffer.len(), reader.is_within()));
    said
}
