//! The cases of interop.thrift. Their names are the same for every peer.

use crate::case::{Case, Failure, Outcome, case, check, fail, pass};
use crate::connector::{self, Connector, ask};
use crate::interop::{
    ANSWER, Empty, InteropBlockingClient, InteropClient, MayFailError, MayFailVoidError, Newer,
    NotFound, Refused, Wide,
};
use crate::values::*;
use dovetail::types::Bytes;
use dovetail::{Code, Status};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::thread;
use std::time::{Duration, SystemTime};

type Client = connector::Client<InteropBlockingClient, InteropClient>;

fn echo<T: Debug + 'static>(
    name: &'static str,
    method: impl Fn(&Client, &T) -> Result<T, Status> + 'static,
    sent: Vec<T>,
) -> Case {
    case(name, move |connector| {
        let client = connector.interop()?;
        for value in &sent {
            check(&method(&client, value)?, value)?;
        }
        pass()
    })
}

fn known<T: Debug + 'static>(
    name: &'static str,
    method: impl Fn(&Client) -> Result<T, Status> + 'static,
    want: T,
) -> Case {
    case(name, move |connector| {
        let client = connector.interop()?;
        check(&method(&client)?, &want)?;
        pass()
    })
}

/// The rest of `newer()` when an older program has passed it on. A program that keeps unknown
/// fields passes all of it on.
fn evolve(connector: &Connector) -> Outcome {
    let client = connector.future()?;
    let got = ask!(client.echo_evolving(&newer()))?;
    let forgotten = Newer {
        first: 1,
        last: "end".to_owned(),
        ..Newer::default()
    };
    check(&got, &newer()).or_else(|_| check(&got, &forgotten))?;
    pass()
}

fn thrown<T: Debug, E>(result: Result<T, E>) -> Result<E, Failure> {
    result
        .err()
        .ok_or_else(|| Failure::Fail("not thrown".to_owned()))
}

fn status<T: Debug>(result: Result<T, MayFailError>) -> Result<Status, Failure> {
    match thrown(result)? {
        MayFailError::Status(status) => Ok(status),
        other => Err(Failure::Fail(format!("a declared exception: {other:?}"))),
    }
}

fn not_found(connector: &Connector) -> Outcome {
    let client = connector.interop()?;
    let MayFailError::NotFound(error) = thrown(ask!(client.may_fail("not_found")))? else {
        return fail("another exception");
    };
    let subject = "it".to_owned();
    check(
        &error,
        &NotFound {
            subject,
            searched: 3,
            ..NotFound::default()
        },
    )?;
    check(&ask!(client.echo_i32(1))?, &1)?;
    pass()
}

fn refused(connector: &Connector) -> Outcome {
    let client = connector.interop()?;
    let MayFailError::Refused(error) = thrown(ask!(client.may_fail("refused")))? else {
        return fail("another exception");
    };
    let want = Refused {
        reason: "no".to_owned(),
        helper: Some(origin()),
        ..Refused::default()
    };
    check(&error, &want)?;
    pass()
}

fn exception_void(connector: &Connector) -> Outcome {
    let client = connector.interop()?;
    ask!(client.may_fail_void(false))?;
    let MayFailVoidError::NotFound(error) = thrown(ask!(client.may_fail_void(true)))? else {
        return fail("another exception");
    };
    check(
        &error,
        &NotFound {
            subject: "nothing".to_owned(),
            ..NotFound::default()
        },
    )?;
    pass()
}

fn undeclared(connector: &Connector, after: bool) -> Outcome {
    let client = connector.interop()?;
    let status = status(ask!(client.may_fail("internal")))?;
    if after {
        check(&ask!(client.echo_i32(1))?, &1)?;
    }
    Ok(status.to_string())
}

fn unknown_method(connector: &Connector, after: bool) -> Outcome {
    let client = connector.future()?;
    let status = thrown(ask!(client.not_yet(1)))?;
    if status.code() != Code::Unimplemented {
        return fail(status.to_string());
    }
    if after {
        check(
            &ask!(client.echo_evolving(&newer()))?.last,
            &"end".to_owned(),
        )?;
    }
    Ok(status.to_string())
}

fn oneway(connector: &Connector) -> Outcome {
    let client = connector.interop()?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let token = now.as_nanos() as i64;
    check(&ask!(client.was_notified(token))?, &false)?;
    ask!(client.notify(token))?;
    for _ in 0..100 {
        if ask!(client.was_notified(token))? {
            return pass();
        }
        thread::sleep(Duration::from_millis(20));
    }
    fail("the token never arrived")
}

