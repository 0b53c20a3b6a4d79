//! `cargo xtask peers`: the unmodified peers that Dovetail is proved against, built
//! from the registries into `target/peers`.
//!
//! `interop/README.md` says what a peer is and how to speak with one.

mod certificates;
pub(crate) mod check;
pub(crate) mod known;
pub(crate) mod matrix;
mod recipes;

use crate::stage;
use crate::steps::{clear, cores, list, side_by_side};
use crate::tools::{self, Tool};
use clap::Args;
use matrix::Variant;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The options of `cargo xtask peers`.
#[derive(Args)]
pub(crate) struct Options {
    /// Only these peers, by name, with commas between them.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Also let every client call every server: what fails here is upstream's own.
    #[arg(long)]
    check: bool,
    /// With --check: only this protocol.
    #[arg(long)]
    protocol: Option<String>,
    /// With --check: only this transport.
    #[arg(long)]
    transport: Option<String>,
}

/// A program of another project that speaks one of the contracts of `interop/contract`.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Its folder in `interop/peers`, and what it answers to `whoami`.
    pub(crate) name: &'static str,
    /// The name for display.
    pub(crate) title: &'static str,
    /// The library inside.
    pub(crate) library: &'static str,
    /// The version of that.
    pub(crate) version: &'static str,
    /// Which contract it speaks.
    pub(crate) contract: Contract,
    /// How to start it; `server`, `client`, `capabilities` and their flags follow.
    pub(crate) command: Vec<String>,
    /// The ways in which its server can run; none where there is only one.
    pub(crate) servers: Vec<Variant>,
    /// The ways in which its client can.
    pub(crate) clients: Vec<Variant>,
    /// Whether it can be started.
    pub(crate) status: Status,
}

/// A file of `interop/contract`, and so a set of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contract {
    /// `interop.thrift`.
    Interop,
    /// `uuid.thrift`.
    Uuid,
    /// `neovim.thrift`.
    Neovim,
    /// `calls.proto` and `mapped.thrift`.
    Grpc,
    /// `testing.proto`, with gRPC's own cases.
    Testing,
    /// None: cases of HTTP/2.
    Http2,
    /// Those of `Grpc` and `second.proto`, over HTTP/1.1.
    Http,
    /// `places.capnp`.
    Capnp,
}

/// Whether a peer can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// It can.
    Ready,
    /// It cannot, because of this, which also says what to do.
    Missing {
        /// The missing tool, and how to get it.
        reason: String,
    },
}

/// Builds the peers, prints how that went, and checks them against each other where asked to.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let only: Vec<&str> = options.only.iter().map(String::as_str).collect();
    let known: Vec<&str> = recipes::ALL.iter().map(|recipe| recipe.name).collect();
    if let Some(name) = only.iter().find(|name| !known.contains(name)) {
        return Err(format!(
            "no peer is called `{name}`; there are: {}",
            known.join(", ")
        ));
    }
    let peers = prepare(&only);
    let missing: Vec<&str> = peers
        .iter()
        .filter(|peer| peer.status != Status::Ready)
        .map(|peer| peer.name)
        .collect();
    if stage::in_ci() && !missing.is_empty() {
        return Err(format!("missing in CI: {}", missing.join(", ")));
    }
    if options.check {
        let filter = matrix::Filter {
            protocol: options.protocol.as_deref(),
            transport: options.transport.as_deref(),
            ..matrix::Filter::default()
        };
        return check::run(&peers, &filter).map(drop);
    }
    Ok(())
}

/// Builds the peers of these names, or all where there is none, as far as they are not built yet.
///
/// Installs what is missing where that is possible without asking. Prints a line for each peer.
pub(crate) fn prepare(only: &[&str]) -> Vec<Peer> {
    let target = stage::root().join("target/peers");
    let _lock = lock(&target);
    let wanted = |recipe: &&Recipe| only.is_empty() || only.contains(&recipe.name);
    let wanted: Vec<&Recipe> = recipes::ALL.iter().filter(wanted).collect();
    // One peer waits for a registry while another one compiles.
    side_by_side(cores(), &wanted, |recipe| recipe.prepare(&target))
}

