//! Two machines of Cap'n Proto's protocol that talk to each other: the order of calls, objects that
//! come and go, and what is refused. Stock peers are in `interop`.
#![allow(clippy::unwrap_used)]

use bytes::BytesMut;
use dovetail_protocol::capnp::{
    Connection, Event, Exception, ExceptionKind, Limits, Object, Outgoing, Promised, Target,
};
use dovetail_wire::capnp::View;

struct Pair {
    client: Connection,
    server: Connection,
    to_client: BytesMut,
    to_server: BytesMut,
}

const MAIN: u64 = 1;

impl Pair {
    fn new() -> Self {
        Pair {
            client: Connection::new(Limits::default()),
            server: Connection::new(Limits::default()),
            to_client: BytesMut::new(),
            to_server: BytesMut::new(),
        }
    }

    fn exchange(&mut self) {
        let mut out = Vec::new();
        self.client.transmit(&mut out);
        self.to_server.extend_from_slice(&out);
        out.clear();
        self.server.transmit(&mut out);
        self.to_client.extend_from_slice(&out);
    }

    fn at_server(&mut self) -> Vec<Event> {
        self.exchange();
        let mut events = Vec::new();
        while let Some(event) = self.server.receive(&mut self.to_server).unwrap() {
            events.push(event);
        }
        events
    }

    fn at_client(&mut self) -> Vec<Event> {
        self.exchange();
        let mut events = Vec::new();
        while let Some(event) = self.client.receive(&mut self.to_client).unwrap() {
            events.push(event);
        }
        events
    }
}

fn promised(question: u32) -> Target {
    Target::Promised(Promised {
        question,
        path: Vec::new(),
    })
}

