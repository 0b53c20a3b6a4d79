//! Greets whoever calls.

mod contract {
    dovetail::include_contract!("hello");
}
use contract::hello::{Hello, HelloServer};
use dovetail::{Context, Server, Status};

struct Greeter;

impl Hello for Greeter {
    async fn hello(&self, _: Context, name: String) -> Result<String, Status> {
        Ok(format!("Hello, {name}!"))
    }
}

fn main() -> std::io::Result<()> {
    let server = Server::new().service(HelloServer::new(Greeter));
    server.listen("tcp://127.0.0.1:9090")?.start()?.wait();
    Ok(())
}
