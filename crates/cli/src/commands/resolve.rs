use crate::failure::{Exit, Failure, Result};
use crate::output;
use crate::paint::Stream;
use crate::table::{Align, Table};
use crate::values::duration;
use clap::Args;
use dovetail::names::{self, Resolution};
use serde_json::json;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// Show the servers that a name stands for
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dovetail resolve dns:///orders.example.com:9090         all addresses of a host
  dovetail resolve dns:///_orders._tcp.example.com        the servers of SRV records
  dovetail resolve dns://10.0.0.53/orders:9090            the same, by asking this server
  dovetail resolve file:///etc/orders.servers --watch     and each time that they change
  dovetail resolve etcd://10.0.0.1:2379/services/orders   those below a prefix of etcd
  dovetail resolve zk://10.0.0.1:2181/services/orders     those below a node of ZooKeeper
  dovetail resolve consul://127.0.0.1:8500/orders         the instances of a service of Consul
  dovetail resolve k8s://shop/orders:9090                 the endpoints of a service of Kubernetes
  dovetail resolve tcp://10.0.0.1:9090,tcp://10.0.0.2:9090 --json

Channels take the same names. docs/balancing.md has all of them.")]
pub(crate) struct Resolve {
    /// The name
    name: String,
    /// Go on, and show the servers each time that they change, until Ctrl-C
    #[arg(long)]
    watch: bool,
    /// How long an answer may take
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5s")]
    timeout: Duration,
    /// Print JSON, a line for each answer
    #[arg(long)]
    json: bool,
}

impl Resolve {
    pub(crate) fn run(self) -> Result {
        let (tell, reported) = mpsc::channel();
        let listener = move |news| {
            // Nobody listens any longer where the command ends.
            let _ = tell.send(news);
        };
        let unusable = |status: dovetail::Status| Failure::new(Exit::Usage, status.message());
        let _watch = names::watch(&self.name, listener)
            .map_err(|status| unusable(status).help("`dovetail resolve --help` shows names"))?;
        let first = reported
            .recv_timeout(self.timeout)
            .map_err(|_| self.late())?;
        self.show(first)?;
        if !self.watch {
            return Ok(());
        }
        loop {
            match reported.recv_timeout(Duration::from_secs(3600)) {
                Ok(Err(why)) => output::tell(&format!("{}: {why}\n", self.name)),
                Ok(news) => self.show(news)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    fn late(&self) -> Failure {
        let (name, timeout) = (&self.name, self.timeout);
        let failure = Failure::new(
            Exit::Call,
            format!("no answer for `{name}` within {timeout:?}"),
        );
        failure.help("--timeout allows more")
    }

    fn show(&self, news: std::result::Result<Resolution, String>) -> Result {
        let name = &self.name;
        let resolution = news
            .map_err(|why| Failure::new(Exit::Call, format!("cannot resolve `{name}`: {why}")))?;
        match self.json {
            true => output::write(&format!("{}\n", as_json(&resolution))),
            false => output::write(&as_table(&resolution)),
        }
    }
}

fn as_json(resolution: &Resolution) -> serde_json::Value {
    let servers = resolution.backends.iter().map(|server| {
        json!({
            "address": server.address,
            "priority": server.priority,
            "weight": server.weight,
            "zone": server.zone,
            "version": server.version,
        })
    });
    json!({
        "servers": servers.collect::<Vec<_>>(),
        "service_config": resolution.service_config,
    })
}

fn as_table(resolution: &Resolution) -> String {
    let mut table = Table::new([
        ("server", Align::Left),
        ("priority", Align::Right),
        ("weight", Align::Right),
        ("zone", Align::Left),
        ("version", Align::Left),
    ]);
    for server in &resolution.backends {
        let optional = |text: &Option<String>| text.clone().unwrap_or_default();
        table.row([
            server.address.clone().into(),
            server.priority.to_string().into(),
            server.weight.to_string().into(),
            optional(&server.zone).into(),
            optional(&server.version).into(),
        ]);
    }
    table.render(Stream::Stdout.paint())
}
