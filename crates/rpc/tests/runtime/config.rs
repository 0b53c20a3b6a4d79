//! Servers and channels from a file: what it says, what is wrong with it, and what a reload changes
//! while calls run.

use crate::fixture::{LONG, until};
use crate::identity::method;
use crate::interceptors::{Orders, seen};
use dovetail::config::{Config, Reloaded, reference, schema};
use dovetail::identity::Tokens;
use dovetail::intercept::{CallEnd, ServerInterceptor};
use dovetail::stream::Receiver;
use dovetail::throttle::Reason;
use dovetail::{Context, Running, Server, Status, blocking};
use proptest::prelude::*;
use proptest::test_runner::{Config as Cases, TestRunner};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const FULL: &str = include_str!("config/full.toml");

/// A folder with a configuration, and the files that it names.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, config: &str) -> Self {
        let name = format!("dovetail-config-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let folder = Folder(folder);
        folder.write("shop.toml", config);
        folder.write("keys.json", include_str!("jwt/keys.json"));
        folder.write("token", "ada's secret\n");
        folder.tokens(&[("ada", "clerk"), ("bob", "reader")]);
        folder
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    fn tokens(&self, known: &[(&str, &str)]) {
        let line = |(name, roles): &(&str, &str)| {
            format!(
                "{name} {} {roles}\n",
                Tokens::hash(&format!("{name}'s secret"))
            )
        };
        self.write("tokens", &known.iter().map(line).collect::<String>());
    }

    fn file(&self) -> PathBuf {
        self.0.join("shop.toml")
    }

    fn config(&self) -> Config {
        Config::load(self.file()).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Counts the calls that have ended.
struct Counted(Arc<AtomicUsize>);

impl ServerInterceptor for Counted {
    fn after(&self, _: &Context, _: &CallEnd<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn place(running: &Running, caller: &str) -> String {
    let builder = blocking::Channel::builder(&running.addresses()[0].to_string()).unwrap();
    let channel = builder.timeout(LONG).local_upgrade(false).build();
    let channel = channel.with_header("authorization", format!("Bearer {caller}'s secret"));
    seen(channel.call(method("place"), (&"principal".to_owned(),)))
}

#[test]
fn a_server_and_a_channel_are_as_the_file_says() {
    let folder = Folder::new("full", FULL);
    let counted = Arc::new(AtomicUsize::new(0));
    let config = folder
        .config()
        .interceptor("access-log", Counted(counted.clone()));
    let server = Server::from_config(&config).unwrap().service(Orders);
    let running = server.start().unwrap();
    assert_eq!(place(&running, "ada"), "ada");
    assert!(place(&running, "bob").starts_with("PERMISSION_DENIED"));
    assert!(place(&running, "eve").starts_with("UNAUTHENTICATED"));
    until("all calls are counted", || {
        counted.load(Ordering::Relaxed) == 3
    });
    let answer: Result<bool, Status> =
        blocking::Channel::connect(&running.addresses()[0].to_string())
            .unwrap()
            .call(method("open"), ());
    assert!(answer.is_err());
    // Its channel calls this server, by another address.
    let address = running.addresses()[0].to_string();
    folder.write(
        "shop.toml",
        &FULL.replace("tcp://127.0.0.1:1\"", &format!("{address}\"")),
    );
    let config = folder.config();
    let channel = blocking::Channel::named(&config, "stock").unwrap().build();
    assert_eq!(
        format!("{channel:?}"),
        format!("Channel({address}, binary+header)")
    );
    assert_eq!(
        seen(channel.call(method("place"), (&"principal".to_owned(),))),
        "ada"
    );
    let error = blocking::Channel::named(&config, "stok")
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("there is no [channels.stok]; channels are: checked, fleet, stock"),
        "{error}"
    );
    drop(channel);
    assert!(running.shutdown(LONG));
}

/// A line, a column, and what the message has.
type Found = (usize, usize, &'static str);

/// Mistakes: a text of the whole file, its replacement, and the problems with their lines and
/// columns.
const WRONG: &[(&str, &str, &[Found])] = &[
    (
        "health = true",
        "helth = true",
        &[(6, 1, "[server] has no `helth`")],
    ),
    (
        "threads = 2",
        "threads = \"2\"",
        &[(5, 11, "`threads` is a number")],
    ),
    (
        "threads = 2",
        "threads = -2",
        &[(5, 11, "`threads` is a number")],
    ),
    (
        "\"thread-pool\"",
        "\"threads\"",
        &[(4, 9, "`model` is a word")],
    ),
    (
        "tcp://127.0.0.1:0",
        "udp://127.0.0.1:0",
        &[(3, 10, "`udp://127.0.0.1:0`: ")],
    ),
    (
        "\"4 MiB\"",
        "\"4 MB/s\"",
        &[(
            15,
            11,
            "`message` is a number of bytes, or a text such as \"64 MiB\"",
        )],
    ),
    (
        "\"5m\"",
        "\"5 minutes\"",
        &[(
            16,
            8,
            "`idle` is a time such as \"30s\", \"5m\" or \"250ms\"",
        )],
    ),
    (
        "[server.limits]",
        "[server.limit]",
        &[(13, 9, "[server] has no `limit`")],
    ),
    (
        "[permissions]",
        "[permission]",
        &[(35, 2, "the file has no `permission`")],
    ),
    (
        "tokens = \"tokens\"",
        "tokens = \"nothing\"",
        &[(23, 10, "nothing: No such file or directory")],
    ),
    ("issuer = ", "# ", &[(25, 1, "`issuer` is missing")]),
    (
        "keys = \"keys.json\"",
        "",
        &[(25, 1, "either `keys` or `secret-env`")],
    ),
    ("keys.json", "tokens", &[(26, 8, "no set of JSON Web Keys")]),
    (
        "{ 0 = \"root\" }",
        "{ root = \"root\" }",
        &[(32, 9, "`root` is no number of a user")],
    ),
    (
        "address = \"tcp://127.0.0.1:1\"\n",
        "",
        &[(50, 1, "the channel `stock` has no `address`")],
    ),
    (
        "\"binary+header\"",
        "\"bin\"",
        &[(52, 8, "`bin` in the name of a wire")],
    ),
    (
        "[channels.stock]",
        "[channels]\nrock = 1\n[channels.stock]\ncolour = 1",
        &[
            (51, 8, "`channels.rock` is a table"),
            (53, 1, "[channels.stock] has no `colour`"),
        ],
    ),
    (
        "\"1000/s\"",
        "\"fast\"",
        &[(67, 8, "`fast` is no rate: `100/s`")],
    ),
    (
        "\"4..200\"",
        "\"200..4\"",
        &[(60, 12, "`200..4` is no range of limits")],
    ),
    (
        "adaptive = \"4..200\"\n",
        "",
        &[
            (59, 1, "the quota `all` limits nothing"),
            (60, 9, "a queue is for `in-flight` or `adaptive`"),
        ],
    ),
    (
        "collector = \"tcp://127.0.0.1:2\"",
        "collector = \"colector\"",
        &[(104, 13, "there is no [channels.colector]; an address is ")],
    ),
    (
        "collector = \"tcp://127.0.0.1:2\"",
        "collector = \"http://127.0.0.1:4318\"",
        &[(104, 13, "`http://127.0.0.1:4318`: ")],
    ),
    (
        "connections = 1_000\n",
        "connections = 1_000\nconnections = 2\n",
        &[(15, 1, "duplicate key")],
    ),
    (
        "listen = [",
        "listen = [[",
        &[(4, 1, "missing comma between array elements")],
    ),
];

#[test]
fn everything_that_is_wrong_has_its_line() {
    let mut failures = 0;
    for (at, (old, new, expected)) in WRONG.iter().enumerate() {
        assert!(FULL.contains(old), "{old}");
        let folder = Folder::new(&format!("wrong-{at}"), &FULL.replacen(old, new, 1));
        let error = Config::load(folder.file()).unwrap_err();
        let found: Vec<_> = error.problems().collect();
        let same = found.len() == expected.len()
            && found.iter().zip(*expected).all(|(found, expected)| {
                (found.0, found.1) == (expected.0, expected.1) && found.2.contains(expected.2)
            });
        if !same {
            println!("{new}: {found:?}");
        }
        failures += usize::from(!same);
    }
    assert_eq!(failures, 0);
    // All of them at once, as a person sees them.
    let text = "[server]\nlisten = \"tcp://127.0.0.1:0\"\nmodle = \"pool\"\n\n[server.limits]\nmessage = \"big\"\n";
    let error = Config::parse("shop.toml", text).unwrap_err().to_string();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runtime/config/errors.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, &error).unwrap();
    }
    assert_eq!(error, fs::read_to_string(&golden).unwrap_or_default());
    let missing = Config::load("/nowhere/shop.toml").unwrap_err().to_string();
    assert!(
        missing.contains("the file cannot be read: No such file"),
        "{missing}"
    );
}

/// Secrets are in files and in the environment: nothing that is printed has one.
#[test]
fn what_is_shown_is_a_configuration_without_secrets() {
    let folder = Folder::new("shown", FULL);
    let config = folder.config();
    let shown = config.show();
    assert!(shown.contains("message = \"4 MiB\"\n"), "{shown}");
    assert!(shown.contains("# handshakes = 1000\n"), "{shown}");
    for secret in ["ada's secret", &Tokens::hash("ada's secret")] {
        assert!(!shown.contains(secret) && !format!("{config:?}").contains(secret));
    }
    // It says the same.
    folder.write("shop.toml", &shown);
    assert_eq!(folder.config().show(), shown);
}

#[test]
fn the_reference_has_all_keys() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let text = fs::read_to_string(&page).unwrap();
    let mark = "<!-- keys: written by a test, see CONTRIBUTING.md -->\n";
    let (before, _) = text.split_once(mark).unwrap();
    let expected = format!("{before}{mark}\n{}", reference().trim_end()) + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&page, &expected).unwrap();
    }
    assert_eq!(fs::read_to_string(&page).unwrap(), expected);
    let schema = schema();
    let limits = &schema["properties"]["server"]["properties"]["limits"];
    assert_eq!(limits["properties"]["connections"]["type"], "integer");
    let channel = &schema["properties"]["channels"]["additionalProperties"];
    assert_eq!(channel["properties"]["wire"]["type"], "string");
    assert_eq!(channel["additionalProperties"], false);
}

