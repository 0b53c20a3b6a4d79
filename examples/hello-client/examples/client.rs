//! Is greeted.

mod contract {
    dovetail::include_contract!("hello");
}
use contract::hello::HelloBlockingClient;
use dovetail::{Status, blocking::Channel};

fn main() -> Result<(), Status> {
    let hello = HelloBlockingClient::from(Channel::connect("tcp://127.0.0.1:9090")?);
    println!("{}", hello.hello("Ada")?);
    Ok(())
}
