//! Authorities that stock clients name, in the bytes that they sent: grpcio to
//! `unix:/tmp/run/sock`, and grpc-go to `etcd:///services/fleet`.

use dovetail_protocol::http2::Authorities;
use proptest::prelude::*;

const GRPCIO: &[u8] = include_bytes!("../../../../interop/golden/http2/grpcio-unix.bin");
const GRPC_GO: &[u8] = include_bytes!("../../../../interop/golden/http2/grpc-go-etcd.bin");

/// Passes bytes on in pieces of these lengths, the last one again and again.
fn passed(bytes: &[u8], pieces: &[usize]) -> (Vec<u8>, bool) {
    let (mut authorities, mut bytes) = (Authorities::default(), bytes.to_vec());
    let (mut rest, mut pieces) = (&mut bytes[..], pieces.iter().copied());
    let mut length = usize::MAX;
    while !rest.is_empty() {
        length = pieces.next().unwrap_or(length).max(1);
        let (piece, behind) = rest.split_at_mut(length.min(rest.len()));
        authorities.pass(piece);
        rest = behind;
    }
    (bytes, authorities.is_changed())
}

/// A request with these fields, behind the preface.
fn request(fields: &[u8]) -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let length = (fields.len() as u32).to_be_bytes();
    bytes.extend_from_slice(&length[1..]);
    bytes.extend_from_slice(&[1, 5, 0, 0, 0, 1]);
    bytes.extend_from_slice(fields);
    bytes
}

#[test]
fn authorities_of_stock_clients_become_hosts() {
    let (bytes, changed) = passed(GRPCIO, &[]);
    let expected = String::from_utf8_lossy(GRPCIO).replace("tmp%2Frun%2Fsock", "tmp.2Frun.2Fsock");
    assert!(changed && String::from_utf8_lossy(&bytes) == expected);
    // One percent sign, in Huffman's code.
    let (bytes, changed) = passed(GRPC_GO, &[]);
    let differ = bytes.iter().zip(GRPC_GO).map(|(new, old)| new ^ old);
    assert!(changed && differ.map(u8::count_ones).sum::<u32>() == 1);
}

#[test]
fn pieces_make_no_difference() {
    for golden in [GRPCIO, GRPC_GO] {
        let whole = passed(golden, &[]);
        assert_eq!(passed(golden, &[1]), whole);
        for first in 1..golden.len() {
            assert_eq!(passed(golden, &[first, usize::MAX]), whole, "{first}");
        }
    }
}

#[test]
fn plain_texts() {
    let text = |prefix: &[u8], text: &str| {
        let length = u8::try_from(text.len()).unwrap();
        [prefix, &[length], text.as_bytes()].concat()
    };
    let name = text(&[], ":authority");
    let rows = [
        // By the number of the field, in each of the three forms, and by its name.
        (
            text(&[0x41], "run%2Fsock"),
            Some(text(&[0x41], "run.2Fsock")),
        ),
        (text(&[0x01], "run/sock"), Some(text(&[0x01], "run3sock"))),
        (text(&[0x11], "%"), Some(text(&[0x11], "."))),
        (
            text(&[&[0x40], &name[..]].concat(), "%"),
            Some(text(&[&[0x40], &name[..]].concat(), ".")),
        ),
        // Hosts, addresses, and other fields.
        (text(&[0x41], "orders.example.com:9090"), None),
        (text(&[0x41], "[fe80::1%25eth0]:9090"), None),
        (text(&[0x44], "/a%2Fb"), None),
        (
            text(&[0x40, 5, b':', b'p', b'a', b't', b'h'], "/a%2Fb"),
            None,
        ),
        (text(&[0x40, 0], "%"), None),
        (text(&[0x7f, 0x81, 0x01], "%"), None),
    ];
    for (fields, expected) in rows {
        let bytes = request(&fields);
        let changed = expected.is_some();
        let expected = request(&expected.unwrap_or(fields));
        assert_eq!(passed(&bytes, &[]), (expected.clone(), changed));
        assert_eq!(passed(&bytes, &[1]), (expected, changed));
    }
}

#[test]
fn paddings_and_continuations_are_known() {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    // A padding of 2 bytes, a priority, and the authority's value in two frames.
    bytes.extend_from_slice(&[
        0, 0, 12, 1, 0x28, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0x41, 4, b'a', b'/', b'%', b'%',
    ]);
    bytes.extend_from_slice(&[0, 0, 2, 9, 4, 0, 0, 0, 1, b'%', b'b']);
    let (passed, _) = passed(&bytes, &[]);
    assert!(passed.ends_with(&[
        b'a', b'3', b'%', b'%', 0, 0, 2, 9, 4, 0, 0, 0, 1, b'.', b'b'
    ]));
}

proptest! {
    #[test]
    fn anything_is_passed_on(bytes in prop::collection::vec(any::<u8>(), 0..400), piece in 1_usize..50) {
        let mut sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        sent.extend_from_slice(&bytes);
        prop_assert_eq!(passed(&sent, &[piece]), passed(&sent, &[]));
        let fields = request(&bytes);
        prop_assert_eq!(passed(&fields, &[piece]), passed(&fields, &[]));
    }
}
