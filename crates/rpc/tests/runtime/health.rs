//! Health checks, over several wires.

use crate::fixture::{LONG, PROBE, Probe, Raw, address, listen, stock};
use crate::http::response;
use dovetail::server::Health;
use dovetail::stream::Receiver;
use dovetail::{Channel, Code, Server, Status, Wire, blocking, descriptor, message};

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Asked {
    service: String,
}

message!(Asked { 1 service: String, });

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Said {
    status: i32,
}

message!(Said { 1 status: i32, });

descriptor!(pub(crate) static HEALTH = "Health" in "grpc.health.v1" {
    Check(1 request: Asked) -> Said [messages];
    Watch(1 request: Asked) -> (), stream<Said> [messages];
});

const SERVING: i32 = 1;
const NOT_SERVING: i32 = 2;
const SERVICE_UNKNOWN: i32 = 3;

fn asked(service: &str) -> Asked {
    Asked {
        service: service.to_owned(),
    }
}

/// Probes of load balancers and of Kubernetes ask by GET, and look at the status of HTTP.
#[test]
fn checks_by_get() {
    let health = Health::default();
    let server = Server::new().service(Probe::default()).health(&health);
    let running = listen(server).start().unwrap();
    health.set("other", false);
    let ask = |service: &str| {
        let message = format!("%7B%22service%22%3A%22{service}%22%7D");
        let query = format!("connect=v1&encoding=json&message={message}");
        let path = format!("/grpc.health.v1.Health/Check?{query}");
        let mut raw = Raw::connect(&running);
        raw.send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes());
        response(&mut raw)
    };
    for (service, status, body) in [
        ("", 200, r#"{"status":"SERVING"}"#),
        ("Probe", 200, r#"{"status":"SERVING"}"#),
        (
            "other",
            503,
            r#"{"code":"unavailable","message":"not serving"}"#,
        ),
        (
            "nobody",
            404,
            r#"{"code":"not_found","message":"no service `nobody`"}"#,
        ),
    ] {
        let answer = ask(service);
        assert_eq!((answer.status, answer.text()), (status, body), "{service}");
    }
    health.set("", false);
    assert_eq!(ask("").status, 503);
    assert!(running.shutdown(LONG));
}

#[test]
fn checks_know_the_services_of_their_server() {
    let health = Health::default();
    let server = Server::new().service(Probe::default()).health(&health);
    let running = listen(server).start().unwrap();
    health.set("other", false);
    for wire in [stock(), Wire::Dovetail] {
        let builder = blocking::Channel::builder(&address(&running)).unwrap();
        let channel = builder.wire(wire).build();
        let check = |service: &str| -> Result<i32, Code> {
            let said: Result<Said, Status> = channel.call(&HEALTH.methods[0], (&asked(service),));
            said.map(|said| said.status).map_err(|status| status.code())
        };
        assert_eq!(check(""), Ok(SERVING));
        assert_eq!(check(PROBE.name), Ok(SERVING));
        assert_eq!(check("grpc.health.v1.Health"), Ok(SERVING));
        assert_eq!(check("other"), Ok(NOT_SERVING));
        assert_eq!(
            check("nobody").map_err(|code| code == Code::NotFound),
            Err(true)
        );
    }
    assert!(running.shutdown(LONG));
}

#[test]
fn a_watch_says_what_changes_until_the_server_goes() {
    for wire in ["dovetail", "grpc", "connect"].map(|wire| wire.parse::<Wire>().unwrap()) {
        let health = Health::default();
        let server = Server::new().service(Probe::default()).health(&health);
        let running = server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            let address = running.addresses()[0].to_string();
            let channel = Channel::builder(&address).unwrap().wire(wire).build();
            let watch = async |service: &str| -> Receiver<Said> {
                let opened: Result<_, Status> =
                    channel.stream(&HEALTH.methods[1], (&asked(service),)).await;
                opened.unwrap()
            };
            let next = async |watched: &mut Receiver<Said>| {
                let said = watched.next().await;
                said.map(|said| said.unwrap().status)
            };
            let (mut probe, mut later) = (watch("Probe").await, watch("later").await);
            assert_eq!(next(&mut probe).await, Some(SERVING));
            assert_eq!(next(&mut later).await, Some(SERVICE_UNKNOWN));
            health.set("Probe", false);
            health.set("later", true);
            assert_eq!(next(&mut probe).await, Some(NOT_SERVING));
            assert_eq!(next(&mut later).await, Some(SERVING));
            let down = tokio::task::spawn_blocking(|| running.shutdown(LONG));
            assert_eq!(next(&mut later).await, Some(NOT_SERVING));
            assert_eq!(next(&mut later).await, None);
            assert_eq!(next(&mut probe).await, None);
            drop((probe, later, channel));
            assert!(down.await.unwrap(), "{wire}");
        });
    }
}
