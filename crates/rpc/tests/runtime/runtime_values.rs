//! Values of a configuration that administrators set while the program runs.

use crate::admin::{call, try_call};
use crate::fixture::{LONG, Raw, tcp_place, until};
use crate::http::response;
use crate::interceptors::{Orders, start};
use dovetail::admin::Admin;
use dovetail::config::{Config, Reloaded};
use dovetail::server::Model;
use dovetail::{Code, Running, Server, Status, blocking};
use serde_json::json;
use std::path::PathBuf;

const FILE: &str = r#"
[server]
listen = ["tcp://127.0.0.1:0"]

[access-log] # of all calls
file = "access.log"

[quotas.orders]
place = "shop.v1.Orders/open"
rate = "1000/s"

[permissions]
anyone = ["shop.v1.Orders"]
"#;

/// A server and its administration, from a file.
struct Shop {
    folder: PathBuf,
    config: Config,
    running: Running,
    console: Running,
}

impl Shop {
    fn start() -> Shop {
        Self::of("values", FILE)
    }

    /// Starts them from a file of this text.
    fn of(name: &str, text: &str) -> Shop {
        let name = format!("dovetail-runtime-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("shop.toml"), text).unwrap();
        let config = Config::load(folder.join("shop.toml")).unwrap();
        let admin = Admin::new().with_config(&config);
        let server = Server::from_config(&config).unwrap().service(Orders);
        let running = server.administered(&admin).start().unwrap();
        let console = start(Model::EventLoops(Some(1)), Server::new().admin(&admin));
        Shop {
            folder,
            config,
            running,
            console,
        }
    }

    /// Sets a key, or takes the value back. Returns the status and the text of the answer.
    fn set(&self, key: &str, value: Option<&str>) -> (u16, String) {
        let parameters = json!({ "key": key, "value": value }).to_string();
        try_call(&self.console, "set", &parameters)
    }

    fn open(&self) -> Result<bool, Status> {
        let address = self.running.addresses()[0].to_string();
        let builder = blocking::Channel::builder(&address).unwrap();
        let channel = builder.timeout(LONG).pushbacks(0).build();
        channel.call(crate::identity::method("open"), ())
    }

    fn lines(&self) -> usize {
        let log = std::fs::read_to_string(self.folder.join("access.log"));
        log.unwrap_or_default().lines().count()
    }

    fn shown(&self) -> String {
        let shown = call(tcp_place(&self.console), "configuration", "{}");
        shown.as_str().unwrap().to_owned()
    }
}

#[test]
fn administrators_set_keys() {
    let shop = Shop::start();
    assert_eq!(shop.open(), Ok(true));
    until("the line", || shop.lines() == 1);
    // A key, its value, the status, and a part of the answer.
    let rows = [
        (
            "quotas.orders",
            Some("1"),
            400,
            "`quotas.orders` is a table",
        ),
        ("access-log.percent", Some("0"), 200, "access-log.percent"),
        // A value that TOML does not know is a text.
        ("quotas.orders.rate", Some("1/h"), 200, "quotas.orders.rate"),
        ("quotas.orders.burst", Some("1"), 200, "quotas.orders.burst"),
        (
            "quotas.all.in-flight",
            Some("9"),
            200,
            "quotas.all.in-flight",
        ),
        (
            "quotas.orders.burst",
            Some("many"),
            400,
            "`burst` is a number",
        ),
        (
            "quotas.orders.brust",
            Some("1"),
            400,
            "did you mean `burst`?",
        ),
        (
            "quotas.orders.burst.more",
            Some("1"),
            400,
            "take its value back first",
        ),
        (
            "quotas.orders.place.more",
            Some("1"),
            400,
            "`place` is a text",
        ),
        ("quotas..burst", Some("1"), 400, "is no key"),
        ("", Some("1"), 400, "is no key"),
        ("a.b.c.d.e.f.g.h.i", Some("1"), 400, "too many names"),
        ("server.threads", Some("7"), 400, "counts after a restart"),
        (
            "quotas.orders.place",
            None,
            400,
            "no value of `quotas.orders.place`",
        ),
        (
            "permissions.roles.clerk",
            Some("['*']"),
            400,
            "who may do what",
        ),
        (
            "'permissions'.anyone",
            Some("['*']"),
            400,
            "who may do what",
        ),
        (
            "authentication.optional",
            Some("true"),
            400,
            "who may do what",
        ),
    ];
    let long = vec!["a"; 100_000].join(".");
    let long = [(long.as_str(), Some("1"), 400, "is no key")];
    for (key, value, status, text) in rows.into_iter().chain(long) {
        let (found, answer) = shop.set(key, value);
        assert_eq!(found, status, "{key} {answer}");
        assert!(answer.contains(text), "{key} {answer}");
    }
    assert_eq!(shop.open(), Ok(true));
    let refused = shop.open().unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    let shown = shop.shown();
    for line in [
        "rate = \"1/h\" # set at runtime by \"nobody\"",
        "burst = 1 # set at runtime by \"nobody\"",
        "percent = 0 # set at runtime by \"nobody\"",
        "file = \"access.log\"",
        "in-flight = 9 # set at runtime by \"nobody\"",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
    // They stay through a reload, also where the file has another value now.
    let file = FILE.replace("1000/s", "2000/s");
    std::fs::write(shop.folder.join("shop.toml"), file).unwrap();
    assert_eq!(shop.config.reload().unwrap(), Reloaded::default());
    assert!(shop.open().is_err());
    // Failed calls are always written.
    until("the lines", || shop.lines() == 3);
    for key in [
        "quotas.orders.rate",
        "quotas.orders.burst",
        "access-log.percent",
    ] {
        assert_eq!(shop.set(key, None).0, 200, "{key}");
    }
    assert_eq!(shop.open(), Ok(true));
    until("the line", || shop.lines() == 4);
    let shown = shop.shown();
    assert!(shown.contains("rate = \"2000/s\"\n"), "{shown}");
    assert!(shop.running.shutdown(LONG));
    assert!(shop.console.shutdown(LONG));
    let _ = std::fs::remove_dir_all(&shop.folder);
}

/// A connection over which a call has been made.
fn connected(shop: &Shop) -> Raw {
    let mut raw = Raw::connect(&shop.running);
    let call = b"POST /shop.v1.Orders/open HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
        Content-Length: 2\r\n\r\n{}";
    raw.send(call);
    assert_eq!(response(&mut raw).status, 200);
    raw
}

/// Limits in numbers and times count for connections that begin after they were set; sizes need a
/// restart.
#[test]
fn limits_polling_and_sampling_change_at_runtime() {
    let collector = "[telemetry]\ncollector = 'tcp://127.0.0.1:1'\n";
    for model in ["event-loops", "thread-per-connection"] {
        let server = format!("[server]\nmodel = '{model}'\n");
        let file = FILE.replace("[server]\n", &server) + collector;
        let shop = Shop::of(model, &file);
        let mut old = connected(&shop);
        for (key, value, status, text) in [
            ("server.limits.idle", "100ms", 200, "server.limits.idle"),
            ("server.limits.handshake", "5s", 200, "handshake"),
            ("server.limits.calls", "7", 200, "server.limits.calls"),
            ("server.limits.message", "1 KiB", 400, "after a restart"),
            ("server.limits.memory", "1 GiB", 400, "after a restart"),
            ("server.polling", "never", 200, "server.polling"),
            ("server.polling", "sometimes", 400, "`adaptive`"),
            ("telemetry.percent", "5", 200, "telemetry.percent"),
            ("telemetry.slow", "1s", 200, "telemetry.slow"),
            ("telemetry.service", "shop", 400, "after a restart"),
        ] {
            let (found, answer) = shop.set(key, Some(value));
            assert_eq!(found, status, "{key} {answer}");
            assert!(answer.contains(text), "{key} {answer}");
        }
        let new = connected(&shop);
        let idle = || shop.running.counters().idle_timeouts;
        until("the new connection to be closed", || idle() == 1);
        drop(new);
        // The old one is kept.
        old.send(b"POST /shop.v1.Orders/open HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
            Content-Length: 2\r\n\r\n{}");
        assert_eq!(response(&mut old).status, 200, "{model}");
        until("one connection", || shop.running.connections() == 1);
        assert_eq!(shop.set("server.limits.connections", Some("1")).0, 200);
        // The old one is idle for less than a second, so it does not make room.
        let refused = shop.open().unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted, "{model} {refused}");
        assert_eq!(shop.set("server.limits.connections", None).0, 200);
        assert_eq!(shop.open(), Ok(true), "{model}");
        drop(old);
        assert!(shop.running.shutdown(LONG));
        assert!(shop.console.shutdown(LONG));
        let _ = std::fs::remove_dir_all(&shop.folder);
    }
}
