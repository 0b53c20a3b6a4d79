//! Pages as a newcomer follows them, in a crate outside the workspace.
//!
//! Blocks of a file go into the file that the line before them names. Blocks of the language
//! `console` are run: a line with `$` is a command, `&` at its end starts a server, and the other
//! lines are the output that is expected. A server listens at the first address in its command.

use crate::stage::{self, Outcome};
use crate::steps::{read, write};
use crate::tools::{self, CXX, GO, JAVAC, LIBTHRIFT, MAVEN, NPM, PROTOC, PYTHON, THRIFT, Tool};
use std::fs;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The address of servers whose command names none.
const ADDRESS: &str = "127.0.0.1:9090";

/// The longest time until a server has been built and started, or has ended.
const PATIENT: Duration = Duration::from_secs(300);

/// The page with the contract and the server of all clients.
const SHED: &str = "docs/clients/README.md";

/// Each with the tools that it needs beside those of Rust.
const CLIENTS: &[(&str, &[Tool])] = &[
    ("docs/clients/python.md", &[PYTHON, THRIFT]),
    ("docs/clients/go.md", &[GO, THRIFT, PROTOC]),
    ("docs/clients/typescript.md", &[NPM]),
    ("docs/clients/java.md", &[JAVAC, MAVEN]),
    ("docs/clients/cpp.md", &[CXX, LIBTHRIFT, THRIFT]),
];

/// Pages for those who come from another system, which go on where the ones before end.
const MIGRATIONS: &[(&str, &[Tool])] = &[
    ("docs/migrating/thrift.md", &[PYTHON, THRIFT]),
    ("docs/migrating/grpc.md", &[PYTHON]),
    ("docs/migrating/rpclib.md", &[PYTHON]),
    ("docs/migrating/capnproto.md", &[PYTHON]),
];

/// The stage that follows the README.
pub(crate) fn readme() -> Outcome {
    match Place::new("hello").and_then(|place| place.follow("README.md")) {
        Ok(()) => Outcome::Passed,
        Err(why) => Outcome::Failed(why),
    }
}

/// The stage that follows the pages about clients in other languages.
pub(crate) fn clients() -> Outcome {
    let place = match Place::new("shed") {
        Ok(place) => place,
        Err(why) => return Outcome::Failed(why),
    };
    if let Err(why) = place.follow(SHED) {
        return Outcome::Failed(why);
    }
    let mut missing = Vec::new();
    for (page, tools) in CLIENTS.iter().chain(MIGRATIONS) {
        if let Err(tool) = tools::install(tools) {
            missing.push(format!("{page} {tool}"));
        } else if let Err(why) = place.follow(page) {
            return Outcome::Failed(why);
        }
    }
    match missing.is_empty() {
        true => Outcome::Passed,
        false => Outcome::Skipped(missing.join("; ")),
    }
}

/// A fenced block of the page.
struct Block<'a> {
    line: usize,
    language: &'a str,
    /// The file that the line before names.
    file: Option<&'a str>,
    lines: Vec<&'a str>,
}

impl Block<'_> {
    fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let (mut found, mut open, mut before) = (Vec::new(), None::<Block<'_>>, "");
    for (index, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => {
                open = Some(Block {
                    line: index + 1,
                    language: info.split(',').next().unwrap_or_default(),
                    file: named_file(before),
                    lines: Vec::new(),
                });
            }
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(block), None) => block.lines.push(line),
            (None, None) if !line.is_empty() => before = line,
            (None, None) => {}
        }
    }
    found
}

/// The last word in code of a line that ends with a colon.
fn named_file(line: &str) -> Option<&str> {
    let file = line.strip_suffix("`:")?.rsplit('`').next()?;
    file.contains('.').then_some(file)
}

/// The folder of the newcomer's crate.
struct Place(PathBuf);

impl Place {
    /// An empty crate, as `cargo new` makes it.
    fn new(name: &str) -> Result<Self, String> {
        let place = stage::target().join("pages").join(name);
        let _ = fs::remove_dir_all(&place);
        let place = Place(place);
        place.write("src/main.rs", "fn main() {}\n")?;
        let versions = read(&stage::root().join("Cargo.lock"))?;
        place.write("Cargo.lock", &versions)?;
        // The command, as it is beside its own tests.
        stage::built_program("dovetail")?;
        Ok(place)
    }

    /// Writes the files of a page, and runs its commands.
    fn follow(&self, page: &str) -> Result<(), String> {
        let text = read(&stage::root().join(page))?;
        for block in blocks(&text) {
            match (block.language, block.file) {
                ("console", _) => self.console(page, &block)?,
                (_, Some(file)) => self.write(file, &block.text())?,
                _ => {}
            }
        }
        Ok(())
    }

    fn write(&self, file: &str, text: &str) -> Result<(), String> {
        let text = match file {
            "Cargo.toml" => manifest(text),
            _ => text.to_owned(),
        };
        write(&self.0.join(file), &text)
    }

