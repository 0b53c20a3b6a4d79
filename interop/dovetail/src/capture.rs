//! Conversations on Dovetail's own wire, written down for the reference decoder in `interop/wire`.

use crate::connector::{Connector, Kind};
use crate::{Contract, Failure};
use dovetail::method::ServiceDescriptor;
use dovetail::protocol::ConnectionLimits;
use dovetail::server::ServerLimits;
use dovetail::transport::Compression;
use dovetail::{Server, Wire};
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The bytes that passed, a line for each piece, in order.
type Record = Arc<Mutex<String>>;

/// Runs every case of a contract over a relay, and writes one conversation for each to the folder,
/// beside the descriptions of all methods.
pub(crate) fn run(contract: &Contract, folder: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    fs::write(
        folder.join("descriptions.hex"),
        descriptions(contract.services),
    )?;
    // Large messages are to come in several frames.
    let limits = ConnectionLimits {
        frame_bytes: 1 << 20,
        ..ConnectionLimits::default()
    };
    let server = Server::new().limits(ServerLimits {
        connection: limits,
        ..ServerLimits::default()
    });
    let server = match contract.name {
        "uuid" => server.compression(Compression::lz4().at_least(0)),
        _ => server,
    };
    let running = (contract.serve)(server)
        .listen("tcp://127.0.0.1:0")?
        .start()?;
    let behind = running.addresses()[0].to_string();
    let behind = behind.trim_start_matches("tcp://");
    for (name, case) in (contract.cases)() {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let connector = Connector {
            tls: None,
            address: listener.local_addr()?.to_string(),
            wire: Wire::Dovetail,
            multiplexed: contract.services.len() > 1,
            kind: Kind::Blocking,
            limits,
        };
        let records = relay(listener, behind.to_owned());
        match case(&connector) {
            Ok(_) => {}
            Err(Failure::Skip(_)) => continue,
            Err(Failure::Fail(why)) => return Err(format!("{name}: {why}").into()),
        }
        let records = records.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, record) in records.iter().enumerate() {
            let record = record.lock().unwrap_or_else(PoisonError::into_inner);
            fs::write(folder.join(format!("{name}-{number}.txt")), &*record)?;
        }
    }
    Ok(())
}

fn descriptions(services: &[&ServiceDescriptor]) -> String {
    let mut text = String::new();
    for service in services {
        let methods = service
            .iter()
            .filter_map(|(_, method)| method.description());
        methods.for_each(|description| {
            hex(&description, &mut text);
            text.push('\n');
        });
    }
    text
}

fn hex(bytes: &[u8], text: &mut String) {
    for byte in bytes {
        // A string takes everything.
        let _ = write!(text, "{byte:02x}");
    }
}

/// Passes connections on, and records each.
fn relay(listener: TcpListener, behind: String) -> Arc<Mutex<Vec<Record>>> {
    let records = Arc::<Mutex<Vec<Record>>>::default();
    let all = records.clone();
    thread::spawn(move || {
        for front in listener.incoming().flatten() {
            let record = Record::default();
            all.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(record.clone());
            // A connection that fails shows in the case.
            let _ = pass_on(front, &behind, &record);
        }
    });
    records
}

fn pass_on(front: TcpStream, behind: &str, record: &Record) -> io::Result<()> {
    let back = TcpStream::connect(behind)?;
    let ways = [
        (front.try_clone()?, back.try_clone()?, "> "),
        (back, front, "< "),
    ];
    for (from, to, mark) in ways {
        let record = record.clone();
        thread::spawn(move || copy(from, to, mark, &record));
    }
    Ok(())
}

fn copy(mut from: TcpStream, mut to: TcpStream, mark: &str, record: &Record) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        // Before it is sent: what it causes comes behind it.
        let mut text = record.lock().unwrap_or_else(PoisonError::into_inner);
        text.push_str(mark);
        hex(&buffer[..count], &mut text);
        text.push('\n');
        drop(text);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
