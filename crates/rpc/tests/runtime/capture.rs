//! Captures of calls: on every wire, in every model.

use crate::fixture::*;
use crate::interceptors::{ORDERS, Orders, PlaceError, WIRES, lacks, start, stop};
use dovetail::admin::Admin;
use dovetail::capture::{CaptureFilter, CaptureSummary, CapturedCall, Reader, capture};
use dovetail::encoding::Encoding;
use dovetail::intercept::Direction;
use dovetail::method::Method;
use dovetail::server::Model;
use dovetail::stream::{Answer, Items, Receiver, Sender};
use dovetail::{Channel, Code, Message, Running, Server, Status, message};
use dovetail_wire::tagged;
use std::io::Cursor;
use std::time::Duration;

fn method(name: &str) -> &'static Method {
    let mut methods = ORDERS.iter();
    methods.find(|(_, known)| known.name == name).unwrap().1
}

fn channel(running: &Running, wire: &str) -> Channel {
    let address = running.addresses()[0].to_string();
    let builder = Channel::builder(&address).unwrap().timeout(LONG);
    builder.wire(wire.parse().unwrap()).build()
}

fn administered(model: Model) -> (Running, Running) {
    let admin = Admin::new();
    let server = Server::new().service(Orders).administered(&admin);
    let shown = Server::new().admin(&admin);
    (
        start(model, server),
        start(Model::EventLoops(Some(1)), shown),
    )
}

/// A capture that a task takes in.
struct Taking(tokio::task::JoinHandle<Vec<u8>>);

impl Taking {
    async fn begin(admin: &Running, wire: &str, filter: &CaptureFilter) -> Result<Self, Status> {
        let mut parts: Receiver<_> = capture(&channel(admin, wire), filter).await?;
        Ok(Taking(tokio::spawn(async move {
            let mut file = Vec::new();
            while let Some(part) = parts.next().await {
                file.extend_from_slice(&part.unwrap());
            }
            file
        })))
    }

    async fn end(self) -> (Vec<CapturedCall>, CaptureSummary) {
        read(self.0.await.unwrap())
    }
}

fn read(file: Vec<u8>) -> (Vec<CapturedCall>, CaptureSummary) {
    let mut reader = Reader::new(Cursor::new(file)).unwrap();
    assert_eq!(reader.header().services[0].name, "Orders");
    let calls = reader.by_ref().map(Result::unwrap).collect();
    let summary = reader.summary().expect("a whole file").clone();
    (calls, summary)
}

async fn place(channel: &Channel, item: &str) -> Result<String, PlaceError> {
    channel.call(method("place"), (&item.to_owned(),)).await
}

/// The call with which a capture is full.
async fn fill(running: &Running) {
    let large = "x".repeat(600_000);
    place(&channel(running, "dovetail"), &large).await.unwrap();
}

/// A filter for captures that [`fill`] ends.
fn half_a_megabyte() -> CaptureFilter {
    CaptureFilter {
        bytes: Some(500_000),
        ..CaptureFilter::default()
    }
}

/// The struct of parameters with one text, and that of an item of numbers.
#[derive(Debug, Default, PartialEq, Message)]
struct Text {
    item: String,
}

