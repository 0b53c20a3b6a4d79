//! The cases. Their names are the same in every language.

use std::fmt::Debug;
use std::time::{Duration, SystemTime};

use thrift::protocol::{
    TFieldIdentifier, TInputProtocol, TMessageIdentifier, TMessageType, TOutputProtocol, TStructIdentifier,
    TType,
};
use thrift::{ApplicationErrorKind, OrderedFloat};

use crate::connector::Connector;
use crate::interop::{
    Containers, Empty, Everything, NotFound, Presence, Refused, TBaseSyncClient, TFutureSyncClient,
    TInteropSyncClient, TSecondSyncClient, ANSWER,
};
use crate::values::*;

/// The end of a case: a note, or why it failed, or why it does not exist here.
pub enum Failure {
    Fail(String),
    Skip(&'static str),
}

pub type Outcome = Result<String, Failure>;

impl From<thrift::Error> for Failure {
    fn from(error: thrift::Error) -> Failure {
        Failure::Fail(format!("{error:?}"))
    }
}

/// `OrderedFloat` says that NaN equals NaN, which is wanted, and that -0.0 equals 0.0, which is
/// not.
trait Same: PartialEq + Debug {
    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

macro_rules! same {
    ($($kind:ty),* $(,)?) => {
        $(impl Same for $kind {})*
    };
}

same!(
    bool,
    i8,
    i16,
    i32,
    i64,
    String,
    Vec<u8>,
    crate::interop::Colour,
    Empty,
    Everything,
    Containers,
    Presence,
    crate::interop::Nested,
    crate::interop::Keyed,
    crate::interop::Tree,
    crate::interop::Choice,
    crate::interop::Wide,
    crate::shared::shared::Origin,
    Vec<bool>,
    Vec<i8>,
    Vec<i16>,
    Vec<i32>,
    Vec<i64>,
    Vec<String>,
    Vec<Vec<u8>>,
    Vec<Everything>,
    Vec<Containers>,
    Vec<crate::interop::Choice>,
    Book,
    NotFound,
    Refused,
    (),
    crate::interop::Newer,
    Option<String>,
);

impl Same for OrderedFloat<f64> {
    fn same(&self, other: &Self) -> bool {
        self == other && (self.is_nan() || self.is_sign_negative() == other.is_sign_negative())
    }
}

impl Same for Vec<OrderedFloat<f64>> {
    fn same(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().zip(other).all(|(one, other)| one.same(other))
    }
}

fn check<T: Same>(got: T, want: T) -> Result<(), Failure> {
    if got.same(&want) {
        return Ok(());
    }
    let shown = |value: &T| format!("{value:?}").chars().take(120).collect::<String>();
    Err(Failure::Fail(format!(
        "got {}, want {}",
        shown(&got),
        shown(&want)
    )))
}

type Client = crate::connector::InteropClient;
type Case = (&'static str, Box<dyn Fn(&Connector) -> Outcome>);

fn echo<T: Same + Clone + 'static>(
    name: &'static str,
    method: fn(&mut Client, T) -> thrift::Result<T>,
    sent: Vec<T>,
) -> Case {
    let run = move |connector: &Connector| {
        let mut client = connector.interop()?;
        for value in &sent {
            check(method(&mut client, value.clone())?, value.clone())?;
        }
        Ok(String::new())
    };
    (name, Box::new(run))
}

fn known<T: Same + Clone + 'static>(
    name: &'static str,
    method: fn(&mut Client) -> thrift::Result<T>,
    want: T,
) -> Case {
    let run = move |connector: &Connector| {
        check(method(&mut connector.interop()?)?, want.clone())?;
        Ok(String::new())
    };
    (name, Box::new(run))
}

/// An optional field that is not on the wire stays None: the generator does not fill in defaults,
/// and whether the server sends one that equals its default is its own affair.
fn filled(mut value: Presence) -> Presence {
    value.may_default = value.may_default.or(Some(5));
    value
}

fn echo_presence(client: &mut Client, value: Presence) -> thrift::Result<Presence> {
    client.echo_presence(value).map(filled)
}

fn known_presence(client: &mut Client) -> thrift::Result<Presence> {
    client.known_presence().map(filled)
}

fn hundred() -> Vec<Everything> {
    (0..50).flat_map(|_| everythings()).collect()
}

fn ping(connector: &Connector) -> Outcome {
    connector.interop()?.ping()?;
    Ok(String::new())
}

fn whoami(connector: &Connector) -> Outcome {
    Ok(connector.interop()?.whoami()?)
}

fn evolve(connector: &Connector) -> Outcome {
    let got = connector.future()?.echo_evolving(newer())?;
    check(got, passed_on())?;
    Ok(String::new())
}

/// The rest of `newer()` when an older program has passed it on.
fn passed_on() -> crate::interop::Newer {
    let mut out = newer();
    out.truth = None;
    out.tiny = None;
    out.small = None;
    out.medium = None;
    out.large = None;
    out.real = None;
    out.text = None;
    out.everything = None;
    out.truths = None;
    out.many = None;
    out.numbers = None;
    out.nothing = None;
    out.choice = None;
    out
}

fn join(connector: &Connector) -> Outcome {
    let got = connector.interop()?.join(1, "two".into(), 3, "four".into())?;
    check(got, "1,two,3,four".into())?;
    Ok(String::new())
}

fn exception_none(connector: &Connector) -> Outcome {
    check(connector.interop()?.may_fail("none".into())?, ANSWER)?;
    Ok(String::new())
}

/// The declared exception in a result.
fn thrown<E: std::error::Error + Clone + 'static, T: Debug>(result: thrift::Result<T>) -> Result<E, Failure> {
    match result {
        Err(thrift::Error::User(error)) => match error.downcast_ref::<E>() {
            Some(error) => Ok(error.clone()),
            None => Err(Failure::Fail(format!("another exception: {error:?}"))),
        },
        other => Err(Failure::Fail(format!("not thrown: {other:?}"))),
    }
}

