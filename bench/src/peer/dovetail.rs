//! Dovetail at both ends, on its own wire or one of Thrift's.

use super::contract::bench::{
    Bench, BenchBlockingClient, BenchClient, BenchServer, Message, Row, Sample, Student,
};
use crate::harness::{
    self, Client, Failure, Load, Report, Request, Response, System,
    callers::{self, Runner},
    workload,
};
use dovetail::identity::{Authentication, Authenticator, Credentials, Principal};
use dovetail::intercept::ServerInterceptor;
use dovetail::server::Model;
use dovetail::statistics::Statistics;
use dovetail::throttle::{Quota, Throttle};
use dovetail::trace::Tracing;
use dovetail::transport::Polling;
use dovetail::types::Bytes;
use dovetail::{Channel, Context, Server, Status, blocking};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Clone, Copy)]
pub(super) struct Dovetail {
    pub(super) wire: &'static str,
    pub(super) driver: Driver,
    pub(super) polling: Polling,
    pub(super) medium: Medium,
    pub(super) around: Around,
}

/// The interceptors around the handlers of a server.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Around {
    Nothing,
    /// One that does nothing at each of the levels: server, service and method.
    Levels,
    /// Statistics, and spans that are not recorded.
    Observers,
    /// A throttle that refuses the calls that the server cannot do.
    Overload,
    /// A throttle that refuses those beyond the quota of their caller, which the header `caller`
    /// names.
    Callers,
}

impl Around {
    fn throttles(self) -> bool {
        matches!(self, Around::Overload | Around::Callers)
    }

    fn install(self, server: Server) -> Server {
        let quota = Quota::new().rate(40, Duration::from_secs(1)).burst(4);
        match self {
            Around::Nothing => server,
            Around::Levels => server
                .intercept(Passing)
                .intercept_at("Bench", Passing)
                .intercept_at("Bench/get_answer", Passing),
            Around::Observers => server.statistics(&Statistics::new()).tracing(&unsampled()),
            Around::Overload => server.throttle(Throttle::new().all(Quota::new().adaptive(2, 200))),
            Around::Callers => server
                .authentication(Authentication::new().by(Named))
                .throttle(Throttle::new().each_caller(quota)),
        }
    }
}

/// Lets all calls pass.
struct Passing;

impl ServerInterceptor for Passing {}

/// Traces that nobody records.
fn unsampled() -> Tracing {
    Tracing::new(|_| ()).sample(0.0)
}

/// Believes everybody.
struct Named;

impl Authenticator for Named {
    fn authenticate(&self, shown: &Credentials<'_>) -> Result<Option<Principal>, Status> {
        let name = shown.header("caller").map(String::from_utf8_lossy);
        Ok(name.map(|name| Principal::new(name, "name")))
    }

    fn accepts(&self) -> &str {
        "a header `caller: NAME`"
    }
}

/// The medium between client and server.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Medium {
    Tcp,
    /// TCP, from which the two may move to shared memory.
    Local,
    Unix,
    SharedMemory,
}

/// How both ends spend threads.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Driver {
    /// Event loops; a blocking client.
    Loops,
    /// A thread for each connection; a blocking client.
    Threads,
    /// Event loops; an async client.
    Tasks,
}

impl System for Dovetail {
    fn start(&self, address: Option<&str>) -> Result<harness::Server, Failure> {
        let place = match (address, self.medium) {
            (Some(address), _) => address.to_owned(),
            (None, Medium::Tcp | Medium::Local) => "127.0.0.1:0".to_owned(),
            (None, _) => format!("unix:{}", super::free_socket().display()),
        };
        let server = Server::new().service(BenchServer::new(Handler::new()));
        let running = self
            .around
            .install(server)
            .model(match self.driver {
                _ if self.around.throttles() => Model::ThreadPool(64),
                Driver::Threads => Model::ThreadPerConnection,
                Driver::Loops | Driver::Tasks => Model::EventLoops(None),
            })
            .polling(self.polling)
            .listen(&place)?
            .start()?;
        let place = running.addresses()[0].to_string();
        let place = match self.medium {
            Medium::SharedMemory => place.replace("unix:", "shm:"),
            _ => place.trim_start_matches("tcp://").to_owned(),
        };
        Ok(harness::Server::new(place, running))
    }

