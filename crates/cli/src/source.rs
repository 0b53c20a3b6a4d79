//! The source of a command's contract: a file, or a server that describes itself.

use crate::failure::{Exit, Failure, Result};
use crate::headers::Headers;
use crate::idl::{self, Includes};
use crate::remote;
use crate::tls::ClientOptions;
use crate::values::duration;
use dovetail::Wire;
use dovetail_schema::Schema;
use std::path::PathBuf;
use std::time::Duration;

/// The options of commands that show a contract.
#[derive(Debug, clap::Args)]
pub(crate) struct Source {
    /// A file, instead of a server
    #[arg(long, value_name = "FILE")]
    pub(crate) idl: Option<PathBuf>,
    #[command(flatten)]
    includes: Includes,
    #[command(flatten)]
    tls: ClientOptions,
    #[command(flatten)]
    headers: Headers,
    /// How to ask the server: dovetail, grpc, or any other wire of a Dovetail server
    #[arg(short, long, value_name = "WIRE", conflicts_with = "idl")]
    wire: Option<Wire>,
    /// Give up after this time
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    timeout: Duration,
}

impl Source {
    /// The contract, and the words that do not say where it is.
    pub(crate) fn schema<'a>(&self, words: &'a [String]) -> Result<(Schema, &'a [String])> {
        if let Some(file) = &self.idl {
            return Ok((idl::load(file, &self.includes)?, words));
        }
        let Some((address, words)) = words.split_first() else {
            let failure = Failure::new(Exit::Usage, "neither a server nor a file is named");
            return Err(failure.help("give an address, as in 127.0.0.1:9090, or --idl FILE"));
        };
        let target = self.tls.target(address);
        let mut target = target.map_err(|failure| match PathBuf::from(address).exists() {
            true => failure.help(format!("for a file: --idl {address}")),
            false => failure,
        })?;
        target.headers = self.headers.pairs()?;
        Ok((remote::ask(&target, self.wire, self.timeout)?.schema, words))
    }
}
