//! The host of an agent, by calls of Dovetail.

use super::Result;
use super::host::{Host, Process};
use super::process::Deadline;
use super::program::About;
use crate::agent::TOKEN;
use crate::agent::contract::{self, AgentBlockingClient, Load, Usage};
use dovetail::blocking::Channel;
use dovetail::transport::Polling;
use std::collections::BTreeMap;
use std::time::Duration;

/// The agent says itself when a program takes too long; this much later nobody waits for it any
/// more.
const GRACE: Duration = Duration::from_secs(10);

pub(crate) struct Remote {
    address: String,
    channel: Channel,
    host: contract::Host,
}

impl Remote {
    pub(crate) fn connect(address: &str, token: &str) -> Result<Self> {
        // The measuring side must not burn the processor beside the measured one.
        let channel = Channel::builder(address)?.polling(Polling::Never);
        let channel = channel.wire("dovetail".parse()?).build();
        let channel = channel.with_header(TOKEN, token.to_owned());
        let host = AgentBlockingClient::from(channel.clone()).describe();
        Ok(Remote {
            host: host.map_err(|error| format!("the agent at {address}: {error}"))?,
            address: address.to_owned(),
            channel,
        })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn systems(&self) -> BTreeMap<String, About> {
        let systems = self.host.systems.iter();
        systems
            .map(|(name, system)| (name.clone(), About::from(system)))
            .collect()
    }

    /// Returns the systems that it cannot start, and why.
    pub(crate) fn missing(&self) -> impl Iterator<Item = (&String, &String)> {
        self.host.missing.iter()
    }

    pub(crate) fn machine(&self) -> &BTreeMap<String, String> {
        &self.host.machine
    }

    /// A client whose calls may last until a program's time is over.
    fn agent(&self, deadline: Deadline) -> AgentBlockingClient {
        self.channel.with_timeout(deadline.left() + GRACE).into()
    }
}

impl Host for Remote {
    fn start_server(&self, system: &str, deadline: Deadline) -> Result<(Box<dyn Process>, String)> {
        let agent = self.agent(deadline);
        let server = agent.start_server(system, deadline.left_ms())?;
        Ok((RemoteProcess::boxed(agent, server.process), server.address))
    }

    fn start_client(
        &self,
        system: &str,
        load: &Load,
        deadline: Deadline,
    ) -> Result<Box<dyn Process>> {
        let agent = self.agent(deadline);
        let process = agent.start_client(system, load, deadline.left_ms())?;
        Ok(RemoteProcess::boxed(agent, process))
    }
}

struct RemoteProcess {
    agent: AgentBlockingClient,
    id: i64,
    stopped: bool,
}

impl RemoteProcess {
    fn boxed(agent: AgentBlockingClient, id: i64) -> Box<dyn Process> {
        Box::new(RemoteProcess {
            agent,
            id,
            stopped: false,
        })
    }
}

impl Process for RemoteProcess {
    fn go(&mut self) -> Result<()> {
        Ok(self.agent.go(self.id)?)
    }

    fn figures(&mut self) -> Result<String> {
        Ok(self.agent.figures(self.id)?)
    }

    fn usage(&self) -> Result<Usage> {
        Ok(self.agent.usage(self.id)?)
    }

    fn stop(&mut self) -> Result<u64> {
        self.stopped = true;
        Ok(self.agent.stop(self.id)?.cast_unsigned())
    }
}

impl Drop for RemoteProcess {
    fn drop(&mut self) {
        if !self.stopped {
            // The agent kills in time a process that cannot be reached now.
            let _ = self.agent.stop(self.id);
        }
    }
}
