//! One server, one port: CBOR for those who speak it, every wire of Thrift for everybody else.
//!
//! ```text
//! cargo run -p example-custom-encoding
//! ```

use dovetail::blocking::Channel;
use dovetail::encoding::Encoding;
use dovetail::{Server, Wire};
use example_custom_encoding::Librarian;
use example_custom_encoding::codec::Cbor;
use example_custom_encoding::contract::{FindError, LibraryBlockingClient, LibraryServer, NotHere};
use example_custom_encoding::protocol::{CborProtocol, WIRE};
use example_custom_encoding::walden;
use std::error::Error;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let running = Server::new()
        .service(LibraryServer::new(Librarian::default()))
        .protocol(&CborProtocol)
        .listen("tcp://127.0.0.1:0")?
        .start()?;
    let address = running.addresses()[0].to_string();
    println!("one server on {address}, every wire of Thrift, and one more");

    visit(&address, WIRE)?;
    visit(&address, "binary+framed".parse()?)?;

    let error = NotHere {
        title: "Dune".to_owned(),
        ..Default::default()
    };
    let bytes = Encoding::Custom(&Cbor).to_bytes(&error)?;
    println!("an exception in CBOR: {bytes:02x?}");
    running.shutdown(Duration::from_secs(5));
    Ok(())
}

/// Gives a book, and asks for it and for another.
fn visit(address: &str, wire: Wire) -> Result<(), Box<dyn Error>> {
    let channel = Channel::builder(address)?.wire(wire).build();
    let library = LibraryBlockingClient::from(channel);
    library.give(&walden())?;

    let book = library.find("Walden")?;
    let authors = book.authors.join(", ");
    println!("{wire}: found {} by {authors}", book.title);

    match library.find("Dune") {
        Err(FindError::NotHere(answer)) => println!("{wire}: {}", answer.message),
        other => return Err(format!("expected a declared exception, got {other:?}").into()),
    }
    Ok(())
}
