//! Chromium, told what to do by the [DevTools
//! protocol](https://chromedevtools.github.io/devtools-protocol/): so a test waits for what a page
//! does, and not for a time in which it should.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tungstenite::{Message, WebSocket};

/// For one answer of the browser, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page.
pub(crate) struct Chromium {
    _process: Process,
    socket: WebSocket<TcpStream>,
    session: Value,
    commands: u64,
}

impl Chromium {
    pub(crate) fn start() -> Self {
        let mut process = Process::start();
        let address = process.address();
        let place = address.split('/').nth(2).unwrap();
        let stream = TcpStream::connect(place).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (socket, _) = tungstenite::client(address.as_str(), stream).unwrap();
        let mut browser = Chromium {
            _process: process,
            socket,
            session: Value::Null,
            commands: 0,
        };
        let page = browser.tell("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": page["targetId"], "flatten": true});
        browser.session = browser.tell("Target.attachToTarget", attach)["sessionId"].take();
        browser
    }

    pub(crate) fn open(&mut self, address: &str) {
        let page = self.tell("Page.navigate", json!({"url": address}));
        assert!(page["errorText"].is_null(), "{page}");
    }

    /// Returns the value of `expression` in the page, or the one that it promises.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let parameters =
            json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let mut answer = self.tell("Runtime.evaluate", parameters);
        assert!(answer["exceptionDetails"].is_null(), "{answer}");
        answer["result"]["value"].take()
    }

    fn tell(&mut self, method: &str, parameters: Value) -> Value {
        self.commands += 1;
        let mut command = json!({"id": self.commands, "method": method, "params": parameters});
        if self.session.is_string() {
            command["sessionId"] = self.session.clone();
        }
        self.socket
            .send(Message::text(command.to_string()))
            .unwrap();
        loop {
            // Events stand between the answers.
            let message = self.socket.read().unwrap();
            let mut answer: Value = serde_json::from_str(message.to_text().unwrap()).unwrap();
            if answer["id"] == self.commands {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
        }
    }
}

impl Drop for Chromium {
    /// Lets the browser end its own processes, which keep files in its folder.
    fn drop(&mut self) {
        let close = json!({"id": 0, "method": "Browser.close"});
        let mut asked = self.socket.send(Message::text(close.to_string()));
        while asked.is_ok() {
            asked = self.socket.read().map(drop);
        }
    }
}

/// The browser's process, and the folder that it keeps things in.
struct Process {
    child: Child,
    said: BufReader<ChildStderr>,
    _profile: TempDir,
}

impl Process {
    fn start() -> Self {
        let profile = TempDir::new().unwrap();
        let mut child = Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu"])
            .args(["--disable-dev-shm-usage", "--no-first-run"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("--remote-debugging-port=0")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        Process {
            child,
            said,
            _profile: profile,
        }
    }

    /// Returns the address on which it listens, from its first lines of output.
    fn address(&mut self) -> String {
        let mut said = String::new();
        while self.said.read_line(&mut said).unwrap() > 0 {
            let line = said.lines().next_back().unwrap_or_default();
            if let Some(address) = line.strip_prefix("DevTools listening on ") {
                return address.to_owned();
            }
        }
        panic!("Chromium has ended:\n{said}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
