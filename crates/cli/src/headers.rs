//! Headers that a person sends along.

use crate::failure::{Exit, Failure, Result};
use clap::Args;
use dovetail::Wire;

/// Headers of the calls that a command makes.
#[derive(Debug, Default, Args)]
pub(crate) struct Headers {
    /// Send a header, as in "authorization: Bearer …"; needs a wire with headers; can be repeated
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
}

impl Headers {
    pub(crate) fn pairs(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.headers.iter().map(|text| pair(text)).collect()
    }

    /// Fails for a wire without headers, if there are any.
    pub(crate) fn check(&self, wire: Wire) -> Result {
        match self.headers.is_empty() || wire.has_headers() {
            true => Ok(()),
            false => {
                let failure = format!("the wire {wire} carries no headers");
                Err(Failure::new(Exit::Usage, failure).help("try --wire compact+header"))
            }
        }
    }
}

/// Reads `name: value`, as curl has it, or `name=value`.
fn pair(text: &str) -> Result<(String, Vec<u8>)> {
    match text.split_once([':', '=']) {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().as_bytes().to_vec()))
        }
        _ => {
            let failure = Failure::new(Exit::Usage, format!("`{text}` is no header"));
            Err(failure.help("a header is NAME: VALUE"))
        }
    }
}
