//! Streams for async clients, over every wire that has them: items in order, as many as are taken,
//! both kinds of end.

use crate::fixture::{HTTP2, LONG, MODELS, SHARED_MEMORY, address, until};
use crate::streams::{
    BLOBS, COUNT, ECHO, Enough, FLOW, FOREVER, Failure, Flow, SINK, SUM, enough, start,
};
use dovetail::protocol::Codec;
use dovetail::server::Model;
use dovetail::stream::{Receiver, Upload};
use dovetail::{Channel, Code, Status, Wire};
use std::time::Duration;

type Counted = (String, Receiver<i32, Failure>);
type Sum = Upload<i32, i64, Failure, Failure>;
type Echo = Upload<String, Receiver<String>>;
type Blobs = Receiver<dovetail::types::Bytes>;

/// Each wire with the models that have it.
fn wires() -> Vec<(Wire, Model)> {
    let own = MODELS.iter().map(|model| (Wire::Dovetail, *model));
    let has_http2 = |model: &&Model| !matches!(model, Model::ThreadPerConnection);
    let http2 = MODELS.iter().filter(has_http2).flat_map(|model| {
        let wires = http2().into_iter();
        wires.map(|wire| (wire, *model))
    });
    let http2 = http2.filter(|_| !SHARED_MEMORY);
    own.chain(http2).collect()
}

fn channel(address: &str, wire: Wire) -> Channel {
    let builder = Channel::builder(address).expect("an address");
    builder.wire(wire).build()
}

/// Waits until something has become true.
async fn soon(what: &str, condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let waited = tokio::time::timeout(LONG, waiting).await;
    assert!(waited.is_ok(), "never: {what}");
}

/// Runs this over every wire against a server of every model, which must be idle and empty
/// afterwards.
fn with_each(run: impl AsyncFn(&Flow, &Channel, Wire)) {
    with(wires(), run);
}

fn with(wires: Vec<(Wire, Model)>, run: impl AsyncFn(&Flow, &Channel, Wire)) {
    for (wire, model) in wires {
        let flow = Flow::default();
        let running = start(&flow, model);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(async {
            let channel = channel(&address(&running), wire);
            run(&flow, &channel, wire).await;
            soon("the handlers have ended", || flow.running() == 0).await;
            drop(channel);
            let ended = tokio::task::spawn_blocking(|| running.shutdown(LONG)).await;
            assert!(ended.expect("no panic"), "{wire}, {model:?}");
        });
    }
}

/// The wires of clients over HTTP/2.
fn http2() -> Vec<Wire> {
    let wires = HTTP2.iter().map(|name| name.parse());
    wires.collect::<Result<_, _>>().expect("names of wires")
}

/// The wires whose windows say how many items are on their way: not Connect, whose servers compress
/// what repeats itself, nor JSON, in which blobs are longer.
fn windows() -> Vec<(Wire, Model)> {
    let mut wires = wires();
    wires.retain(|(wire, _)| !matches!(wire, Wire::Connect(_) | Wire::GrpcWeb(Codec::Json)));
    wires
}

/// The bytes that a client keeps and nobody takes.
fn window(wire: Wire) -> usize {
    match wire {
        wire if wire.is_http2() => 2 << 20,
        _ => 256 << 10,
    }
}