    fn call(&self, servers: &[String], load: &Load) -> Result<Report, Failure> {
        if self.driver != Driver::Tasks {
            let address = harness::only(servers)?;
            let clients = load.connect(|| {
                let channel = blocking::Channel::builder(address)?.polling(self.polling);
                let channel = channel.wire(self.wire.parse()?);
                let channel = channel.local_upgrade(self.medium == Medium::Local);
                Ok(Blocking::new(channel.build()))
            })?;
            return callers::measure(load, Runner::Threads, clients);
        }
        let runtime = runtime(load)?;
        let clients = load.fan_out(servers, |address| {
            let channel = Channel::builder(address)?.polling(self.polling);
            let channel = channel.wire(self.wire.parse()?);
            let channel = channel.local_upgrade(self.medium == Medium::Local);
            Ok(Tasks::new(channel.build()))
        })?;
        callers::measure(load, Runner::Tasks(&runtime), clients)
    }
}

/// Makes a runtime for callers that are tasks.
pub(super) fn runtime(load: &Load) -> std::io::Result<tokio::runtime::Runtime> {
    // One core in two is the server's; and a connection is read by one task.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.div_ceil(2).min(load.connections))
        .enable_all()
        .build()
}

/// Keeps what it answers with, as every server of the suite does.
struct Handler {
    blobs: Mutex<HashMap<i32, Bytes>>,
    students: Arc<Vec<Student>>,
    rows: Vec<Row>,
}

impl Handler {
    fn new() -> Self {
        Handler {
            blobs: Mutex::default(),
            students: Arc::new(workload::students()),
            rows: (0..100).map(workload::row).collect(),
        }
    }
}

impl Bench for Handler {
    async fn get_answer(&self, _: Context, question: i32) -> Result<i32, Status> {
        Ok(41 + question)
    }

    async fn get_blob(&self, _: Context, size: i32) -> Result<Bytes, Status> {
        let mut blobs = self.blobs.lock().unwrap_or_else(|e| e.into_inner());
        let blob = blobs.entry(size).or_insert_with(|| workload::blob(size));
        Ok(blob.clone())
    }

    async fn get_structs(&self, _: Context) -> Result<Arc<Vec<Student>>, Status> {
        Ok(self.students.clone())
    }

    async fn echo_samples(&self, _: Context, samples: Vec<Sample>) -> Result<Vec<Sample>, Status> {
        Ok(samples)
    }

    async fn db_work(&self, _: Context, rows: i32, wait_ms: i32) -> Result<Vec<Row>, Status> {
        pause_or_compute(wait_ms).await;
        let count = usize::try_from(rows).unwrap_or(0);
        Ok(self.rows.iter().take(count).cloned().collect())
    }

    async fn process(&self, _: Context, message: Message) -> Result<Message, Status> {
        Ok(message)
    }
}

/// Waits for so many milliseconds, or computes for as many where the number is negative.
pub(super) async fn pause_or_compute(ms: i32) {
    let time = Duration::from_millis(ms.unsigned_abs().into());
    match ms {
        1.. => pause(time).await,
        0 => {}
        ..0 => workload::compute(time),
    }
}

/// Waits as the server's model wants it.
async fn pause(time: Duration) {
    match tokio::runtime::Handle::try_current() {
        Ok(_) => tokio::time::sleep(time).await,
        Err(_) => std::thread::sleep(time),
    }
}

/// Gives a result back to either kind of channel, as it came from there.
macro_rules! recycle {
    ($channel:expr, $response:expr) => {
        match $response {
            Response::Structs(students) => $channel.recycle(Arc::new(students)),
            Response::Samples(samples) => $channel.recycle(samples),
            Response::Rows(rows) => $channel.recycle(rows),
            Response::Message(message) => $channel.recycle(message),
            Response::Answer(_) | Response::Blob(_) | Response::Raw => {}
        }
    };
}

#[derive(Clone)]
struct Blocking {
    channel: blocking::Channel,
    bench: BenchBlockingClient,
}

impl Blocking {
    fn new(channel: blocking::Channel) -> Self {
        let bench = channel.clone().into();
        Blocking { channel, bench }
    }
}

