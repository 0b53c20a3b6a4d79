//! gRPC by tonic.

use crate::harness::convert::Convert;
use crate::harness::{Client, Failure, Request, Response};
use crate::library::{LARGEST, Library};
use crate::records;
use crate::store::Store;
use proto::bench_client::BenchClient;
use proto::bench_server::{Bench, BenchServer};
use proto::{
    Answer, Blob, BlobRequest, Message, Nothing, Question, Rows, Samples, Students, WorkRequest,
};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tonic::Status;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};
use tower::ServiceBuilder;
use tower::limit::GlobalConcurrencyLimitLayer;

pub(crate) mod proto {
    tonic::include_proto!("bench");
}

/// The window of HTTP/2's flow control: it holds the largest blob.
const WINDOW: u32 = 32 << 20;

/// The frame size of HTTP/2: the default of 16 KiB cuts a blob into many pieces.
const FRAME: u32 = 1 << 20;

/// Calls at a time, where they are limited.
const CALLS: usize = 8;

#[derive(Clone, Copy)]
pub(crate) struct Tonic {
    /// Refuses calls beyond [`CALLS`].
    pub(crate) sheds: bool,
}

impl Library for Tonic {
    type Client = TonicClient;

    async fn serve(self, listener: TcpListener, store: Arc<Store>) -> Result<(), Failure> {
        let service = BenchServer::from_arc(store)
            .max_decoding_message_size(LARGEST)
            .max_encoding_message_size(LARGEST);
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let server = Server::builder()
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .max_frame_size(FRAME);
        match self.sheds {
            true => {
                let limit = ServiceBuilder::new()
                    .load_shed()
                    .layer(GlobalConcurrencyLimitLayer::new(CALLS));
                let mut server = server.layer(limit.into_inner());
                server
                    .add_service(service)
                    .serve_with_incoming(incoming)
                    .await?;
            }
            false => {
                let mut server = server;
                server
                    .add_service(service)
                    .serve_with_incoming(incoming)
                    .await?;
            }
        }
        Ok(())
    }

    async fn connect(&self, server: SocketAddr) -> Result<TonicClient, Failure> {
        let channel = Channel::from_shared(format!("http://{server}"))?
            .tcp_nodelay(true)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .max_frame_size(FRAME)
            .connect()
            .await?;
        let client = BenchClient::new(channel)
            .max_decoding_message_size(LARGEST)
            .max_encoding_message_size(LARGEST);
        Ok(TonicClient(client))
    }
}

#[derive(Clone)]
pub(crate) struct TonicClient(BenchClient<Channel>);

impl Client for TonicClient {
    async fn call(&mut self, request: &Request) -> Result<Response, Failure> {
        let client = &mut self.0;
        Ok(match request {
            &Request::Answer(question) => {
                let answer = client.get_answer(Question { question }).await?;
                Response::Answer(answer.into_inner().answer)
            }
            &Request::Blob(size) => {
                let blob = client.get_blob(BlobRequest { size }).await?;
                Response::Blob(blob.into_inner().blob)
            }
            Request::Structs => {
                let students = client.get_structs(Nothing {}).await?;
                Response::Structs(students.into_inner().students.convert())
            }
            Request::Samples(samples) => {
                let samples = samples.convert();
                let samples = client.echo_samples(Samples { samples }).await?;
                Response::Samples(samples.into_inner().samples.convert())
            }
            &Request::Work { rows, wait_ms } => {
                let rows = client.db_work(WorkRequest { rows, wait_ms }).await?;
                Response::Rows(rows.into_inner().rows.convert())
            }
            Request::Process(message) => {
                let message: Message = message.convert();
                let message = client.process(message).await?;
                Response::Message(message.into_inner().convert())
            }
        })
    }
}

#[tonic::async_trait]
impl Bench for Store {
    async fn get_answer(&self, request: Call<Question>) -> Result<Reply<Answer>, Status> {
        let answer = 41 + request.into_inner().question;
        Ok(Reply::new(Answer { answer }))
    }

    async fn get_blob(&self, request: Call<BlobRequest>) -> Result<Reply<Blob>, Status> {
        let blob = self.blob(request.into_inner().size);
        Ok(Reply::new(Blob { blob }))
    }

    async fn get_structs(&self, _: Call<Nothing>) -> Result<Reply<Students>, Status> {
        let students = self.students.convert();
        Ok(Reply::new(Students { students }))
    }

    async fn echo_samples(&self, request: Call<Samples>) -> Result<Reply<Samples>, Status> {
        let samples: Vec<records::Sample> = request.into_inner().samples.convert();
        let samples = samples.convert();
        Ok(Reply::new(Samples { samples }))
    }

    async fn db_work(&self, request: Call<WorkRequest>) -> Result<Reply<Rows>, Status> {
        let request = request.into_inner();
        let rows = self.rows(request.rows, request.wait_ms).await.convert();
        Ok(Reply::new(Rows { rows }))
    }

    async fn process(&self, request: Call<Message>) -> Result<Reply<Message>, Status> {
        let message: records::Message = request.into_inner().convert();
        Ok(Reply::new((&message).convert()))
    }
}

type Call<T> = tonic::Request<T>;
type Reply<T> = tonic::Response<T>;