#[test]
fn all_of_it_without_blocking() {
    const MANY: i32 = 5_000;
    with_each(async |_, channel, _| {
        let opened: Result<Counted, Failure> =
            channel.stream(&FLOW.methods[COUNT], (&MANY, &-1)).await;
        let (text, mut items) = opened.expect("an answer");
        assert_eq!(text, format!("to {MANY}"));
        for number in 0..MANY {
            assert_eq!(items.next().await, Some(Ok(number)));
        }
        assert_eq!(items.next().await, None);

        let opened: Result<Sum, Status> = channel.upload(&FLOW.methods[SUM], (&-1,)).await;
        let (mut numbers, answer) = opened.expect("a call");
        for number in 0..MANY {
            numbers.send(&number).await.expect("a handler that listens");
        }
        numbers.finish();
        let many = i64::from(MANY);
        assert_eq!(answer.await, Ok(many * (many - 1) / 2));

        let opened: Result<Echo, Status> = channel.chat(&FLOW.methods[ECHO], ()).await;
        let (mut words, answer) = opened.expect("a call");
        let mut echoes = answer.await.expect("an answer");
        let reading = tokio::spawn(async move {
            let mut count = 0;
            while let Some(Ok(_)) = echoes.next().await {
                count += 1;
            }
            count
        });
        for number in 0..2_000 {
            let word = format!("word {number}");
            words.send(&word).await.expect("a handler that listens");
        }
        words.finish();
        assert_eq!(reading.await.expect("no panic"), 2_000);
    });
}

#[test]
fn streams_end_as_the_contract_says() {
    with_each(async |_, channel, _| {
        for (to, fails_after) in [(0, -1), (1, -1), (5, 3), (5, 0)] {
            let params = (&to, &fails_after);
            let opened: Result<Counted, Failure> =
                channel.stream(&FLOW.methods[COUNT], params).await;
            let (_, mut items) = opened.expect("an answer");
            let mut all = Vec::new();
            while let Some(item) = items.next().await {
                all.push(item);
            }
            let (wanted, fails) = match fails_after {
                -1 => (to, None),
                after => (after, Some(Err(enough(after)))),
            };
            let wanted: Vec<_> = (0..wanted).map(Ok).chain(fails).collect();
            assert_eq!(all, wanted);
        }
        let refused: Result<Counted, Failure> =
            channel.stream(&FLOW.methods[COUNT], (&-4, &-1)).await;
        assert_eq!(refused.map(drop), Err(enough(-4)));
        // The handler ends the call first.
        let opened: Result<Sum, Status> = channel.upload(&FLOW.methods[SUM], (&3,)).await;
        let (mut numbers, answer) = opened.expect("a call");
        while numbers.send(&1).await.is_ok() {}
        assert_eq!(answer.await, Err(enough(3)));
    });
}

#[test]
fn a_caller_that_fails_ends_the_call() {
    with_each(async |flow, channel, wire| {
        let open = async || -> Sum {
            let opened = channel.upload(&FLOW.methods[SUM], (&-1,)).await;
            opened.expect("a call")
        };
        let cancelled = |answer: Result<i64, Failure>| match answer {
            Err(Failure::Status(status)) => assert_eq!(status.code(), Code::Cancelled),
            other => panic!("{other:?}"),
        };
        let (mut numbers, answer) = open().await;
        numbers.send(&1).await.expect("a handler that listens");
        drop(numbers);
        cancelled(answer.await);
        let (mut numbers, answer) = open().await;
        numbers.send(&1).await.expect("a handler that listens");
        let failed = numbers.fail(Failure::Enough(Enough { after: 77 }));
        match wire {
            wire if wire.is_http2() => {
                // It has no word for that.
                let why = failed.expect_err("no exception");
                assert_eq!(why.code(), Code::Unimplemented);
                cancelled(answer.await);
            }
            _ => {
                failed.expect("an exception");
                assert_eq!(answer.await, Err(enough(77)));
            }
        }
        soon("the handlers have ended", || flow.running() == 0).await;
    });
}