fn application<T: Debug>(result: thrift::Result<T>) -> Result<thrift::ApplicationError, Failure> {
    match result {
        Err(thrift::Error::Application(error)) => Ok(error),
        other => Err(Failure::Fail(format!("no TApplicationException: {other:?}"))),
    }
}

fn exception_not_found(connector: &Connector) -> Outcome {
    let mut client = connector.interop()?;
    let error: NotFound = thrown(client.may_fail("not_found".into()))?;
    check(error, NotFound::new("it".to_owned(), 3))?;
    check(client.echo_i32(1)?, 1)?;
    Ok(String::new())
}

fn exception_refused(connector: &Connector) -> Outcome {
    let error: Refused = thrown(connector.interop()?.may_fail("refused".into()))?;
    check(error, Refused::new("no".to_owned(), origin()))?;
    Ok(String::new())
}

fn exception_undeclared(connector: &Connector) -> Outcome {
    let error = application(connector.interop()?.may_fail("internal".into()))?;
    Ok(format!("type {}: {}", error.kind as i32, error.message))
}

fn after_undeclared(connector: &Connector) -> Outcome {
    let mut client = connector.interop()?;
    application(client.may_fail("internal".into()))?;
    check(client.echo_i32(1)?, 1)?;
    Ok(String::new())
}

fn exception_void(connector: &Connector) -> Outcome {
    let mut client = connector.interop()?;
    client.may_fail_void(false)?;
    let error: NotFound = thrown(client.may_fail_void(true))?;
    check(error, NotFound::new("nothing".to_owned(), 0))?;
    Ok(String::new())
}

fn unknown_method(connector: &Connector) -> Outcome {
    let mut client = connector.future()?;
    let error = application(client.not_yet(1))?;
    if error.kind != ApplicationErrorKind::UnknownMethod {
        return Err(Failure::Fail(format!("{error:?}")));
    }
    Ok(error.message)
}

