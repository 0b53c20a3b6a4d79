//! Servers that are registered in ZooKeeper:
//! <https://zookeeper.apache.org/doc/r3.9.5/zookeeperProgrammers.html>.

use super::registration::{Registrar, Term};
use super::{Resolution, Resolver, Updates, entry, place, worker};
use dovetail_balance::Backend;
use std::cell::RefCell;
use std::fmt;
use std::future::ready;
use std::time::Duration;
use zookeeper_client::{Acls, AddWatchMode, Client, CreateMode, Error, SessionState};

/// The time that a session lasts without a word.
const SESSION: Duration = Duration::from_secs(10);

/// Servers below a node of ZooKeeper, `zk://10.0.0.1:2181,10.0.0.2:2181/services/orders`: the data
/// of its children.
///
/// Data are those of Curator's service discovery, in JSON:
/// `{"name":"orders","id":"10.0.0.7:9090","address":"10.0.0.7","port":9090}`; or a line as a
/// `file:` name has it. A server registers with it, too:
/// [`Registration::by`](super::Registration::by). Its node is ephemeral.
pub struct ZooKeeper {
    name: String,
    members: String,
    path: String,
}

impl ZooKeeper {
    /// `name` is behind `zk:`, with the members of the ensemble and a path.
    pub(super) fn new(name: &str) -> Result<Self, String> {
        let shape = "write zk://host:port/path, or zk://host:port,host:port/path";
        let rest = name.strip_prefix("//").ok_or(shape)?;
        let (members, path) = rest.split_once('/').ok_or(shape)?;
        let path = path.trim_matches('/');
        let has_ports = members.split(',').all(|member| {
            let port = member.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
            matches!(port, Some(Ok(_)))
        });
        if !has_ports || path.is_empty() {
            return Err(shape.to_owned());
        }
        Ok(ZooKeeper {
            name: format!("zk:{name}"),
            members: members.to_owned(),
            path: format!("/{path}"),
        })
    }

    async fn connect(&self, session: Duration) -> Result<Client, String> {
        let connector = Client::connector()
            .with_session_timeout(session)
            .with_fail_eagerly();
        let connected = connector.connect(&self.members).await;
        connected.map_err(|error| error.to_string())
    }

    /// Reads the nodes, and again each time that they have changed. Ends with an error.
    async fn follow(&self, updates: &Updates) -> Result<(), String> {
        let client = self.connect(SESSION).await?;
        let mode = AddWatchMode::PersistentRecursive;
        let watched = client.watch(&self.path, mode).await;
        let mut changes = watched.map_err(|error| error.to_string())?;
        loop {
            self.read(&client, updates).await?;
            let event = changes.changed().await;
            // A watch that outlives its connection loses changes (ZOOKEEPER-4698): after each
            // loss there is another session, with another watch.
            if event.session_state != SessionState::SyncConnected {
                return Err(format!("the connection is lost: {:?}", event.session_state));
            }
        }
    }

    /// Tells the channel of the nodes.
    async fn read(&self, client: &Client, updates: &Updates) -> Result<(), String> {
        let children = match client.list_children(&self.path).await {
            Ok(children) => children,
            Err(Error::NoNode) => Vec::new(),
            Err(error) => return Err(error.to_string()),
        };
        let mut values = Vec::new();
        for child in children {
            match client.get_data(&format!("{}/{child}", self.path)).await {
                Ok((value, _)) => values.push((child, value)),
                // It has gone since.
                Err(Error::NoNode) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        let values = values.iter().map(|(name, value)| (&**name, &**value));
        match entry::read_all(&self.name, values) {
            Ok(servers) => updates.found(Resolution::of(servers)),
            Err(why) => updates.failed(why),
        }
        Ok(())
    }

    /// Registers servers, and waits for the end of the session. Ends with an error.
    async fn hold(
        &self,
        kept: &RefCell<Option<Client>>,
        servers: &[Backend],
        term: &Term,
    ) -> Result<(), String> {
        let client = self.connect(term.ttl()).await?;
        let persistent = CreateMode::Persistent.with_acls(Acls::anyone_all());
        let made = client.mkdir(&self.path, &persistent).await;
        made.map_err(|error| error.to_string())?;
        for server in servers {
            let registered = self.put(&client, server).await;
            registered.map_err(|error| error.to_string())?;
        }
        let mut states = client.state_watcher();
        kept.replace(Some(client));
        term.registered();
        loop {
            let state = states.changed().await;
            if state.is_terminated() {
                return Err(format!("the session is over: {state:?}"));
            }
        }
    }

    async fn put(&self, client: &Client, server: &Backend) -> Result<(), Error> {
        let path = self.node(server);
        let service = self.path.rsplit('/').next().unwrap_or_default();
        let data = entry::write_instance(service, server);
        let ephemeral = CreateMode::Ephemeral.with_acls(Acls::anyone_all());
        match client.create(&path, data.as_bytes(), &ephemeral).await {
            // A node of an earlier session goes with that, and would take the registration along.
            Err(Error::NodeExists) => {
                match client.delete(&path, None).await {
                    Ok(()) | Err(Error::NoNode) => {}
                    Err(error) => return Err(error),
                }
                let created = client.create(&path, data.as_bytes(), &ephemeral).await;
                created.map(drop)
            }
            created => created.map(drop),
        }
    }

    fn node(&self, server: &Backend) -> String {
        format!("{}/{}", self.path, place(server))
    }

    /// Takes the registration back.
    async fn take_back(&self, client: Option<Client>, servers: &[Backend]) -> Result<(), String> {
        let Some(client) = client else {
            return Ok(());
        };
        for server in servers {
            match client.delete(&self.node(server), None).await {
                Ok(()) | Err(Error::NoNode) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }
}

impl Resolver for ZooKeeper {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn watch(&self, updates: &Updates) {
        worker::run(
            updates.wishes(),
            |why| updates.failed(why),
            || self.follow(updates),
            || ready(Ok(())),
        );
    }
}

impl Registrar for ZooKeeper {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn keep(&self, servers: &[Backend], term: &Term) {
        let kept = RefCell::new(None);
        worker::run(
            term.wishes(),
            |why| term.failed(why),
            || self.hold(&kept, servers, term),
            || self.take_back(kept.take(), servers),
        );
    }
}

impl fmt::Debug for ZooKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ZooKeeper").field(&self.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_members_and_a_path() {
        let rows = [
            ("//a:2181/services/orders", Some("/services/orders")),
            ("//a:2181,b:2181/orders/", Some("/orders")),
            ("//a:2181", None),
            ("//a:2181/", None),
            ("//a/orders", None),
            ("a:2181/orders", None),
        ];
        for (name, path) in rows {
            let made = ZooKeeper::new(name).ok();
            assert_eq!(made.map(|made| made.path).as_deref(), path, "{name}");
        }
    }
}
