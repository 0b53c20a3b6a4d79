//! gRPC at both ends, with the contract that the gRPC libraries of the suite have: their clients
//! can call this server, and this client their servers.

use super::dovetail::{pause_or_compute, runtime};
use crate::harness::{
    self, Client, Failure, Load, Report, Request, Response, System,
    callers::{self, Runner},
    workload,
};
use crate::records;
use dovetail::server::Model;
use dovetail::types::Bytes;
use dovetail::{Channel, Context, Server, Status};
use proto::{
    Answer, Bench, BenchClient, BenchServer, Blob, BlobRequest, Message, Nothing, Question, Row,
    Rows, Samples, Student, Students, WorkRequest,
};
use std::collections::HashMap;
use std::sync::Mutex;

#[allow(missing_docs, unreachable_pub)]
mod contract {
    include!(concat!(env!("OUT_DIR"), "/grpc/bench.rs"));
}
use contract::bench as proto;

pub(super) struct Grpc;

impl System for Grpc {
    fn start(&self, address: Option<&str>) -> Result<harness::Server, Failure> {
        let server = Server::new().service(BenchServer::new(Handler::new()));
        let running = server
            .model(Model::EventLoops(None))
            .listen(address.unwrap_or("127.0.0.1:0"))?
            .start()?;
        let place = running.addresses()[0].to_string();
        let place = place.trim_start_matches("tcp://").to_owned();
        Ok(harness::Server::new(place, running))
    }

    fn call(&self, servers: &[String], load: &Load) -> Result<Report, Failure> {
        let runtime = runtime(load)?;
        let clients = load.fan_out(servers, |address| {
            let channel = Channel::builder(address)?.wire("grpc".parse()?);
            Ok(Caller(channel.build().into()))
        })?;
        callers::measure(load, Runner::Tasks(&runtime), clients)
    }
}

/// Keeps what it answers with, as every server of the suite does.
struct Handler {
    blobs: Mutex<HashMap<i32, Bytes>>,
    students: Vec<Student>,
    rows: Vec<Row>,
}

impl Handler {
    fn new() -> Self {
        let rows = (0..100).map(|number| workload::row(number).convert());
        Handler {
            blobs: Mutex::default(),
            students: workload::students().convert(),
            rows: rows.collect(),
        }
    }
}

impl Bench for Handler {
    async fn get_answer(&self, _: Context, request: Question) -> Result<Answer, Status> {
        let answer = 41 + request.question;
        Ok(Answer {
            answer,
            ..Answer::default()
        })
    }

    async fn get_blob(&self, _: Context, request: BlobRequest) -> Result<Blob, Status> {
        let mut blobs = self.blobs.lock().unwrap_or_else(|e| e.into_inner());
        let blob = blobs.entry(request.size);
        let blob = blob.or_insert_with(|| workload::blob(request.size)).clone();
        Ok(Blob {
            blob,
            ..Blob::default()
        })
    }

    async fn get_structs(&self, _: Context, _: Nothing) -> Result<Students, Status> {
        let students = self.students.clone();
        Ok(Students {
            students,
            ..Students::default()
        })
    }

    async fn echo_samples(&self, _: Context, request: Samples) -> Result<Samples, Status> {
        // As the servers of the other libraries do.
        let samples: Vec<records::Sample> = request.samples.convert();
        Ok(Samples {
            samples: samples.convert(),
            ..Samples::default()
        })
    }

    async fn db_work(&self, _: Context, request: WorkRequest) -> Result<Rows, Status> {
        pause_or_compute(request.wait_ms).await;
        let count = usize::try_from(request.rows).unwrap_or(0);
        let rows = self.rows.iter().take(count).cloned().collect();
        Ok(Rows {
            rows,
            ..Rows::default()
        })
    }

    async fn process(&self, _: Context, request: Message) -> Result<Message, Status> {
        let message: records::Message = request.convert();
        Ok(message.convert())
    }
}

#[derive(Clone)]
struct Caller(BenchClient);

impl Client for Caller {
    async fn call(&mut self, request: &Request) -> Result<Response, Failure> {
        let bench = &self.0;
        Ok(match request {
            &Request::Answer(question) => {
                let request = Question {
                    question,
                    ..Question::default()
                };
                Response::Answer(bench.get_answer(&request).await?.answer)
            }
            &Request::Blob(size) => {
                let request = BlobRequest {
                    size,
                    ..BlobRequest::default()
                };
                Response::Blob(bench.get_blob(&request).await?.blob)
            }
            Request::Structs => {
                let students = bench.get_structs(&Nothing::default()).await?.students;
                Response::Structs(students.convert())
            }
            Request::Samples(samples) => {
                let request = Samples {
                    samples: samples.iter().cloned().map(Convert::convert).collect(),
                    ..Samples::default()
                };
                Response::Samples(bench.echo_samples(&request).await?.samples.convert())
            }
            &Request::Work { rows, wait_ms } => {
                let request = WorkRequest {
                    rows,
                    wait_ms,
                    ..WorkRequest::default()
                };
                Response::Rows(bench.db_work(&request).await?.rows.convert())
            }
            Request::Process(message) => {
                let request = message.clone().convert();
                Response::Message(bench.process(&request).await?.convert())
            }
        })
    }
}

/// Makes a record of one contract from that of the other one, which has the same fields, but other
/// types of small numbers, and records that may be missing.
trait Convert<T> {
    fn convert(self) -> T;
}

macro_rules! same {
    ($($value:ty),*) => { $(
        impl Convert<$value> for $value {
            fn convert(self) -> $value {
                self
            }
        }
    )* };
}

same!(bool, i32, i64, f64, Bytes, dovetail::types::CompactString);

macro_rules! small {
    ($($small:ty),*) => { $(
        impl Convert<i32> for $small {
            fn convert(self) -> i32 {
                self.into()
            }
        }

        impl Convert<$small> for i32 {
            fn convert(self) -> $small {
                self as $small
            }
        }
    )* };
}

small!(i8, i16);

impl<A: Convert<B>, B> Convert<Vec<B>> for Vec<A> {
    fn convert(self) -> Vec<B> {
        self.into_iter().map(Convert::convert).collect()
    }
}

macro_rules! records {
    ($($record:ident { $($field:ident)* })*) => { $(
        impl Convert<proto::$record> for records::$record {
            fn convert(self) -> proto::$record {
                proto::$record { $($field: self.$field.convert(),)* ..Default::default() }
            }
        }

        impl Convert<records::$record> for proto::$record {
            fn convert(self) -> records::$record {
                records::$record { $($field: self.$field.convert(),)* ..Default::default() }
            }
        }

        impl Convert<Option<proto::$record>> for records::$record {
            fn convert(self) -> Option<proto::$record> {
                Some(self.convert())
            }
        }

        impl Convert<records::$record> for Option<proto::$record> {
            fn convert(self) -> records::$record {
                self.map(Convert::convert).unwrap_or_default()
            }
        }
    )* };
}

records! {
    Date { year month day }
    Mark { course title grade passed date }
    Semester { number start marks }
    Student { name kind born semesters }
    Nested { small large }
    Sample { small large real nested }
    Row { id name born amount voter street house city state zip }
    Message { id text payload }
}
