//! Input of a hostile or broken peer, as data.

use crate::support::{bytes, chunk_sizes, options, serve, wire};

/// Wire (`-`: detected), bytes, and a part of the error; `…` where more is waited for.
const ROWS: &[(&str, &str, &str)] = &[
    // Truncated: nothing wrong yet.
    ("-", "", "…"),
    ("-", "80 01 00 01 00 00 00 04 70 69", "…"),
    ("-", "82 21 01 04 70 69 6e 67 15", "…"),
    ("-", "00 00 00 11 80 01 00 01 00 00 00 04 70 69 6e 67", "…"),
    ("-", "text:[1,\"ping\",1,0,{", "…"),
    ("-", "00 00 00 24 0f ff 00 00", "…"),
    // Garbage.
    (
        "-",
        "ff ff ff ff ff ff ff ff",
        "no known protocol begins with the bytes ff",
    ),
    ("-", "text:HELO example.org\\r\\n", "no known protocol"),
    (
        "-",
        "16 03 01 02 00 01 00 01 fc 03 03",
        "the peer speaks TLS",
    ),
    (
        "-",
        "text:PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n",
        "HTTP/2",
    ),
    ("-", "text:PRI * HTTP/1.1\\r\\n", "no known protocol"),
    // Lengths.
    ("-", "00 00 00 00 80 01", "no known protocol"),
    ("binary+framed", "00 00 00 00", "a message ends too early"),
    (
        "binary+framed",
        "7f ff ff ff",
        "a message of 2147483647 bytes",
    ),
    (
        "binary+framed",
        "ff ff ff ff",
        "a message of 4294967295 bytes",
    ),
    (
        "binary+framed",
        "80 01 00 01",
        "an unframed message where a frame",
    ),
    (
        "-",
        "3f ff ff ff 80 01 00 01",
        "a message of 1073741823 bytes",
    ),
    ("-", "80 01 00 01 ff ff ff ff", "a length of -1"),
    (
        "-",
        "80 01 00 01 7f ff ff ff",
        "a method name of 2147483647 bytes",
    ),
    (
        "-",
        "80 01 00 01 00 00 04 01",
        "a method name of 1025 bytes, the limit is 1024",
    ),
    ("-", "82 21 01 ff ff ff ff 0f", "a length of -1"),
    (
        "-",
        "82 21 01 ff ff ff ff 07",
        "a method name of 2147483647 bytes",
    ),
    (
        "-",
        "82 21 ff ff ff ff ff ff ff ff ff ff 01",
        "a varint of more than ten bytes",
    ),
    (
        "-",
        "80 01 00 01 00000001 61 00000000 0b 0001 ffffffff",
        "a length of -1",
    ),
    (
        "-",
        "80 01 00 01 00000001 61 00000000 0b 0001 7fffffff",
        "a message of",
    ),
    ("-", "82 21 01 01 61 18 ff ff ff ff 0f", "a length of -1"),
    // Containers of 2^31 elements in a few bytes.
    (
        "-",
        "80 01 00 01 00000001 61 00000000 0f 0001 0c 7fffffff",
        "a message of 2147483",
    ),
    (
        "-",
        "80 01 00 01 00000001 61 00000000 0f 0001 08 7fffffff",
        "a message of 858993",
    ),
    (
        "-",
        "80 01 00 01 00000001 61 00000000 0d 0001 0d 0d 7fffffff",
        "a message of 257698",
    ),
    (
        "-",
        "82 21 01 01 61 19 f5 ff ff ff ff 07",
        "a message of 2147483",
    ),
    (
        "-",
        "82 21 01 01 61 1b ff ff ff ff 07 88",
        "a message of 4294967",
    ),
    // Versions, kinds, types.
    ("binary", "80 02 00 01", "version 0x80020000"),
    ("compact", "82 22", "version 0x2"),
    ("-", "text:[2,\"a\",1,0,{}]", "version 0x2"),
    ("-", "80 01 00 02 00000001 61 00000000 00", "of kind reply"),
    (
        "-",
        "80 01 00 03 00000001 61 00000000 00",
        "of kind exception",
    ),
    ("-", "80 01 00 05", "5 is no kind of message"),
    ("-", "80 01 00 00", "0 is no kind of message"),
    ("-", "82 e1 00", "7 is no kind of message"),
    ("-", "text:[1,\"a\",9,0,{}]", "9 is no kind of message"),
    (
        "-",
        "80 01 00 01 00000001 61 00000000 01 0001",
        "1 is no type",
    ),
    (
        "-",
        "80 01 00 01 00000001 61 00000000 0f 0001 63 00000001",
        "99 is no type",
    ),
    ("-", "82 21 01 01 61 1e", "14 is no type"),
    ("-", "80 01 00 01 00000001 ff 00000000 00", "not UTF-8"),
    // The other protocol later on.
    (
        "binary",
        "82 21 00 01 61 00",
        "a message in compact where binary",
    ),
    (
        "compact",
        "80 01 00 01 00000001 61 00000000 00",
        "a message in binary where compact",
    ),
    (
        "binary+framed",
        "00000006 82 21 00 01 61 00",
        "a message in compact where binary",
    ),
    (
        "compact+header",
        "00000006 82 21 00 01 61 00",
        "frames without headers",
    ),
    (
        "-",
        "82 21 00 01 61 00 5b 31 2c",
        "a message in json where compact",
    ),
    // JSON heads.
    ("-", "text:[1 ,]", "where the head of a JSON message has"),
    ("-", "text:[1,\"a\\u0041\",]", "no number"),
    ("-", "text:[]", "no number"),
    ("-", "text:[1,\"a\",1,99999999999,{}]", "beyond 32 bits"),
    ("json", "text:{}", "begins with `[`"),
    ("json", "text:\"[", "begins with `[`"),
    // THeader.
    (
        "-",
        "0000000a 0fff 0000 00000001 0000",
        "a THeader frame ends too early",
    ),
    (
        "-",
        "00000006 0fff 0000 0000",
        "a THeader frame ends too early",
    ),
    (
        "-",
        "0000000e 0fff 0000 00000001 ffff 00000000",
        "headers of more than",
    ),
    (
        "-",
        "0000000e 0fff 0000 00000001 0010 00000000",
        "a THeader frame ends too early",
    ),
    (
        "-",
        "0000000e 0fff 0000 00000001 0001 07000000",
        "protocol 7 inside THeader",
    ),
    (
        "-",
        "0000000e 0fff 0000 00000001 0001 00010300",
        "transform 3 is not known",
    ),
    (
        "-",
        "00000012 0fff 0000 00000001 0002 0002 0101 00000000",
        "a transform applied twice",
    ),
    (
        "-",
        "0000000e 0fff 0000 00000001 0001 00ffff7f",
        "a THeader frame ends too early",
    ),
    (
        "-",
        "0000000e 0fff 0000 00000001 0001 00000105",
        "a THeader frame ends too early",
    ),
    (
        "-",
        "00000012 0fff 0000 00000001 0001 00010100 deadbeef",
        "zlib cannot decompress",
    ),
    (
        "-",
        "00000012 0fff 0000 00000001 0001 00010500 deadbeef",
        "zstd cannot decompress",
    ),
    (
        "-",
        "0000000e 0fff 0000 00000001 0001 00000000",
        "a message ends too early",
    ),
];

