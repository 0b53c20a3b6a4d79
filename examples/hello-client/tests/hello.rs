//! The program as its user runs it, against a server in this process.

use dovetail::{Context, Server, Status};
use std::process::{Command, Output};
use std::time::Duration;

#[allow(dead_code, missing_docs)]
mod contract {
    dovetail::include_contract!("hello");
}

use contract::hello::{Hello, HelloServer};

struct Greeter;

impl Hello for Greeter {
    async fn hello(&self, _: Context, name: String) -> Result<String, Status> {
        Ok(format!("Hello, {name}!"))
    }
}

fn run(arguments: &[&str]) -> std::io::Result<Output> {
    Command::new(env!("CARGO_BIN_EXE_example-hello-client"))
        .args(arguments)
        .output()
}

#[test]
fn it_greets() {
    let server = Server::new()
        .service(HelloServer::new(Greeter))
        .listen("tcp://127.0.0.1:0")
        .unwrap();
    let running = server.start().unwrap();
    let output = run(&["Ada", &running.addresses()[0].to_string()]).unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout, b"Hello, Ada!\n");
    running.shutdown(Duration::from_secs(5));
}

#[test]
fn without_a_server_it_says_what_to_do() {
    // Nobody listens on the port of a server that has ended.
    let server = Server::new().listen("tcp://127.0.0.1:0").unwrap();
    let running = server.start().unwrap();
    let address = running.addresses()[0].to_string();
    running.shutdown(Duration::from_secs(5));

    let output = run(&["Ada", &address]).unwrap();
    assert!(!output.status.success());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("is the server running?"), "{told}");
}
