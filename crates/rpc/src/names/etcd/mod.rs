//! Servers that are registered in etcd 3: <https://etcd.io/docs/v3.6/learning/api/>.

mod messages;

use super::registration::{Registrar, Term};
use super::{Resolution, Resolver, Updates, entry, place, worker};
use crate::grpc::Keepalive;
use crate::method::Method;
use crate::peer::streams::{Answer, Receiver, Sender};
use crate::{Channel, ChannelBuilder, Code, Status, Wire};
use dovetail_balance::Backend;
use dovetail_wire::Bytes;
use messages::{
    KV, LEASE, LeaseGrantRequest, LeaseGrantResponse, LeaseKeepAliveResponse, LeaseRequest,
    LeaseRevokeResponse, PutRequest, PutResponse, RangeRequest, RangeResponse, WATCH,
    WatchCreateRequest, WatchRequest, WatchResponse,
};
use std::cell::Cell;
use std::fmt;
use std::future::ready;
use std::time::Duration;
use tokio::time::{sleep, timeout};

const RANGE: &Method = &KV.methods[0];
const PUT: &Method = &KV.methods[1];
const WATCH_KEYS: &Method = &WATCH.methods[0];
const GRANT: &Method = &LEASE.methods[0];
const REVOKE: &Method = &LEASE.methods[1];
const KEEP_ALIVE: &Method = &LEASE.methods[2];

/// The time of a call.
const TIMEOUT: Duration = Duration::from_secs(5);

/// PINGs on a connection. etcd ends connections that send them more often than every 5 s.
const PINGS: Duration = Duration::from_secs(10);

/// Servers below a prefix of etcd, `etcd://10.0.0.1:2379,10.0.0.2:2379/services/orders`: the values
/// of all keys that begin with `services/orders/`.
///
/// Values are those of `go.etcd.io/etcd/client/v3/naming/endpoints`, so that clients and servers of
/// grpc-go use the same keys:
/// `{"Op":0,"Addr":"10.0.0.7:9090","Metadata":{"weight":3,"zone":"eu"}}`; or a line as a `file:`
/// name has it.
///
/// A server registers with it, too: [`Registration::by`](super::Registration::by). Its keys have a
/// lease.
///
/// ```
/// use dovetail::Channel;
/// use dovetail::names::Etcd;
/// use dovetail::tls::ClientTls;
///
/// let tls = ClientTls::system()?;
/// let etcd = Channel::builder("tls://etcd.example.com:2379")?.tls(&tls);
/// let channel = Channel::resolved_by(Etcd::by(etcd, "services/orders"));
/// # drop(channel);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Etcd {
    name: String,
    prefix: String,
    channel: ChannelBuilder,
}

impl Etcd {
    /// `name` is behind `etcd:`, with the members of the cluster and a prefix.
    pub(super) fn new(name: &str) -> Result<Self, String> {
        let shape = "write etcd://host:port/prefix, or etcd://host:port,host:port/prefix";
        let rest = name.strip_prefix("//").ok_or(shape)?;
        let (members, prefix) = rest.split_once('/').ok_or(shape)?;
        let prefix = prefix.trim_matches('/');
        if members.is_empty() || prefix.is_empty() {
            return Err(shape.to_owned());
        }
        let members: Vec<_> = members
            .split(',')
            .map(|member| format!("tcp://{}", member.trim()))
            .collect();
        let channel = Channel::builder(&members.join(","));
        let channel = channel.map_err(|status| status.message().to_owned())?;
        Ok(Etcd {
            name: format!("etcd:{name}"),
            ..Etcd::by(channel, prefix)
        })
    }

    /// Uses a channel with these settings: its addresses, its TLS, its credentials.
    pub fn by(channel: ChannelBuilder, prefix: &str) -> Self {
        let channel = channel
            .wire(Wire::Grpc)
            .timeout(TIMEOUT)
            .keepalive(Keepalive::every(PINGS))
            .inherits(false);
        let prefix = prefix.trim_matches('/');
        Etcd {
            name: format!("etcd, keys of {prefix}"),
            prefix: format!("{prefix}/"),
            channel,
        }
    }

    /// Reads the keys, and again each time that they have changed. Ends with an error.
    async fn follow(&self, updates: &Updates) -> Result<(), Status> {
        let channel = self.channel.clone().build();
        let keys = RangeRequest {
            key: self.prefix.clone().into(),
            range_end: after(&self.prefix),
        };
        let mut revision = self.read(&channel, &keys, updates).await?;
        let (mut sender, answer): (Sender<WatchRequest>, Answer<Receiver<WatchResponse>>) =
            channel.chat(WATCH_KEYS, ()).await?;
        let create = WatchCreateRequest {
            key: keys.key.clone(),
            range_end: keys.range_end.clone(),
            start_revision: revision + 1,
        };
        let create = Some(create);
        // The answer says why this fails.
        let _ = sender.send(&WatchRequest { create }).await;
        let mut changes = answer.await?;
        while let Some(change) = changes.next().await {
            let change = change?;
            if change.canceled {
                return Err(lost(format!("the watch: {}", change.cancel_reason)));
            }
            if !change.events.is_empty() && change.header.revision > revision {
                revision = self.read(&channel, &keys, updates).await?;
            }
        }
        Err(lost("etcd has ended the watch".to_owned()))
    }