#[test]
fn rows() {
    for (name, row, expected) in ROWS {
        let input = bytes(row);
        let options = options(|options| {
            options.wire = (*name != "-").then(|| wire(name));
        });
        for chunk in chunk_sizes(input.len()) {
            let outcome = serve(&options, &input, chunk);
            let calls = usize::from(row.starts_with("82 21 00 01 61 00 5b"));
            assert_eq!(outcome.calls.len(), calls, "{row}");
            match outcome.result {
                Ok(()) => assert_eq!(*expected, "…", "{row} in pieces of {chunk}"),
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.contains(expected), "{row}: {text}");
                    // Saying goodbye works for every error.
                    outcome.server.goodbye(&error, &mut Vec::new());
                }
            }
        }
    }
}

/// A struct in a struct, and so on: binary `0c 0001`, compact `1c`, JSON brackets.
#[test]
fn depth_bombs() {
    let rows: [(&str, &[u8], &[u8]); 5] = [
        ("80010001 00000001 61 00000000", b"\x0c\0\x01", b"\0"),
        ("82210001 61", b"\x1c", b"\0"),
        ("82210001 61", b"\x19\x19", b""),
        ("text:[1,\"a\",1,0,", b"{\"1\":{\"rec\":", b"}}"),
        ("text:", b"[", b"]"),
    ];
    for (head, level, end) in rows {
        for depth in [60, 63, 64, 66, 100_000] {
            let mut input = bytes(head);
            input.extend(level.repeat(depth));
            input.extend(end.repeat(depth + 1));
            let outcome = serve(&options(|_| {}), &input, usize::MAX);
            let refused = outcome
                .result
                .as_ref()
                .is_err_and(|error| error.to_string().contains("nested deeper than"));
            if depth > 400 {
                assert!(refused, "{head} {depth}: {:?}", outcome.result);
            } else if end == b"\0" {
                // The parameters are a level of their own.
                assert_eq!(refused, depth > 63, "{head} {depth}: {:?}", outcome.result);
            }
        }
    }
}

