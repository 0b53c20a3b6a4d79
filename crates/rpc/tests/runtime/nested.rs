//! Calls that handlers make take over the deadline and the trace of the call that they answer.

use crate::fixture::*;
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture, Model};
use dovetail::{Channel, Code, Context, Running, Server, Service, Status, blocking, descriptor};
use std::time::{Duration, Instant};

descriptor!(static RELAY = "Relay" {
    left() -> i64;
    header(1 name: String) -> String;
    pass(1 how: String, 2 method: String, 3 param: String) -> String;
});

/// Says how many milliseconds its caller has left (-1: no limit) and what headers it sent, or asks
/// the next server for these.
struct Relay {
    next: Option<(Channel, Channel, blocking::Channel)>,
}

fn left(context: &Context) -> i64 {
    let left = |at: Instant| at.saturating_duration_since(Instant::now());
    context
        .deadline()
        .map_or(-1, |at| left(at).as_millis() as i64)
}

impl Relay {
    async fn pass(
        &self,
        context: Context,
        how: &str,
        method: &str,
        param: String,
    ) -> Result<String, Status> {
        let Some((channel, alone, blocking)) = self.next.clone() else {
            return Err(Status::new(Code::FailedPrecondition, "the last one"));
        };
        let method = RELAY
            .methods
            .iter()
            .find(|known| known.name == method)
            .unwrap();
        let ask = |channel: Channel, param: String| async move {
            match method.name {
                "left" => channel
                    .call::<_, i64, Status>(method, ())
                    .await
                    .map(|left| left.to_string()),
                _ => channel.call::<_, String, Status>(method, (&param,)).await,
            }
        };
        match how {
            "alone" => ask(alone, param).await,
            "spawned" => tokio::spawn(ask(channel, param)).await.unwrap(),
            "scoped" => tokio::spawn(context.scope(ask(channel, param)))
                .await
                .unwrap(),
            "blocking" => match method.name {
                "left" => blocking
                    .call::<_, i64, Status>(method, ())
                    .map(|left| left.to_string()),
                _ => blocking.call::<_, String, Status>(method, (&param,)),
            },
            _ => ask(channel, param).await,
        }
    }
}

impl Service for Relay {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &RELAY
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            0 => call.unary((), |context: Context, ()| async move {
                Ok::<_, Status>(left(&context))
            }),
            1 => call.unary((String::new(),), |context: Context, (name,)| async move {
                let value = context.header(&name).unwrap_or_default();
                Ok::<_, Status>(String::from_utf8_lossy(value).into_owned())
            }),
            2 => call.unary(
                (String::new(), String::new(), String::new()),
                |context: Context, (how, method, param)| async move {
                    self.pass(context, &how, &method, param).await
                },
            ),
            _ => call.no_such_method(),
        }
    }
}

fn serve(model: Model, relay: Relay) -> Running {
    let server = Server::new().service(relay).model(model);
    server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap()
}

fn channel(running: &Running, wire: &str, inherits: bool) -> Channel {
    let builder = Channel::builder(&address(running)).unwrap();
    let builder = builder.wire(wire.parse().unwrap()).timeout(LONG);
    builder.inherits(inherits).build()
}

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// How the call is made, whether it has the caller's deadline, and whether it has its trace.
const ROWS: &[(&str, bool, bool)] = &[
    ("nested", true, true),
    ("scoped", true, true),
    ("blocking", true, true),
    ("alone", false, false),
    ("spawned", false, false),
];

async fn check(model: Model, wire: &str) {
    let last = serve(model, Relay { next: None });
    let blocking = blocking::Channel::builder(&address(&last)).unwrap();
    let next = (
        channel(&last, wire, true),
        channel(&last, wire, false),
        blocking.timeout(LONG).build(),
    );
    let first = serve(model, Relay { next: Some(next) });
    let short = Duration::from_secs(3);
    let caller = channel(&first, wire, true).with_timeout(short);
    let caller = caller
        .with_header("traceparent", TRACE)
        .with_header("colour", "blue");
    for (how, deadline, trace) in ROWS {
        let what = format!("{model:?} {wire} {how}");
        let blocks = *how == "blocking";
        let runs = match model {
            Model::ThreadPerConnection => blocks,
            Model::ThreadPool(_) => true,
            _ => !blocks,
        };
        if !runs {
            continue;
        }
        let pass = &RELAY.methods[2];
        let ask = async |method: &str, param: &str| {
            let params = (&how.to_string(), &method.to_owned(), &param.to_owned());
            caller
                .call::<_, String, Status>(pass, params)
                .await
                .unwrap()
        };
        let left: i64 = ask("left", "").await.parse().unwrap();
        assert_eq!(
            (0..=short.as_millis() as i64).contains(&left),
            *deadline,
            "{what}: {left} ms"
        );
        let expected = if *trace { TRACE } else { "" };
        assert_eq!(ask("header", "traceparent").await, expected, "{what}");
        assert_eq!(ask("header", "colour").await, "", "{what}");
    }
    for running in [first, last] {
        tokio::task::spawn_blocking(move || running.shutdown(LONG))
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn deadlines_and_traces_travel_on() {
    for wire in ["dovetail", "grpc", "connect"] {
        check(Model::EventLoops(Some(2)), wire).await;
    }
    check(Model::ThreadPerConnection, "dovetail").await;
    check(Model::ThreadPool(2), "dovetail").await;
}