#[test]
fn a_slow_reader_gets_no_more_than_a_window() {
    const SIZE: i32 = 10_000;
    with(windows(), async |flow, channel, wire| {
        let opened: Result<Blobs, Status> = channel.stream(&FLOW.methods[BLOBS], (&SIZE,)).await;
        let mut blobs = opened.expect("an answer");
        let window = window(wire) / SIZE as usize;
        soon("the window is full", || flow.made() > window).await;
        // Another call is not held up, and shows that the stream stands still.
        let opened: Result<Sum, Status> = channel.upload(&FLOW.methods[SUM], (&-1,)).await;
        let (numbers, answer) = opened.expect("a call");
        numbers.finish();
        assert_eq!(answer.await, Ok(0));
        // The items that are on their way, those that wait for credit, and one more.
        assert!(flow.made() <= window + 8, "{}", flow.made());
        for _ in 0..200 {
            assert!(blobs.next().await.is_some_and(|blob| blob.is_ok()));
        }
        assert!(flow.made() <= 2 * window + 205, "{}", flow.made());
    });
}

/// Many streams that nobody reads, each with its window full, hold up no other call of their
/// connection.
#[test]
fn streams_that_nobody_reads_hold_up_no_other_call() {
    const UNREAD: usize = 12;
    const SIZE: usize = 100_000;
    with(windows(), async |flow, channel, wire| {
        let mut unread = Vec::new();
        for streams in 1..=UNREAD {
            let opened: Result<Blobs, Status> = channel
                .stream(&FLOW.methods[BLOBS], (&(SIZE as i32),))
                .await;
            unread.push(opened.expect("an answer"));
            let window = window(wire) / SIZE;
            soon("the windows are full", || flow.made() > streams * window).await;
        }
        let summed = async {
            let opened: Result<Sum, Status> = channel.upload(&FLOW.methods[SUM], (&-1,)).await;
            let (numbers, answer) = opened.expect("a call");
            numbers.finish();
            answer.await
        };
        let summed = tokio::time::timeout(LONG, summed).await;
        assert_eq!(summed.expect("an answer in time"), Ok(0), "{wire}");
        let opened: Result<Blobs, Status> = channel
            .stream(&FLOW.methods[BLOBS], (&(SIZE as i32),))
            .await;
        let mut read = opened.expect("an answer");
        for _ in 0..50 {
            assert!(read.next().await.is_some_and(|blob| blob.is_ok()));
        }
    });
}

#[test]
fn a_handler_that_takes_nothing_is_sent_no_more_than_a_window() {
    with(windows(), async |_, channel, wire| {
        // The echoes that nobody takes keep the handler waiting, too.
        let opened: Result<Echo, Status> = channel.chat(&FLOW.methods[ECHO], ()).await;
        let (mut words, answer) = opened.expect("a call");
        let word = "w".repeat(10_000);
        let mut sent = 0;
        let stalls = Duration::from_millis(50);
        while let Ok(taken) = tokio::time::timeout(stalls, words.send(&word)).await {
            taken.expect("a handler that listens");
            sent += 1;
        }
        let most = 54 + window(wire) / word.len();
        assert!((26..=most).contains(&sent), "{wire}: {sent}");
        let mut echoes = answer.await.expect("an answer");
        words.finish();
        for _ in 0..sent {
            assert!(echoes.next().await.is_some_and(|echo| echo.is_ok()));
        }
        assert_eq!(echoes.next().await, None);
    });
}

#[test]
fn a_stream_that_is_dropped_stops_its_handler() {
    with_each(async |flow, channel, _| {
        let open = async || -> Receiver<i32> {
            let opened: Result<_, Status> = channel.stream(&FLOW.methods[FOREVER], ()).await;
            opened.expect("an answer")
        };
        // As many as the smallest model has threads.
        let streams = (open().await, open().await);
        assert_eq!(flow.running(), 2);
        drop(streams);
        soon("the handlers have ended", || flow.running() == 0).await;
        // A call that is given up before its answer, which does not come.
        let opened: Result<Upload<dovetail::types::Bytes, ()>, Status> =
            channel.upload(&FLOW.methods[SINK], ()).await;
        let (sender, answer) = opened.expect("a call");
        soon("the handler runs", || flow.running() == 1).await;
        drop(answer);
        soon("the handler has ended", || flow.running() == 0).await;
        drop(sender);
    });
}