fn after_unknown_method(connector: &Connector) -> Outcome {
    let mut client = connector.future()?;
    application(client.not_yet(1))?;
    check(client.echo_evolving(newer())?.last, Some("end".into()))?;
    Ok(String::new())
}

fn oneway(connector: &Connector) -> Outcome {
    let mut client = connector.interop()?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let token = now.map_or(1, |since| since.as_nanos() as i64);
    check(client.was_notified(token)?, false)?;
    client.notify(token)?;
    for _ in 0..100 {
        if client.was_notified(token)? {
            return Ok(String::new());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(Failure::Fail("the token never arrived".into()))
}

fn second_service(connector: &Connector) -> Outcome {
    if !connector.multiplexed() {
        return Err(Failure::Skip("needs --multiplexed"));
    }
    // A client owns its protocols, so two services on one connection need two connections here.
    let mut first = connector.interop()?;
    let mut second = connector.second("Second")?;
    check(second.greet("you".into())?, "hello, you".into())?;
    check(second.echo_i32(1)?, 1001)?;
    check(first.echo_i32(1)?, 1)?;
    Ok(String::new())
}

fn unknown_service(connector: &Connector) -> Outcome {
    if !connector.multiplexed() {
        return Err(Failure::Skip("needs --multiplexed"));
    }
    match connector.second("Nowhere")?.greet("you".into()) {
        Ok(_) => Err(Failure::Fail("an unknown service answered".into())),
        Err(error) => Ok(format!("{error:?}")),
    }
}

fn slow(connector: &Connector) -> Outcome {
    check(connector.interop()?.slow(50)?, 50)?;
    Ok(String::new())
}

fn big_binary(connector: &Connector) -> Outcome {
    let mut client = connector.interop()?;
    for size in [65535, 65536, 100000] {
        check(client.echo_binary(pattern(size))?, pattern(size))?;
    }
    check(client.make_bytes(300000)?, pattern(300000))?;
    Ok(String::new())
}

fn big_list(connector: &Connector) -> Outcome {
    let mut value = containers().remove(0);
    value.numbers = Some((0..20000).collect());
    check(connector.interop()?.echo_containers(value.clone())?, value)?;
    Ok(String::new())
}

fn many_calls(connector: &Connector) -> Outcome {
    let mut client = connector.interop()?;
    for number in 0..500 {
        check(client.echo_i32(number)?, number)?;
    }
    Ok(String::new())
}

fn pipelined(connector: &Connector) -> Outcome {
    // A generated client sends and receives in one go, so this works on the protocols.
    let (mut input, mut output) = connector.protocols("Interop")?;
    for number in 0..50 {
        output.write_message_begin(&TMessageIdentifier::new("echo_i32", TMessageType::Call, number))?;
        output.write_struct_begin(&TStructIdentifier::new("echo_i32_args"))?;
        output.write_field_begin(&TFieldIdentifier::new("value", TType::I32, 1))?;
        output.write_i32(number)?;
        output.write_field_end()?;
        output.write_field_stop()?;
        output.write_struct_end()?;
        output.write_message_end()?;
        output.flush()?;
    }
    for number in 0..50 {
        let message = input.read_message_begin()?;
        if message.message_type != TMessageType::Reply {
            return Err(Failure::Fail(format!("{message:?}")));
        }
        check(message.sequence_number, number)?;
        input.read_struct_begin()?;
        input.read_field_begin()?;
        check(input.read_i32()?, number)?;
        input.read_field_end()?;
        input.read_field_begin()?;
        input.read_struct_end()?;
        input.read_message_end()?;
    }
    Ok(String::new())
}

fn connections(connector: &Connector) -> Outcome {
    let mut clients = Vec::new();
    for _ in 0..8 {
        clients.push(connector.interop()?);
    }
    for turn in 0..3 {
        for (place, client) in clients.iter_mut().enumerate() {
            let number = place as i32 + turn;
            check(client.echo_i32(number)?, number)?;
        }
    }
    Ok(String::new())
}

fn case(name: &'static str, run: fn(&Connector) -> Outcome) -> Case {
    (name, Box::new(run))
}

pub fn all() -> Vec<Case> {
    vec![
        case("ping", ping),
        case("whoami", whoami),
        echo("echo_bool", Client::echo_bool, bools()),
        echo("echo_byte", Client::echo_byte, bytes()),
        echo("echo_i16", Client::echo_i16, i16s()),
        echo("echo_i32", Client::echo_i32, i32s()),
        echo("echo_i64", Client::echo_i64, i64s()),
        echo("echo_double", Client::echo_double, doubles()),
        echo("echo_special_double", Client::echo_double, special_doubles()),
        echo("echo_string", Client::echo_string, strings()),
        echo("echo_special_string", Client::echo_string, special_strings()),
        echo("echo_binary", Client::echo_binary, binaries()),
        echo("echo_enum", Client::echo_enum, colours()),
        echo("echo_typedef", Client::echo_typedef, i64s()),
        echo("echo_empty", Client::echo_empty, vec![Empty {}]),
        echo("echo_everything", Client::echo_everything, everythings()),
        echo(
            "echo_presence",
            echo_presence,
            vec![presence_least(), presence_most()],
        ),
        echo("echo_containers", Client::echo_containers, containers()),
        echo("echo_nested", Client::echo_nested, vec![nested()]),
        echo("echo_keyed", Client::echo_keyed, vec![keyed()]),
        echo("echo_tree", Client::echo_tree, vec![chain(1), chain(25)]),
        echo("echo_choice", Client::echo_choice, choices()),
        echo("echo_wide", Client::echo_wide, vec![wide_empty(), wide()]),
        echo("echo_included", Client::echo_included, vec![origin()]),
        echo(
            "echo_bools",
            Client::echo_bools,
            vec![vec![], (0..200).map(|place| place % 3 == 0).collect()],
        ),
        echo("echo_list", Client::echo_list, vec![vec![], hundred()]),
        echo(
            "echo_map",
            Client::echo_map,
            vec![Book::new(), nested().book.unwrap_or_default()],
        ),
        case("evolve", evolve),
        known("known_bools", Client::known_bools, bools()),
        known("known_bytes", Client::known_bytes, bytes()),
        known("known_i16s", Client::known_i16s, i16s()),
        known("known_i32s", Client::known_i32s, i32s()),
        known("known_i64s", Client::known_i64s, i64s()),
        known("known_doubles", Client::known_doubles, doubles()),
        known(
            "known_special_doubles",
            Client::known_special_doubles,
            special_doubles(),
        ),
        known("known_strings", Client::known_strings, strings()),
        known(
            "known_special_strings",
            Client::known_special_strings,
            special_strings(),
        ),
        known("known_binaries", Client::known_binaries, binaries()),
        known("known_everythings", Client::known_everythings, everythings()),
        known("known_containers", Client::known_containers, containers()),
        known("known_nested", Client::known_nested, nested()),
        known("known_wide", Client::known_wide, wide()),
        known("known_choices", Client::known_choices, choices()),
        known("known_presence", known_presence, presence_least()),
        case("join", join),
        case("exception_none", exception_none),
        case("exception_not_found", exception_not_found),
        case("exception_refused", exception_refused),
        case("exception_undeclared", exception_undeclared),
        case("after_undeclared", after_undeclared),
        case("exception_void", exception_void),
        case("unknown_method", unknown_method),
        case("after_unknown_method", after_unknown_method),
        case("oneway", oneway),
        case("second_service", second_service),
        case("unknown_service", unknown_service),
        case("slow", slow),
        case("big_binary", big_binary),
        case("big_list", big_list),
        echo(
            "big_string",
            Client::echo_string,
            vec!["0123456789abcdef".repeat(10 * 1024 * 64)],
        ),
        case("many_calls", many_calls),
        case("pipelined", pipelined),
        case("connections", connections),
    ]
}
