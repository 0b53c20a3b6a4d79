//! gRPC at both ends, with the contract that the gRPC libraries of the suite have: their clients
//! can call this server, and this client their servers.

use super::dovetail::{pause_or_compute, runtime};
use crate::harness::{
    self, Client, Failure, Load, Report, Request, Response, System,
    callers::{self, Runner},
    convert::{Convert, records},
    workload,
};
use crate::records;
use dovetail::server::Model;
use dovetail::types::{Bytes, CompactString};
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
        let rows = (0..100).map(|number| (&workload::row(number)).convert());
        Handler {
            blobs: Mutex::default(),
            students: workload::students().as_slice().convert(),
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
            samples: samples.as_slice().convert(),
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
        Ok((&message).convert())
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
                    samples: samples.convert(),
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
                let request = message.convert();
                Response::Message(bench.process(&request).await?.convert())
            }
        })
    }
}

records!(proto);

impl Convert<CompactString> for &CompactString {
    fn convert(self) -> CompactString {
        self.clone()
    }
}

impl Convert<CompactString> for CompactString {
    fn convert(self) -> CompactString {
        self
    }
}
