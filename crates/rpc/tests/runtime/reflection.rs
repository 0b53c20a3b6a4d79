//! Servers that describe their contracts, and servers that say wrong things.

use crate::fixture::{LONG, PROBE, Probe, address, listen, stock};
use dovetail::method::ServiceDescriptor;
use dovetail::reflection::{Reflection, describe_services, descriptors, list_services};
use dovetail::server::{Call, HandlerFuture};
use dovetail::stream::{Items, Receiver};
use dovetail::types::Bytes;
use dovetail::{Channel, Code, Context, Server, Service, Status, Wire, descriptor, message};
use dovetail_wire::protobuf;

fn block_on<F: Future>(work: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(work)
}

#[test]
fn services_are_described_on_every_wire() {
    let server = Server::new().reflection(&Reflection::default());
    let running = listen(server.service(Probe::default())).start().unwrap();
    let wires = [
        "compact+header",
        "json+http",
        "msgpack-rpc",
        "grpc",
        "connect",
        "connect+json",
    ];
    let wires = wires.map(|wire| wire.parse().unwrap());
    for wire in wires.into_iter().chain([stock(), Wire::Dovetail]) {
        let builder = Channel::builder(&address(&running)).unwrap();
        let channel = builder.wire(wire).build();
        let services = block_on(describe_services(&channel)).unwrap();
        let names: Vec<&str> = services.iter().map(|known| known.name.as_str()).collect();
        assert_eq!(names, ["ServerReflection", "ServerReflection", PROBE.name]);
        let probe = &services[2];
        assert_eq!(
            (probe.package.as_str(), probe.messages),
            (PROBE.package, false)
        );
        for ((_, method), said) in PROBE.iter().zip(&probe.methods) {
            assert_eq!(said.name, method.name);
            let description = method.description().unwrap_or_default();
            assert_eq!(said.description, description.into_owned());
        }
    }
    assert!(running.shutdown(LONG));
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Asked {
    file: Option<String>,
    symbol: Option<String>,
    list: Option<String>,
}

message!(Asked {
    3 file: Option<String>,
    4 symbol: Option<String>,
    7 list: Option<String>,
});

#[derive(Clone, Debug, Default, PartialEq)]
struct Said {
    files: Option<Files>,
    services: Option<Services>,
    error: Option<Problem>,
}

message!(Said {
    4 files: Option<Files>,
    6 services: Option<Services>,
    7 error: Option<Problem>,
});

#[derive(Clone, Debug, Default, PartialEq)]
struct Files {
    file: Vec<Bytes>,
}

message!(Files { 1 file: Vec<Bytes>, });

#[derive(Clone, Debug, Default, PartialEq)]
struct Services {
    service: Vec<File>,
}

message!(Services { 1 service: Vec<File>, });

#[derive(Clone, Debug, Default, PartialEq)]
struct Problem {
    code: i32,
}

message!(Problem { 1 code: i32, });

/// A file, or the name of a service.
#[derive(Clone, Debug, Default, PartialEq)]
struct File {
    name: String,
    imports: Vec<String>,
    package: String,
}

message!(File {
    1 name: String,
    2 package: String,
    3 imports: Vec<String>,
});

descriptor!(static ALPHA = "ServerReflection" in "grpc.reflection.v1alpha" {
    ServerReflectionInfo() -> (), sink<Asked>, stream<Said> [messages];
});

/// Answers with what a function says of a file.
struct Liar(fn(&str) -> Said);

impl Service for Liar {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &ALPHA
    }

    fn call<'a>(&'a self, _: usize, call: Call) -> HandlerFuture<'a> {
        call.chat(
            (),
            |_: Context, (), mut asked: Receiver<Asked>| async move {
                Ok::<_, Status>(Items::<Said>::with(move |mut out| async move {
                    while let Some(asked) = asked.next().await {
                        let asked = asked?;
                        let name = asked.file.or(asked.symbol);
                        let said = match name {
                            Some(name) => self.0(&name),
                            None => Said {
                                services: Some(Services {
                                    service: vec![File {
                                        name: "a.A".to_owned(),
                                        ..File::default()
                                    }],
                                }),
                                ..Said::default()
                            },
                        };
                        out.send(said).await;
                    }
                    Ok(())
                }))
            },
        )
    }
}

fn files(all: Vec<Bytes>) -> Said {
    Said {
        files: Some(Files { file: all }),
        ..Said::default()
    }
}

fn file(name: &str, imports: &[&str]) -> Bytes {
    let file = File {
        name: name.to_owned(),
        imports: imports.iter().map(|&name| name.to_owned()).collect(),
        package: String::new(),
    };
    protobuf::to_bytes(&file).unwrap().into()
}

fn failed(code: i32) -> Said {
    Said {
        error: Some(Problem { code }),
        ..Said::default()
    }
}

#[test]
fn liars_get_no_further_than_a_limit() {
    type Row = (fn(&str) -> Said, Result<usize, Code>);
    let rows: [Row; 9] = [
        // In a circle.
        (|asked| files(vec![file(asked, &["b.proto", "a.A"])]), Ok(2)),
        // Always another file than the one that is asked for.
        (|_| files(vec![file("x.proto", &["y.proto"])]), Ok(1)),
        // Everything at once, some of it twice.
        (
            |_| files(vec![file("a", &["b"]), file("b", &["a"]), file("a", &[])]),
            Ok(2),
        ),
        // An imported file is missing.
        (
            |asked| match asked {
                "a.A" => files(vec![file("a.proto", &["google/api/http.proto"])]),
                _ => failed(5),
            },
            Ok(1),
        ),
        (|_| failed(5), Err(Code::NotFound)),
        (|_| failed(1_000), Err(Code::Unknown)),
        (|_| Said::default(), Err(Code::Internal)),
        (
            |_| files(vec![Bytes::from_static(b"\x0a")]),
            Err(Code::Internal),
        ),
        // Each file imports very many others.
        (
            |asked| {
                let names: Vec<String> = (0..6_000).map(|at| format!("{asked}{at}")).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                files(vec![file(asked, &names)])
            },
            Err(Code::ResourceExhausted),
        ),
    ];
    for (row, (liar, expected)) in rows.into_iter().enumerate() {
        let running = listen(Server::new().service(Liar(liar))).start().unwrap();
        let builder = Channel::builder(&address(&running)).unwrap();
        let channel = builder.wire(Wire::Grpc).build();
        let asked = block_on(async {
            assert_eq!(list_services(&channel).await.unwrap(), ["a.A"]);
            descriptors(&channel, &["a.A".to_owned()]).await
        });
        let found = asked.map_err(|status| status.code()).map(|bytes| {
            let set: Files = protobuf::from_bytes(&bytes).unwrap();
            set.file.len()
        });
        assert_eq!(found, expected, "row {row}");
        assert!(running.shutdown(LONG));
    }
}
