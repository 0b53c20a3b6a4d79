//! hostile.thrift: the server that interop/hostile attacks.

use crate::targets::{Entry, Link, Target};
use dovetail::server::ServerLimits;
use dovetail::stream::Receiver;
use dovetail::types::{Bytes, Dynamic, Ref};
use dovetail::{Context, Status};
use std::future::pending;
use std::time::Duration;

pub(crate) struct Handler;

impl Target for Handler {
    async fn ping(&self, _: Context) -> Result<i32, Status> {
        Ok(7)
    }

    async fn entries(&self, _: Context, list: Vec<Entry>) -> Result<i64, Status> {
        Ok(count(list.len()))
    }

    async fn value(&self, _: Context, _: Dynamic) -> Result<(), Status> {
        Ok(())
    }

    async fn size(&self, _: Context, blob: Bytes) -> Result<i64, Status> {
        Ok(count(blob.len()))
    }

    async fn chain(&self, _: Context, first: Link) -> Result<i64, Status> {
        let mut number = 1;
        let mut next: Ref<Link> = first.after.clone();
        while let Some(link) = next.get() {
            number += 1;
            next = link.after.clone();
        }
        Ok(number)
    }

    async fn wait(&self, _: Context) -> Result<(), Status> {
        pending().await
    }

    async fn ignore(&self, _: Context, _items: Receiver<Bytes>) -> Result<i64, Status> {
        pending().await
    }
}

fn count(len: usize) -> i64 {
    i64::try_from(len).unwrap_or(i64::MAX)
}

/// Sets a limit that an attack needs to be lower than its default: `NAME=NUMBER`, times in
/// milliseconds, memory in MiB.
pub(crate) fn limit(limits: &mut ServerLimits, setting: &str) -> Result<(), String> {
    let (name, number) = setting.split_once('=').ok_or("a limit is NAME=NUMBER")?;
    let number: u32 = number
        .parse()
        .map_err(|problem| format!("{setting}: {problem}"))?;
    let time = Duration::from_millis(number.into());
    match name {
        "memory" => limits.memory = Some((number as usize) << 20),
        "connections" => limits.connections = number as usize,
        "handshake" => limits.handshake = time,
        "idle" => limits.idle = time,
        "transfer" => limits.transfer = time,
        "rate_grace" => limits.rate_grace = time,
        _ => return Err(format!("there is no limit `{name}`")),
    }
    Ok(())
}
