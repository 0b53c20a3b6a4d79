//! The shop as its README has it: started as a program, called by JSON over HTTP and by name.
#![allow(clippy::unwrap_used)]

use contract::shop::{OrdersBlockingClient, PlaceError};
use dovetail::tls::ClientTls;
use dovetail::{Code, blocking};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{fs, thread};

#[allow(dead_code, missing_docs, unreachable_pub)]
mod contract {
    dovetail::include_contract!("shop");
}

/// The log of a shop that a test started.
const LOG: &str = "level = \"warn\"\nformat = \"json\"\nfile = \"events.log\"";

/// A running shop, on ports of its own.
struct Shop {
    program: Child,
    /// Open as long as the program runs, which may not have said everything yet.
    _said: BufReader<ChildStdout>,
    address: String,
    admin: String,
    folder: tempfile::TempDir,
}

impl Shop {
    fn start() -> Self {
        // The first one makes the certificate.
        static FIRST: Mutex<()> = Mutex::new(());
        let _first = FIRST.lock();
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = tempfile::tempdir().unwrap();
        let target = here.join("../../target/shop");
        let config = fs::read_to_string(here.join("shop.toml")).unwrap();
        let config = config
            .replace("127.0.0.1:9443", "127.0.0.1:0")
            .replace("127.0.0.1:9444", "127.0.0.1:0")
            .replace("../../target/shop/carts", "carts")
            .replace("level = \"info\"", LOG)
            .replace("unix:../../target/shop/shop.sock", "unix:shop.sock")
            .replace("../../target/shop", &target.display().to_string());
        fs::write(folder.path().join("shop.toml"), config).unwrap();
        fs::copy(here.join("tokens"), folder.path().join("tokens")).unwrap();
        let mut program = Command::new(env!("CARGO_BIN_EXE_example-shop"))
            .arg(folder.path().join("shop.toml"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(program.stdout.take().unwrap());
        let mut next = |beginning: &str| {
            let mut line = String::new();
            said.read_line(&mut line).unwrap();
            line.trim().strip_prefix(beginning).unwrap().to_owned()
        };
        let address = next("listening on ");
        next("listening on unix:");
        let admin = next("administration on ");
        Shop {
            program,
            _said: said,
            address,
            admin,
            folder,
        }
    }

    fn client(&self, token: &str) -> OrdersBlockingClient {
        let roots: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/shop/ca.pem");
        let tls = ClientTls::roots(roots.as_path()).unwrap();
        let builder = blocking::Channel::builder(&self.address).unwrap();
        let token = format!("Bearer {token}");
        OrdersBlockingClient::from(builder.tls(&tls).header("authorization", token).build())
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// Places an order, and returns its customer.
fn place(client: &OrdersBlockingClient) -> Result<String, Code> {
    match client.place("lamp", 1) {
        Ok(order) => Ok(order.customer),
        Err(PlaceError::SoldOut(_)) => Ok("sold out".to_owned()),
        Err(PlaceError::Status(status)) => Err(status.code()),
    }
}

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "not yet: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn callers_may_do_what_their_roles_grant() {
    let shop = Shop::start();
    let bob = shop.client("bob-has-a-long-secret");
    assert_eq!(place(&bob), Err(Code::PermissionDenied));
    assert_eq!(bob.all().unwrap(), []);
    assert_eq!(place(&shop.client("no secret")), Err(Code::Unauthenticated));
    assert_eq!(
        place(&shop.client("ada-has-a-long-secret")),
        Ok("ada".to_owned())
    );
    let mut orders = bob.watch().unwrap();
    assert_eq!(orders.next().unwrap().unwrap().item, "lamp");
    // Bob becomes a clerk, while the shop runs and he watches.
    let file = shop.folder.path().join("tokens");
    let tokens = fs::read_to_string(&file).unwrap();
    fs::write(&file, tokens.replace("reader", "clerk")).unwrap();
    wait_until("Bob is a clerk", || place(&bob) == Ok("bob".to_owned()));
    assert_eq!(orders.next().unwrap().unwrap().customer, "bob");
}

#[test]
fn an_administrator_ends_it() {
    let mut shop = Shop::start();
    assert_eq!(
        place(&shop.client("ada-has-a-long-secret")),
        Ok("ada".to_owned())
    );
    let admin = blocking::Channel::connect(&shop.admin).unwrap();
    let admin = admin.with_service("dovetail.admin.v1.Admin");
    admin.call_by_name::<()>("drain", (1_i32,)).unwrap();
    let mut ended = None;
    wait_until("it has ended", || {
        ended = shop.program.try_wait().unwrap();
        ended.is_some()
    });
    assert!(ended.unwrap().success());
}

#[test]
fn its_log_follows_the_configuration() {
    let shop = Shop::start();
    let [file, log] = ["shop.toml", "events.log"].map(|name| shop.folder.path().join(name));
    let events = || fs::read_to_string(&log).unwrap();
    let change = |from: &str, to: &str| {
        let config = fs::read_to_string(&file).unwrap();
        assert!(config.contains(from), "{config}");
        fs::write(&file, config.replace(from, to)).unwrap();
    };
    assert_eq!(events(), "");
    change("level = \"warn\"", "level = \"info\"");
    wait_until("a level was changed", || events().contains("log.level"));
    let event = events();
    assert!(
        event.starts_with('{') && event.contains("\"INFO\""),
        "{event}"
    );
    // An error leaves the level as it is, and is an event itself.
    change("level = \"info\"", "level = \"inof\"");
    wait_until("an error was told", || {
        events().contains("`inof` has no level")
    });
}
