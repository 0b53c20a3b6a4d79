//! The console of a server's administration in a real browser.

use crate::chromium::Chromium;
use dovetail::admin::Admin;
use dovetail::config::Config;
use dovetail::identity::{Authentication, Tokens};
use dovetail::{Code, Running, Server, Status, blocking::Channel};
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;

/// A text that is a script where a page takes it for HTML.
const HOSTILE: &str = "<img src=x onerror=\"document.title='owned'\">";

/// The page's text, once it has this in it.
fn text_with(browser: &mut Chromium, text: &str) -> String {
    let look = format!(
        "new Promise(function look(resolve) {{
           const page = document.getElementById('page')?.innerText || '';
           const state = document.getElementById('state')?.innerText || '';
           if (!page.includes({0})) return setTimeout(look, 50, resolve);
           resolve(`${{state}}\\n${{page}}`);
         }})",
        json!(text)
    );
    let found = browser.evaluate(&look);
    found.as_str().unwrap().to_owned()
}

fn open(browser: &mut Chromium, page: &str, text: &str) -> String {
    browser.evaluate(&format!("location.hash = {}", json!(page)));
    text_with(browser, text)
}

/// The cells of a row of the page's table.
fn row(browser: &mut Chromium, with: &str) -> Vec<Value> {
    let look = format!(
        "Array.from(document.querySelectorAll('#page tr'))
           .map((row) => Array.from(row.children, (cell) => cell.innerText))
           .find((row) => row.some((cell) => cell.includes({})))",
        json!(with)
    );
    browser.evaluate(&look).as_array().unwrap().clone()
}

/// A server, and its console.
fn administered() -> (Running, Running) {
    let admin = Admin::new();
    let start = |server: Server| {
        let listening = server.listen("tcp://127.0.0.1:0").unwrap();
        listening.start().unwrap()
    };
    let server = Server::new()
        .bind("greet", |name: String| format!("Hello, {name}!"))
        .bind("stumble", || Err::<i32, _>(Status::internal(HOSTILE)))
        .bind("wait", std::future::pending::<i32>);
    let server = start(server.administered(&admin));
    (server, start(Server::new().admin(&admin)))
}

#[test]
#[ignore = "needs Chromium: `cargo xtask test --only browser` installs it"]
fn the_console_shows_a_server() {
    let (server, console) = administered();
    let channel = Channel::connect(&server.addresses()[0].to_string()).unwrap();
    for _ in 0..7 {
        let greeting: String = channel.call_by_name("greet", ("Ada",)).unwrap();
        assert_eq!(greeting, "Hello, Ada!");
    }
    for _ in 0..2 {
        let failed = channel.call_by_name::<i32>("stumble", ());
        assert_eq!(failed.unwrap_err().code(), Code::Internal);
    }
    let waits = thread::spawn(move || channel.call_by_name::<i32>("wait", ()));

    let place = console.addresses()[0].to_string().replace("tcp:", "http:");
    let mut browser = Chromium::start();
    browser.open(&place);
    let overview = text_with(&mut browser, "calls that run");
    assert!(overview.contains("serving"), "{overview}");
    let counters = server.counters();
    let calls = row(&mut browser, "calls")[1].clone();
    assert_eq!(calls, json!(counters.calls.to_string()), "{overview}");

    open(&mut browser, "methods", "greet");
    for (method, calls, running, failed) in [
        ("greet", "7", "0", "0"),
        ("stumble", "2", "0", "2"),
        ("wait", "0", "1", "0"),
    ] {
        let row = row(&mut browser, method);
        assert_eq!(
            [&row[3], &row[4], &row[5]],
            [calls, running, failed],
            "{row:?}"
        );
    }
    let wire = row(&mut browser, "greet")[1].as_str().unwrap().to_owned();
    let method = open(&mut browser, &format!("method=greet%20{wire}"), "Outcomes");
    assert!(method.contains("p99.9"), "{method}");
    let bars = browser.evaluate("document.querySelectorAll('#page rect').length");
    assert!(bars.as_u64().unwrap() > 0);

    // A peer's text stays text.
    let failures = open(&mut browser, "recent", "INTERNAL");
    assert!(failures.contains(HOSTILE), "{failures}");
    assert_eq!(
        browser.evaluate("document.querySelectorAll('#page img').length"),
        json!(0)
    );
    assert_eq!(browser.evaluate("document.title"), json!("Dovetail"));

    for (page, text) in [
        ("connections", "open for"),
        ("limits", "None."),
        ("calls", "wait"),
    ] {
        open(&mut browser, page, text);
    }
    let unconfigured = "location.hash = 'configuration'; new Promise((resolve) => setTimeout(() =>
        resolve(document.getElementById('state').innerText), 500))";
    let state = browser.evaluate(unconfigured);
    assert_eq!(state, json!("the server has no configuration file"));

    open(&mut browser, "calls", "wait");
    browser.evaluate("document.querySelector('#page button').click()");
    let cancelled = waits.join().unwrap().unwrap_err();
    assert_eq!(cancelled.code(), Code::Cancelled);
    text_with(&mut browser, "No call runs.");
    drop(browser);
    for running in [server, console] {
        running.shutdown(Duration::from_secs(5));
    }
}

