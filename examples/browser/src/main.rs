//! A server for a page in a browser:
//!
//! ```text
//! cargo run -p example-browser          # then open examples/browser/page.html
//! ```
//!
//! The page calls it by Connect, by gRPC-Web and by WebSocket, with and without streams, from any
//! origin, and there is no proxy and no library: `fetch` and `WebSocket` are enough.

use dovetail::server::Cors;
use dovetail::stream::{Items, Receiver};
use dovetail::{Server, Status};
use std::error::Error;

/// Counts down.
#[dovetail::service]
trait Launch {
    /// Says hello.
    async fn greet(&self, name: String) -> Result<String, Status>;
    /// The numbers down to zero. From below there is no way down.
    async fn count(&self, from: i32) -> Result<Items<'_, i32>, Status>;
    /// Answers for each part as it is named.
    async fn check(&self, parts: Receiver<String>) -> Result<Items<'_, String>, Status>;
}

struct Pad;

impl Launch for Pad {
    async fn greet(&self, name: String) -> Result<String, Status> {
        Ok(format!("Hello, {name}!"))
    }

    async fn count(&self, from: i32) -> Result<Items<'_, i32>, Status> {
        match from < 0 {
            true => Err(Status::out_of_range("nothing is below zero")),
            false => Ok(Items::iter((0..=from).rev())),
        }
    }

    async fn check(&self, mut parts: Receiver<String>) -> Result<Items<'_, String>, Status> {
        Ok(Items::with(|mut answers| async move {
            while let Some(part) = parts.next().await {
                answers.send(format!("{}: go", part?)).await;
            }
            Ok(())
        }))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1);
    let address = address.unwrap_or_else(|| "tcp://127.0.0.1:9090".to_owned());
    let running = Server::new()
        .service(LaunchServer::new(Pad))
        .cors(Cors::any())
        .listen(&address)?
        .start()?;
    if let Some(address) = running.addresses().first() {
        println!("listening on {address}");
    }
    running.wait();
    Ok(())
}
