//! The smallest client: one blocking call to the server at `127.0.0.1:9090`, or at the address
//! given.
//!
//! ```text
//! cargo run -p example-hello-client -- Ada tcp://127.0.0.1:9090
//! ```
//!
//! No async runtime comes with it: `cargo tree -p example-hello-client -e normal` shows the few
//! crates that do. Any Thrift server that speaks framed binary can answer, and
//! `dovetail serve hello.thrift` does.

use dovetail::blocking::Channel;
use std::error::Error;

// The server's half of the contract is generated too, and not used here.
#[allow(dead_code, missing_docs, unreachable_pub)]
mod contract {
    dovetail::include_contract!("hello");
}

use contract::hello::HelloBlockingClient;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "world".to_owned());
    let address = arguments.next();
    let address = address.as_deref().unwrap_or("tcp://127.0.0.1:9090");

    let client = HelloBlockingClient::from(Channel::connect(address)?);
    println!("{}", client.hello(&name)?);
    Ok(())
}
