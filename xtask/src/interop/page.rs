//! `docs/interop.md`: the results of the matrix, without facts that differ from run to run.

use crate::peers::Peer;
use crate::peers::check::{self, Run};
use crate::peers::known::Known;
use crate::peers::matrix::{Capability, PROTOCOLS, TRANSPORTS, Variant};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const HEAD: &str = "\
# Interoperability

<!-- Written by `cargo xtask interop --write`. -->

A cell counts the cases that passed between Dovetail and an unmodified program of Apache Thrift, over `msgpack-rpc`
of aio-msgpack-rpc (Python) or Neovim, over `grpc` of gRPC's libraries and h2spec, over `connect-json` and `connect-proto` of Connect's library for Go and
of Python's own HTTP with curl, or over `websocket` of websockets and aiohttp (Python), over TCP and, with `buffered` and `framed`, also multiplexed and over Unix sockets; – stands where [one of the two](#what-is-not-there) does
not have it. *Known* cases are those in which the other program [fails by itself](#where-peers-fail-by-themselves).
";

const COMMANDS: &str = "\
```
cargo xtask interop            # run all of it; three minutes on two cores
cargo xtask interop --write    # and write this page
```

What the cases are, and how to run one of them: [interop/README.md](../interop/README.md).";

const VARIANTS: &str = "
## Clients and servers of Dovetail

Dovetail has two clients, `blocking` and `async`, and four models of a server: event `loops`, `threads` for connections, a
`pool` of threads for handlers, and a `single` thread. They take turns in the tables above, so that each of them meets each
peer. The cases that each had a part in:
";

const WEAKNESSES: &str = "
## Where peers fail by themselves

These cases may fail, and are counted as known whether they do or not. What fails only between other programs stands in
[known.toml](../interop/known.toml), too.
";

const ABSENT: &str = "
## What is not there
";

/// The sides of Dovetail.
const SIDES: [Side; 2] = [Side::Calls, Side::Answers];

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Calls,
    Answers,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Side::Calls => "calls",
            Side::Answers => "answers",
        }
    }
}

/// The number of cases that passed, and of those that may fail because the peer fails by itself.
#[derive(Clone, Copy, Default)]
struct Cell {
    passed: usize,
    known: usize,
}

impl Cell {
    fn of<'a>(runs: impl Iterator<Item = &'a Run>) -> Cell {
        runs.fold(Cell::default(), |cell, run| Cell {
            passed: cell.passed + run.passed,
            known: cell.known + run.known.len(),
        })
    }

    fn text(self) -> String {
        match self {
            Cell {
                passed: 0,
                known: 0,
            } => "–".to_owned(),
            Cell { passed, known: 0 } => format!("{} ✓", thousands(passed)),
            Cell { passed, known } => format!("{} ✓ {known} known", thousands(passed)),
        }
    }
}

/// Formats a number as 1,234,567.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let place = |at: usize| digits.len() - at;
    let comma = |at: usize| at > 0 && place(at).is_multiple_of(3);
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if comma(at) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The contents of the page.
struct Page<'a> {
    /// The peers of Dovetail; Dovetail itself is not among them where it only answers others.
    peers: Vec<&'a Peer>,
    runs: &'a [Run],
    /// Our programs, by name.
    ours: &'a [&'a str],
    known: Known,
}

/// Writes the whole page.
pub(super) fn text(peers: &[Peer], runs: &[Run], ours: &[&str]) -> Result<String, String> {
    let mut page = Page {
        peers: Vec::new(),
        runs,
        ours,
        known: Known::load()?,
    };
    let met = |peer: &&Peer| {
        SIDES
            .iter()
            .any(|side| page.with(peer, *side).next().is_some())
    };
    page.peers = peers.iter().filter(met).collect();
    let mut out = String::new();
    let absences = absences(peers)?;
    page.write(&absences, &mut out)
        .map_err(|error| error.to_string())?;
    Ok(out)
}

impl Page<'_> {
    fn write(&self, absences: &Absences, out: &mut String) -> std::fmt::Result {
        self.introduction(out)?;
        self.overview(out)?;
        for peer in &self.peers {
            self.matrix(peer, out)?;
        }
        self.variants(out)?;
        self.weaknesses(out)?;
        self.absent(absences, out)
    }

    fn introduction(&self, out: &mut String) -> std::fmt::Result {
        let Cell { passed, known } = Cell::of(self.runs.iter());
        writeln!(
            out,
            "{HEAD}\nIn all, {} cases pass and {} are known. Any other failure fails the tests, and so does this page where it is\n\
             out of date.\n\n{COMMANDS}\n",
            thousands(passed),
            thousands(known)
        )
    }

    /// The runs with this peer in which Dovetail is on this side. Against itself it is the caller.
    fn with(&self, peer: &Peer, side: Side) -> impl Iterator<Item = &Run> {
        let name = peer.name;
        self.runs.iter().filter(move |run| match side {
            Side::Calls => run.server == name && self.ours.contains(&run.client),
            Side::Answers => {
                run.client == name && run.server != name && self.ours.contains(&run.server)
            }
        })
    }

    fn overview(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "| peer | version | Dovetail calls | Dovetail answers |"
        )?;
        writeln!(out, "|---|---|---|---|")?;
        for peer in &self.peers {
            let [calls, answers] = SIDES.map(|side| Cell::of(self.with(peer, side)).text());
            let version = self.version(peer);
            writeln!(out, "| {} | {version} | {calls} | {answers} |", peer.title)?;
        }
        Ok(())
    }

    fn version(&self, peer: &Peer) -> String {
        match self.ours.contains(&peer.name) {
            true => "–".to_owned(),
            false => format!("{} {}", peer.library, peer.version),
        }
    }

    /// The table of one peer.
    fn matrix(&self, peer: &Peer, out: &mut String) -> std::fmt::Result {
        let columns: Vec<&str> = TRANSPORTS
            .into_iter()
            .filter(|name| self.runs.iter().any(|run| run.way.transport == *name))
            .collect();
        writeln!(out, "\n## {}\n", peer.title)?;
        writeln!(out, "| protocol | Dovetail | {} |", columns.join(" | "))?;
        writeln!(out, "|---|---{}|", "|---".repeat(columns.len()))?;
        for protocol in PROTOCOLS {
            for side in SIDES {
                let cell = |transport: &&str| {
                    let fits = |run: &&Run| {
                        run.way.protocol == protocol && run.way.transport == **transport
                    };
                    Cell::of(self.with(peer, side).filter(fits)).text()
                };
                let cells: Vec<String> = columns.iter().map(cell).collect();
                if cells.iter().any(|cell| cell != "–") {
                    let (side, cells) = (side.name(), cells.join(" | "));
                    writeln!(out, "| {protocol} | {side} | {cells} |")?;
                }
            }
        }
        Ok(())
    }

    /// Writes how the variants of our own program share the runs.
    fn variants(&self, out: &mut String) -> std::fmt::Result {
        let Some(ours) = self
            .peers
            .iter()
            .find(|peer| self.ours.contains(&peer.name))
        else {
            return Ok(());
        };
        let columns: Vec<Variant> = ours.clients.iter().chain(&ours.servers).copied().collect();
        let names: Vec<&str> = columns.iter().map(|variant| variant.name).collect();
        writeln!(out, "{VARIANTS}")?;
        writeln!(out, "| peer | {} |", names.join(" | "))?;
        writeln!(out, "|---{}|", "|---".repeat(names.len()))?;
        for peer in &self.peers {
            let part = |variant: &Variant| {
                let fits = |run: &&Run| {
                    run.variants.0 == Some(*variant) || run.variants.1 == Some(*variant)
                };
                let runs = SIDES.into_iter().flat_map(|side| self.with(peer, side));
                let Cell { passed, known } = Cell::of(runs.filter(fits));
                thousands(passed + known)
            };
            let cells: Vec<String> = columns.iter().map(part).collect();
            writeln!(out, "| {} | {} |", peer.title, cells.join(" | "))?;
        }
        Ok(())
    }

    /// The rows of `known.toml` that some run had a case for.
    fn weaknesses(&self, out: &mut String) -> std::fmt::Result {
        let mut used: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        for peer in &self.peers {
            for side in SIDES {
                for row in self.with(peer, side).flat_map(|run| &run.known) {
                    let who = format!("{} {}", side.name(), peer.title);
                    used.entry(*row).or_default().insert(who);
                }
            }
        }
        writeln!(out, "{WEAKNESSES}")?;
        writeln!(out, "| Dovetail | protocol | transport | cases | why |")?;
        writeln!(out, "|---|---|---|---|---|")?;
        for (row, who) in &used {
            let field = |name| self.known.field(*row, name);
            let or_any = |name| match field(name).join(", ") {
                empty if empty.is_empty() => "any".to_owned(),
                some => some,
            };
            let who: Vec<&str> = who.iter().map(String::as_str).collect();
            let cases: Vec<String> = field("case")
                .iter()
                .map(|case| format!("`{case}`"))
                .collect();
            writeln!(
                out,
                "| {} | {} | {} | {} | {} |",
                who.join(", "),
                or_any("protocol"),
                or_any("transport"),
                cases.join(", "),
                self.known.reason(*row)
            )?;
        }
        Ok(())
    }

    /// Lists the ways of speaking that programs say they lack.
    fn absent(&self, absences: &Absences, out: &mut String) -> std::fmt::Result {
        let skipped: usize = self.runs.iter().map(|run| run.skipped).sum();
        writeln!(out, "{ABSENT}")?;
        writeln!(out, "| program | transport | protocol | lacks | why |")?;
        writeln!(out, "|---|---|---|---|---|")?;
        for ((transport, protocols, lacks, why), titles) in absences {
            let titles = titles.join(", ");
            writeln!(
                out,
                "| {titles} | {transport} | {protocols} | {lacks} | {why} |"
            )?;
        }
        writeln!(
            out,
            "\n`nonblocking` is a kind of server whose clients say `framed`. `tls` is `buffered`, or HTTP, over TLS, where both ends\n\
             show a certificate. Multiplexed services and Unix sockets are the same\n\
             thing over all transports, so they are tried over `buffered` and `framed`. Cases about a second service need a\n\
             multiplexed server; elsewhere they were skipped, {} times.",
            thousands(skipped)
        )
    }
}

/// Transport, protocols, missing side and reason; and the programs that say so.
type Absences = BTreeMap<(String, String, &'static str, String), Vec<&'static str>>;

fn absences(peers: &[Peer]) -> Result<Absences, String> {
    let mut found = Absences::new();
    for peer in peers {
        let all = check::capabilities(peer)?;
        for one in &all {
            if let Some(reason) = &one.reason {
                let transport = one.way.transport.clone();
                let key = (transport, protocols(one, &all), lacks(one), reason.clone());
                let titles = found.entry(key).or_default();
                if !titles.contains(&peer.title) {
                    titles.push(peer.title);
                }
            }
        }
    }
    Ok(found)
}

fn lacks(capability: &Capability) -> &'static str {
    match (capability.client, capability.server) {
        (false, false) => "both sides",
        (true, _) => "server",
        (_, true) => "client",
    }
}

/// Returns the names of the protocols for which the program gives one reason, or "any" if it gives
/// that for all protocols over this transport.
fn protocols(one: &Capability, all: &[Capability]) -> String {
    let over = |each: &&Capability| each.way.transport == one.way.transport;
    let same = |each: &&Capability| each.reason == one.reason;
    if all.iter().filter(over).all(|each| same(&each)) {
        return "any".to_owned();
    }
    let named = |protocol: &&str| {
        let mut these = all.iter().filter(over).filter(same);
        these.any(|each| each.way.protocol == **protocol)
    };
    let named: Vec<&str> = PROTOCOLS.into_iter().filter(|name| named(name)).collect();
    named.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_cells_are_readable() {
        for (number, want) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(thousands(number), want);
        }
        for (passed, known, want) in [
            (0, 0, "–"),
            (61, 0, "61 ✓"),
            (60, 1, "60 ✓ 1 known"),
            (0, 4, "0 ✓ 4 known"),
        ] {
            assert_eq!(Cell { passed, known }.text(), want);
        }
    }
}
