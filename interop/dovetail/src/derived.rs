//! `uuid.thrift` and the second service of `interop.thrift`, in Rust: what the server answers.
//! Peers with code of those files call services that no IDL has made.

use dovetail::types::Uuid;
use dovetail::{Message, Status};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default, PartialEq, Message)]
pub(crate) struct Uuids {
    pub(crate) single: Uuid,
    pub(crate) many: Vec<Uuid>,
    pub(crate) pairs: BTreeMap<Uuid, Uuid>,
    pub(crate) distinct: BTreeSet<Uuid>,
    pub(crate) last: String,
}

#[dovetail::service]
pub(crate) trait UuidService {
    async fn echo_uuid(&self, value: Uuid) -> Result<Uuid, Status>;
    async fn echo_uuids(&self, value: Uuids) -> Result<Uuids, Status>;
    async fn known_uuids(&self) -> Result<Vec<Uuid>, Status>;
}

#[dovetail::service]
pub(crate) trait Second {
    async fn greet(&self, name: String) -> Result<String, Status>;
    async fn echo_i32(&self, value: i32) -> Result<i32, Status>;
}

/// Answers for both.
pub(crate) struct Handler;

impl UuidService for Handler {
    async fn echo_uuid(&self, value: Uuid) -> Result<Uuid, Status> {
        Ok(value)
    }

    async fn echo_uuids(&self, value: Uuids) -> Result<Uuids, Status> {
        Ok(value)
    }

    async fn known_uuids(&self) -> Result<Vec<Uuid>, Status> {
        Ok(crate::uuid::KNOWN.into())
    }
}

impl Second for Handler {
    async fn greet(&self, name: String) -> Result<String, Status> {
        Ok(format!("hello, {name}"))
    }

    async fn echo_i32(&self, value: i32) -> Result<i32, Status> {
        Ok(value + 1000)
    }
}

/// gRPC's libraries call both with the code that their compiler makes of this file.
#[cfg(test)]
#[test]
fn exported() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../contract/derived.proto");
    let text = dovetail::export::proto(&[&UUID_SERVICE, &SECOND]).expect("a file");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(golden, &text).expect("a golden file");
    }
    let written = std::fs::read_to_string(golden).expect("a golden file");
    assert_eq!(text, written, "UPDATE_GOLDEN=1 refreshes it");
}