#[test]
#[ignore = "needs Chromium: `cargo xtask test --only browser` installs it"]
fn a_limit_is_changed_in_the_console() {
    let file = "[server]\nlisten = ['tcp://127.0.0.1:0']\n[quotas.all]\nin-flight = 1000\n";
    let config = Config::parse("shop.toml", file).unwrap();
    let admin = Admin::new().with_config(&config);
    let server = Server::from_config(&config).unwrap();
    let server = server.bind("double", |number: i32| 2 * number);
    let server = server.administered(&admin).start().unwrap();
    let console = Server::new().admin(&admin);
    let console = console.listen("tcp://127.0.0.1:0").unwrap();
    let console = console.start().unwrap();
    let channel = Channel::connect(&server.addresses()[0].to_string()).unwrap();
    let double = || channel.call_by_name::<i32>("double", (21,));
    assert_eq!(double(), Ok(42));

    let mut browser = Chromium::start();
    browser.open(&console.addresses()[0].to_string().replace("tcp:", "http:"));
    open(&mut browser, "configuration", "in-flight = 1000");
    let mut click = |key: &str, value: &str, button: &str, then: &str| {
        browser.evaluate(&format!(
            "for (const [name, text] of [['key', {}], ['value', {}]])
               document.querySelector(`#page input[aria-label=${{name}}]`).value = text;
             Array.from(document.querySelectorAll('#page button'))
               .find((button) => button.innerText.includes({})).click()",
            json!(key),
            json!(value),
            json!(button)
        ));
        text_with(&mut browser, then)
    };
    click(
        "quotas.all.in-flight",
        "0",
        "set",
        "Changed: quotas.all.in-flight",
    );
    assert_eq!(double().unwrap_err().code(), Code::ResourceExhausted);
    let page = click(
        "quotas.all.in-flihgt",
        HOSTILE,
        "set",
        "did you mean `in-flight`?",
    );
    assert!(page.contains("in-flight = 0 # set at runtime"), "{page}");
    click(
        "quotas.all.in-flight",
        "",
        "take",
        "Changed: quotas.all.in-flight",
    );
    assert_eq!(double(), Ok(42));
    drop((browser, channel));
    for running in [server, console] {
        running.shutdown(Duration::from_secs(5));
    }
}

/// Clicks the button of the page that has this text.
fn click(browser: &mut Chromium, button: &str) {
    browser.evaluate(&format!(
        "Array.from(document.querySelectorAll('#page button'))
           .find((button) => button.innerText === {}).click()",
        json!(button)
    ));
}