fn second_service(connector: &Connector) -> Outcome {
    if !connector.multiplexed {
        return Err(Failure::Skip("needs --multiplexed"));
    }
    let (first, second) = (connector.interop()?, connector.second("Second")?);
    check(&ask!(second.greet("you"))?, &"hello, you".to_owned())?;
    check(&ask!(second.echo_i32(1))?, &1001)?;
    check(&ask!(first.echo_i32(1))?, &1)?;
    pass()
}

fn unknown_service(connector: &Connector) -> Outcome {
    if !connector.multiplexed {
        return Err(Failure::Skip("needs --multiplexed"));
    }
    let client = connector.second("Nowhere")?;
    match ask!(client.greet("you")) {
        Ok(_) => fail("an unknown service answered"),
        Err(status) => Ok(status.to_string()),
    }
}

/// Thrift's JSON in Python takes half a minute for these ten million characters.
fn big_string(connector: &Connector) -> Outcome {
    const PATIENCE: Duration = Duration::from_secs(120);
    let text = "0123456789abcdef".repeat(10 * 1024 * 64);
    let client = connector.interop_within(PATIENCE)?;
    check(&ask!(client.echo_string(&text))?, &text)?;
    pass()
}

fn big_binary(connector: &Connector) -> Outcome {
    let client = connector.interop()?;
    for size in [65535, 65536, 100_000] {
        check(&ask!(client.echo_binary(&pattern(size)))?, &pattern(size))?;
    }
    check(&ask!(client.make_bytes(300_000))?, &pattern(300_000))?;
    pass()
}

fn big_list(connector: &Connector) -> Outcome {
    let mut value = containers().swap_remove(0);
    value.numbers = (0..20_000).collect();
    let client = connector.interop()?;
    check(&ask!(client.echo_containers(&value))?, &value)?;
    pass()
}

fn many_calls(connector: &Connector) -> Outcome {
    let client = connector.interop()?;
    for number in 0..500 {
        check(&ask!(client.echo_i32(number))?, &number)?;
    }
    pass()
}

/// Ten threads on one connection: their calls are under way together.
fn pipelined(connector: &Connector) -> Outcome {
    let client = connector.interop()?;
    let one = |thread: i32| {
        (0..20)
            .map(|call| thread * 100 + call)
            .try_for_each(|number| check(&ask!(client.echo_i32(number))?, &number))
    };
    let outcomes: Vec<Result<(), Failure>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..10)
            .map(|number| scope.spawn(move || one(number)))
            .collect();
        let ended = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err(Failure::Fail("panicked".to_owned())))
        });
        ended.collect()
    });
    outcomes.into_iter().collect::<Result<(), Failure>>()?;
    pass()
}

fn connections(connector: &Connector) -> Outcome {
    let clients: Result<Vec<Client>, Status> = (0..8).map(|_| connector.interop()).collect();
    let clients = clients?;
    for turn in 0..3 {
        for (place, client) in (0..).zip(&clients) {
            check(&ask!(client.echo_i32(place + turn))?, &(place + turn))?;
        }
    }
    pass()
}