#[tokio::test]
async fn calls_are_kept_as_they_were() {
    for model in MODELS {
        let (running, admin) = administered(*model);
        let taking = Taking::begin(&admin, "dovetail", &half_a_megabyte()).await;
        let taking = taking.unwrap();
        let again = Taking::begin(&admin, "grpc", &half_a_megabyte()).await;
        assert_eq!(again.err().unwrap().code(), Code::FailedPrecondition);
        let mut expected = Vec::new();
        let wires = WIRES
            .iter()
            .chain(&["binary", "compact+header", "msgpack-rpc"]);
        let wires: Vec<&str> = wires.filter(|wire| !lacks(*model, wire)).copied().collect();
        for wire in &wires {
            let plain = channel(&running, wire);
            let called = match WIRES.contains(wire) {
                true => plain
                    .with_header("authorization", b"Bearer secret".to_vec())
                    .with_header("colour", b"blue".to_vec()),
                false => plain,
            };
            for (item, code) in [
                ("lamp", "OK"),
                ("sold", "EXCEPTION"),
                ("broken", "FAILED_PRECONDITION"),
            ] {
                _ = place(&called, item).await;
                expected.push((called_over(wire), "place", code, 0));
            }
            if !streams(wire) {
                continue;
            }
            let items: Result<Receiver<i32>, Status> = called.stream(method("count"), (&3,)).await;
            let mut items = items.unwrap();
            while items.next().await.is_some() {}
            expected.push((called_over(wire), "count", "OK", 3));
            let (mut sender, answer): (Sender<i32>, Answer<i64>) =
                called.upload(method("sum"), ()).await.unwrap();
            for number in [40, 2] {
                sender.send(&number).await.unwrap();
            }
            sender.finish();
            let sum: Result<i64, Status> = answer.await;
            assert_eq!(sum, Ok(42));
            expected.push((called_over(wire), "sum", "OK", 2));
        }
        fill(&running).await;
        let (mut calls, summary) = taking.end().await;
        let last = calls.pop().unwrap();
        assert_eq!(last.parameters.len() / 1000, 600);
        assert_eq!(summary.reason, "bytes");
        assert_eq!(summary.calls, calls.len() as i64 + 1);
        assert_eq!(summary.left_out, 0);
        for call in &calls {
            check(call, &format!("{model:?} {}", call.wire));
        }
        let mut found: Vec<_> = calls
            .iter()
            .map(|call| {
                (
                    call.wire.clone(),
                    &*call.method,
                    &*call.code,
                    call.items.len(),
                )
            })
            .collect();
        // A call may end a moment after its answer has arrived.
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{model:?}");
        stop(running).await;
        stop(admin).await;
    }
}

fn called_over(wire: &str) -> String {
    wire.parse::<dovetail::Wire>().unwrap().to_string()
}

fn streams(wire: &str) -> bool {
    ["dovetail", "grpc", "connect"]
        .iter()
        .any(|known| wire.starts_with(known))
}

fn check(call: &CapturedCall, what: &str) {
    assert_eq!(
        (&*call.service, &*call.missing),
        ("shop.v1.Orders", ""),
        "{what}"
    );
    assert!(call.began >= 0 && call.elapsed >= 0, "{what}");
    let header = |name: &str| {
        let mut headers = call.headers.iter();
        headers
            .find(|header| header.name == name)
            .map(|header| &*header.value)
    };
    assert!(
        header("authorization").is_none_or(|value| value == "…".as_bytes()),
        "{what}"
    );
    let has_headers = WIRES.iter().any(|wire| called_over(wire) == call.wire);
    assert_eq!(header("colour").is_some(), has_headers, "{what}");
    if call.method == "place" {
        let text: Text = Encoding::Tagged.from_bytes(&call.parameters).unwrap();
        let codes = [
            ("lamp", "OK"),
            ("sold", "EXCEPTION"),
            ("broken", "FAILED_PRECONDITION"),
        ];
        let code = codes.iter().find(|(item, _)| *item == text.item);
        assert_eq!(code.map(|(_, code)| *code), Some(&*call.code), "{what}");
        assert_eq!(
            call.reply.is_empty(),
            call.code == "FAILED_PRECONDITION",
            "{what}"
        );
        assert_eq!(call.message.is_empty(), !call.reply.is_empty(), "{what}");
    }
    let direction = match &*call.method {
        "count" => Direction::Sent,
        _ => Direction::Received,
    };
    assert!(
        call.items.iter().all(|item| item.direction() == direction),
        "{what}"
    );
    assert!(call.items.is_sorted_by_key(|item| item.at), "{what}");
}

/// A message with a field that nobody may read, and one with a form of its own in protobuf.
#[derive(Clone, Default, PartialEq, Message)]
#[dovetail(debug)]
pub(crate) struct Login {
    user: String,
    #[dovetail(sensitive)]
    password: String,
    #[dovetail(zigzag)]
    zone: i32,
}

#[dovetail::service]
pub(crate) trait Accounts {
    async fn check(
        &self,
        login: Login,
        #[dovetail(sensitive)] pin: Option<i32>,
    ) -> Result<Login, Status>;
    async fn all(&self, login: Login) -> Result<Items<'_, Login>, Status>;
}

pub(crate) struct Answers;

impl Accounts for Answers {
    async fn check(&self, login: Login, pin: Option<i32>) -> Result<Login, Status> {
        assert_eq!(pin, Some(1234));
        Ok(login)
    }

    async fn all(&self, login: Login) -> Result<Items<'_, Login>, Status> {
        Ok(Items::with(move |mut out| async move {
            out.send(login).await;
            Ok(())
        }))
    }
}

