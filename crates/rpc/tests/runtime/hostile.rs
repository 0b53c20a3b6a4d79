//! What breaks the rules ends its own connection, is counted, and harms no other.

use crate::fixture::*;
use dovetail::blocking::Channel;
use dovetail::{ServerLimits, Status};
use std::net::Shutdown;

/// What a peer sends before it closes its side, and what part of the answer tells it why.
const ROWS: &[(&str, &[u8], &str)] = &[
    ("nothing known", b"\x00\x01\x02\x03\x04\x05\x06\x07", ""),
    (
        "TLS",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "\x15\x03\x01",
    ),
    (
        "half a framed message",
        b"\x00\x00\x00\x40\x80\x01\x00\x01",
        "",
    ),
    (
        "half an unframed message",
        b"\x80\x01\x00\x01\x00\x00\x00\x05sev",
        "",
    ),
    (
        "a name of two gigabytes",
        b"\x80\x01\x00\x01\x7f\xff\xff\xffaaaa",
        "the limit is 1024",
    ),
    (
        "a negative name",
        b"\x80\x01\x00\x01\xff\xff\xff\xffaaaa",
        "a length of -1",
    ),
    (
        "a list of 2^31 structs",
        b"\x80\x01\x00\x01\x00\x00\x00\x05seven\x00\x00\x00\x01\x0f\x00\x01\x0c\x7f\xff\xff\xff",
        "the limit is 67108864",
    ),
    (
        "a reply to a server",
        b"\x80\x01\x00\x02\x00\x00\x00\x05seven\x00\x00\x00\x01\x00",
        "are both ends servers",
    ),
    (
        "half a message of msgpack-rpc",
        b"\x94\x00\x2a\xa5seven\x91",
        "",
    ),
    (
        "a list of 2^32 numbers in msgpack-rpc",
        b"\x94\x00\x2a\xa5seven\xdd\xff\xff\xff\xff",
        "over the limit of 67108864",
    ),
    (
        "a response to a server over msgpack-rpc",
        b"\x94\x01\x00\xc0\xc0",
        "a response with the number 0",
    ),
    (
        "an array of three that is no message",
        b"\x93\xc0\xc0\xc0",
        "no message of msgpack-rpc",
    ),
    (
        "a request over HTTP without a length",
        b"POST / HTTP/1.1\r\nHost: x\r\n\r\n",
        "HTTP/1.1 411",
    ),
];

#[test]
fn every_model_survives_every_row() {
    for model in MODELS {
        let running = start(&Probe::default(), *model, ServerLimits::default());
        let good = Channel::builder(&address(&running))
            .unwrap()
            .wire(stock())
            .build();
        for (index, (name, bytes, answer)) in ROWS.iter().enumerate() {
            let what = format!("{name}, {model:?}");
            let mut raw = Raw::connect(&running);
            raw.send(bytes);
            raw.0.shutdown(Shutdown::Write).expect(&what);
            // The end comes once the server has counted what it saw.
            let said = raw.rest().expect(&what);
            let text = String::from_utf8_lossy(&said).to_lowercase();
            assert!(text.contains(&answer.to_lowercase()), "{what}: {text:?}");
            let echo: Result<String, Status> = good.call(&PROBE.methods[ECHO], ("on",));
            assert_eq!(echo, Ok("on".to_owned()), "{what}");
            let errors = running.counters().protocol_errors;
            assert_eq!(errors, index as u64 + 1, "{what}");
        }
        assert!(running.shutdown(LONG), "{model:?}");
    }
}