#[test]
fn a_stream_has_the_time_that_it_was_given() {
    // Threads have no clock: there the blocking clients watch their time.
    let mut wires = wires();
    wires.retain(|(_, model)| !matches!(model, Model::ThreadPerConnection));
    with(wires, async |flow, channel, _| {
        let channel = channel.with_timeout(Duration::from_millis(100));
        let opened: Result<Receiver<i32>, Status> =
            channel.stream(&FLOW.methods[FOREVER], ()).await;
        // On a busy machine it may be over before the answer.
        let ended = match opened {
            Ok(mut stream) => stream.next().await,
            Err(status) => Some(Err(status)),
        };
        match ended {
            Some(Err(status)) => assert_eq!(status.code(), Code::DeadlineExceeded),
            other => panic!("{other:?}"),
        }
        soon("the handler has ended", || flow.running() == 0).await;
    });
}

#[test]
fn a_large_item_fits_a_small_window() {
    with_each(async |_, channel, _| {
        let size = 1 << 20;
        let opened: Result<Blobs, Status> = channel.stream(&FLOW.methods[BLOBS], (&size,)).await;
        let mut blobs = opened.expect("an answer");
        for _ in 0..3 {
            let blob = blobs.next().await.expect("an item").expect("a good one");
            assert_eq!(blob.len(), size as usize);
        }
        drop(blobs);
        let opened: Result<Upload<dovetail::types::Bytes, ()>, Status> =
            channel.upload(&FLOW.methods[SINK], ()).await;
        let (mut sender, answer) = opened.expect("a call");
        for _ in 0..2 {
            let blob = dovetail::types::Bytes::from(vec![7; size as usize]);
            sender.send(&blob).await.expect("a handler that listens");
        }
        sender.finish();
        answer.await.expect("an answer");
    });
}

#[test]
fn the_end_of_a_connection_stops_its_handlers() {
    for (wire, model) in wires() {
        let flow = Flow::default();
        let running = start(&flow, model);
        let address = address(&running);
        let client = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let client = client.expect("a runtime");
        let opened = client.block_on(async {
            let channel = channel(&address, wire);
            let opened: Result<Receiver<i32>, Status> =
                channel.stream(&FLOW.methods[FOREVER], ()).await;
            let upload: Result<Upload<dovetail::types::Bytes, ()>, Status> =
                channel.upload(&FLOW.methods[SINK], ()).await;
            soon("the handlers run", || flow.running() == 2).await;
            (opened.expect("an answer"), upload.expect("a call"))
        });
        // Its sockets go with it.
        client.shutdown_background();
        until("the handlers have ended", || flow.running() == 0);
        drop(opened);
        assert!(running.shutdown(LONG), "{wire}, {model:?}");
    }
}

/// A thousand clients, each with a connection and a stream to which the server pushes.
#[tokio::test]
async fn a_thousand_clients_are_pushed_to() {
    const CLIENTS: usize = 1_000;
    const ITEMS: i32 = 100;
    let running = start(&Flow::default(), Model::EventLoops(Some(2)));
    let address = address(&running);
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..CLIENTS {
        let channel = channel(&address, Wire::Dovetail);
        clients.spawn(async move {
            let opened: Result<Counted, Failure> =
                channel.stream(&FLOW.methods[COUNT], (&ITEMS, &-1)).await;
            let (_, mut items) = opened.expect("an answer");
            for number in 0..ITEMS {
                assert_eq!(items.next().await, Some(Ok(number)));
            }
            assert_eq!(items.next().await, None);
        });
    }
    while let Some(client) = clients.join_next().await {
        client.expect("no panic");
    }
    assert_eq!(running.counters().connections, CLIENTS as u64);
    let ended = tokio::task::spawn_blocking(|| running.shutdown(LONG)).await;
    assert!(ended.expect("no panic"));
}