/// The struct of the parameters, and with one of them that of results and items.
#[derive(Debug, Default, PartialEq, Message)]
struct Checked {
    login: Login,
    pin: Option<i32>,
}

#[derive(Debug, Default, PartialEq)]
struct Answered {
    login: Login,
}

message!(Answered {
    0 login: Login,
});

#[tokio::test]
async fn sensitive_fields_are_hidden() {
    let login = Login {
        user: "ann".to_owned(),
        password: "secret".to_owned(),
        zone: -5,
    };
    let shown = r#"Login { user: "ann", password: …, zone: -5 }"#;
    assert_eq!(format!("{login:?}"), shown);
    let hidden = Login {
        password: "…".to_owned(),
        ..login.clone()
    };
    let model = Model::EventLoops(Some(1));
    let admin = Admin::new();
    let server = Server::new().service(AccountsServer::new(Answers));
    let running = start(model, server.administered(&admin));
    let admin = start(model, Server::new().admin(&admin));
    let filter = CaptureFilter {
        seconds: Some(2),
        ..CaptureFilter::default()
    };
    let taking = Taking::begin(&admin, "dovetail", &filter).await.unwrap();
    let (mut checks, mut streams_of) = (0, 0);
    for wire in WIRES
        .iter()
        .chain(&["binary", "compact+header", "json", "msgpack-rpc"])
    {
        let accounts = AccountsClient::from(channel(&running, wire));
        let checked = accounts.check(&login, Some(1234)).await;
        assert_eq!(checked.as_ref(), Ok(&login), "{wire}");
        checks += 1;
        if streams(wire) {
            let mut items = accounts.all(&login).await.unwrap();
            assert_eq!(items.next().await.unwrap().as_ref(), Ok(&login), "{wire}");
            assert!(items.next().await.is_none());
            streams_of += 1;
        }
    }
    let file = taking.0.await.unwrap();
    let calls: Vec<CapturedCall> = Reader::new(Cursor::new(file))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let of = |name: &str| calls.iter().filter(|call| call.method == name).count();
    assert_eq!((of("check"), of("all")), (checks, streams_of));
    for call in &calls {
        let wire = &call.wire;
        assert_eq!(call.missing, "", "{wire}");
        let checked: Checked = Encoding::Tagged.from_bytes(&call.parameters).unwrap();
        let expected = Checked {
            login: hidden.clone(),
            pin: None,
        };
        assert_eq!(checked, expected, "{wire}");
        let answers = call.items.iter().map(|item| &item.item);
        for answer in answers.chain([&call.reply].into_iter().filter(|_| call.method == "check")) {
            let answered: Answered = Encoding::Tagged.from_bytes(answer).unwrap();
            assert_eq!(answered.login, hidden, "{wire}");
        }
    }
    stop(running).await;
    stop(admin).await;
}

/// The ends of the calls that a filter keeps, of three of `place` and one of `open`.
async fn kept(filter: &CaptureFilter) -> Vec<String> {
    let (running, admin) = administered(Model::EventLoops(Some(1)));
    let filter = CaptureFilter {
        seconds: Some(1),
        ..filter.clone()
    };
    let taking = Taking::begin(&admin, "dovetail", &filter).await.unwrap();
    let caller = channel(&running, "grpc");
    for item in ["lamp", "sold", "broken"] {
        _ = place(&caller, item).await;
    }
    let open: Result<bool, Status> = caller.call(method("open"), ()).await;
    assert_eq!(open, Ok(true));
    let (calls, summary) = taking.end().await;
    assert_eq!(summary.reason, "time");
    stop(running).await;
    stop(admin).await;
    calls.into_iter().map(|call| call.code).collect()
}

