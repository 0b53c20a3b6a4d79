//! Streams in every direction, over every model, blocking and async: items in order, credit, both
//! kinds of end.

use crate::fixture::{LONG, MODELS, address, listen, stock, until};
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture, Model};
use dovetail::stream::{Items, Receiver};
use dovetail::{
    Code, Context, Running, Server, Service, Status, Wire, blocking, descriptor, exceptions,
    message,
};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Enough {
    pub(crate) after: i32,
}

message!(Enough { 1 after: i32, });

impl fmt::Display for Enough {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "enough after {}", self.after)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Failure {
    Enough(Enough),
    Status(Status),
}

exceptions!(Failure { 1 Enough as "enough": Enough, });

descriptor!(pub(crate) static FLOW = "Flow" {
    count(1 to: i32, 2 fails_after: i32) -> String | Failure, stream<i32 | Failure>;
    sum(1 stop_after: i32) -> i64 | Failure, sink<i32 | Failure>;
    echo() -> (), sink<String>, stream<String>;
    blobs(1 size: i32) -> (), stream<dovetail::types::Bytes>;
    forever() -> (), stream<i32>;
    sink() -> (), sink<dovetail::types::Bytes>;
});

pub(crate) const COUNT: usize = 0;
pub(crate) const SUM: usize = 1;
pub(crate) const ECHO: usize = 2;
pub(crate) const BLOBS: usize = 3;
pub(crate) const FOREVER: usize = 4;
pub(crate) const SINK: usize = 5;

/// The record of the handlers.
#[derive(Clone, Default)]
pub(crate) struct Flow(Arc<Seen>);

#[derive(Default)]
struct Seen {
    /// Items that handlers have made.
    made: AtomicUsize,
    /// Handlers that run.
    running: AtomicUsize,
}

/// A handler that runs, as long as this exists.
struct Runs(Arc<Seen>);

impl Runs {
    fn new(seen: &Arc<Seen>) -> Self {
        seen.running.fetch_add(1, Ordering::SeqCst);
        Runs(seen.clone())
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(crate) fn enough(after: i32) -> Failure {
    Failure::Enough(Enough { after })
}

impl Flow {
    pub(crate) fn made(&self) -> usize {
        self.0.made.load(Ordering::SeqCst)
    }

    pub(crate) fn running(&self) -> usize {
        self.0.running.load(Ordering::SeqCst)
    }

    async fn sum(
        &self,
        stop_after: i32,
        mut items: Receiver<i32, Failure>,
    ) -> Result<i64, Failure> {
        let mut sum = 0;
        for number in 0.. {
            if number == stop_after {
                return Err(enough(number));
            }
            match items.next().await {
                Some(item) => sum += i64::from(item?),
                None => break,
            }
        }
        Ok(sum)
    }
}

impl Service for Flow {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &FLOW
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            COUNT => call.stream(
                (0, 0),
                |_: Context, (to, fails_after): (i32, i32)| async move {
                    if to < 0 {
                        return Err(enough(to));
                    }
                    let items = Items::with(move |mut out| async move {
                        for number in 0..to {
                            if number == fails_after {
                                return Err(enough(number));
                            }
                            out.send(number).await;
                        }
                        Ok(())
                    });
                    Ok::<_, Failure>((format!("to {to}"), items))
                },
            ),
            SUM => call.upload((0,), |_: Context, (stop_after,), items| {
                self.sum(stop_after, items)
            }),
            ECHO => call.chat(
                (),
                |_: Context, (), mut items: Receiver<String>| async move {
                    Ok::<_, Status>(Items::<String>::with(|mut out| async move {
                        while let Some(item) = items.next().await {
                            out.send(item?.to_uppercase()).await;
                        }
                        Ok(())
                    }))
                },
            ),
            BLOBS => call.stream((0,), |_: Context, (size,): (i32,)| async move {
                let runs = Runs::new(&self.0);
                Ok::<_, Status>(Items::<dovetail::types::Bytes>::with(
                    move |mut out| async move {
                        loop {
                            runs.0.made.fetch_add(1, Ordering::SeqCst);
                            out.send(vec![7; size as usize].into()).await;
                        }
                    },
                ))
            }),
            FOREVER => call.stream((), |_: Context, ()| async move {
                let runs = Runs::new(&self.0);
                Ok::<_, Status>(Items::<i32>::with(move |_| async move {
                    let _runs = runs;
                    std::future::pending().await
                }))
            }),
            SINK => call.upload(
                (),
                |_: Context, (), mut items: Receiver<dovetail::types::Bytes>| async move {
                    let _runs = Runs::new(&self.0);
                    while let Some(item) = items.next().await {
                        item?;
                    }
                    Ok::<_, Status>(())
                },
            ),
            _ => call.no_such_method(),
        }
    }
}