    /// Runs the commands of a block. Its servers end with it.
    fn console(&self, page: &str, block: &Block<'_>) -> Result<(), String> {
        let mut servers = Vec::new();
        let mut lines = block.lines.iter().enumerate().peekable();
        while let Some((index, line)) = lines.next() {
            let at = format!("{page}:{}", block.line + index + 1);
            let Some(command) = line.strip_prefix("$ ") else {
                return Err(format!("{at}: not the output of a command: {line}"));
            };
            let mut expected = String::new();
            while let Some((_, line)) = lines.next_if(|(_, line)| !line.starts_with("$ ")) {
                expected += &format!("{line}\n");
            }
            println!("$ {command}");
            let problem = |why: String| format!("{at}: `{command}` {why}");
            match command.strip_suffix(" &") {
                Some(command) => servers.push(Server::start(self, command).map_err(problem)?),
                None => self.expect(command, &expected).map_err(problem)?,
            }
        }
        servers.into_iter().try_for_each(Server::end)
    }

    fn expect(&self, command: &str, expected: &str) -> Result<(), String> {
        let output = self.shell(command).output();
        let output = output.map_err(|problem| problem.to_string())?;
        let printed = without_styles(&String::from_utf8_lossy(&output.stdout));
        match output.status.success() && printed.trim_end() == expected.trim_end() {
            true => Ok(()),
            false => Err(format!(
                "ended with {}, and printed\n{printed}{}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            )),
        }
    }

    fn shell(&self, command: &str) -> Command {
        let mut shell = Command::new("bash");
        let ours = stage::target().join("debug").display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        shell
            .args(["-c", command])
            .env("PATH", format!("{ours}:{path}"))
            // Libraries that the workspace has built with the same features are not built again.
            .env("CARGO_TARGET_DIR", stage::target())
            .current_dir(&self.0);
        shell
    }
}

/// The manifest that `cargo new` makes, with these lines. Our crates are taken from here: they are
/// not published yet.
fn manifest(lines: &str) -> String {
    let ours = [("dovetail-rpc", "rpc"), ("dovetail-build", "build")];
    let patches: String = ours
        .iter()
        .filter(|(package, _)| lines.contains(package))
        .map(|(package, folder)| {
            let path = stage::root().join("crates").join(folder);
            format!("{package} = {{ path = {path:?} }}\n")
        })
        .collect();
    format!(
        "[package]\nname = \"hello\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n{lines}\n\
         [patch.crates-io]\n{patches}\n[workspace]\n"
    )
}

/// Returns the text without the codes of terminals that end a style: Maven always prints them.
fn without_styles(text: &str) -> String {
    text.replace("\x1b[0m", "").replace("\x1b[m", "")
}

/// A server in the background.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(place: &Place, command: &str) -> Result<Self, String> {
        let address = address(command).to_owned();
        if is_open(&address) {
            return Err(format!("needs {address}, where another program listens"));
        }
        let mut shell = place.shell(command);
        // A group of its own, so that a signal reaches the program and not only the shell.
        shell.stdout(Stdio::null()).process_group(0);
        let child = shell.spawn().map_err(|problem| problem.to_string())?;
        let mut server = Server { child, address };
        let started = Instant::now();
        while !is_open(&server.address) {
            let ended = server
                .child
                .try_wait()
                .map_err(|problem| problem.to_string())?;
            if ended.is_some() || started.elapsed() > PATIENT {
                return Err("does not listen".to_owned());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    /// Sends SIGTERM, as a supervisor does, and waits for the end.
    fn end(mut self) -> Result<(), String> {
        self.signal("-TERM");
        let ended = self.child.wait();
        ended.map_err(|problem| problem.to_string())?;
        match is_open(&self.address) {
            true => Err(format!(
                "the server at {} goes on after SIGTERM",
                self.address
            )),
            false => Ok(()),
        }
    }

    fn signal(&self, name: &str) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args([name, "--", &group]).status();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.signal("-KILL");
        }
    }
}

fn is_open(address: &str) -> bool {
    TcpStream::connect(address).is_ok()
}

/// Returns the address at which the server of a command listens.
fn address(command: &str) -> &str {
    let words = command.split_whitespace();
    let mut words = words.map(|word| word.strip_prefix("tcp://").unwrap_or(word));
    words
        .find(|word| word.starts_with("127.0.0.1:"))
        .unwrap_or(ADDRESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_listen_at_the_first_address() {
        for (command, expected) in [
            ("cargo run", "127.0.0.1:9090"),
            ("python3 a.py 127.0.0.1:9091", "127.0.0.1:9091"),
            (
                "a --listen tcp://127.0.0.1:1 --to 127.0.0.1:2",
                "127.0.0.1:1",
            ),
        ] {
            assert_eq!(address(command), expected, "{command}");
        }
    }

    #[test]
    fn blocks_have_their_files() {
        let text =
            "a, and in `Cargo.toml`:\n\n```toml\nx = 1\n```\n\nthen\n\n```console\n$ a &\n```\n";
        let found: Vec<_> = blocks(text)
            .iter()
            .map(|block| (block.language, block.file, block.text()))
            .collect();
        let toml = ("toml", Some("Cargo.toml"), "x = 1\n".to_owned());
        assert_eq!(found, [toml, ("console", None, "$ a &\n".to_owned())]);
    }
}
