//! The parts of gRPC on arbitrary bytes: messages in pieces, timeouts, metadata, and the end of a
//! call.

use bytes::Bytes;
use dovetail_protocol::grpc::{
    Assembler, Frame, FrameError, InvalidText, Text, Trailers, codec, decode_value,
    decompress_zstd, detects, encode_value, parse_timeout, timeout,
};

/// Small, so that a fuzzer reaches it.
const MAX: usize = 4 << 10;

/// A stream of messages: its pieces make no difference. The first byte cuts the rest.
pub(crate) fn messages(data: &[u8]) {
    let Some((cut, input)) = data.split_first() else {
        return;
    };
    let whole = frames(input, input.len().max(1));
    let pieces = frames(input, usize::from(*cut) + 1);
    assert_eq!(whole, pieces, "in pieces of {}", usize::from(*cut) + 1);
    let length: usize = whole.0.iter().map(|frame| frame.message.len()).sum();
    assert!(length <= input.len());
    for frame in whole.0 {
        let plain = decompress_zstd(&frame.message, MAX).unwrap_or_default();
        assert!(plain.len() <= MAX);
    }
}

/// The messages, and how the stream ends.
fn frames(input: &[u8], size: usize) -> (Vec<Frame>, Result<(), FrameError>) {
    let mut assembler = Assembler::new(MAX).ending_with(0x80);
    let mut frames = Vec::new();
    for piece in input.chunks(size) {
        let mut piece = Bytes::copy_from_slice(piece);
        loop {
            match assembler.take(&mut piece) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Err(error)),
            }
        }
        assert!(piece.is_empty());
    }
    (frames, assembler.end())
}

/// A body that is base64: its pieces make no difference. The first byte cuts the rest.
pub(crate) fn text(data: &[u8]) {
    let Some((cut, input)) = data.split_first() else {
        return;
    };
    let whole = letters(input, input.len().max(1));
    assert_eq!(whole, letters(input, usize::from(*cut) + 1));
    let written = Text::write(data);
    assert_eq!(letters(written.as_bytes(), 1), Ok(data.to_vec()));
}

fn letters(input: &[u8], size: usize) -> Result<Vec<u8>, InvalidText> {
    let (mut text, mut bytes) = (Text::default(), Vec::new());
    for piece in input.chunks(size) {
        bytes.extend_from_slice(&text.read(piece)?);
    }
    text.end().map(|()| bytes)
}

/// Values of headers: what is read is written again, and then read as the same.
pub(crate) fn headers(data: &[u8]) {
    let _ = (detects(data), codec(data));
    if let Ok(duration) = parse_timeout(data) {
        let again = parse_timeout(timeout(duration).as_bytes());
        assert!(again.is_ok_and(|again| again >= duration));
    }
    if let Ok(values) = decode_value("a-bin", data) {
        for value in values {
            let again = encode_value("a-bin", &value)
                .map(|(name, text)| decode_value(&name, text.as_bytes()));
            assert_eq!(again, Ok(Ok(vec![value])));
        }
    }
    let _ = encode_value(&String::from_utf8_lossy(data), data);
    let mut parts = data.splitn(5, |byte| *byte == 0);
    let trailers = Trailers {
        status: parts.next(),
        message: parts.next(),
        details: parts.next(),
        execution: parts.next(),
        pushback: parts.next(),
    };
    if let Some(Err(failure)) = trailers.read() {
        let headers = Trailers::write(&failure);
        let get = |name| {
            let found = headers.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.as_bytes())
        };
        assert_eq!(Trailers::of(get).read(), Some(Err(failure)));
    }
}
