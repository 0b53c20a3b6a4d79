//! The statuses for errors of other libraries.

use super::*;

/// The failure of a call that was answered with this error.
fn failure(error: &[u8]) -> String {
    let (mut client, mut out) = (client(), Vec::new());
    client.call("x", false, &Number(None), &mut out).unwrap();
    let mut input = BytesMut::from(&b"\x94\x01\0"[..]);
    input.extend_from_slice(error);
    input.extend_from_slice(b"\xc0");
    match client.receive(&mut input).unwrap() {
        Some(Event::Reply(reply)) => match reply.result {
            Ok((_, answer)) => format!("{answer:x}"),
            Err(status) => status.to_string(),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn errors() {
    let rows: &[(&[u8], &str)] = &[
        (
            b"\xbfNOT_FOUND: no such thing as it!",
            "NOT_FOUND: no such thing as it!",
        ),
        (b"\xa4oops", "UNKNOWN: oops"),
        (b"\xaaWHAT: oops", "UNKNOWN: WHAT: oops"),
        // rpclib 2.3, lib/rpc/dispatcher.cc.
        (
            b"\xd9\x40rpclib: server could not find function 'f' with argument count 1",
            "UNIMPLEMENTED: rpclib: server could not find function 'f' with argument count 1",
        ),
        (
            b"\xd9\x36rpclib: Function 'f' was called with an invalid number",
            "INVALID_ARGUMENT: rpclib: Function 'f' was called with an invalid number",
        ),
        (
            b"\xd9\x2brpclib: client error C0001: no function 'f'",
            "UNIMPLEMENTED: rpclib: client error C0001: no function 'f'",
        ),
        (
            b"\xd9\x57rpclib: client error C0002: Function 'f' was called with an invalid number of arguments",
            "INVALID_ARGUMENT: rpclib: client error C0002: Function 'f' was called with an invalid number of arguments",
        ),
        (
            b"\xd9\x1bx: client error C0003: else",
            "UNKNOWN: x: client error C0003: else",
        ),
        // The pair of its documentation's example for `respond_error`.
        (
            b"\x92\x01\xb1Division by zero!",
            "INVALID_ARGUMENT: Division by zero!",
        ),
        // Neovim.
        (
            b"\x92\0\xb1Invalid method: x",
            "UNIMPLEMENTED: Invalid method: x",
        ),
        (b"\x92\x01\xa5wrong", "INVALID_ARGUMENT: wrong"),
        (b"\x92\0\xa5wrong", "UNKNOWN: wrong"),
        // Ruby.
        (
            b"\x92\xadNoMethodError\xa1x",
            "UNIMPLEMENTED: NoMethodError: x",
        ),
        (
            b"\x92\xadArgumentError\xa1x",
            "INVALID_ARGUMENT: ArgumentError: x",
        ),
        (b"\x93\xacRuntimeError\xa1x\x90", "UNKNOWN: RuntimeError: x"),
        (b"\x82\xa4code\x07\xa7message\xa1x", "UNKNOWN: x"),
        (b"\x82\xa4code\xa7ABORTED\xa7message\xa1x", "ABORTED: x"),
        (b"\x07", "UNKNOWN: Int(7)"),
        (b"\xc3", "UNKNOWN: Bool(true)"),
        (b"\x81\x01\x90", "UNKNOWN: Map"),
        (
            b"\x81\xc0\x01",
            "UNKNOWN: the peer answered with an error that cannot be read",
        ),
        // Declared exceptions stay encoded: only the caller knows the contract.
        (b"\x81\xa1x\x90", "81a17890c0"),
        (b"\x81\xa1x\x80", "81a17880c0"),
        (b"\xc0", "c0c0"),
    ];
    for (error, said) in rows {
        let found = failure(error);
        assert!(found.starts_with(said), "{error:x?}: {found}");
        let finished = found.contains("finished, says the peer");
        assert!(
            finished || found.starts_with("81") || found == "c0c0",
            "{found}"
        );
    }
}

#[test]
fn a_failure_is_text() {
    use dovetail_protocol::{Code, Execution, Status};
    let mut input = BytesMut::from(&b"\x94\0\x07\xa1x\x90"[..]);
    let Ok(Some(Event::Call(call))) = server().receive(&mut input) else {
        panic!("a call");
    };
    let said = |execution| {
        let mut out = Vec::new();
        let status = Status::new(Code::Aborted, "no").with_execution(execution);
        call.reply.exception(&mut out, &status);
        out
    };
    let finished = said(Execution::Finished);
    assert_eq!(finished, b"\x94\x01\x07\xabABORTED: no\xc0");
    // The place of the result says that the call did not run.
    let refused = said(Execution::NotStarted);
    assert_eq!(refused, b"\x94\x01\x07\xabABORTED: no\xabnot-started");
}
