//! Traces: on every wire, in every model.

use crate::callbacks::until_async;
use crate::fixture::*;
use crate::interceptors::{WIRES, lacks, start, stop};
use dovetail::intercept::Outcome;
use dovetail::method::{Method, ServiceDescriptor};
use dovetail::server::{Call, HandlerFuture, Model};
use dovetail::trace::{Recent, Span, SpanKind, TraceContext, Tracing};
use dovetail::{Channel, Code, Context, Running, Server, Service, Status, Wire, descriptor};
use std::time::Duration;

descriptor!(static HOP = "Hop" in "trace.v1" {
    go(1 how: String) -> String;
});

fn go() -> &'static Method {
    &HOP.methods[0]
}

/// Calls the next one, or says which trace it is in.
struct Hop(Option<Channel>);

impl Hop {
    async fn go(&self, context: Context, how: String) -> Result<String, Status> {
        if let Some(next) = &self.0 {
            return next.call(go(), (&how,)).await;
        }
        match how.as_str() {
            "fail" => Err(Status::new(Code::Internal, "as it was told")),
            "refuse" => Err(Status::new(Code::NotFound, "as it was told")),
            "late" => {
                tokio::time::sleep(Duration::from_millis(30)).await;
                Ok(String::new())
            }
            name => {
                let header = context.header(name).map(String::from_utf8_lossy);
                Ok(header.unwrap_or_default().into_owned())
            }
        }
    }
}

impl Service for Hop {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &HOP
    }

    fn call<'a>(&'a self, _: usize, call: Call) -> HandlerFuture<'a> {
        call.unary((String::new(),), |context, (how,)| self.go(context, how))
    }
}

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

fn traceparent(flags: &str) -> String {
    format!("00-{TRACE}-{PARENT}-{flags}")
}

/// Two servers that are traced, and a third that is not.
struct Chain {
    recent: [Recent; 2],
    running: Vec<Running>,
    first: Channel,
}

impl Chain {
    fn new(model: Model, wire: &str, settings: impl Fn(Tracing) -> Tracing) -> Chain {
        let channel = |running: &Running, wire: &str| {
            let address = running.addresses()[0].to_string();
            let builder = Channel::builder(&address).unwrap().timeout(LONG);
            builder.wire(wire.parse().unwrap())
        };
        let recent = [Recent::new(100), Recent::new(100)];
        let tracing = recent.clone().map(|recent| settings(Tracing::new(recent)));
        let [of_first, of_second] = tracing;
        let third = start(model, Server::new().service(Hop(None)));
        let next = channel(&third, "binary+header").intercept(of_second.clone());
        let second = Server::new().service(Hop(Some(next.build())));
        let second = start(model, second.tracing(&of_second));
        let next = channel(&second, "dovetail").intercept(of_first.clone());
        let first = Server::new().service(Hop(Some(next.build())));
        let first = start(model, first.tracing(&of_first));
        Chain {
            recent,
            first: channel(&first, wire).build(),
            running: vec![first, second, third],
        }
    }

    async fn go(&self, headers: &[(&str, &str)], how: &str) -> Result<String, Status> {
        let mut channel = self.first.clone();
        for (name, value) in headers {
            channel = channel.with_header(name, value.as_bytes().to_vec());
        }
        channel.call(go(), (&how.to_owned(),)).await
    }

    /// Waits for so many spans of each server: the last one may be recorded after the answer.
    async fn spans(&self, count: usize) -> [Vec<Span>; 2] {
        let recent = self.recent.clone();
        let all = move || recent.iter().all(|recent| recent.spans().len() >= count);
        until_async("all spans", all).await;
        self.recent.each_ref().map(Recent::spans)
    }

    async fn stop(self) {
        drop(self.first);
        for running in self.running {
            stop(running).await;
        }
    }
}

fn find(spans: &[Span], kind: SpanKind) -> &Span {
    spans.iter().find(|span| span.kind == kind).unwrap()
}

#[tokio::test]
async fn each_call_is_the_child_of_the_one_in_which_it_was_made() {
    for model in MODELS {
        for wire in WIRES.iter().filter(|wire| !lacks(*model, wire)) {
            let what = format!("{model:?} {wire}");
            let chain = Chain::new(*model, wire, |tracing| tracing);
            let headers = [
                ("traceparent", traceparent("01")),
                ("tracestate", "congo=t61rcWkgMzE".to_owned()),
                ("baggage", "colour=blue".to_owned()),
            ];
            let headers = headers
                .each_ref()
                .map(|(name, value)| (*name, value.as_str()));
            let last = chain.go(&headers, "traceparent").await.unwrap();
            let [first, second] = chain.spans(2).await;
            let mut parent = u64::from_str_radix(PARENT, 16).unwrap();
            for (spans, kind, wire) in [
                (&first, SpanKind::Server, *wire),
                (&first, SpanKind::Client, "dovetail"),
                (&second, SpanKind::Server, "dovetail"),
                (&second, SpanKind::Client, "binary+header"),
            ] {
                let span = find(spans, kind);
                assert_eq!(format!("{:032x}", span.context.trace_id()), TRACE, "{what}");
                assert_eq!(span.parent, Some(parent), "{what} {kind:?}");
                assert_eq!(span.name(), "trace.v1.Hop/go", "{what}");
                assert_eq!(span.wire, wire.parse::<Wire>().unwrap(), "{what}");
                assert!(matches!(span.outcome, Outcome::Returned), "{what}");
                assert_eq!(span.peer.is_some(), kind == SpanKind::Server, "{what}");
                parent = span.context.span_id();
            }
            // The last one has no spans of its own, and gets that of its caller.
            let last: TraceContext = last.parse().unwrap();
            assert_eq!(
                (last.span_id(), last.is_sampled()),
                (parent, true),
                "{what}"
            );
            for (name, value) in &headers[1..] {
                assert_eq!(chain.go(&headers, name).await.unwrap(), *value, "{what}");
            }
            chain.stop().await;
        }
    }
}