#[tokio::test]
async fn a_filter_chooses() {
    let all = CaptureFilter::default;
    // The filter, and what is kept of three calls of `place` and one of `open`.
    let rows: Vec<(CaptureFilter, &[&str])> = vec![
        (all(), &["OK", "EXCEPTION", "FAILED_PRECONDITION", "OK"]),
        (
            CaptureFilter {
                methods: vec!["shop.v1.Orders/place".into()],
                ..all()
            },
            &["OK", "EXCEPTION", "FAILED_PRECONDITION"],
        ),
        (
            CaptureFilter {
                methods: vec!["shop.v1.Store".into()],
                ..all()
            },
            &[],
        ),
        (
            CaptureFilter {
                codes: vec!["EXCEPTION".into(), "FAILED_PRECONDITION".into()],
                ..all()
            },
            &["EXCEPTION", "FAILED_PRECONDITION"],
        ),
        (
            CaptureFilter {
                slower_than: Some(3_600_000_000),
                ..all()
            },
            &[],
        ),
        (
            CaptureFilter {
                share: Some(0.0),
                ..all()
            },
            &[],
        ),
        (
            CaptureFilter {
                peers: vec!["10.".into()],
                ..all()
            },
            &[],
        ),
        (
            CaptureFilter {
                peers: vec!["127.0.0.1:".into()],
                methods: vec!["Orders/open".into()],
                ..all()
            },
            &["OK"],
        ),
        (
            CaptureFilter {
                principals: vec!["ada".into()],
                ..all()
            },
            &[],
        ),
    ];
    let rows = rows.into_iter().map(|(filter, expected)| {
        tokio::spawn(async move {
            let found = kept(&filter).await;
            assert_eq!(found, expected, "{filter:?}");
        })
    });
    // All of them wait for the same second.
    for row in rows.collect::<Vec<_>>() {
        row.await.unwrap();
    }
    let (running, admin) = administered(Model::EventLoops(Some(1)));
    for wrong in [
        CaptureFilter {
            codes: vec!["BROKEN".into()],
            ..all()
        },
        CaptureFilter {
            share: Some(1.5),
            ..all()
        },
        CaptureFilter {
            seconds: Some(0),
            ..all()
        },
        CaptureFilter {
            bytes: Some(-1),
            ..all()
        },
    ] {
        let refused = Taking::begin(&admin, "grpc", &wrong).await.err().unwrap();
        assert_eq!(refused.code(), Code::InvalidArgument, "{wrong:?}");
    }
    stop(running).await;
    stop(admin).await;
}

/// A call that goes on longer than the capture has its items so far.
#[tokio::test]
async fn a_call_that_goes_on_is_cut() {
    let (running, admin) = administered(Model::EventLoops(Some(1)));
    let taking = Taking::begin(&admin, "dovetail", &half_a_megabyte())
        .await
        .unwrap();
    let caller = channel(&running, "dovetail");
    let items: Result<Receiver<i32>, Status> = caller.stream(method("count"), (&i32::MAX,)).await;
    let mut items = items.unwrap();
    assert_eq!(items.next().await.unwrap(), Ok(0));
    fill(&running).await;
    let (calls, _) = taking.end().await;
    let cut = calls
        .iter()
        .find(|call| call.method == "count")
        .expect("the call");
    assert!(cut.code.is_empty() && !cut.items.is_empty(), "{cut:?}");
    drop(items);
    stop(running).await;
    stop(admin).await;
}

/// An administrator that goes ends the capture, and another one can begin.
#[tokio::test]
async fn a_capture_ends_with_its_reader() {
    let (running, admin) = administered(Model::EventLoops(Some(1)));
    let asked = channel(&admin, "dovetail");
    let parts = capture(&asked, &CaptureFilter::default()).await;
    drop(parts.unwrap());
    let start = std::time::Instant::now();
    while let Err(status) = capture(&asked, &CaptureFilter::default()).await {
        assert_eq!(status.code(), Code::FailedPrecondition);
        assert!(start.elapsed() < LONG);
        tokio::task::yield_now().await;
    }
    stop(running).await;
    stop(admin).await;
}

/// Files that are none, and those that were cut off.
#[tokio::test]
async fn broken_files_are_refused() {
    let (running, admin) = administered(Model::EventLoops(Some(1)));
    let first = CaptureFilter {
        bytes: Some(1),
        ..CaptureFilter::default()
    };
    let taking = Taking::begin(&admin, "dovetail", &first).await.unwrap();
    _ = place(&channel(&running, "grpc"), "lamp").await;
    let file = taking.0.await.unwrap();
    let (calls, _) = read(file.clone());
    for length in 0..file.len() {
        let Ok(mut reader) = Reader::new(&file[..length]) else {
            continue;
        };
        let whole = reader.by_ref().all(|call| call.is_ok());
        assert!(
            whole && (reader.summary().is_none() || length + 16 >= file.len()),
            "{length}"
        );
    }
    for at in 0..file.len() {
        let mut changed = file.clone();
        changed[at] ^= 0x55;
        if let Ok(mut reader) = Reader::new(Cursor::new(changed)) {
            _ = reader.skip_to(0);
            assert!(reader.count() <= calls.len() + 1);
        }
    }
    let huge = tagged::to_bytes(&Text::default()).unwrap();
    assert!(Reader::new(&huge[..]).is_err());
    stop(running).await;
    stop(admin).await;
}

