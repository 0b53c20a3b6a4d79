//! The hosts that programs run on: this one, or those of two agents.

use super::local::Local;
use super::process::Deadline;
use super::program::About;
use super::remote::Remote;
use super::report::Missing;
use super::{Options, Result, machine};
use crate::agent::contract::{Load, Usage};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A host that starts programs.
pub(crate) trait Host {
    /// Starts a server; gives the address that clients reach it by.
    fn start_server(&self, system: &str, deadline: Deadline) -> Result<(Box<dyn Process>, String)>;

    /// Starts a client; it is warm when this returns.
    fn start_client(
        &self,
        system: &str,
        load: &Load,
        deadline: Deadline,
    ) -> Result<Box<dyn Process>>;
}

/// A program at work, which ends with this.
pub(crate) trait Process {
    /// Lets a client measure.
    fn go(&mut self) -> Result<()>;

    /// Waits for the line with a client's figures.
    fn figures(&mut self) -> Result<String>;

    fn usage(&self) -> Result<Usage>;

    /// Kills the process; gives the context switches of all threads that it ever had.
    fn stop(&mut self) -> Result<u64>;
}

/// The hosts of servers and of clients.
pub(crate) enum Hosts {
    Here(Local),
    Apart { server: Remote, client: Remote },
}

impl Hosts {
    /// Those that the options name, and what they lack.
    pub(crate) fn of(options: &Options) -> Result<(Self, Vec<Missing>)> {
        let places = options
            .server_agent
            .as_ref()
            .zip(options.client_agent.as_ref());
        let Some(((server, client), file)) = places.zip(options.token_file.as_ref()) else {
            let (local, missing) = Local::describe(&options.programs, None)?;
            return Ok((Hosts::Here(local), missing));
        };
        let token = token(file)?;
        let server = Remote::connect(server, &token)?;
        let client = Remote::connect(client, &token)?;
        let missing = lacking(&server, &client);
        Ok((Hosts::Apart { server, client }, missing))
    }

    pub(crate) fn server(&self) -> &dyn Host {
        match self {
            Hosts::Here(local) => local,
            Hosts::Apart { server, .. } => server,
        }
    }

    pub(crate) fn client(&self) -> &dyn Host {
        match self {
            Hosts::Here(local) => local,
            Hosts::Apart { client, .. } => client,
        }
    }

    /// This host, if there is no other.
    pub(crate) fn local(&self) -> Option<&Local> {
        match self {
            Hosts::Here(local) => Some(local),
            Hosts::Apart { .. } => None,
        }
    }

    /// The systems that both hosts have.
    pub(crate) fn systems(&self) -> BTreeMap<String, About> {
        match self {
            Hosts::Here(local) => local.systems(),
            Hosts::Apart { server, client } => {
                let mut systems = server.systems();
                let others = client.systems();
                systems.retain(|name, _| others.contains_key(name));
                systems
            }
        }
    }

    /// Returns the facts about the machine, and the figure that could not be measured of it.
    pub(crate) fn machine(&self) -> (Value, Option<Missing>) {
        match self {
            Hosts::Here(_) => machine::describe(),
            Hosts::Apart { server, client } => (machine::join(server, client), None),
        }
    }
}

/// The token that an agent and its coordinator share.
pub(crate) fn token(file: &Path) -> Result<String> {
    let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    match text.trim() {
        "" => Err(format!("{}: an empty token", file.display()).into()),
        token => Ok(token.to_owned()),
    }
}

/// Returns the systems that either host cannot start, or only one of them can.
fn lacking(server: &Remote, client: &Remote) -> Vec<Missing> {
    let mut missing = Vec::new();
    for (one, other) in [(server, client), (client, server)] {
        let reason = |why: &str| format!("{}: {why}", one.address());
        missing.extend(
            one.missing()
                .map(|(name, why)| Missing::new(name, &reason(why))),
        );
        let systems = one.systems();
        let only_there = other
            .systems()
            .into_keys()
            .filter(|name| !systems.contains_key(name));
        missing.extend(only_there.map(|name| Missing::new(&name, &reason("no such system"))));
    }
    missing
}
