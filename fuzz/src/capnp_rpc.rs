//! The machine of Cap'n Proto's protocol on arbitrary bytes in arbitrary pieces.

use bytes::BytesMut;
use dovetail_protocol::capnp::{Connection, Event, Exception, ExceptionKind, Limits, Object};
use dovetail_protocol::capnp::{Outgoing, Promised, Target};

/// Small, so that a fuzzer reaches them.
const LIMITS: Limits = Limits {
    message: 4 << 10,
    answers: 8,
    objects: 8,
    waiting: 1 << 10,
};

/// An end that answers, and has asked. The first byte cuts the rest into pieces, which make no
/// difference.
pub(crate) fn connection(data: &[u8]) {
    let Some((cut, input)) = data.split_first() else {
        return;
    };
    let whole = events(input, input.len().max(1));
    let pieces = events(input, usize::from(*cut) + 1);
    assert_eq!(whole, pieces, "in pieces of {}", usize::from(*cut) + 1);
}

/// Returns the events that one end makes of the bytes, in words.
fn events(input: &[u8], piece: usize) -> Vec<String> {
    let mut end = Connection::new(LIMITS);
    ask(&mut end);
    let (mut said, mut out) = (Vec::new(), Vec::new());
    end.transmit(&mut out);
    out.clear();
    let mut buffer = BytesMut::new();
    for piece in input.chunks(piece) {
        buffer.extend_from_slice(piece);
        loop {
            match end.receive(&mut buffer) {
                Ok(Some(event)) => said.push(words(&mut end, event)),
                Ok(None) => break,
                Err(error) => {
                    end.transmit(&mut out);
                    said.push(error.0);
                    return said;
                }
            }
        }
        assert!(buffer.len() < LIMITS.message, "{} kept", buffer.len());
        assert!((1..=LIMITS.message).contains(&end.needs()));
        end.transmit(&mut out);
    }
    assert!(out.len() <= 4096 + 64 * input.len(), "{} said", out.len());
    said.push(format!("{} released at the end", end.end().len()));
    said
}

/// Three questions: for the main object, of it before it is there, and one that is given up.
fn ask(end: &mut Connection) {
    let main = end.bootstrap();
    let target = |question, path: &[u16]| {
        Target::Promised(Promised {
            question,
            path: path.to_vec(),
        })
    };
    let own = vec![Object::Own(1), Object::None];
    let first = end.call(&target(main, &[]), (7, 0), |_, _| Ok(own));
    let nothing = |_: &mut Outgoing<'_>, _| Ok(Vec::new());
    let second = first.and_then(|first| end.call(&target(first, &[0]), (7, 1), nothing));
    if let Ok(second) = second {
        end.finish(second);
    }
}

fn words(end: &mut Connection, event: Event) -> String {
    let said = format!("{event:?}");
    match event {
        Event::Bootstrap { question } => end.bootstrapped(question, 0),
        Event::Call(call) if call.method.is_multiple_of(2) => {
            // An answer with what came, to which further calls may be addressed.
            let _ = end.reply(call.question, |message, at| {
                message.segment().capability(at, 0);
                Ok(call.params.objects)
            });
        }
        Event::Call(call) => end.fail_call(
            call.question,
            Exception {
                reason: "no".to_owned(),
                kind: ExceptionKind::Failed,
            },
        ),
        Event::Answered { question, result } => {
            end.finish(question);
            for object in result
                .into_iter()
                .flat_map(|results| results.payload.objects)
            {
                if let Object::Peer(number) = object {
                    end.release(number, 1);
                }
            }
        }
        Event::Canceled { .. } | Event::Released { .. } | Event::Disembargoed(_) => {}
    }
    said
}
