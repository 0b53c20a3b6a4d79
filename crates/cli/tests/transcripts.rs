//! Sessions as a person sees them: each file of `transcripts/` is one with the command, run and
//! compared.
//!
//! `$ dovetail …` is run in a fresh copy of `contracts/`; what follows is its output, both streams,
//! and `[exit N]` where it is not 0. `# serve …` starts `dovetail serve …` on a free port, which
//! stands in the session as `PORT`. Certificates are made for each run: `ca.pem` has signed
//! `server.pem` and `client.pem`. Times stand as `N µs`. `UPDATE_GOLDEN=1` writes the files again.

#![allow(clippy::expect_used)]

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

fn dovetail(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
    command
        .current_dir(dir)
        .env_remove("CLICOLOR_FORCE")
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100");
    command
}

#[test]
fn sessions_are_as_recorded() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut files: Vec<PathBuf> = fs::read_dir(here.join("transcripts"))
        .expect("the folder of transcripts")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    let certificates = Certificates::new();
    let mut failures = Vec::new();
    for file in &files {
        let expected = fs::read_to_string(file).expect("a transcript");
        let dir = tempfile::tempdir().expect("a folder");
        copy(&here.join("contracts"), dir.path());
        certificates.write(dir.path());
        let found = Session::new(dir.path()).replay(&expected);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(file, &found).expect("a transcript to write");
        } else if found != expected {
            failures.push(format!(
                "{}:\n{}",
                file.display(),
                difference(&expected, &found)
            ));
        }
    }
    assert!(
        failures.is_empty(),
        "{}\nUPDATE_GOLDEN=1 writes them again",
        failures.join("\n")
    );
}

/// Files in PEM, by their names.
struct Certificates(Vec<(&'static str, String)>);

impl Certificates {
    fn new() -> Self {
        let key = || KeyPair::generate().expect("a key");
        let (mut params, root_key) = (CertificateParams::default(), key());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = params.self_signed(&root_key).expect("a certificate");
        let issuer = Issuer::new(params, root_key);
        let signed = |name: &str| {
            let (params, key) = (CertificateParams::new([name.to_owned()]), key());
            let signed = params.expect("a name").signed_by(&key, &issuer);
            (signed.expect("a certificate").pem(), key.serialize_pem())
        };
        let (server, server_key) = signed("127.0.0.1");
        let (client, client_key) = signed("client.example");
        Certificates(vec![
            ("ca.pem", root.pem()),
            ("server.pem", server),
            ("server.key", server_key),
            ("client.pem", client),
            ("client.key", client_key),
        ])
    }

    fn write(&self, dir: &Path) {
        for (name, text) in &self.0 {
            fs::write(dir.join(name), text).expect("a file to write");
        }
    }
}

struct Session<'a> {
    dir: &'a Path,
    server: Option<(Child, String)>,
}

impl<'a> Session<'a> {
    fn new(dir: &'a Path) -> Self {
        Session { dir, server: None }
    }

    fn replay(&mut self, transcript: &str) -> String {
        let mut found = String::new();
        for line in transcript.lines() {
            if line.starts_with("# ") || line.starts_with("$ ") || line.is_empty() {
                // An empty line belongs to the session only where it comes before a command.
                if line.is_empty() {
                    continue;
                }
                if !found.is_empty() {
                    found.push('\n');
                }
                found += &format!("{line}\n");
            }
            if let Some(words) = line.strip_prefix("# serve ") {
                self.serve(words);
            } else if let Some(words) = line.strip_prefix("$ dovetail") {
                found += &self.run(words);
            }
        }
        found
    }

    fn serve(&mut self, words: &str) {
        // A server that requires certificates takes nothing but TLS.
        let scheme = match words.contains("--tls-client-ca") {
            true => "tls",
            false => "tcp",
        };
        let mut child = dovetail(self.dir)
            .arg("serve")
            .args(split(words))
            .args(["--listen", &format!("{scheme}://127.0.0.1:0")])
            .stdout(Stdio::piped())
            .spawn()
            .expect("a server");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let first = lines.next().expect("a first line").expect("text");
        let port: String = first
            .rsplit("127.0.0.1:")
            .next()
            .unwrap_or_default()
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        assert!(!port.is_empty(), "no port in {first:?}");
        std::thread::spawn(move || lines.for_each(drop));
        self.server = Some((child, port));
    }

    fn run(&self, words: &str) -> String {
        let port = self.server.as_ref().map_or("1", |(_, port)| port);
        let (words, input) = match words.split_once(" <<< ") {
            Some((words, input)) => (words, split(input).concat()),
            None => (words, String::new()),
        };
        let mut child = dovetail(self.dir)
            .args(split(words).iter().map(|word| word.replace("PORT", port)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command");
        std::io::Write::write_all(
            &mut child.stdin.take().expect("its input"),
            input.as_bytes(),
        )
        .expect("input that is read");
        let Output {
            status,
            stdout,
            stderr,
        } = child.wait_with_output().expect("its end");
        let text = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
        let mut text = steady(&text.replace(&format!("127.0.0.1:{port}"), "127.0.0.1:PORT"));
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        match status.code() {
            Some(0) => text,
            Some(code) => text + &format!("[exit {code}]\n"),
            None => text + "[killed]\n",
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if let Some((child, _)) = &mut self.server {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Words as a shell splits them, with quotes and without anything else.
fn split(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let mut started = false;
    for c in line.trim().chars() {
        match (c, quote) {
            (_, Some(end)) if c == end => quote = None,
            ('\'' | '"', None) => (quote, started) = (Some(c), true),
            (' ', None) => {
                if started || !words.last().expect("a word").is_empty() {
                    words.push(String::new());
                }
                started = false;
            }
            _ => words.last_mut().expect("a word").push(c),
        }
    }
    words
}

/// Puts `N` in the place of the number before each `µs`.
fn steady(text: &str) -> String {
    let mut parts = text.split(" µs");
    let mut steady = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = |c: char| c.is_ascii_digit() || c == '.';
        steady.truncate(steady.trim_end_matches(digits).len());
        steady += "N µs";
        steady += part;
    }
    // Empty lines would end an answer in the transcript.
    let kept = |line: &&str| !line.trim().is_empty();
    steady
        .lines()
        .filter(kept)
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

fn difference(expected: &str, found: &str) -> String {
    let (mut a, mut b) = (expected.lines(), found.lines());
    loop {
        match (a.next(), b.next()) {
            (Some(a), Some(b)) if a == b => {}
            (None, None) => return "they differ in white space".to_owned(),
            (a, b) => {
                let rest: Vec<_> = b
                    .into_iter()
                    .chain(found.lines().skip_while(|l| Some(*l) != b).skip(1))
                    .take(12)
                    .collect();
                return format!(
                    "  expected: {}\n  found:    {}",
                    a.unwrap_or("(the end)"),
                    rest.join("\n            ")
                );
            }
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder to copy") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).expect("a copy")),
        }
    }
}
