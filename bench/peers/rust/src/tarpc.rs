//! tarpc: the plain records themselves, in bincode.

use crate::harness::{Client, Failure, Request, Response};
use crate::library::{LARGEST, Library};
use crate::records::{Bytes, Message, Row, Sample, Student};
use crate::store::Store;
use futures_util::StreamExt;
use std::net::SocketAddr;
use std::sync::Arc;
use tarpc::client;
use tarpc::context::{self, Context};
use tarpc::serde_transport::tcp;
use tarpc::server::{BaseChannel, Channel};
use tarpc::tokio_serde::formats::Bincode;
use tokio::net::TcpListener;

#[tarpc::service]
trait Bench {
    async fn get_answer(question: i32) -> i32;
    async fn get_blob(size: i32) -> Bytes;
    async fn get_structs() -> Vec<Student>;
    async fn echo_samples(samples: Vec<Sample>) -> Vec<Sample>;
    async fn db_work(rows: i32, wait_ms: i32) -> Vec<Row>;
    async fn process(message: Message) -> Message;
}

#[derive(Clone, Copy)]
pub(crate) struct Tarpc;

impl Library for Tarpc {
    type Client = TarpcClient;

    async fn serve(self, listener: TcpListener, store: Arc<Store>) -> Result<(), Failure> {
        let mut connections = tcp::listen_on(listener, Bincode::default).await?;
        connections.config_mut().max_frame_length(LARGEST);
        while let Some(connection) = connections.next().await {
            let connection = connection?;
            connection.get_ref().set_nodelay(true)?;
            let calls =
                BaseChannel::with_defaults(connection).execute(Handler(store.clone()).serve());
            tokio::spawn(calls.for_each(|call| async {
                tokio::spawn(call);
            }));
        }
        Ok(())
    }

    async fn connect(&self, server: SocketAddr) -> Result<TarpcClient, Failure> {
        let mut connection = tcp::connect(server, Bincode::default);
        connection.config_mut().max_frame_length(LARGEST);
        let connection = connection.await?;
        connection.get_ref().set_nodelay(true)?;
        Ok(TarpcClient(
            BenchClient::new(client::Config::default(), connection).spawn(),
        ))
    }
}

#[derive(Clone)]
pub(crate) struct TarpcClient(BenchClient);

impl Client for TarpcClient {
    async fn call(&mut self, request: &Request) -> Result<Response, Failure> {
        let (client, context) = (&self.0, context::current());
        Ok(match request {
            &Request::Answer(question) => {
                Response::Answer(client.get_answer(context, question).await?)
            }
            &Request::Blob(size) => Response::Blob(client.get_blob(context, size).await?),
            Request::Structs => Response::Structs(client.get_structs(context).await?),
            Request::Samples(samples) => {
                Response::Samples(client.echo_samples(context, samples.clone()).await?)
            }
            &Request::Work { rows, wait_ms } => {
                Response::Rows(client.db_work(context, rows, wait_ms).await?)
            }
            Request::Process(message) => {
                Response::Message(client.process(context, message.clone()).await?)
            }
        })
    }
}

#[derive(Clone)]
struct Handler(Arc<Store>);

impl Bench for Handler {
    async fn get_answer(self, _: Context, question: i32) -> i32 {
        41 + question
    }

    async fn get_blob(self, _: Context, size: i32) -> Bytes {
        self.0.blob(size)
    }

    async fn get_structs(self, _: Context) -> Vec<Student> {
        self.0.students.clone()
    }

    async fn echo_samples(self, _: Context, samples: Vec<Sample>) -> Vec<Sample> {
        samples
    }

    async fn db_work(self, _: Context, rows: i32, wait_ms: i32) -> Vec<Row> {
        self.0.rows(rows, wait_ms).await.to_vec()
    }

    async fn process(self, _: Context, message: Message) -> Message {
        message
    }
}