/// Mutations of a valid file are read, or refused with a line; nothing panics.
#[test]
fn mutations_are_errors_with_a_line() {
    let folder = Folder::new("mutated", FULL);
    let cases = Cases {
        cases: 400,
        failure_persistence: None,
        ..Cases::default()
    };
    let mutation = (0..FULL.len(), 0..24usize, "[\\PC\n]{0,12}");
    let outcome = TestRunner::new(cases).run(&mutation, |(start, length, text)| {
        let end = FULL.len().min(start + length);
        let mutated = format!("{}{text}{}", &FULL[..start], &FULL[end..]);
        folder.write("shop.toml", &mutated);
        if let Err(error) = Config::load(folder.file()) {
            let lines = mutated.lines().count().max(1) + 1;
            prop_assert!(error.problems().count() > 0);
            for (line, column, message) in error.problems() {
                prop_assert!(line >= 1 && line <= lines && column >= 1 && !message.is_empty());
            }
            prop_assert!(!error.to_string().is_empty());
        }
        Ok(())
    });
    outcome.unwrap();
}

fn keys(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_reload_changes_everything_or_nothing() {
    let plain = FULL.replace("interceptors = [\"access-log\"]\n", "");
    let folder = Folder::new("reload", &plain);
    let config = folder.config();
    let running = Server::from_config(&config)
        .unwrap()
        .service(Orders)
        .start()
        .unwrap();
    assert_eq!(config.reload().unwrap(), Reloaded::default());
    // Tokens are in a file of their own.
    folder.tokens(&[("bob", "clerk"), ("eve", "reader")]);
    assert_eq!(place(&running, "ada"), "ada");
    assert_eq!(config.reload().unwrap(), Reloaded::default());
    assert!(place(&running, "ada").starts_with("UNAUTHENTICATED"));
    assert_eq!(place(&running, "bob"), "bob");
    // Roles change, the model cannot.
    let changed = plain
        .replace("reader = [\"orders.read\"]", "reader = [\"orders.*\"]")
        .replace("\"thread-pool\"", "\"single-threaded\"");
    folder.write("shop.toml", &changed);
    let reloaded = config.reload().unwrap();
    assert_eq!(reloaded.changed, keys(&["permissions.roles"]));
    assert_eq!(reloaded.restart, keys(&["server.model"]));
    assert_eq!(place(&running, "eve"), "eve");
    // A quota of nothing refuses, and counts.
    let strict = changed.replace("rate = \"1000/s\"", "message = 1");
    folder.write("shop.toml", &strict.replace("burst = 100\n", ""));
    let reloaded = config.reload().unwrap();
    let quotas = ["burst", "message", "rate"].map(|key| format!("quotas.orders.{key}"));
    assert_eq!(
        (reloaded.changed, reloaded.restart),
        (quotas.to_vec(), vec![])
    );
    assert!(place(&running, "eve").starts_with("RESOURCE_EXHAUSTED"));
    assert_eq!(config.refusals().unwrap().of(Reason::Message), 1);
    // Without the table the permissions stay, until a restart.
    let (before, _) = changed.split_once("[permissions]").unwrap();
    let (_, quotas) = changed.split_once("[quotas.all]").unwrap();
    folder.write("shop.toml", &format!("{before}[quotas.all]{quotas}"));
    let reloaded = config.reload().unwrap();
    assert!(
        reloaded
            .changed
            .iter()
            .all(|key| key.starts_with("quotas."))
    );
    assert!(
        reloaded.restart.contains(&"permissions.roles".to_owned()),
        "{reloaded:?}"
    );
    assert_eq!(place(&running, "eve"), "eve");
    // An error leaves all as it was: the file names another method that is not there, and other
    // roles.
    let broken = [
        changed
            .replace("Orders/place", "Orders/plac")
            .replace("[\"orders.*\"]", "[]"),
        changed
            .replace("[\"orders.*\"]", "[]")
            .replace("leeway = \"30s\"", "leeway = 30"),
        String::from("["),
    ];
    for text in broken {
        folder.write("shop.toml", &text);
        let error = config.reload().unwrap_err();
        assert!(
            error.problems().next().is_some_and(|(line, ..)| line >= 1),
            "{error}"
        );
        assert_eq!(
            (place(&running, "eve"), place(&running, "bob")),
            ("eve".to_owned(), "bob".to_owned())
        );
    }
    assert!(running.shutdown(LONG));
}

#[test]
fn a_channel_calls_several_servers_and_a_server_logs() {
    let start = |name: &str| {
        let log = "[server]\nlisten = ['tcp://127.0.0.1:0']\n[access-log]\nfile = 'access.log'\n";
        let folder = Folder::new(name, log);
        let server = Server::from_config(&folder.config()).unwrap();
        let running = server.service(Orders).start().unwrap();
        (folder, running)
    };
    let servers = [start("one"), start("two")];
    let addresses: Vec<_> = servers
        .iter()
        .map(|(_, running)| running.addresses()[0].to_string())
        .collect();
    let channels = format!(
        "[channels.all]\naddress = '{}'\npolicy = 'round_robin'\nservice-config = 'calls.json'\n",
        addresses.join(",")
    );
    let folder = Folder::new("channels", &channels);
    folder.write(
        "calls.json",
        r#"{"methodConfig":[{"name":[{}],"timeout":"9s"}]}"#,
    );
    let channel = blocking::Channel::named(&folder.config(), "all")
        .unwrap()
        .build();
    let logged = |(folder, _): &(Folder, Running)| {
        fs::read_to_string(folder.0.join("access.log")).is_ok_and(|text| text.contains(" code=OK "))
    };
    until("both servers have answered", || {
        let open: Result<bool, Status> = channel.call(method("open"), ());
        assert_eq!(open, Ok(true));
        servers.iter().all(logged)
    });
    folder.write("calls.json", "{");
    let unread = folder.config();
    let error = blocking::Channel::named(&unread, "all")
        .map(drop)
        .unwrap_err();
    assert!(
        error.to_string().contains("the service config: EOF"),
        "{error}"
    );
}

/// 64 streams and calls without a pause go on while the file is read again and again.
#[tokio::test]
async fn a_reload_loses_nothing() {
    let plain = FULL.replace("interceptors = [\"access-log\"]\n", "");
    // As many as the machine can make.
    let plain = plain.replace("1000/s", "1000000/s");
    let folder = Folder::new(
        "busy",
        &plain.replace("\"thread-pool\"\nthreads = 2", "\"event-loops\""),
    );
    let config = folder.config();
    let running = Server::from_config(&config)
        .unwrap()
        .service(Orders)
        .start()
        .unwrap();
    let watch = config.watch().unwrap();
    let builder = dovetail::Channel::builder(&running.addresses()[0].to_string()).unwrap();
    let channel = builder
        .timeout(LONG)
        .build()
        .with_header("authorization", "Bearer ada's secret");
    let over = Arc::new(AtomicBool::new(false));
    let streams: Vec<_> = (0..64)
        .map(|_| {
            let channel = channel.clone();
            tokio::spawn(async move {
                let items: Result<Receiver<i32>, Status> =
                    channel.stream(method("count"), (&5_000,)).await;
                let (mut items, mut count) = (items.unwrap(), 0);
                while let Some(item) = items.next().await {
                    assert_eq!(item.unwrap(), count);
                    count += 1;
                }
                count
            })
        })
        .collect();
    // On a connection of its own: on one, answers wait behind items.
    let builder = dovetail::Channel::builder(&running.addresses()[0].to_string()).unwrap();
    let calls = builder.timeout(LONG).build();
    let calls = calls.with_header("authorization", "Bearer ada's secret");
    let ended = over.clone();
    let calls = tokio::spawn(async move {
        let mut made = 0;
        while !ended.load(Ordering::Relaxed) {
            let answer = calls
                .call(method("place"), (&"principal".to_owned(),))
                .await;
            assert_eq!(seen(answer), "ada");
            made += 1;
        }
        made
    });
    let (reloads, text) = (Arc::new(AtomicUsize::new(0)), plain);
    for round in 0..20 {
        folder.tokens(&[
            ("ada", "clerk"),
            ("bob", if round % 2 == 0 { "reader" } else { "clerk" }),
        ]);
        let leeway = format!("leeway = \"{round}s\"");
        folder.write("shop.toml", &text.replace("leeway = \"30s\"", &leeway));
        config.reload().unwrap();
        reloads.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for stream in streams {
        assert_eq!(stream.await.unwrap(), 5_000);
    }
    over.store(true, Ordering::Relaxed);
    let made = calls.await.unwrap();
    assert!(made > 100, "{made}");
    drop((watch, channel));
    let stopped = tokio::task::spawn_blocking(move || running.shutdown(LONG));
    assert!(stopped.await.unwrap());
}

/// The file, and the signal.
#[test]
fn a_watch_reloads() {
    let plain = FULL.replace("interceptors = [\"access-log\"]\n", "");
    let folder = Folder::new("watched", &plain);
    let config = folder.config();
    let running = Server::from_config(&config)
        .unwrap()
        .service(Orders)
        .start()
        .unwrap();
    let watch = config.watch().unwrap();
    assert!(place(&running, "bob").starts_with("PERMISSION_DENIED"));
    folder.tokens(&[("bob", "clerk")]);
    until("the tokens are read again", || {
        place(&running, "bob") == "bob"
    });
    drop(watch);
    folder.tokens(&[("ada", "clerk")]);
    // Longer than two looks of a watch: one that goes on after its end would reload by now.
    thread::sleep(Duration::from_millis(600));
    assert_eq!(place(&running, "bob"), "bob");
    assert!(running.shutdown(LONG));
}
