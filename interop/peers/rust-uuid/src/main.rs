//! The Rust peer for uuid.thrift: Apache Thrift 0.25 has uuid, and the compiler that we have does
//! not, so the stubs are written by hand.

mod stubs;

use std::fs;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::exit;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use thrift::protocol::{
    TBinaryInputProtocol, TBinaryInputProtocolFactory, TBinaryOutputProtocol, TBinaryOutputProtocolFactory,
    TCompactInputProtocol, TCompactInputProtocolFactory, TCompactOutputProtocol,
    TCompactOutputProtocolFactory, TInputProtocol, TInputProtocolFactory, TMessageIdentifier, TMessageType,
    TMultiplexedOutputProtocol, TOutputProtocol, TOutputProtocolFactory,
};
use thrift::server::{TMultiplexedProcessor, TProcessor, TServer};
use thrift::transport::{
    TBufferedReadTransport, TBufferedReadTransportFactory, TBufferedWriteTransport,
    TBufferedWriteTransportFactory, TFramedReadTransport, TFramedReadTransportFactory, TFramedWriteTransport,
    TFramedWriteTransportFactory, TIoChannel, TReadTransport, TReadTransportFactory, TTcpChannel,
    TWriteTransport, TWriteTransportFactory,
};

use stubs::{example, known, Processor, Uuids, Value};

#[derive(Clone, Default)]
struct Options {
    protocol: String,
    transport: String,
    address: String,
    only: Option<String>,
    multiplexed: bool,
}

fn fail(message: &str) -> ! {
    eprintln!("{message}");
    exit(2);
}

fn options(mut args: impl Iterator<Item = String>) -> Options {
    let mut out = Options {
        protocol: "binary".into(),
        transport: "buffered".into(),
        address: "127.0.0.1:0".into(),
        ..Options::default()
    };
    while let Some(flag) = args.next() {
        if flag == "--multiplexed" {
            out.multiplexed = true;
            continue;
        }
        let Some(value) = args.next() else {
            fail(&format!("{flag} needs a value"))
        };
        match flag.as_str() {
            "--protocol" => out.protocol = value,
            "--transport" => out.transport = value,
            "--address" => out.address = value,
            "--case" => out.only = Some(value),
            _ => fail(&format!("no such flag: {flag}")),
        }
    }
    if !["binary", "compact"].contains(&out.protocol.as_str()) {
        fail(&format!("no such protocol: {}", out.protocol));
    }
    if !["buffered", "framed"].contains(&out.transport.as_str()) {
        fail(&format!("no such transport: {}", out.transport));
    }
    out
}

fn capabilities() {
    let mut lines = Vec::new();
    for transport in ["buffered", "framed"] {
        for protocol in ["binary", "compact"] {
            for multiplexed in [false, true] {
                lines.push(format!(
                    r#" {{"protocol": "{protocol}", "transport": "{transport}", "multiplexed": {multiplexed}, "roles": ["client", "server"], "unix": true}}"#
                ));
            }
        }
    }
    println!("[\n{}\n]", lines.join(",\n"));
}

fn serve(options: &Options) -> thrift::Result<()> {
    std::thread::spawn(|| {
        let mut buffer = [0; 4096];
        while matches!(std::io::stdin().read(&mut buffer), Ok(count) if count > 0) {}
        exit(0);
    });
    if options.multiplexed {
        let mut multi = TMultiplexedProcessor::new();
        multi.register("UuidService", Box::new(Processor), false)?;
        return listen(options, multi);
    }
    listen(options, Processor)
}

fn listen<P: TProcessor + Send + Sync + 'static>(options: &Options, processor: P) -> thrift::Result<()> {
    let framed = options.transport == "framed";
    let read: Box<dyn TReadTransportFactory> = match framed {
        true => Box::new(TFramedReadTransportFactory::new()),
        false => Box::new(TBufferedReadTransportFactory::new()),
    };
    let write: Box<dyn TWriteTransportFactory> = match framed {
        true => Box::new(TFramedWriteTransportFactory::new()),
        false => Box::new(TBufferedWriteTransportFactory::new()),
    };
    let compact = options.protocol == "compact";
    let input: Box<dyn TInputProtocolFactory> = match compact {
        true => Box::new(TCompactInputProtocolFactory::new()),
        false => Box::new(TBinaryInputProtocolFactory::new()),
    };
    let output: Box<dyn TOutputProtocolFactory> = match compact {
        true => Box::new(TCompactOutputProtocolFactory::new()),
        false => Box::new(TBinaryOutputProtocolFactory::new()),
    };
    let mut server = TServer::new(read, input, write, output, processor, 32);
    let wait = || std::thread::sleep(Duration::from_millis(5));
    if let Some(path) = options.address.strip_prefix("unix:").map(str::to_owned) {
        let knocked = path.clone();
        std::thread::spawn(move || {
            while UnixStream::connect(&knocked).is_err() {
                wait();
            }
            println!("READY unix:{knocked}");
        });
        return server.listen_uds(path);
    }
    // The server binds by itself and tells no port: find a free one, let go, and knock until it is
    // open.
    let address = TcpListener::bind(&options.address)?.local_addr()?;
    std::thread::spawn(move || {
        while TcpStream::connect(address).is_err() {
            wait();
        }
        println!("READY {address}");
    });
    server.listen(address)
}