/// Types into the field of the page with this label.
fn fill(browser: &mut Chromium, label: &str, text: &str) {
    browser.evaluate(&format!(
        "document.querySelector('#page [aria-label=' + CSS.escape({}) + ']').value = {}",
        json!(label),
        json!(text)
    ));
}

#[test]
#[ignore = "needs Chromium: `cargo xtask test --only browser` installs it"]
fn calls_are_made_and_captured_in_the_console() {
    let (server, console) = administered();
    let mut browser = Chromium::start();
    browser.open(&console.addresses()[0].to_string().replace("tcp:", "http:"));
    let services = open(&mut browser, "services", "greet(");
    assert!(
        services.contains("greet(param1: string) → string"),
        "{services}"
    );

    open(&mut browser, "call=greet", "one in each line");
    fill(&mut browser, "param1", HOSTILE);
    click(&mut browser, "call");
    let answer = text_with(&mut browser, "OK");
    let quoted = json!({ "result": format!("Hello, {HOSTILE}!") });
    assert!(answer.contains(&format!("{quoted:#}")), "{answer}");
    open(&mut browser, "call=stumble", "stumble()");
    click(&mut browser, "call");
    let answer = text_with(&mut browser, "internal");
    assert!(answer.contains(HOSTILE), "{answer}");
    open(&mut browser, "call=wait", "wait()");
    click(&mut browser, "call");
    text_with(&mut browser, "cancel");
    click(&mut browser, "cancel");
    text_with(&mut browser, "cancelled");
    open(&mut browser, "calls", "No call runs.");

    open(&mut browser, "captures", "Nothing is captured yet.");
    fill(&mut browser, "methods", "greet");
    click(&mut browser, "capture");
    text_with(&mut browser, "Running: 0 calls.");
    let channel = Channel::connect(&server.addresses()[0].to_string()).unwrap();
    for name in ["Ada", HOSTILE] {
        let greeting: String = channel.call_by_name("greet", (name,)).unwrap();
        assert!(greeting.contains(name), "{greeting}");
        assert!(channel.call_by_name::<i32>("stumble", ()).is_err());
    }
    text_with(&mut browser, "Running: 2 calls.");
    browser.evaluate(
        "document.querySelectorAll('#page details').forEach((call) => { call.open = true; })",
    );
    let captured = text_with(&mut browser, "Hello, Ada!");
    for text in [
        r#""param1": "Ada""#,
        "OK",
        &format!("Hello, {HOSTILE}!").replace('"', "\\\""),
    ] {
        assert!(captured.contains(text), "{text}: {captured}");
    }
    click(&mut browser, "stop");
    text_with(&mut browser, "Stopped: 2 calls.");
    // A peer's text stays text.
    assert_eq!(
        browser.evaluate("document.querySelectorAll('#page img').length"),
        json!(0)
    );
    assert_eq!(browser.evaluate("document.title"), json!("Dovetail"));
    drop((browser, channel));
    for running in [server, console] {
        assert!(running.shutdown(Duration::from_secs(5)));
    }
}

#[test]
#[ignore = "needs Chromium: `cargo xtask test --only browser` installs it"]
fn the_console_asks_who_looks() {
    let admin = Admin::new();
    let line = format!("ada {}\n", Tokens::hash("a long secret"));
    let tokens = Tokens::from_lines(&line).unwrap();
    let authentication = Authentication::new().by(tokens);
    let console = Server::new().admin(&admin).authentication(authentication);
    let console = console
        .listen("tcp://127.0.0.1:0")
        .unwrap()
        .start()
        .unwrap();
    let mut browser = Chromium::start();
    browser.open(&console.addresses()[0].to_string().replace("tcp:", "http:"));
    text_with(&mut browser, "use this token");
    fill(&mut browser, "token", "a long secret");
    click(&mut browser, "use this token");
    text_with(&mut browser, "calls that run");
    drop(browser);
    assert!(console.shutdown(Duration::from_secs(5)));
}
