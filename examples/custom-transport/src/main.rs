//! Calls over a bad connection, and what becomes of them.
//!
//! ```text
//! cargo run -p example-custom-transport
//! ```

use dovetail::blocking::Channel;
use dovetail::transport::SocketListener;
use dovetail::{Code, Server};
use example_custom_transport::Book;
use example_custom_transport::contract::{AccountBlockingClient, AccountServer};
use example_custom_transport::faults::Faults;
use std::error::Error;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let socket = SocketListener::bind(&"tcp://127.0.0.1:0".parse()?)?;
    let address = socket.local().clone();
    let running = Server::new()
        .service(AccountServer::new(Book::default()))
        .listener(Faults::in_pieces(7).listener(socket))
        .start()?;

    let faults = Faults::in_pieces(1);
    // On a wire without greetings twenty bytes are in the middle of the next call.
    let channel = Channel::through(faults.connector(address));
    let channel = channel.wire("binary+framed".parse()?).build();
    let account = AccountBlockingClient::from(channel);

    let balance = account.deposit(100)?;
    println!("deposit, byte by byte: the balance is {balance}");

    // Nobody can know whether such a call has run, so it is not sent again: its caller decides.
    faults.lose_after(20);
    match account.deposit(50) {
        Err(status) if status.code() == Code::Unavailable => println!("deposit, lost: {status}"),
        other => return Err(format!("expected a lost connection, got {other:?}").into()),
    }
    let balance = account.balance()?;
    println!("balance, on a new connection: {balance}");

    // The contract calls this one idempotent, so the client sends it again by itself.
    faults.lose_after(20);
    let balance = account.balance()?;
    println!("balance, lost and asked again: {balance}");

    running.shutdown(Duration::from_secs(5));
    Ok(())
}
