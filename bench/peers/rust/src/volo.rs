//! Thrift by volo.

use crate::harness::convert::Convert;
use crate::harness::{Client, Failure, Load, Request, Response};
use crate::library::{LARGEST, Library};
use crate::records;
use crate::store::Store;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use thrift::{Bench, BenchClient, BenchClientBuilder, BenchServer};
use tokio::net::TcpListener;
use volo::net::incoming::DefaultIncoming;
use volo_thrift::ServerError;
use volo_thrift::codec::default::DefaultMakeCodec;
use volo_thrift::codec::default::framed::MakeFramedCodec;
use volo_thrift::codec::default::thrift::MakeThriftCodec;
use volo_thrift::transport::pool;

pub(crate) mod thrift {
    include!(concat!(env!("OUT_DIR"), "/thrift.rs"));
    pub(crate) use self::thrift::bench::*;
}

/// Longer than any run: an idle connection stays.
const IDLE: Duration = Duration::from_secs(3600);

#[derive(Clone, Copy)]
pub(crate) struct Volo {
    /// Several calls at a time over a connection, in servers and in clients.
    pub(crate) multiplex: bool,
}

impl Library for Volo {
    type Client = VoloClient;

    fn check(&self, load: &Load) -> Result<(), Failure> {
        match self.multiplex {
            true => Ok(()),
            false => load.own_connections("without multiplexing a connection has one caller"),
        }
    }

    async fn serve(self, listener: TcpListener, store: Arc<Store>) -> Result<(), Failure> {
        let server = BenchServer::new(Handler(store))
            .make_codec(codec())
            .multiplex(self.multiplex);
        server.run(DefaultIncoming::from(listener)).await?;
        Ok(())
    }

    async fn connect(&self, server: SocketAddr) -> Result<VoloClient, Failure> {
        let client = BenchClientBuilder::new("bench")
            .make_codec(codec())
            .multiplex(self.multiplex)
            .address(server)
            .rpc_timeout(None)
            .pool_config(pool::Config::new(1, IDLE))
            .build();
        // From now on the pool has a connection, and needs no other.
        client.get_answer(1).await?;
        Ok(VoloClient(client))
    }
}

fn codec() -> DefaultMakeCodec<MakeFramedCodec<MakeThriftCodec>> {
    let framed = MakeFramedCodec::new(MakeThriftCodec::new());
    DefaultMakeCodec::new(framed.with_max_frame_size(LARGEST as i32))
}

/// With a pool of its own.
#[derive(Clone)]
pub(crate) struct VoloClient(BenchClient);

impl Client for VoloClient {
    async fn call(&mut self, request: &Request) -> Result<Response, Failure> {
        let client = &self.0;
        Ok(match request {
            &Request::Answer(question) => Response::Answer(client.get_answer(question).await?),
            &Request::Blob(size) => Response::Blob(client.get_blob(size).await?),
            Request::Structs => Response::Structs(client.get_structs().await?.convert()),
            Request::Samples(samples) => {
                let samples = client.echo_samples(samples.convert()).await?;
                Response::Samples(samples.convert())
            }
            &Request::Work { rows, wait_ms } => {
                Response::Rows(client.db_work(rows, wait_ms).await?.convert())
            }
            Request::Process(message) => {
                let message = client.process(message.convert()).await?;
                Response::Message(message.convert())
            }
        })
    }
}

#[derive(Clone)]
struct Handler(Arc<Store>);

impl Bench for Handler {
    async fn get_answer(&self, question: i32) -> Result<i32, ServerError> {
        Ok(41 + question)
    }

    async fn get_blob(&self, size: i32) -> Result<records::Bytes, ServerError> {
        Ok(self.0.blob(size))
    }

    async fn get_structs(&self) -> Result<Vec<thrift::Student>, ServerError> {
        Ok(self.0.students.convert())
    }

    async fn echo_samples(
        &self,
        samples: Vec<thrift::Sample>,
    ) -> Result<Vec<thrift::Sample>, ServerError> {
        let samples: Vec<records::Sample> = samples.convert();
        Ok(samples.convert())
    }

    async fn db_work(&self, rows: i32, wait_ms: i32) -> Result<Vec<thrift::Row>, ServerError> {
        Ok(self.0.rows(rows, wait_ms).await.convert())
    }

    async fn process(&self, message: thrift::Message) -> Result<thrift::Message, ServerError> {
        let message: records::Message = message.convert();
        Ok((&message).convert())
    }
}
