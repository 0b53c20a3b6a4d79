//! Messages of Cap'n Proto's protocol as its own tool writes them: `capnp/messages.txt` has them in
//! the tool's text form, with what we read behind each; `capnp/messages.hex` has the bytes.
//! `UPDATE_GOLDEN=1` asks the tool anew.
#![allow(clippy::unwrap_used)]

use dovetail_protocol::capnp::{
    Cap, Context, Exception, ExceptionKind, Message, Outgoing, Promised, Target,
};
use dovetail_wire::Bytes;
use dovetail_wire::capnp::{PointerAt, Segments};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SCHEMA: &str = "/usr/include/capnp/rpc.capnp";

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/capnp")
        .join(name)
}

/// The official tool; `None` where it is not installed.
fn convert(forms: &str, input: &[u8]) -> Option<Vec<u8>> {
    if !Path::new(SCHEMA).exists() {
        return None;
    }
    let mut child = Command::new("capnp")
        .args(["convert", forms, SCHEMA, "Message"])
        .env_remove("PWD")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(output.stdout)
}

fn read(bytes: &[u8]) -> String {
    let bytes = Bytes::copy_from_slice(bytes);
    let (message, len) = Segments::split(&bytes, 1 << 20).unwrap().unwrap();
    assert_eq!(len, bytes.len());
    format!("{:?}", Message::read(&message))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(hex: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digits).collect()
}

#[test]
fn messages_of_the_tool() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let rows = std::fs::read_to_string(file("messages.txt")).unwrap();
    let texts = || rows.lines().step_by(2);
    if update {
        let made = texts().map(|row| hex(&convert("text:binary", row.as_bytes()).unwrap()) + "\n");
        std::fs::write(file("messages.hex"), made.collect::<String>()).unwrap();
    }
    let bytes = std::fs::read_to_string(file("messages.hex")).unwrap();
    let shown: String = texts()
        .zip(bytes.lines())
        .map(|(text, bytes)| format!("{text}\n{}\n", read(&unhex(bytes))))
        .collect();
    match update {
        true => std::fs::write(file("messages.txt"), shown).unwrap(),
        false => assert_eq!(rows, shown),
    }
}

/// The tool reads what we write as what was meant.
#[test]
fn messages_of_ours() {
    let promised = |path: &[u16]| Promised {
        question: 7,
        path: path.to_vec(),
    };
    let exception = Exception {
        reason: "no".to_owned(),
        kind: ExceptionKind::Overloaded,
    };
    type Make<'a> = &'a dyn Fn(&mut Outgoing<'_>);
    let rows: &[(Make<'_>, &str)] = &[
        (
            &|m| m.bootstrap(3).unwrap(),
            "( bootstrap = (questionId = 3) )",
        ),
        (
            &|m| {
                let payload = m.call(4, &Target::Hosted(9), 0xabc, 2).unwrap();
                m.caps(
                    payload,
                    &[Cap::None, Cap::SenderHosted(1), Cap::ReceiverHosted(2)],
                )
                .unwrap();
            },
            "( call = ( questionId = 4, target = (importedCap = 9), interfaceId = 2748, methodId = 2, params = ( capTable = [ \
             (none = void, attachedFd = 255), (senderHosted = 1, attachedFd = 255), (receiverHosted = 2, attachedFd = 255) ] ), \
             sendResultsTo = (caller = void), allowThirdPartyTailCall = false ) )",
        ),
        (
            &|m| {
                let target = Target::Promised(promised(&[1, 0]));
                m.call(5, &target, 1, 0).unwrap();
            },
            "( call = ( questionId = 5, target = ( promisedAnswer = ( questionId = 7, transform = [ (getPointerField = 1), \
             (getPointerField = 0) ] ) ), interfaceId = 1, methodId = 0, params = (), sendResultsTo = (caller = void), \
             allowThirdPartyTailCall = false ) )",
        ),
        (
            &|m| _ = m.results(6).unwrap(),
            "( return = ( answerId = 6, releaseParamCaps = false, results = () ) )",
        ),
        (
            &|m| m.failure(6, &exception).unwrap(),
            "( return = ( answerId = 6, releaseParamCaps = false, exception = ( reason = \"no\", obsoleteIsCallersFault = false, \
             obsoleteDurability = 0, type = overloaded ) ) )",
        ),
        (
            &|m| m.canceled(1).unwrap(),
            "( return = ( answerId = 1, releaseParamCaps = false, canceled = void ) )",
        ),
        (
            &|m| m.finish_question(2, true).unwrap(),
            "( finish = (questionId = 2, releaseResultCaps = true) )",
        ),
        (
            &|m| m.finish_question(2, false).unwrap(),
            "( finish = (questionId = 2, releaseResultCaps = false) )",
        ),
        (
            &|m| m.release(8, 3).unwrap(),
            "( release = (id = 8, referenceCount = 3) )",
        ),
        (
            &|m| {
                m.resolve(8, Ok(&Cap::ReceiverAnswer(promised(&[]))))
                    .unwrap()
            },
            "( resolve = ( promiseId = 8, cap = ( receiverAnswer = (questionId = 7), attachedFd = 255 ) ) )",
        ),
        (
            &|m| {
                m.disembargo(&Target::Hosted(1), Context::Receiver(5))
                    .unwrap()
            },
            "( disembargo = ( target = (importedCap = 1), context = (receiverLoopback = 5) ) )",
        ),
        (
            &|m| m.abort(&exception).unwrap(),
            "( abort = ( reason = \"no\", obsoleteIsCallersFault = false, obsoleteDurability = 0, type = overloaded ) )",
        ),
    ];
    let plain = |text: &str| text.split_whitespace().collect::<String>();
    for (make, expected) in rows {
        let mut out = Vec::new();
        let mut message = Outgoing::new(&mut out);
        make(&mut message);
        message.finish();
        read(&out);
        let Some(text) = convert("binary:text", &out) else {
            return;
        };
        assert_eq!(plain(std::str::from_utf8(&text).unwrap()), plain(expected));
    }
}

/// A value goes back to the peer that sent it. Pointers to one place would make it larger each
/// time.
#[test]
fn copies_are_no_larger_than_messages() {
    const DATA: u64 = 4096;
    for (pointers, fits) in [(1, true), (16, false)] {
        let mut words = vec![pointers << 48];
        let lists =
            (0..pointers).map(|place| 1 | (pointers - 1 - place) << 2 | 2 << 32 | DATA << 38);
        words.extend(lists);
        words.resize(words.len() + DATA as usize, 7);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let message = Segments::single(bytes.into()).unwrap();
        let mut out = Vec::new();
        let mut copy = Outgoing::new(&mut out);
        let payload = copy.results(1).unwrap();
        let copied = copy
            .segment()
            .copy(payload.pointer(0), &message, PointerAt::ROOT);
        assert_eq!(copied.is_ok(), fits, "{pointers} pointers");
    }
}