#[test]
fn ten_calls_in_one_round_trip() {
    let mut pair = Pair::new();
    // Each call is addressed to the result of the one before it.
    let mut last = pair.client.bootstrap();
    let mut questions = vec![last];
    for method in 0..10 {
        last = pair
            .client
            .call(&promised(last), (7, method), |_, _| Ok(Vec::new()))
            .unwrap();
        questions.push(last);
    }
    let mut methods = Vec::new();
    let mut events = pair.at_server();
    while let Some(event) = (!events.is_empty()).then(|| events.remove(0)) {
        match event {
            Event::Bootstrap { question } => pair.server.bootstrapped(question, MAIN),
            Event::Call(call) => {
                assert_eq!(call.object, MAIN + u64::from(call.method));
                methods.push(call.method);
                let next = Object::Own(MAIN + u64::from(call.method) + 1);
                pair.server
                    .reply(call.question, |message, at| {
                        message.segment().capability(at, 0);
                        Ok(vec![next])
                    })
                    .unwrap();
            }
            other => panic!("{other:?}"),
        }
        while let Some(event) = pair.server.receive(&mut pair.to_server).unwrap() {
            events.push(event);
        }
    }
    assert_eq!(methods, (0..10).collect::<Vec<u16>>());
    let answered: Vec<u32> = pair
        .at_client()
        .into_iter()
        .map(|event| match event {
            Event::Answered {
                question,
                result: Ok(results),
            } => {
                assert!(matches!(results.payload.objects[..], [Object::Peer(_)]));
                question
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(answered, questions);
    // All objects go when the client lets them go.
    for question in questions {
        pair.client.finish(question);
    }
    for object in 0..11 {
        pair.client.release(object, 1);
    }
    let dropped = pair
        .at_server()
        .into_iter()
        .filter(|event| matches!(event, Event::Released { count: 1, .. }));
    assert_eq!(dropped.count(), 11);
    assert!(pair.server.end().is_empty());
}

#[test]
fn calls_through_the_peer_come_before_direct_ones() {
    let mut pair = Pair::new();
    let main = pair.client.bootstrap();
    let own = Object::Own(42);
    let echo = pair
        .client
        .call(&promised(main), (1, 0), |_, _| Ok(vec![own]))
        .unwrap();
    // A call of the result, which is the client's own object.
    pair.client
        .call(&promised(echo), (1, 1), |_, _| Ok(Vec::new()))
        .unwrap();
    let mut events = pair.at_server();
    assert!(matches!(events.remove(0), Event::Bootstrap { question: 0 }));
    pair.server.bootstrapped(0, MAIN);
    let Some(Event::Call(call)) = pair.server.receive(&mut pair.to_server).unwrap() else {
        panic!("no call");
    };
    let passed = call.params.objects[0].clone();
    assert!(matches!(passed, Object::Peer(_)));
    pair.server
        .reply(call.question, |message, at| {
            message.segment().capability(at, 0);
            Ok(vec![passed])
        })
        .unwrap();
    // The forwarded call arrives before the disembargo.
    let events = pair.at_client();
    let [
        _,
        Event::Answered {
            question: 1,
            result: Ok(results),
        },
        Event::Call(home),
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(results.payload.objects, [Object::Own(42)]);
    assert_eq!(results.embargoes, [(0, 0)]);
    assert_eq!((home.object, home.method), (42, 1));
    pair.at_server();
    let events = pair.at_client();
    assert!(matches!(events[..], [Event::Disembargoed(0)]), "{events:?}");
    let (asked, word) = (home.question, 0xabcd);
    pair.client
        .reply(asked, |message, at| {
            let words = message.segment().structure(at, 1, 1)?;
            message.segment().put_u64(words, 0, word);
            message.segment().capability(words.pointer(0), 0);
            Ok(vec![Object::Own(43)])
        })
        .unwrap();
    pair.at_server();
    let events = pair.at_client();
    let Some(Event::Answered {
        question,
        result: Ok(results),
    }) = events.first()
    else {
        panic!("{events:?}");
    };
    let payload = &results.payload;
    let view = View::at(&payload.message, payload.content.unwrap()).unwrap();
    assert_eq!((*question, view.unwrap().u64(0)), (2, word));
    assert_eq!(payload.object(&[0]), Ok(Object::Own(43)));
    // The server has forwarded the object, and releases it once the client has finished its
    // question.
    pair.client.finish(*question);
    pair.at_server();
    let released = pair.at_client();
    assert!(
        matches!(
            released[..],
            [Event::Released {
                object: 43,
                count: 1
            }]
        ),
        "{released:?}"
    );
}

#[test]
fn parameters_wait_for_answers() {
    let mut pair = Pair::new();
    let main = pair.client.bootstrap();
    let made = pair
        .client
        .call(&promised(main), (1, 0), |_, _| Ok(Vec::new()))
        .unwrap();
    let passed = Object::Promised(Promised {
        question: made,
        path: Vec::new(),
    });
    pair.client
        .call(&promised(main), (1, 1), |message, at| {
            message.segment().capability(at, 0);
            Ok(vec![passed])
        })
        .unwrap();
    pair.client.finish(main);
    // Nobody waits for the answer but the second call.
    pair.client.finish(made);
    pair.at_server();
    pair.server.bootstrapped(0, MAIN);
    let events = pair.at_server();
    let [Event::Call(first)] = &events[..] else {
        panic!("{events:?}");
    };
    pair.server
        .reply(first.question, |message, at| {
            message.segment().capability(at, 0);
            Ok(vec![Object::Own(7)])
        })
        .unwrap();
    let Some(Event::Call(second)) = pair.server.ready() else {
        panic!("it still waits");
    };
    assert_eq!(second.params.objects, [Object::Own(7)]);
}

/// A call waits for one object; the peer lets another one go meanwhile that it has passed with the
/// call.
#[test]
fn calls_that_wait_hold_their_objects() {
    let mut pair = Pair::new();
    let main = pair.client.bootstrap();
    let nothing = |_: &mut Outgoing<'_>, _| Ok(Vec::new());
    let first = pair.client.call(&promised(main), (1, 0), nothing).unwrap();
    pair.at_server();
    pair.server.bootstrapped(0, MAIN);
    let answer = |pair: &mut Pair, question, object| {
        pair.server
            .reply(question, |message, at| {
                message.segment().capability(at, 0);
                Ok(vec![Object::Own(object)])
            })
            .unwrap();
    };
    pair.at_server();
    answer(&mut pair, first, 7);
    let events = pair.at_client();
    let Some(Event::Answered {
        result: Ok(results),
        ..
    }) = events.last()
    else {
        panic!("{events:?}");
    };
    let Object::Peer(number) = results.payload.objects[0] else {
        panic!("{events:?}");
    };
    pair.client.finish(first);
    let second = pair.client.call(&promised(main), (1, 0), nothing).unwrap();
    let passed = [
        Object::Peer(number),
        Object::Promised(Promised {
            question: second,
            path: Vec::new(),
        }),
    ];
    pair.client
        .call(&promised(main), (1, 1), |_, _| Ok(passed.to_vec()))
        .unwrap();
    pair.client.finish(second);
    pair.client.release(number, 1);
    let events = pair.at_server();
    assert!(matches!(events[..], [Event::Call(_)]), "{events:?}");
    answer(&mut pair, second, 8);
    let events: Vec<Event> = std::iter::from_fn(|| pair.server.ready()).collect();
    let [
        Event::Call(call),
        Event::Released {
            object: 7,
            count: 1,
        },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(call.params.objects, [Object::Own(7), Object::Own(8)]);
}

/// An object comes once in a message, and once as the result of an answer. The second reference is
/// not one to release to the peer.
#[test]
fn references_out_of_answers_are_not_given_back() {
    let mut pair = Pair::new();
    let main = pair.client.bootstrap();
    let own = Object::Own(42);
    let echo = pair
        .client
        .call(&promised(main), (1, 0), |_, _| Ok(vec![own]))
        .unwrap();
    pair.at_server();
    pair.server.bootstrapped(0, MAIN);
    let Some(Event::Call(call)) = pair.at_server().pop() else {
        panic!("no call");
    };
    let passed = call.params.objects[0].clone();
    let Object::Peer(number) = passed else {
        panic!("{passed:?}");
    };
    pair.server
        .reply(call.question, |message, at| {
            message.segment().capability(at, 0);
            Ok(vec![passed])
        })
        .unwrap();
    let again = Object::Promised(Promised {
        question: echo,
        path: Vec::new(),
    });
    pair.client
        .call(&promised(main), (1, 1), |_, _| Ok(vec![again]))
        .unwrap();
    pair.client.finish(echo);
    let Some(Event::Call(call)) = pair.at_server().pop() else {
        panic!("no call");
    };
    assert_eq!(call.params.objects, [Object::Peer(number)]);
    let released = |pair: &mut Pair| {
        pair.server.release(number, 1);
        let is_release = |event: &Event| matches!(event, Event::Released { object: 42, .. });
        pair.at_server();
        pair.at_client().iter().any(is_release)
    };
    assert!(!released(&mut pair));
    assert!(released(&mut pair));
}

#[test]
fn a_long_chain_of_failures() {
    const LONG: u32 = 20_000;
    let mut pair = Pair::new();
    let mut last = pair.client.bootstrap();
    for _ in 0..LONG {
        last = pair
            .client
            .call(&promised(last), (1, 0), |_, _| Ok(Vec::new()))
            .unwrap();
    }
    pair.at_server();
    pair.server.fail_call(
        0,
        Exception {
            reason: "no".to_owned(),
            kind: ExceptionKind::Failed,
        },
    );
    assert_eq!(pair.at_client().len() as u32, LONG + 1);
}

#[test]
fn failures_and_cancellation() {
    let mut pair = Pair::new();
    let main = pair.client.bootstrap();
    let call = pair
        .client
        .call(&promised(main), (1, 0), |_, _| Ok(Vec::new()))
        .unwrap();
    let next = pair
        .client
        .call(&promised(call), (1, 1), |_, _| Ok(Vec::new()))
        .unwrap();
    pair.at_server();
    pair.server.bootstrapped(0, MAIN);
    pair.at_server();
    let exception = Exception {
        reason: "no".to_owned(),
        kind: ExceptionKind::Overloaded,
    };
    pair.server.fail_call(call, exception.clone());
    let failed: Vec<u32> = pair
        .at_client()
        .into_iter()
        .filter_map(|event| match event {
            Event::Answered {
                question,
                result: Err(why),
            } => {
                assert_eq!(why, exception);
                Some(question)
            }
            _ => None,
        })
        .collect();
    assert_eq!(failed, [call, next]);
    let late = pair
        .client
        .call(&promised(main), (1, 2), |_, _| Ok(Vec::new()))
        .unwrap();
    pair.client.finish(late);
    let events = pair.at_server();
    assert!(
        matches!(events[..], [Event::Call(_), Event::Canceled { .. }]),
        "{events:?}"
    );
}

#[test]
fn peers_that_break_the_rules() {
    type Make<'a> = &'a dyn Fn(&mut Connection);
    let rows: &[(&str, Make<'_>)] = &[
        ("there is no object 9", &|client| {
            client
                .call(&Target::Hosted(9), (1, 0), |_, _| Ok(Vec::new()))
                .unwrap();
        }),
        ("there is no question 9", &|client| {
            client
                .call(&promised(9), (1, 0), |_, _| Ok(Vec::new()))
                .unwrap();
        }),
        ("waits for itself", &|client| {
            client
                .call(&promised(0), (1, 0), |_, _| Ok(Vec::new()))
                .unwrap();
        }),
        ("there is no object 5", &|client| {
            client.bootstrap();
            client
                .call(&promised(0), (1, 0), |_, _| Ok(vec![Object::Peer(5)]))
                .unwrap();
        }),
    ];
    for (expected, make) in rows {
        let mut pair = Pair::new();
        make(&mut pair.client);
        pair.exchange();
        let problem = loop {
            match pair.server.receive(&mut pair.to_server) {
                Ok(Some(Event::Bootstrap { question })) => pair.server.bootstrapped(question, MAIN),
                Ok(Some(_)) => {}
                Ok(None) => panic!("{expected}: nothing is wrong"),
                Err(problem) => break problem,
            }
        };
        assert!(problem.0.contains(expected), "{problem:?}");
        // The peer hears of it.
        pair.exchange();
        let heard = pair.client.receive(&mut pair.to_client);
        let heard = std::iter::successors(Some(heard), |last| {
            last.is_ok()
                .then(|| pair.client.receive(&mut pair.to_client))
        });
        assert!(heard.last().unwrap().unwrap_err().0.contains(expected));
    }
}
