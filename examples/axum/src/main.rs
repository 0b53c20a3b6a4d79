//! gRPC, Connect and JSON beside the pages of an application of axum, on one port:
//!
//! ```text
//! cargo run -p example-axum
//! curl http://127.0.0.1:3000/about
//! curl http://127.0.0.1:3000/Greeter/greet -H 'Content-Type: application/json' -d '{"name":"Ada"}'
//! ```

use example_axum::{Hall, application, start};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1);
    let address = address.unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let running = start(&Hall::default())?;
    let application = application(&running);
    let listener = TcpListener::bind(&address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let served = application.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, served).await?;
    running.shutdown(Duration::from_secs(10));
    Ok(())
}