pub(crate) fn start(flow: &Flow, model: Model) -> Running {
    let server = Server::new().service(flow.clone()).model(model);
    listen(server).start().expect("a server")
}

fn channel(address: &str) -> blocking::Channel {
    let builder = blocking::Channel::builder(address).expect("an address");
    builder.wire(Wire::Dovetail).build()
}

/// Runs this against a server of every model, which must be idle and empty afterwards.
fn with_servers(run: impl Fn(&Flow, &blocking::Channel)) {
    with_servers_of(MODELS, run);
}

fn with_servers_of(models: &[Model], run: impl Fn(&Flow, &blocking::Channel)) {
    for model in models {
        let flow = Flow::default();
        let running = start(&flow, *model);
        let channel = channel(&address(&running));
        run(&flow, &channel);
        until(&format!("{model:?}: the handlers have ended"), || {
            flow.running() == 0
        });
        drop(channel);
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

type Counted = (String, blocking::Receiver<i32, Failure>);

#[test]
fn a_result_then_items_then_the_end() {
    with_servers(|_, channel| {
        for (to, fails_after) in [(0, -1), (1, -1), (100_000, -1), (5, 3), (5, 0)] {
            let params = (&to, &fails_after);
            let opened: Result<Counted, Failure> = channel.stream(&FLOW.methods[COUNT], params);
            let (text, items) = opened.expect("an answer");
            assert_eq!(text, format!("to {to}"));
            let items: Vec<_> = items.collect();
            let (wanted, fails) = match fails_after {
                -1 => (to, None),
                after => (after, Some(Err(enough(after)))),
            };
            let wanted: Vec<_> = (0..wanted).map(Ok).chain(fails).collect();
            assert_eq!(items, wanted);
        }
        let refused: Result<Counted, Failure> = channel.stream(&FLOW.methods[COUNT], (&-4, &-1));
        assert_eq!(refused.expect_err("no answer"), enough(-4));
    });
}

type Sum = (
    blocking::Sender<i32, Failure>,
    blocking::Answer<i64, Failure>,
);

#[test]
fn items_then_the_answer() {
    with_servers(|_, channel| {
        let open = |stop_after: i32| -> Sum {
            let opened = channel.upload(&FLOW.methods[SUM], (&stop_after,));
            opened.expect("a call")
        };
        for count in [0, 1, 100_000] {
            let (mut items, answer) = open(-1);
            for number in 0..count {
                items.send(&number).expect("a handler that listens");
            }
            items.finish();
            let sum = i64::from(count) * i64::from(count - 1) / 2;
            assert_eq!(answer.wait(), Ok(sum));
        }
        // The handler ends the call first.
        let (mut items, answer) = open(3);
        let sent = (0..1_000_000).map_while(|number| items.send(&number).ok());
        assert!(sent.count() < 1_000_000);
        assert_eq!(answer.wait(), Err(enough(3)));
        // The caller ends its stream with an exception, which the handler passes on.
        let (mut items, answer) = open(-1);
        items.send(&1).expect("a handler that listens");
        items.fail(enough(77)).expect("an exception");
        assert_eq!(answer.wait(), Err(enough(77)));
        // A sender that is dropped takes the call with it.
        let (mut items, answer) = open(-1);
        items.send(&1).expect("a handler that listens");
        drop(items);
        match answer.wait() {
            Err(Failure::Status(status)) => assert_eq!(status.code(), Code::Cancelled),
            other => panic!("{other:?}"),
        }
    });
}

type Blobs = blocking::Receiver<dovetail::types::Bytes>;

type Echo = blocking::Upload<String, blocking::Receiver<String>>;

#[test]
fn items_both_ways() {
    with_servers(|_, channel| {
        let opened: Result<Echo, Status> = channel.chat(&FLOW.methods[ECHO], ());
        let (mut words, answer) = opened.expect("a call");
        words
            .send(&"first".to_owned())
            .expect("a handler that listens");
        let mut echoes = answer.wait().expect("an answer");
        assert_eq!(echoes.next(), Some(Ok("FIRST".to_owned())));
        for number in 0..1_000 {
            words
                .send(&format!("w{number}"))
                .expect("a handler that listens");
            assert_eq!(echoes.next(), Some(Ok(format!("W{number}"))));
        }
        words.finish();
        assert_eq!(echoes.next(), None);
    });
}

/// Several streams, each within its credit, are together more than a connection holds: one thread
/// that sends all of it first must not wait for itself.
#[test]
fn items_both_ways_that_are_read_later() {
    const STREAMS: usize = 16;
    const WORDS: usize = 20;
    let word = "w".repeat(10_000);
    with_servers(|_, channel| {
        let open = |_| {
            let opened: Result<Echo, Status> = channel.chat(&FLOW.methods[ECHO], ());
            let (mut words, answer) = opened.expect("a call");
            for _ in 0..WORDS {
                words.send(&word).expect("a handler that listens");
            }
            (words, answer)
        };
        let streams: Vec<Echo> = (0..STREAMS).map(open).collect();
        for (words, answer) in streams {
            words.finish();
            let echoes = answer.wait().expect("an answer");
            assert_eq!(echoes.filter(|echo| echo.is_ok()).count(), WORDS);
        }
    });
}

/// Every window of a stream fills up while its client reads none of them; a further stream of the
/// connection goes on.
#[cfg(feature = "async")]
#[test]
fn streams_that_nobody_reads_do_not_stop_others() {
    const STREAMS: usize = 24;
    const SIZE: i32 = 10_000;
    const WINDOW: usize = 256 << 10;
    let models = [Model::EventLoops(Some(2)), Model::SingleThreaded];
    with_servers_of(&models, |flow, channel| {
        let open = |_| -> Blobs {
            let opened: Result<Blobs, Status> = channel.stream(&FLOW.methods[BLOBS], (&SIZE,));
            opened.expect("an answer")
        };
        let unread: Vec<Blobs> = (0..STREAMS).map(open).collect();
        until("the windows of all streams are full", || {
            // A thread of this channel has to look at what comes.
            let counted: Result<Counted, Failure> =
                channel.stream(&FLOW.methods[COUNT], (&10, &-1));
            let (_, items) = counted.expect("an answer");
            assert_eq!(items.count(), 10);
            flow.made() >= STREAMS * (WINDOW / SIZE as usize)
        });
        drop(unread);
    });
}

/// More than a connection holds is on its way, and nobody reads it any more. A loop hears of it
/// although it has something to send; a pool runs no more calls than it has threads, and a thread
/// that sends hears nothing.
#[cfg(feature = "async")]
#[test]
fn full_streams_that_are_dropped_stop_their_handlers() {
    const STREAMS: usize = 16;
    const SIZE: i32 = 10_000;
    let models = [Model::EventLoops(Some(2)), Model::SingleThreaded];
    with_servers_of(&models, |flow, channel| {
        let open = |_| {
            let opened: Result<Blobs, Status> = channel.stream(&FLOW.methods[BLOBS], (&SIZE,));
            opened.expect("an answer")
        };
        let streams: Vec<Blobs> = (0..STREAMS).map(open).collect();
        let window = 256 * 1024 / SIZE as usize;
        until("the window is full", || flow.made() > window);
        drop(streams);
    });
}

#[test]
fn a_slow_reader_gets_no_more_than_a_window() {
    const SIZE: i32 = 10_000;
    with_servers(|flow, channel| {
        let opened: Result<Blobs, Status> = channel.stream(&FLOW.methods[BLOBS], (&SIZE,));
        let mut blobs = opened.expect("an answer");
        // Another call is not held up, and shows that the stream stands still.
        let sum = || -> Result<i64, Failure> {
            let (items, answer): Sum = channel.upload(&FLOW.methods[SUM], (&-1,)).expect("a call");
            items.finish();
            answer.wait()
        };
        let window = 256 * 1024 / SIZE as usize;
        until("the window is full", || flow.made() > window);
        assert_eq!(sum(), Ok(0));
        // The items that are on their way, one that waits for credit, and one more.
        assert!(flow.made() <= window + 3, "{}", flow.made());
        for _ in 0..200 {
            assert!(blobs.next().is_some_and(|blob| blob.is_ok()));
        }
        assert!(flow.made() <= 2 * window + 203, "{}", flow.made());
        drop(blobs);
    });
}

#[test]
fn a_stream_that_is_dropped_stops_its_handler() {
    with_servers(|flow, channel| {
        type Forever = blocking::Receiver<i32>;
        let open = || -> Result<Forever, Status> { channel.stream(&FLOW.methods[FOREVER], ()) };
        // As many as the smallest model has threads.
        let streams: Vec<_> = (0..2).map(|_| open().expect("an answer")).collect();
        assert_eq!(flow.running(), 2);
        drop(streams);
        until("the handlers have ended", || flow.running() == 0);
    });
}

#[test]
fn a_stream_has_the_time_that_it_was_given() {
    with_servers(|flow, channel| {
        type Forever = blocking::Receiver<i32>;
        let channel = channel.with_timeout(Duration::from_millis(100));
        let opened: Result<Forever, Status> = channel.stream(&FLOW.methods[FOREVER], ());
        let mut stream = opened.expect("an answer");
        match stream.next() {
            Some(Err(status)) => assert_eq!(status.code(), Code::DeadlineExceeded),
            other => panic!("{other:?}"),
        }
        until("the handler has ended", || flow.running() == 0);
    });
}

#[test]
fn a_large_item_fits_a_small_window() {
    with_servers(|_, channel| {
        let size = 3 << 20;
        let opened: Result<Blobs, Status> = channel.stream(&FLOW.methods[BLOBS], (&size,));
        let mut blobs = opened.expect("an answer");
        for _ in 0..3 {
            let blob = blobs.next().expect("an item").expect("a good one");
            assert_eq!(blob.len(), size as usize);
        }
        drop(blobs);
        // The server may be in the middle of the next one, which only the next caller takes off the
        // connection.
        let opened: Result<Counted, Failure> = channel.stream(&FLOW.methods[COUNT], (&1, &-1));
        assert_eq!(opened.expect("an answer").1.count(), 1);
    });
}

#[test]
fn over_thrift_a_stream_is_refused() {
    let running = start(&Flow::default(), MODELS[0]);
    let channel = blocking::Channel::builder(&address(&running))
        .expect("an address")
        .wire(stock())
        .build();
    let opened: Result<Counted, Failure> = channel.stream(&FLOW.methods[COUNT], (&1, &-1));
    match opened {
        Err(Failure::Status(status)) => {
            assert_eq!(status.code(), Code::Unimplemented);
            assert!(status.message().contains("Wire::Dovetail"), "{status}");
        }
        _ => panic!("streams over Thrift"),
    }
    drop(channel);
    assert!(running.shutdown(LONG));
}

#[test]
fn threads_share_a_connection_with_streams() {
    with_servers(|_, channel| {
        thread::scope(|scope| {
            for number in 0..8 {
                scope.spawn(move || {
                    let to = 2_000 + number;
                    let opened: Result<Counted, Failure> =
                        channel.stream(&FLOW.methods[COUNT], (&to, &-1));
                    let (_, items) = opened.expect("an answer");
                    let items: Vec<_> = items.collect();
                    let wanted: Vec<_> = (0..to).map(Ok).collect();
                    assert_eq!(items.len(), wanted.len(), "{:?}", items.last());
                    assert_eq!(items, wanted);
                });
            }
        });
    });
}
