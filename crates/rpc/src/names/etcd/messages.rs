//! The part of etcd's API that names and registrations need, by the numbers of
//! `etcd/api/etcdserverpb/rpc.proto` and `etcd/api/mvccpb/kv.proto` of etcd 3.

use crate::descriptor;
use dovetail_wire::{Bytes, message};

descriptor!(pub(super) static KV = "KV" in "etcdserverpb" {
    Range(1 request: RangeRequest) -> RangeResponse [messages, idempotent];
    Put(1 request: PutRequest) -> PutResponse [messages, idempotent];
});

descriptor!(pub(super) static WATCH = "Watch" in "etcdserverpb" {
    Watch() -> (), sink<WatchRequest>, stream<WatchResponse> [messages];
});

descriptor!(pub(super) static LEASE = "Lease" in "etcdserverpb" {
    LeaseGrant(1 request: LeaseGrantRequest) -> LeaseGrantResponse [messages, idempotent];
    LeaseRevoke(1 request: LeaseRequest) -> LeaseRevokeResponse [messages, idempotent];
    LeaseKeepAlive() -> (), sink<LeaseRequest>, stream<LeaseKeepAliveResponse> [messages];
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ResponseHeader {
    pub(super) revision: i64,
}

message!(ResponseHeader {
    3 revision: i64,
});

/// The keys from `key` to before `range_end`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RangeRequest {
    pub(super) key: Bytes,
    pub(super) range_end: Bytes,
}

message!(RangeRequest {
    1 key: Bytes,
    2 range_end: Bytes,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RangeResponse {
    pub(super) header: ResponseHeader,
    pub(super) kvs: Vec<KeyValue>,
}

message!(RangeResponse {
    1 header: ResponseHeader,
    2 kvs: Vec<KeyValue>,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct KeyValue {
    pub(super) key: Bytes,
    pub(super) value: Bytes,
}

message!(KeyValue {
    1 key: Bytes,
    5 value: Bytes,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PutRequest {
    pub(super) key: Bytes,
    pub(super) value: Bytes,
    pub(super) lease: i64,
}

message!(PutRequest {
    1 key: Bytes,
    2 value: Bytes,
    3 lease: i64,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PutResponse {}

message!(PutResponse {});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct WatchRequest {
    pub(super) create: Option<WatchCreateRequest>,
}

message!(WatchRequest {
    1 create as "create_request": Option<WatchCreateRequest>,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct WatchCreateRequest {
    pub(super) key: Bytes,
    pub(super) range_end: Bytes,
    pub(super) start_revision: i64,
}

message!(WatchCreateRequest {
    1 key: Bytes,
    2 range_end: Bytes,
    3 start_revision: i64,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct WatchResponse {
    pub(super) header: ResponseHeader,
    pub(super) canceled: bool,
    pub(super) cancel_reason: String,
    pub(super) events: Vec<Event>,
}

message!(WatchResponse {
    1 header: ResponseHeader,
    4 canceled: bool,
    6 cancel_reason: String,
    11 events: Vec<Event>,
});

/// A change. The keys are read again after it, so nothing of it is read here.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Event {}

message!(Event {});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LeaseGrantRequest {
    /// In seconds.
    pub(super) ttl: i64,
}

message!(LeaseGrantRequest {
    1 ttl as "TTL": i64,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LeaseGrantResponse {
    pub(super) id: i64,
    pub(super) ttl: i64,
}

message!(LeaseGrantResponse {
    2 id as "ID": i64,
    3 ttl as "TTL": i64,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LeaseRequest {
    pub(super) id: i64,
}

message!(LeaseRequest as "LeaseKeepAliveRequest" {
    1 id as "ID": i64,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LeaseRevokeResponse {}

message!(LeaseRevokeResponse {});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LeaseKeepAliveResponse {
    /// In seconds; 0 where the lease is not there any longer.
    pub(super) ttl: i64,
}

message!(LeaseKeepAliveResponse {
    3 ttl as "TTL": i64,
});