/// Builds the peers of these names. The error is the reason for which one of them is missing.
pub(crate) fn built(names: &[&str]) -> Result<Vec<Peer>, String> {
    let mut peers = prepare(names);
    let missing = peers.iter_mut().find_map(|peer| match &mut peer.status {
        Status::Missing { reason } => Some(std::mem::take(reason)),
        _ => None,
    });
    match missing {
        Some(reason) => Err(reason),
        None => Ok(peers),
    }
}

/// The peer's place in the list of all. Our own programs have none: a new peer changes nothing for
/// the others.
pub(crate) fn place(name: &str) -> usize {
    let place = recipes::ALL.iter().position(|recipe| recipe.name == name);
    place.unwrap_or(0)
}

/// Held while peers are built: two at once would spoil each other's files.
fn lock(target: &Path) -> Option<fs::File> {
    fs::create_dir_all(target).ok()?;
    let file = fs::File::create(target.join("lock")).ok()?;
    file.lock().ok()?;
    Some(file)
}

/// How to build one peer.
struct Recipe {
    name: &'static str,
    title: &'static str,
    library: &'static str,
    version: &'static str,
    contract: Contract,
    /// The tools it needs, each with the Debian packages that bring it.
    tools: &'static [Tool],
    /// Builds it.
    build: fn(&BuildPaths) -> Result<(), String>,
}

/// The folders in which one peer is built.
struct BuildPaths {
    /// `interop/peers/<name>`.
    source: PathBuf,
    /// `interop/contract`.
    contract: PathBuf,
    /// `interop/peers/line`, the Go package that peers in Go share.
    line: PathBuf,
    /// `target/peers/<name>/build`, empty at first but for what `keep` kept.
    build: PathBuf,
    /// The program to make: `target/peers/<name>/peer`.
    peer: PathBuf,
}

impl Recipe {
    fn prepare(&self, target: &Path) -> Peer {
        let root = stage::root();
        let folder = target.join(self.name);
        let paths = BuildPaths {
            source: root.join("interop/peers").join(self.name),
            contract: root.join("interop/contract"),
            line: root.join("interop/peers/line"),
            build: folder.join("build"),
            peer: folder.join("peer"),
        };
        let start = Instant::now();
        let label = format!("{:9} {:7}", self.name, self.version);
        let stamp = folder.join("stamp");
        let status = match self.hash(&paths) {
            Ok(hash)
                if paths.peer.exists()
                    && fs::read_to_string(&stamp).is_ok_and(|old| old == hash) =>
            {
                println!("{label} cached");
                Status::Ready
            }
            Ok(hash) => {
                println!("{label} building ...");
                let built = tools::install(self.tools)
                    .and_then(|()| clear(&paths.build))
                    .and_then(|()| (self.build)(&paths))
                    .and_then(|()| fs::write(&stamp, hash).map_err(|error| error.to_string()));
                match built {
                    Ok(()) => {
                        println!("{label} built in {:.0} s", start.elapsed().as_secs_f64());
                        Status::Ready
                    }
                    Err(reason) => {
                        println!("{label} missing: {reason}");
                        Status::Missing { reason }
                    }
                }
            }
            Err(reason) => {
                println!("{label} missing: {reason}");
                Status::Missing { reason }
            }
        };
        Peer {
            name: self.name,
            title: self.title,
            library: self.library,
            version: self.version,
            contract: self.contract,
            command: vec![paths.peer.display().to_string()],
            servers: Vec::new(),
            clients: Vec::new(),
            status,
        }
    }

    /// A hash of all that the peer is made of, this program included.
    fn hash(&self, paths: &BuildPaths) -> Result<String, String> {
        let mut hasher = DefaultHasher::new();
        include_str!("peers.rs").hash(&mut hasher);
        include_str!("peers/recipes.rs").hash(&mut hasher);
        include_str!("steps.rs").hash(&mut hasher);
        include_str!("tools.rs").hash(&mut hasher);
        // The start scripts contain absolute paths.
        paths.peer.hash(&mut hasher);
        for folder in [&paths.source, &paths.contract, &paths.line] {
            let mut files = Vec::new();
            list(folder, &mut files)?;
            files.sort();
            for file in files {
                file.hash(&mut hasher);
                read(&file)?.hash(&mut hasher);
            }
        }
        Ok(format!("{:016x}\n", hasher.finish()))
    }
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))
}
