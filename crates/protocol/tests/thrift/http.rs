//! Requests as they come from strangers.

use crate::support::{bytes, chunk_sizes, options, serve};

const PING: &str = "[1,\\\"ping\\\",1,7,{}]";

/// Request, and `ok` or the status it is refused with.
const REQUESTS: &[(&str, &str)] = &[
    (
        "POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 17\\r\\n\\r\\nPING",
        "ok",
    ),
    (
        "POST / HTTP/1.1\\nHost: x\\nContent-Length: 17\\n\\nPING",
        "400",
    ),
    (
        "\\r\\nPOST /x?y HTTP/1.1\\r\\nHost: x\\r\\nContent-Length:  0017 \\r\\n\\r\\nPING",
        "400",
    ),
    (
        "POST /x?y HTTP/1.1\\r\\nHost: x\\r\\nContent-Length:  0017 \\r\\n\\r\\nPING",
        "ok",
    ),
    (
        "POST / HTTP/1.1\\r\\nHost: x\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n11\\r\\nPING\\r\\n0\\r\\n\\r\\n",
        "ok",
    ),
    (
        "POST / HTTP/1.1\\r\\nHost: x\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n11;a=b\\r\\nPING\\r\\n0\\r\\nX: y\\r\\n\\r\\n",
        "ok",
    ),
    ("GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n", "405"),
    ("HEAD / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n", "405"),
    ("POST / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n", "411"),
    (
        "POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: -1\\r\\n\\r\\n",
        "400",
    ),
    (
        "POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: +17\\r\\n\\r\\nPING",
        "400",
    ),
    (
        "POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 17\\r\\nContent-Length: 18\\r\\n\\r\\nPING",
        "400",
    ),
    (
        "POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 17\\r\\nContent-Length: 17\\r\\n\\r\\nPING",
        "ok",
    ),
    (
        "POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 17\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\nPING",
        "400",
    ),
    (
        "POST / HTTP/1.1\\r\\nHost: x\\r\\nTransfer-Encoding: gzip\\r\\n\\r\\n",
        "400",
    ),
    (
        "POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 99999999999\\r\\n\\r\\n",
        "413",
    ),
    (
        "POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 99999999999999999999999\\r\\n\\r\\n",
        "400",
    ),
    (
        "POST / HTTP/1.1\\r\\nHost: x\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\nffffffff\\r\\n",
        "413",
    ),
    (
        "POST / HTTP/1.1\\r\\nHost: x\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\nxyz\\r\\n",
        "400",
    ),
    (
        "POST / HTTP/1.1\\r\\nHost: x\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n1\\r\\n[[\\r\\n",
        "400",
    ),
    (
        "POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 0\\r\\n\\r\\n",
        "400",
    ),
    (
        "POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 3\\r\\n\\r\\nabc",
        "400",
    ),
    ("POST / HTTP/9.9\\r\\n\\r\\n", "400"),
    ("POST \\r\\n\\r\\n", "400"),
];

#[test]
fn requests() {
    for (row, expected) in REQUESTS {
        let text = format!("text:{}", row.replace("PING", &PING.replace("\\\"", "\"")));
        let input = bytes(&text);
        for chunk in chunk_sizes(input.len()) {
            let outcome = serve(&options(|_| {}), &input, chunk);
            match outcome.result {
                Ok(()) => {
                    assert_eq!(*expected, "ok", "{row}");
                    assert_eq!((outcome.calls.len(), outcome.unread), (1, 0), "{row}");
                    assert_eq!(outcome.calls[0].method, "ping", "{row}");
                    assert_eq!(&outcome.calls[0].body[..], b"{}", "{row}");
                }
                Err(error) if outcome.server.wire().is_none() => {
                    // Nothing that looks like HTTP: `\r\n` before the first line.
                    assert!(row.starts_with('\\'), "{row}: {error}");
                }
                Err(error) => {
                    let mut answer = Vec::new();
                    outcome.server.goodbye(&error, &mut answer);
                    let answer = String::from_utf8(answer).expect("text");
                    let begin = format!("HTTP/1.1 {expected} ");
                    assert!(answer.starts_with(&begin), "{row}: {answer}");
                    assert!(
                        answer.contains("\r\nConnection: close\r\n"),
                        "{row}: {answer}"
                    );
                }
            }
        }
    }
}

#[test]
fn only_the_path_of_the_options() {
    let options = options(|options| options.http_path = Some("/thrift".into()));
    for (path, served) in [
        ("/thrift", true),
        ("/thrift?x", true),
        ("/", false),
        ("/thrift/x", false),
    ] {
        let text = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 17\r\n\r\n[1,\"ping\",1,7,{{}}]"
        );
        let outcome = serve(&options, text.as_bytes(), usize::MAX);
        assert_eq!(outcome.calls.len(), usize::from(served), "{path}");
        if let Err(error) = outcome.result {
            assert!(error.to_string().contains("404"), "{path}: {error}");
        }
    }
}

#[test]
fn headers_are_bounded() {
    let options = options(|options| options.limits.header_bytes = 200);
    for (length, refused) in [(100, false), (300, true)] {
        let filler = "x".repeat(length);
        let text = format!(
            "POST / HTTP/1.1\r\nHost: x\r\nX: {filler}\r\nContent-Length: 17\r\n\r\n[1,\"ping\",1,7,{{}}]"
        );
        for chunk in chunk_sizes(text.len()) {
            let outcome = serve(&options, text.as_bytes(), chunk);
            assert_eq!(
                outcome.result.is_err(),
                refused,
                "{length}: {:?}",
                outcome.result
            );
        }
    }
}

#[test]
fn a_large_request_is_told_to_go_on() {
    let head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 17\r\nExpect: 100-continue\r\n\r\n";
    let mut server = serve(&options(|_| {}), head, usize::MAX).server;
    let mut out = Vec::new();
    server.transmit(&mut out);
    server.transmit(&mut out);
    assert_eq!(out, b"HTTP/1.1 100 Continue\r\n\r\n", "once");
    let mut body = bytes::BytesMut::from("[1,\"ping\",1,7,{}]");
    assert!(server.receive(&mut body).expect("a call").is_some());
    // Not where the body came along.
    let whole = [&head[..], b"[1,\"ping\",1,7,{}]"].concat();
    let mut server = serve(&options(|_| {}), &whole, usize::MAX).server;
    let mut out = Vec::new();
    server.transmit(&mut out);
    assert!(out.is_empty());
}

#[test]
fn keep_alive() {
    for (head, closes) in [
        ("HTTP/1.1\r\nHost: x\r\n", false),
        ("HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", true),
        ("HTTP/1.0\r\n", true),
        ("HTTP/1.0\r\nConnection: Keep-Alive\r\n", true),
    ] {
        let text = format!("POST / {head}Content-Length: 17\r\n\r\n[1,\"ping\",4,7,{{}}]");
        let outcome = serve(&options(|_| {}), text.as_bytes(), usize::MAX);
        let reply = &outcome.calls[0].reply;
        assert_eq!(reply.closes(), closes, "{head}");
        assert!(reply.ordered());
        let mut out = Vec::new();
        reply.accepted(&mut out);
        let answer = String::from_utf8(out).expect("text");
        assert!(
            answer.contains("Content-Length:          0\r\n\r\n"),
            "{answer}"
        );
        assert_eq!(answer.contains("Connection: close"), closes, "{answer}");
    }
}
