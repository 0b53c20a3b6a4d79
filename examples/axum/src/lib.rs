//! A service of Dovetail's in an application of axum.

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use dovetail::stream::{Items, Receiver};
use dovetail::types::Bytes;
use dovetail::{Context, Running, Server, Status};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Greets, and counts.
#[dovetail::service]
pub trait Greeter {
    /// Says hello.
    async fn greet(&self, name: String) -> Result<String, Status>;
    /// Says who calls, as the application knows.
    async fn caller(&self, context: Context) -> Result<String, Status>;
    /// Gives the bytes back.
    async fn echo(&self, bytes: Bytes) -> Result<Bytes, Status>;
    /// The numbers from here on, without an end.
    async fn count(&self, from: i64) -> Result<Items<'_, i64>, Status>;
    /// Answers each word as it comes.
    async fn shout(&self, words: Receiver<String>) -> Result<Items<'_, String>, Status>;
}

/// The handlers.
#[derive(Clone, Default)]
pub struct Hall {
    /// The streams of numbers that are open.
    pub counting: Arc<AtomicUsize>,
}

/// A stream of numbers, counted as long as this exists.
struct Counting(Arc<AtomicUsize>);

impl Drop for Counting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Greeter for Hall {
    async fn greet(&self, name: String) -> Result<String, Status> {
        match name.as_str() {
            "" => Err(Status::invalid_argument("whom?")),
            name => Ok(format!("Hello, {name}!")),
        }
    }

    async fn caller(&self, context: Context) -> Result<String, Status> {
        Ok(context.peer().to_owned())
    }

    async fn echo(&self, bytes: Bytes) -> Result<Bytes, Status> {
        Ok(bytes)
    }

    async fn count(&self, from: i64) -> Result<Items<'_, i64>, Status> {
        self.counting.fetch_add(1, Ordering::Relaxed);
        let counting = Counting(self.counting.clone());
        Ok(Items::with(move |mut numbers| async move {
            let _counting = counting;
            for number in from.. {
                numbers.send(number).await;
            }
            Ok(())
        }))
    }

    async fn shout(&self, mut words: Receiver<String>) -> Result<Items<'_, String>, Status> {
        Ok(Items::with(|mut answers| async move {
            while let Some(word) = words.next().await {
                answers.send(word?.to_uppercase()).await;
            }
            Ok(())
        }))
    }
}

/// Starts the server. It listens nowhere: the application does.
pub fn start(hall: &Hall) -> io::Result<Running> {
    Server::new()
        .service(GreeterServer::new(hall.clone()))
        .start()
}

/// The application: a page of its own, and the server for everything else.
pub fn application(running: &Running) -> Router {
    Router::new()
        .route("/about", get(async || "an application of axum\n"))
        .fallback_service(running.http_service())
        .layer(middleware::from_fn(name_caller))
}

/// Tells the server who calls.
async fn name_caller(
    ConnectInfo(caller): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response {
    request.extensions_mut().insert(caller);
    next.run(request).await
}