pub(crate) fn all() -> Vec<Case> {
    let hundred = (0..50).flat_map(|_| everythings()).collect();
    let truths = (0..200).map(|place| place % 3 == 0).collect();
    vec![
        case("ping", |connector| {
            let client = connector.interop()?;
            ask!(client.ping())?;
            pass()
        }),
        case("whoami", |connector| {
            let client = connector.interop()?;
            Ok(ask!(client.whoami())?)
        }),
        echo("echo_bool", |c, v| ask!(c.echo_bool(*v)), bools()),
        echo("echo_byte", |c, v| ask!(c.echo_byte(*v)), bytes()),
        echo("echo_i16", |c, v| ask!(c.echo_i16(*v)), i16s()),
        echo("echo_i32", |c, v| ask!(c.echo_i32(*v)), i32s()),
        echo("echo_i64", |c, v| ask!(c.echo_i64(*v)), i64s()),
        echo("echo_double", |c, v| ask!(c.echo_double(*v)), doubles()),
        echo(
            "echo_special_double",
            |c, v| ask!(c.echo_double(*v)),
            special_doubles(),
        ),
        echo(
            "echo_string",
            |c, v: &String| ask!(c.echo_string(v)),
            strings(),
        ),
        echo(
            "echo_special_string",
            |c, v: &String| ask!(c.echo_string(v)),
            special_strings(),
        ),
        echo(
            "echo_binary",
            |c, v: &Bytes| ask!(c.echo_binary(v)),
            binaries(),
        ),
        echo("echo_enum", |c, v| ask!(c.echo_enum(*v)), colours()),
        echo("echo_typedef", |c, v| ask!(c.echo_typedef(*v)), i64s()),
        echo(
            "echo_empty",
            |c, v| ask!(c.echo_empty(v)),
            vec![Empty::default()],
        ),
        echo(
            "echo_everything",
            |c, v| ask!(c.echo_everything(v)),
            everythings(),
        ),
        echo(
            "echo_presence",
            |c, v| ask!(c.echo_presence(v)),
            vec![presence_least(), presence_most()],
        ),
        echo(
            "echo_containers",
            |c, v| ask!(c.echo_containers(v)),
            containers(),
        ),
        echo("echo_nested", |c, v| ask!(c.echo_nested(v)), vec![nested()]),
        echo("echo_keyed", |c, v| ask!(c.echo_keyed(v)), vec![keyed()]),
        echo(
            "echo_tree",
            |c, v| ask!(c.echo_tree(v)),
            vec![chain(1), chain(25)],
        ),
        echo("echo_choice", |c, v| ask!(c.echo_choice(v)), choices()),
        echo(
            "echo_wide",
            |c, v| ask!(c.echo_wide(v)),
            vec![Wide::default(), wide()],
        ),
        echo(
            "echo_included",
            |c, v| ask!(c.echo_included(v)),
            vec![origin()],
        ),
        echo(
            "echo_bools",
            |c, v: &Vec<bool>| ask!(c.echo_bools(v)),
            vec![vec![], truths],
        ),
        echo(
            "echo_list",
            |c, v: &Vec<_>| ask!(c.echo_list(v)),
            vec![vec![], hundred],
        ),
        echo(
            "echo_map",
            |c, v| ask!(c.echo_map(v)),
            vec![BTreeMap::new(), nested().book],
        ),
        case("evolve", evolve),
        known("known_bools", |c| ask!(c.known_bools()), bools()),
        known("known_bytes", |c| ask!(c.known_bytes()), bytes()),
        known("known_i16s", |c| ask!(c.known_i16s()), i16s()),
        known("known_i32s", |c| ask!(c.known_i32s()), i32s()),
        known("known_i64s", |c| ask!(c.known_i64s()), i64s()),
        known("known_doubles", |c| ask!(c.known_doubles()), doubles()),
        known(
            "known_special_doubles",
            |c| ask!(c.known_special_doubles()),
            special_doubles(),
        ),
        known("known_strings", |c| ask!(c.known_strings()), strings()),
        known(
            "known_special_strings",
            |c| ask!(c.known_special_strings()),
            special_strings(),
        ),
        known("known_binaries", |c| ask!(c.known_binaries()), binaries()),
        known(
            "known_everythings",
            |c| ask!(c.known_everythings()),
            everythings(),
        ),
        known(
            "known_containers",
            |c| ask!(c.known_containers()),
            containers(),
        ),
        known("known_nested", |c| ask!(c.known_nested()), nested()),
        known("known_wide", |c| ask!(c.known_wide()), wide()),
        known("known_choices", |c| ask!(c.known_choices()), choices()),
        known(
            "known_presence",
            |c| ask!(c.known_presence()),
            presence_least(),
        ),
        case("join", |connector| {
            let client = connector.interop()?;
            check(
                &ask!(client.join(1, "two", 3, "four"))?,
                &"1,two,3,four".to_owned(),
            )?;
            pass()
        }),
        case("exception_none", |connector| {
            let client = connector.interop()?;
            check(&ask!(client.may_fail("none"))?, &ANSWER)?;
            pass()
        }),
        case("exception_not_found", not_found),
        case("exception_refused", refused),
        case("exception_undeclared", |connector| {
            undeclared(connector, false)
        }),
        case("after_undeclared", |connector| undeclared(connector, true)),
        case("exception_void", exception_void),
        case("unknown_method", |connector| {
            unknown_method(connector, false)
        }),
        case("after_unknown_method", |connector| {
            unknown_method(connector, true)
        }),
        case("oneway", oneway),
        case("second_service", second_service),
        case("unknown_service", unknown_service),
        case("slow", |connector| {
            let client = connector.interop()?;
            check(&ask!(client.slow(50))?, &50)?;
            pass()
        }),
        case("big_binary", big_binary),
        case("big_list", big_list),
        case("big_string", big_string),
        case("many_calls", many_calls),
        case("pipelined", pipelined),
        case("connections", connections),
    ]
}
