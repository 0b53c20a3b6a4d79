//! The page in a real browser.
#![allow(clippy::unwrap_used)]

mod chromium;
mod console;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use chromium::Chromium;

/// The lines that the page shows.
const RESULTS: [&str; 10] = [
    "Connect: Hello, Ada!",
    r#"Connect, a stream: {"item":2} {"item":1} {"item":0} end: {}"#,
    r#"Connect, a failure: end: {"error":{"code":"out_of_range","message":"nothing is below zero"}}"#,
    r#"gRPC-Web: {"result":"Hello, Ada!"} end: grpc-status: 0"#,
    r#"gRPC-Web, a stream: {"item":2} {"item":1} {"item":0} end: grpc-status: 0"#,
    "gRPC-Web, a failure: end: grpc-status: 11, grpc-message: nothing is below zero",
    r#"WebSocket: {"result":"Hello, Ada!"} {"end":{}} closed: 1000"#,
    r#"WebSocket, a stream: {"item":1} {"item":0} {"end":{}} closed: 1000"#,
    r#"WebSocket, both ways: {"item":"fuel: go"} {"item":"crew: go"} {"end":{}} closed: 1000"#,
    r#"WebSocket, a failure: {"end":{"error":{"code":"out_of_range","message":"nothing is below zero"}}} closed: 1000"#,
];

/// The page's lines, once it says that all calls are done.
const LINES: &str = r##"new Promise(function look(resolve) {
  if (!document.body?.dataset.done) return setTimeout(look, 20, resolve);
  resolve(Array.from(document.querySelectorAll("#results li"), (line) => line.textContent));
})"##;

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    fn start() -> (Self, String) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_example-browser"))
            .arg("tcp://127.0.0.1:0")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let place = line.trim().strip_prefix("listening on tcp://").unwrap();
        (Server(child), format!("http://{place}"))
    }
}

#[test]
#[ignore = "needs Chromium: `cargo xtask test --only browser` installs it"]
fn a_browser_calls_without_a_proxy() {
    let (_server, address) = Server::start();
    let page = concat!("file://", env!("CARGO_MANIFEST_DIR"), "/page.html");
    let mut browser = Chromium::start();
    browser.open(&format!("{page}#{address}"));
    assert_eq!(browser.evaluate(LINES), serde_json::json!(RESULTS));
}