/// Callers, each with its own connection, that call for a while; the calls that each has made.
async fn load(running: &Running, time: Duration) -> Vec<usize> {
    let wires = ["dovetail", "grpc", "binary"].into_iter().cycle().take(12);
    let callers = wires.enumerate().map(|(number, wire)| {
        let caller = channel(running, wire);
        tokio::spawn(async move {
            let begun = std::time::Instant::now();
            let mut calls = 0;
            while begun.elapsed() < time {
                let item = format!("{number} {calls}");
                assert_eq!(place(&caller, &item).await.unwrap(), item);
                calls += 1;
                if calls % 100 == 0 && streams(wire) {
                    let items: Result<Receiver<i32>, Status> =
                        caller.stream(method("count"), (&50,)).await;
                    let mut items = items.unwrap();
                    while items.next().await.is_some() {}
                }
            }
            calls
        })
    });
    let mut calls = Vec::new();
    for caller in callers.collect::<Vec<_>>() {
        calls.push(caller.await.unwrap());
    }
    calls
}

/// `cargo xtask soak --only capture` runs it, in release mode.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes two minutes"]
async fn nothing_is_lost_in_a_minute() {
    const PLAIN: Duration = Duration::from_secs(20);
    const CAPTURED: Duration = Duration::from_secs(60);
    let (running, admin) = administered(Model::EventLoops(Some(2)));
    let plain: usize = load(&running, PLAIN).await.iter().sum();
    let all = CaptureFilter {
        bytes: Some(i64::MAX),
        ..CaptureFilter::default()
    };
    let mut parts = capture(&channel(&admin, "dovetail"), &all).await.unwrap();
    let name = format!("dovetail-{}.capture", std::process::id());
    let path = std::env::temp_dir().join(name);
    let mut file = std::fs::File::create(&path).unwrap();
    let taking = tokio::spawn(async move {
        while let Some(part) = parts.next().await {
            std::io::Write::write_all(&mut file, &part.unwrap()).unwrap();
        }
    });
    let made = load(&running, CAPTURED + Duration::from_secs(1)).await;
    taking.await.unwrap();
    let size = std::fs::metadata(&path).unwrap().len();
    let file = std::io::BufReader::new(std::fs::File::open(&path).unwrap());
    let mut reader = Reader::new(file).unwrap();
    let mut next = vec![0; made.len()];
    let (mut streams, mut plain_bytes) = (0, 0);
    for call in reader.by_ref() {
        let call = call.unwrap();
        assert_eq!((&*call.missing, call.code.len()), ("", 2), "{call:?}");
        plain_bytes += call.parameters.len() + call.reply.len();
        if call.method == "count" {
            // Numbers that take one byte each.
            assert_eq!(call.items.len(), 50);
            assert!(call.items.is_sorted_by(|one, two| one.item < two.item));
            streams += 1;
            continue;
        }
        let text: Text = Encoding::Tagged.from_bytes(&call.parameters).unwrap();
        let (caller, number) = text.item.split_once(' ').unwrap();
        let caller: usize = caller.parse().unwrap();
        assert_eq!(number.parse(), Ok(next[caller]), "the calls of {caller}");
        next[caller] += 1;
    }
    let summary = reader.summary().expect("a whole file");
    assert_eq!((summary.left_out, &*summary.reason), (0, "time"));
    assert_eq!(summary.calls as usize, next.iter().sum::<usize>() + streams);
    assert!(plain_bytes > 0);
    let rate = |calls: usize, time: Duration| calls as f64 / time.as_secs_f64();
    let (plain, kept) = (rate(plain, PLAIN), rate(next.iter().sum(), CAPTURED));
    println!(
        "\ncapture: {} calls of a minute and {streams} streams of 50 items over three wires, none lost, all in order; \
         {plain:.0} calls a second without a capture, {kept:.0} with all of them captured ({:.2}); {} MB",
        summary.calls,
        kept / plain,
        size >> 20
    );
    std::fs::remove_file(&path).unwrap();
    stop(running).await;
    stop(admin).await;
}
