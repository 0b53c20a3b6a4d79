//! The machines' targets on mutated messages.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

/// Messages of all wires, some of them in the middle.
const SEEDS: &[&[u8]] = &[
    b"\x80\x01\0\x01\0\0\0\x01a\0\0\0\x01\x0b\0\x01\0\0\0\x02hi\x0f\0\x02\x0c\0\0\0\x02\0\0\0",
    b"\x82\x21\x01\x01a\x18\x02hi\x19\x25\x01\x02\x1b\x01\x88\x01a\x01b\0",
    b"[1,\"a\",1,1,{\"1\":{\"str\":\"hi\"}}]",
    b"\0\0\0\x0d\x80\x01\0\x01\0\0\0\0\0\0\0\x01\0",
    b"\0\0\0\x16\x0f\xff\0\0\0\0\0\x01\0\x01\0\0\0\0\x82\x21\x01\x01a\0\0\0",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 17\r\n\r\n[1,\"a\",1,1,{}]   ",
    b"POST /a/b HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    b"GET /a/b?connect=v1&encoding=json&base64=1&message=e30 HTTP/1.1\r\nHost: a\r\nOrigin: https://a\r\n\r\n",
    b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58\x89\x80\0\0\0\0\x88\x82\0\0\0\0\x03\xe8",
    b"\x01\x82\0\0\0\0{\"\x09\x80\0\0\0\0\x80\x8a\0\0\0\0item\": 1}x",
    b"Transfer-Encoding: chunked\r\n\r\n6\r\n\x82\x21\x01\x01a\0\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n\x82\x41\x01\x01a\0",
    b"\x80\x01\0\x02\0\0\0\x01a\0\0\0\x01\0",
    b"\x82\x41\x01\x01a\0",
    b"\x94\0\x01\xa3add\x92\x01\xa5hello\x93\x02\xa1x\x91\x82\x01\x90\xa1k\xc4\x03abc",
    b"\x94\x01\0\xc0\xcb\0\0\0\0\0\0\0\0\x94\x01\x02\xa4oops\xc0\x94\x01\x03\x81\xa1x\x91\x07\xc0",
    b"\0\0\0\0\x02hi\x01\0\0\0\0\0\0\0\0\x03abc",
    b"13\0caf%C3%A9 100%\0CAISAngaFgoBYRIA",
    b"YQ==, YmM",
    b"{\"code\":\"aborted\",\"message\":\"no\",\"details\":[{\"type\":\"a.B\",\"value\":\"CgF4\"}]}",
    b"{\"error\":{\"code\":\"aborted\"},\"metadata\":{\"a-bin\":[\"YQ\"],\"b\":[\"c\",\"d\"]}}",
    b"grpc-status: 9\r\ngrpc-message: caf%C3%A9\r\na: b\r\n",
    b"99999999m",
    b"\0\x01\0\x02\x01\x01\x01a\x01b\0\x82\x21\x01\x01a\0\0\0",
];

fn messages() -> impl Strategy<Value = Vec<u8>> {
    let seeds = proptest::collection::vec(prop::sample::select(SEEDS), 1..4);
    let changes =
        proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 0..6);
    (any::<[u8; 2]>(), seeds, changes).prop_map(|(first, seeds, changes)| {
        let mut data = first.to_vec();
        seeds.iter().for_each(|seed| data.extend_from_slice(seed));
        for (index, byte, change) in changes {
            let at = index.index(data.len());
            match change {
                0 => data[at] = byte,
                1 => data.insert(at, byte),
                2 => data[at] ^= 1 << (byte % 8),
                _ => data.truncate(at.max(1)),
            }
        }
        data
    })
}

/// Frames of Dovetail's own wire: kind and flags, id, and a payload of pieces that mean something.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    const KINDS: &[u8] = &[
        1, 2, 3, 4, 5, 0x25, 0x45, 0x65, 0xc5, 9, 0x49, 0xc9, 6, 0x26, 0x46, 0xc6, 7, 8, 12, 13,
        14, 15, 16, 17,
    ];
    const PIECES: &[&[u8]] = &[
        b"",
        b"\0",
        b"\x01",
        b"\x03",
        b"\x04\0",
        b"\0\0\x01a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        b"\x01\0\x04note0123456789abcdef",
        b"\x08\x01\x01\x01n\x01v",
        b"\x01\xe8\x07",
        // A promise, calls of what call 1 returns and of object 3.
        b"\0\x10\0",
        b"\0\x14\x03\0",
        b"\0\x04\x03",
        b"\0\x04\x06\0",
        b"\x01\x01\x80\x80\x04",
        b"01234567",
        // Compressed, with their sizes: a frame of zstd, a block of lz4.
        b"\x02\x01\x07\x28\xb5\x2f\xfd\0\x58\x3b\0\0\0",
        b"\x02\x02\x1e\x1f\0\x01\0\x05\x50\0\0\0\0\0",
        b"\xff\xff\xff",
    ];
    let payload = proptest::collection::vec(prop::sample::select(PIECES), 0..4);
    let frame = (prop::sample::select(KINDS), 0..6_u8, payload).prop_map(|(kind, id, pieces)| {
        let payload = pieces.concat();
        [&[kind, id, payload.len() as u8][..], &payload].concat()
    });
    (any::<u8>(), proptest::collection::vec(frame, 0..12))
        .prop_map(|(cut, frames)| [vec![cut], frames.concat()].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn mutated_messages(data in messages()) {
        for name in ["server", "server-of-one-wire", "header", "http", "connect", "connect-ends", "websocket", "client", "detection", "msgpack-rpc-server", "msgpack-rpc-client", "grpc-messages", "grpc-headers"] {
            dovetail_fuzz::find(name).unwrap()(&data);
        }
    }

    #[test]
    fn frames_of_the_own_wire(data in frames()) {
        dovetail_fuzz::find("own-server").unwrap()(&data);
        dovetail_fuzz::find("own-client").unwrap()(&data[1..]);
    }
}