#[test]
fn zip_bombs() {
    use std::io::Write;
    let zeros = vec![0; 40 << 20];
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    zlib.write_all(&zeros).expect("memory");
    let bombs = [
        (1, zlib.finish().expect("memory")),
        (5, zstd::bulk::compress(&zeros, 19).expect("memory")),
    ];
    let options = options(|options| options.limits.message_bytes = 1 << 20);
    for (transform, bomb) in bombs {
        assert!(bomb.len() < 1 << 16);
        let mut frame = bytes("0fff 0000 00000001 0001 0001");
        frame.extend([transform, 0]);
        frame.extend(&bomb);
        let mut input = (frame.len() as u32).to_be_bytes().to_vec();
        input.extend(frame);
        let error = serve(&options, &input, usize::MAX)
            .result
            .expect_err("too much");
        let text = error.to_string();
        assert!(
            text.contains("decompresses to more than") || text.contains("zstd cannot"),
            "{text}"
        );
    }
}

/// A large message costs the same in pieces of one byte as in one: nothing is looked at again and
/// again.
#[test]
fn slow_peers_cost_no_more() {
    // 300,000 bytes of everything, unframed. Quadratic work would be 10^11 steps: minutes.
    let strings = |count: usize| {
        let mut list = vec![0x0f, 0, 1, 11];
        list.extend((count as u32).to_be_bytes());
        list.extend(b"\0\0\0\x05hello".repeat(count));
        list
    };
    let mut binary = bytes("80010001 00000001 61 00000000");
    binary.extend(strings(33_000));
    binary.push(0);
    let mut compact = bytes("82210001 61 19 f5 e0a712");
    compact.extend(b"\x80\x01".repeat(300_000));
    compact.push(0);
    let mut json = b"[1,\"a\",1,0,{\"1\":{\"str\":\"".to_vec();
    json.extend(b"\\\"[".repeat(100_000));
    json.extend(b"\"}}]");
    let http = format!(
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
        binary.len()
    );
    let mut http = http.into_bytes();
    http.extend(&binary);
    let mut chunked = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for byte in &binary {
        chunked.extend(b"1;x\r\n");
        chunked.push(*byte);
        chunked.extend(b"\r\n");
    }
    chunked.extend(b"0\r\n\r\n");
    for (name, input) in [
        ("binary", binary),
        ("compact", compact),
        ("json", json),
        ("http", http),
        ("chunked", chunked),
    ] {
        let start = std::time::Instant::now();
        let outcome = serve(&options(|_| {}), &input, 1);
        assert_eq!(outcome.result, Ok(()), "{name}");
        assert_eq!((outcome.calls.len(), outcome.unread), (1, 0), "{name}");
        let took = start.elapsed();
        assert!(took.as_secs() < 10, "{name}: {took:?}");
    }
}

/// The server never asks for much more than it has got, whatever is claimed.
#[test]
fn claims_get_no_memory() {
    for row in [
        "03 ff ff ff 80 01 00 01",
        "80 01 00 01 00000001 61 00000000 0b 0001 03000000",
    ] {
        let outcome = serve(&options(|_| {}), &bytes(row), usize::MAX);
        assert_eq!(outcome.result, Ok(()));
        assert!(
            outcome.server.needs() <= 128 << 10,
            "{}",
            outcome.server.needs()
        );
        assert!(
            outcome.server.needs() > 60 << 10,
            "{}",
            outcome.server.needs()
        );
    }
}

/// The end of the stream: fine between messages, an error within one.
#[test]
fn ends() {
    let ping = "82 21 00 04 70696e67 00";
    for (row, cut, clean) in [
        (ping, 0, true),
        (ping, 1, false),
        ("", 0, true),
        ("text:[1,\"ping\",1,0,{}]\\n", 0, true),
        ("text:[1,\"ping\",1,0,{}]", 1, false),
        ("text:POST / HTTP/1.1\\r\\nHost: x\\r\\n", 0, false),
    ] {
        let mut input = bytes(row);
        input.truncate(input.len() - cut);
        let mut outcome = serve(&options(|_| {}), &input, usize::MAX);
        let mut left = bytes::BytesMut::from(&input[input.len() - outcome.unread..]);
        assert_eq!(outcome.server.end(&mut left).is_ok(), clean, "{row}");
    }
}
