use clap::Args;
use std::path::PathBuf;
use std::process::Command;

/// Client and server on hosts of their own.
#[derive(Args)]
pub(super) struct Apart {
    /// Build everything, and start programs on this host for a coordinator on another one:
    /// HOST:PORT.
    #[arg(long, requires = "token_file")]
    listen: Option<String>,
    /// Run servers on the host of the agent at HOST:PORT.
    #[arg(long, requires = "client_agent", conflicts_with = "listen")]
    server_agent: Option<String>,
    /// Run clients on the host of the agent at HOST:PORT.
    #[arg(long, requires_all = ["server_agent", "token_file"])]
    client_agent: Option<String>,
    /// A file with a secret that agents and their coordinator share.
    #[arg(long)]
    token_file: Option<PathBuf>,
}

impl Apart {
    pub(super) fn is_agent(&self) -> bool {
        self.listen.is_some()
    }

    /// Whether the programs are on other hosts.
    pub(super) fn is_coordinator(&self) -> bool {
        self.server_agent.is_some()
    }

    pub(super) fn pass_on(&self, command: &mut Command) {
        let places = [
            ("--listen", &self.listen),
            ("--server-agent", &self.server_agent),
            ("--client-agent", &self.client_agent),
        ];
        for (option, place) in places {
            command.args(place.iter().flat_map(|place| [option, place]));
        }
        if let Some(file) = &self.token_file {
            command.arg("--token-file").arg(file);
        }
    }
}