    /// Tells the channel of the keys. Returns the revision of the store.
    async fn read(
        &self,
        channel: &Channel,
        keys: &RangeRequest,
        updates: &Updates,
    ) -> Result<i64, Status> {
        let found: RangeResponse = channel.call::<_, _, Status>(RANGE, (keys,)).await?;
        let values = found.kvs.iter();
        let names: Vec<_> = values
            .map(|pair| String::from_utf8_lossy(&pair.key))
            .collect();
        let values = names.iter().zip(&found.kvs);
        let values = values.map(|(name, pair)| (&**name, &*pair.value));
        match entry::read_all(&self.name, values) {
            Ok(servers) => updates.found(Resolution::of(servers)),
            Err(why) => updates.failed(why),
        }
        Ok(found.header.revision)
    }

    /// Registers servers, and keeps their lease. Ends with an error.
    async fn hold(
        &self,
        kept: &Cell<Option<i64>>,
        servers: &[Backend],
        term: &Term,
    ) -> Result<(), Status> {
        let channel = self.channel.clone().build();
        let mut lease = Lease::grant(channel, term.ttl()).await?;
        kept.set(Some(lease.id));
        for server in servers {
            let put = PutRequest {
                key: format!("{}{}", self.prefix, place(server)).into(),
                value: entry::write_endpoint(server).into(),
                lease: lease.id,
            };
            let _: PutResponse = lease.channel.call::<_, _, Status>(PUT, (&put,)).await?;
        }
        term.registered();
        lease.keep().await
    }

    /// Takes the registration back.
    async fn take_back(&self, lease: Option<i64>) -> Result<(), Status> {
        let Some(id) = lease else {
            return Ok(());
        };
        let channel = self.channel.clone().build();
        let revoked = channel.call(REVOKE, (&LeaseRequest { id },)).await;
        revoked.map(|LeaseRevokeResponse {}| ())
    }
}

/// The text of a failure.
async fn with_text(work: impl Future<Output = Result<(), Status>>) -> Result<(), String> {
    work.await.map_err(|status| status.to_string())
}

impl Resolver for Etcd {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn watch(&self, updates: &Updates) {
        worker::run(
            updates.wishes(),
            |why| updates.failed(why),
            || with_text(self.follow(updates)),
            || ready(Ok(())),
        );
    }
}

impl Registrar for Etcd {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn keep(&self, servers: &[Backend], term: &Term) {
        let kept = Cell::new(None);
        worker::run(
            term.wishes(),
            |why| term.failed(why),
            || with_text(self.hold(&kept, servers, term)),
            || with_text(self.take_back(kept.take())),
        );
    }
}

impl fmt::Debug for Etcd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Etcd").field(&self.name).finish()
    }
}

/// A lease that is kept.
struct Lease {
    channel: Channel,
    id: i64,
    ttl: Duration,
}

impl Lease {
    async fn grant(channel: Channel, ttl: Duration) -> Result<Self, Status> {
        let wanted = LeaseGrantRequest {
            ttl: i64::try_from(ttl.as_secs()).unwrap_or(i64::MAX).max(1),
        };
        let granted: LeaseGrantResponse = channel.call::<_, _, Status>(GRANT, (&wanted,)).await?;
        Ok(Lease {
            channel,
            id: granted.id,
            ttl: seconds(granted.ttl),
        })
    }

    /// Renews the lease at each third of its time. Ends with an error.
    async fn keep(&mut self) -> Result<(), Status> {
        type Renewed = LeaseKeepAliveResponse;
        let (mut sender, answer): (Sender<LeaseRequest>, Answer<Receiver<Renewed>>) =
            self.channel.chat(KEEP_ALIVE, ()).await?;
        let id = LeaseRequest { id: self.id };
        let _ = sender.send(&id).await;
        let mut renewals = answer.await?;
        loop {
            let renewed = timeout(self.ttl, renewals.next()).await;
            let renewed = renewed.map_err(|_| lost("etcd does not renew the lease".to_owned()))?;
            let renewed = renewed.ok_or_else(|| lost("etcd has ended the renewals".to_owned()))?;
            if renewed?.ttl <= 0 {
                return Err(lost("the lease is over".to_owned()));
            }
            sleep(self.ttl / 3).await;
            sender.send(&id).await?;
        }
    }
}

fn seconds(number: i64) -> Duration {
    Duration::from_secs(u64::try_from(number).unwrap_or_default().max(1))
}

#[cold]
fn lost(why: String) -> Status {
    Status::new(Code::Unavailable, why)
}

/// The first key that is not below a prefix, which ends with a slash.
fn after(prefix: &str) -> Bytes {
    let mut key = prefix.as_bytes().to_vec();
    if let Some(last) = key.last_mut() {
        *last += 1;
    }
    key.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_members_and_a_prefix() {
        let rows = [
            ("//a:2379/services/orders", Some("services/orders/")),
            ("//a:2379,b:2379/orders/", Some("orders/")),
            ("//a:2379", None),
            ("//a:2379/", None),
            ("///orders", None),
            ("//nothing/orders", None),
            ("a:2379/orders", None),
        ];
        for (name, prefix) in rows {
            let made = Etcd::new(name);
            assert_eq!(
                made.ok().map(|etcd| etcd.prefix).as_deref(),
                prefix,
                "{name}"
            );
        }
        assert_eq!(after("orders/"), "orders0");
    }
}