fn call(options: &Options, method: &str, args: &Value) -> thrift::Result<Value> {
    let (read, write) = match options.address.strip_prefix("unix:") {
        Some(path) => transports(options, UnixStream::connect(path)?)?,
        None => transports(
            options,
            TTcpChannel::with_stream(TcpStream::connect(&options.address)?),
        )?,
    };
    let (mut input, mut output): (Box<dyn TInputProtocol>, Box<dyn TOutputProtocol>) =
        match options.protocol.as_str() {
            "compact" => (
                Box::new(TCompactInputProtocol::new(read)),
                Box::new(TCompactOutputProtocol::new(write)),
            ),
            _ => (
                Box::new(TBinaryInputProtocol::new(read, true)),
                Box::new(TBinaryOutputProtocol::new(write, true)),
            ),
        };
    if options.multiplexed {
        output = Box::new(TMultiplexedOutputProtocol::new("UuidService", output));
    }
    output.write_message_begin(&TMessageIdentifier::new(method, TMessageType::Call, 7))?;
    args.write(1, &mut *output)?;
    output.write_message_end()?;
    output.flush()?;
    let reply = input.read_message_begin()?;
    if reply.message_type == TMessageType::Exception {
        return Err(thrift::Error::read_application_error_from_in_protocol(&mut *input)?.into());
    }
    let value = Value::read(&mut *input)?;
    input.read_message_end()?;
    Ok(value)
}

type Transports = (Box<dyn TReadTransport>, Box<dyn TWriteTransport>);

fn transports<C: TIoChannel + 'static>(options: &Options, channel: C) -> thrift::Result<Transports> {
    let (read, write) = channel.split()?;
    if options.transport == "framed" {
        return Ok((
            Box::new(TFramedReadTransport::new(read)),
            Box::new(TFramedWriteTransport::new(write)),
        ));
    }
    Ok((
        Box::new(TBufferedReadTransport::new(read)),
        Box::new(TBufferedWriteTransport::new(write)),
    ))
}

fn run_client(options: &Options) -> i32 {
    let echoes = |values: Vec<Value>| values.into_iter().map(|value| (value.clone(), value)).collect();
    let cases: [(&str, &str, Vec<(Value, Value)>); 4] = [
        (
            "echo_uuid",
            "echo_uuid",
            echoes(known().into_iter().map(Value::One).collect()),
        ),
        ("echo_uuids", "echo_uuids", echoes(vec![Value::Struct(example())])),
        (
            "echo_uuids_empty",
            "echo_uuids",
            echoes(vec![Value::Struct(Uuids::default())]),
        ),
        (
            "known_uuids",
            "known_uuids",
            vec![(Value::Nothing, Value::Many(known()))],
        ),
    ];
    let mut code = 0;
    for (name, method, calls) in cases {
        if options.only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        let failure = calls
            .iter()
            .find_map(|(args, want)| match call(options, method, args) {
                Ok(got) if got == *want => None,
                Ok(got) => Some(format!("got {got:?}, want {want:?}")),
                Err(error) => Some(format!("{error:?}")),
            });
        code = if failure.is_some() { 1 } else { code };
        let result = if failure.is_some() { "fail" } else { "ok" };
        let detail = failure.unwrap_or_default().replace(['"', '\\'], "'");
        println!(r#"{{"case": "{name}", "result": "{result}", "detail": "{detail}"}}"#);
    }
    code
}

#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes the example of uuid.json, bare, in each protocol.
fn golden(directory: &Path) -> thrift::Result<()> {
    for protocol in ["binary", "compact"] {
        let memory = Memory::default();
        let mut out: Box<dyn TOutputProtocol> = match protocol {
            "compact" => Box::new(TCompactOutputProtocol::new(memory.clone())),
            _ => Box::new(TBinaryOutputProtocol::new(memory.clone(), true)),
        };
        example().write(&mut *out)?;
        let hex: String = memory
            .0
            .lock()
            .unwrap()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let folder = directory.join("rust-uuid").join(protocol);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("uuids.hex"), hex + "\n")?;
    }
    Ok(())
}

fn main() {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("capabilities") => capabilities(),
        Some("golden") => {
            let Some(directory) = args.next() else {
                fail("golden needs a directory")
            };
            if let Err(error) = golden(Path::new(&directory)) {
                fail(&format!("{error:?}"));
            }
        }
        Some("server") => {
            if let Err(error) = serve(&options(args)) {
                fail(&format!("{error:?}"));
            }
        }
        Some("client") => exit(run_client(&options(args))),
        _ => fail("usage: rust-uuid-peer server|client|capabilities|golden ..."),
    }
}
