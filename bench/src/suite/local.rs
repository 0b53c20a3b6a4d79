//! The programs of this host.

use super::Result;
use super::host::{Host, Process};
use super::plan::{ACROSS, ends};
use super::process::{Deadline, Talking};
use super::program::{About, Program};
use super::report::Missing;
use crate::agent::contract::{Load, Usage};
use clap::Args;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Which programs there are beside our own.
#[derive(Args)]
pub(crate) struct Programs {
    /// A program under the contract of bench/README.md, beside our own; can be repeated.
    #[arg(long)]
    program: Vec<PathBuf>,
    /// A program that could not be built, and why: `NAME: REASON`; can be repeated.
    #[arg(long)]
    missing: Vec<String>,
}

/// A host that runs its programs itself.
#[derive(Default)]
pub(crate) struct Local {
    programs: Vec<Program>,
    /// The address that servers listen on; by default on loopback, or on a Unix socket.
    listen: Option<String>,
}

impl Local {
    /// Our own program and the others; those that cannot even be described are missing.
    pub(crate) fn describe(
        options: &Programs,
        listen: Option<String>,
    ) -> Result<(Self, Vec<Missing>)> {
        let Local { mut programs, .. } = Local::of_build(&std::env::current_exe()?)?;
        let mut missing = Vec::new();
        for path in &options.program {
            match Program::describe(path, &[]) {
                Ok(program) => programs.push(program),
                Err(error) => missing.push(Missing::new(
                    &path.display().to_string(),
                    &error.to_string(),
                )),
            }
        }
        for text in &options.missing {
            let (name, reason) = text.split_once(": ").unwrap_or((text, ""));
            missing.push(Missing::new(name, reason));
        }
        Ok((Local { programs, listen }, missing))
    }

    /// The systems of one build of our own program.
    pub(crate) fn of_build(program: &Path) -> Result<Self> {
        let programs = vec![Program::describe(program, &["peer"])?];
        let listen = None;
        Ok(Local { programs, listen })
    }

    pub(crate) fn systems(&self) -> BTreeMap<String, About> {
        let systems = self.programs.iter().flat_map(|program| &program.systems);
        let systems = systems.map(|(name, about)| (name.clone(), about.clone()));
        let mut systems: BTreeMap<String, About> = systems.collect();
        for pair in ACROSS {
            let (client, server) = ends(pair);
            if let (Some(client), Some(server)) = (systems.get(client), systems.get(server)) {
                let about = client.at(server);
                systems.insert((*pair).to_owned(), about);
            }
        }
        systems
    }

    /// The program that has this system.
    pub(crate) fn program(&self, system: &str) -> Result<&Program> {
        let mut programs = self.programs.iter();
        let program = programs.find(|program| program.systems.contains_key(system));
        Ok(program.ok_or_else(|| format!("no system `{system}` here"))?)
    }

    pub(crate) fn server(&self, system: &str, deadline: Deadline) -> Result<(Talking, String)> {
        let (_, system) = ends(system);
        let mut command = self.program(system)?.server(system);
        if let Some(address) = &self.listen {
            command.args(["--address", address]);
        }
        let mut server = Talking::start(&mut command, deadline)?;
        let address = server.ready()?;
        Ok((server, address))
    }

    pub(crate) fn client(&self, system: &str, load: &Load, deadline: Deadline) -> Result<Talking> {
        let (system, _) = ends(system);
        let mut command = self.program(system)?.client(system, load);
        let mut client = Talking::start(&mut command, deadline)?;
        client.ready()?;
        Ok(client)
    }
}

impl Host for Local {
    fn start_server(&self, system: &str, deadline: Deadline) -> Result<(Box<dyn Process>, String)> {
        let (server, address) = self.server(system, deadline)?;
        Ok((Box::new(server), address))
    }

    fn start_client(
        &self,
        system: &str,
        load: &Load,
        deadline: Deadline,
    ) -> Result<Box<dyn Process>> {
        Ok(Box::new(self.client(system, load, deadline)?))
    }
}

impl Process for Talking {
    fn go(&mut self) -> Result<()> {
        Talking::go(self)
    }

    fn figures(&mut self) -> Result<String> {
        Talking::figures(self)
    }

    fn usage(&self) -> Result<Usage> {
        Talking::usage(self)
    }

    fn stop(&mut self) -> Result<u64> {
        Talking::stop(self)
    }
}