#[tokio::test]
async fn callers_decide_what_is_sampled_and_failures_are_recorded_anyway() {
    let slow = Duration::from_millis(20);
    let chain = Chain::new(Model::EventLoops(Some(1)), "dovetail", |tracing| {
        tracing.sample(0.0).slow(slow)
    });
    let unsampled = traceparent("00");
    let unsampled = [("traceparent", unsampled.as_str())];
    for headers in [&unsampled[..], &[]] {
        let last = chain.go(headers, "traceparent").await.unwrap();
        let last: TraceContext = last.parse().unwrap();
        assert!(!last.is_sampled());
        assert_eq!(
            format!("{:032x}", last.trace_id()) == TRACE,
            !headers.is_empty()
        );
        // A caller's mistake is no failure of a server, and one of a client.
        assert_eq!(
            chain.go(headers, "refuse").await.unwrap_err().code(),
            Code::NotFound
        );
        assert_eq!(
            chain.go(headers, "fail").await.unwrap_err().code(),
            Code::Internal
        );
        chain.go(headers, "late").await.unwrap();
    }
    for spans in chain.spans(10).await {
        let reported = |span: &Span| (span.kind, span.outcome.code());
        let reported: Vec<_> = spans.iter().map(reported).collect();
        let (client, server) = (SpanKind::Client, SpanKind::Server);
        let round = [
            (client, Some(Code::NotFound)),
            (client, Some(Code::Internal)),
            (server, Some(Code::Internal)),
            (client, None),
            (server, None),
        ];
        assert_eq!(reported, [round, round].concat());
        assert!(spans.iter().all(|span| !span.context.is_sampled()));
        let late = spans.iter().filter(|span| span.outcome.code().is_none());
        assert!(late.clone().all(|span| span.elapsed >= slow));
        assert_eq!(late.count(), 4);
    }
    chain.stop().await;
}

#[tokio::test]
async fn b3_is_read_and_passed_on() {
    let chain = Chain::new(Model::EventLoops(Some(1)), "binary+header", |tracing| {
        tracing
    });
    let b3 = format!("{TRACE}-{PARENT}-1");
    let single = [("b3", b3.as_str())];
    let many = [
        ("x-b3-traceid", TRACE),
        ("x-b3-spanid", PARENT),
        ("x-b3-sampled", "1"),
    ];
    let parent = u64::from_str_radix(PARENT, 16).unwrap();
    for (headers, count) in [(&single[..], 2), (&many[..], 4)] {
        let last = chain.go(headers, "b3").await.unwrap();
        let [first, second] = chain.spans(count).await;
        let server = find(&first[count - 2..], SpanKind::Server);
        assert_eq!(server.parent, Some(parent));
        assert_eq!(format!("{:032x}", server.context.trace_id()), TRACE);
        let client = find(&second[count - 2..], SpanKind::Client);
        match headers.len() {
            1 => assert_eq!(last, format!("{TRACE}-{:016x}-1", client.context.span_id())),
            _ => assert_eq!(last, ""),
        }
    }
    chain.stop().await;
}

#[tokio::test]
async fn attributes_have_the_names_of_opentelemetry() {
    let chain = Chain::new(Model::EventLoops(Some(1)), "grpc", |tracing| tracing);
    let _ = chain.go(&[], "fail").await;
    let [first, second] = chain.spans(2).await;
    let attributes = |span: &Span| {
        let attributes = span.attributes().into_iter();
        let known = attributes.filter(|(name, _)| !name.starts_with("network"));
        known
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>()
    };
    let common = ["rpc.response.status_code=INTERNAL", "error.type=INTERNAL"];
    for (span, of) in [
        (find(&first, SpanKind::Server), ["grpc", "grpc"]),
        (find(&first, SpanKind::Client), ["dovetail", "dovetail"]),
        (find(&second, SpanKind::Client), ["thrift", "binary+header"]),
    ] {
        let own = [
            format!("rpc.system.name={}", of[0]),
            "rpc.method=trace.v1.Hop/go".to_owned(),
            format!("dovetail.wire={}", of[1]),
        ];
        let expected = [own.to_vec(), common.map(str::to_owned).to_vec()].concat();
        assert_eq!(attributes(span), expected);
        assert_eq!(span.parent.is_none(), span.wire == Wire::Grpc);
    }
    let server = find(&first, SpanKind::Server).attributes();
    assert!(server.contains(&("network.peer.address", "127.0.0.1".to_owned())));
    chain.stop().await;
}
