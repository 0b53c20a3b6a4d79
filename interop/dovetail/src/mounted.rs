//! Our server behind the HTTP of another one: axum's.

use axum::Router;
use dovetail::Server;
use std::error::Error;
use std::io::Read;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// Serves at this address until the standard input ends.
pub(crate) fn serve(server: Server, address: &str) -> Result<(), Box<dyn Error>> {
    let running = server.start()?;
    let application = Router::new().fallback_service(running.http_service());
    let runtime = Runtime::new()?;
    let listener = runtime.block_on(TcpListener::bind(address))?;
    println!("READY {}", listener.local_addr()?);
    runtime.spawn(async move { axum::serve(listener, application).await });
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