impl Client for Blocking {
    async fn call(&mut self, request: &Request) -> Result<Response, Failure> {
        Ok(match request {
            Request::Answer(question) => Response::Answer(self.bench.get_answer(*question)?),
            Request::Blob(size) => Response::Blob(self.bench.get_blob(*size)?),
            Request::Structs => Response::Structs(Arc::unwrap_or_clone(self.bench.get_structs()?)),
            Request::Samples(samples) => Response::Samples(self.bench.echo_samples(samples)?),
            Request::Work { rows, wait_ms } => Response::Rows(self.bench.db_work(*rows, *wait_ms)?),
            Request::Process(message) => Response::Message(self.bench.process(message)?),
        })
    }

    fn recycle(&mut self, response: Response) {
        recycle!(self.channel, response);
    }
}

#[derive(Clone)]
struct Tasks {
    channel: Channel,
    bench: BenchClient,
}

impl Tasks {
    fn new(channel: Channel) -> Self {
        let bench = channel.clone().into();
        Tasks { channel, bench }
    }
}

impl Client for Tasks {
    async fn call(&mut self, request: &Request) -> Result<Response, Failure> {
        Ok(match request {
            Request::Answer(question) => Response::Answer(self.bench.get_answer(*question).await?),
            Request::Blob(size) => Response::Blob(self.bench.get_blob(*size).await?),
            Request::Structs => {
                Response::Structs(Arc::unwrap_or_clone(self.bench.get_structs().await?))
            }
            Request::Samples(samples) => Response::Samples(self.bench.echo_samples(samples).await?),
            Request::Work { rows, wait_ms } => {
                Response::Rows(self.bench.db_work(*rows, *wait_ms).await?)
            }
            Request::Process(message) => Response::Message(self.bench.process(message).await?),
        })
    }

    fn recycle(&mut self, response: Response) {
        recycle!(self.channel, response);
    }
}

/// The bytes of a call and of its answer on Thrift's wire, binary and framed, as a server of ours
/// gives it.
pub(super) fn conversation(request: &Request) -> Result<(Vec<u8>, Vec<u8>), Failure> {
    use dovetail::transport::{Stream, Wait};
    /// Notes what passes.
    struct Tap {
        stream: Arc<dyn Stream>,
        seen: Arc<Mutex<[Vec<u8>; 2]>>,
    }

    impl Tap {
        fn note(&self, way: usize, bytes: &[u8]) {
            let mut seen = self.seen.lock().unwrap_or_else(|e| e.into_inner());
            seen[way].extend_from_slice(bytes);
        }
    }

    impl Stream for Tap {
        fn recv(&self, buffer: &mut [u8], wait: Wait) -> std::io::Result<usize> {
            let received = self.stream.recv(buffer, wait)?;
            self.note(1, &buffer[..received]);
            Ok(received)
        }

        fn send(&self, bytes: &[u8], wait: Wait) -> std::io::Result<usize> {
            let sent = self.stream.send(bytes, wait)?;
            self.note(0, &bytes[..sent]);
            Ok(sent)
        }

        fn shutdown_recv(&self) {
            self.stream.shutdown_recv();
        }

        fn shutdown_send(&self) {
            self.stream.shutdown_send();
        }

        fn shutdown(&self) {
            self.stream.shutdown();
        }

        fn peer(&self) -> String {
            self.stream.peer()
        }
    }

    struct Tapping {
        connector: dovetail::transport::MemoryConnector,
        seen: Arc<Mutex<[Vec<u8>; 2]>>,
    }

    impl dovetail::transport::Connector for Tapping {
        fn connect(&self, by: std::time::Instant) -> std::io::Result<Arc<dyn Stream>> {
            let (stream, seen) = (self.connector.connect(by)?, self.seen.clone());
            Ok(Arc::new(Tap { stream, seen }))
        }

        fn target(&self) -> String {
            self.connector.target()
        }
    }

    let server = Server::new().service(BenchServer::new(Handler::new()));
    let (server, connector) = server.model(Model::ThreadPerConnection).in_process();
    let running = server.start()?;
    let seen = Arc::<Mutex<[Vec<u8>; 2]>>::default();
    let tapping = Tapping {
        connector,
        seen: seen.clone(),
    };
    let channel = blocking::Channel::through(Arc::new(tapping)).wire("binary+framed".parse()?);
    let channel = channel.build();
    let mut client = Blocking::new(channel);
    futures_executor::block_on(client.call(request))?;
    drop(client);
    running.shutdown(Duration::from_secs(1));
    let mut seen = seen.lock().unwrap_or_else(|e| e.into_inner());
    let [sent, received] = std::mem::take(&mut *seen);
    Ok((sent, received))
}
