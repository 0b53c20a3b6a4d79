//! The contract: what administrators are told.

use super::contract::ContractService;
use super::invoke::{Invocation, InvocationMessage};
use crate::capture::{CaptureFilter, DumpFilter, Dumped, ShownCall};
use crate::descriptor;
use dovetail_wire::{Bytes, message};
use std::collections::BTreeMap;

descriptor!(pub(crate) static ADMIN = "Admin" in "dovetail.admin.v1" {
    /// The server as a whole.
    overview() -> Overview [idempotent, permission("dovetail.admin.read")];
    /// The methods that were called, over each wire.
    methods() -> Vec<Method> [idempotent, permission("dovetail.admin.read")];
    /// The calls that run, the oldest first.
    calls() -> Vec<Call> [idempotent, permission("dovetail.admin.read")];
    /// The connections, the oldest first.
    connections() -> Vec<Connection> [idempotent, permission("dovetail.admin.read")];
    /// The addresses that have called, the one with the most calls first.
    peers() -> Vec<Peer> [idempotent, permission("dovetail.admin.read")];
    /// Calls that have failed or were slow, the last one first.
    recent() -> Vec<RecentCall> [idempotent, permission("dovetail.admin.read")];
    /// Calls that quotas have refused.
    refusals() -> Vec<Refusal> [idempotent, permission("dovetail.admin.read")];
    /// The servers of the names that channels of the program call.
    servers() -> Vec<Server> [idempotent, permission("dovetail.admin.read")];
    /// The configuration in force, with all keys.
    configuration() -> String [idempotent, permission("dovetail.admin.read")];
    /// Reads the configuration again. Returns the keys that have changed.
    reload() -> Reloaded [permission("dovetail.admin.write")];
    /// Sets a key of the configuration until the program ends; without a value, that of the file
    /// counts again. Returns the keys that have changed. It is refused where the key needs a
    /// restart, or says who may do what.
    set(1 key: String, 2 value: Option<String>) -> Vec<String> [permission("dovetail.admin.write")];
    /// Asks the program to end: it takes no more calls, and lets those that run finish for this
    /// long.
    drain(1 seconds: i32) [permission("dovetail.admin.write")];
    /// Cancels a call. Returns false if it does not run.
    cancel(1 call: i64) -> bool [permission("dovetail.admin.write")];
    /// Captures calls with all that they carry, until the time or the room is used up. The items
    /// are the parts of a file, which `dovetail capture` shows.
    capture(1 filter: CaptureFilter) -> (), stream<Bytes> [permission("dovetail.admin.capture")];
    /// Captures calls likewise. The items are the calls, with their messages in JSON.
    captured(1 filter: CaptureFilter) -> (), stream<ShownCall> [permission("dovetail.admin.capture")];
    /// Shows the bytes of connections as they come and go, with all secrets that they contain, and
    /// behind them the calls that they make up.
    dump(1 filter: DumpFilter) -> (), stream<Dumped> [permission("dovetail.admin.dump")];
    /// The services with their methods and types.
    contract() -> Vec<ContractService> [idempotent, permission("dovetail.admin.read")];
    /// Makes a call of the server, with JSON. The server treats it as that of any caller, with
    /// these headers. It is cancelled with this call.
    invoke(1 call: Invocation) -> (), stream<InvocationMessage> [permission("dovetail.admin.call")];
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Overview {
    pub(super) version: String,
    pub(super) started: i64,
    pub(super) uptime: i64,
    pub(super) draining: bool,
    pub(super) connections: i64,
    pub(super) calls: i64,
    pub(super) memory: i64,
    pub(super) counters: BTreeMap<String, i64>,
    pub(super) services: Vec<String>,
}

message!(Overview {
    /// The version of Dovetail.
    1 version: String,
    /// When the server was made, in milliseconds since 1970.
    2 started as "started_ms": i64,
    /// How long ago that was, in milliseconds.
    3 uptime as "uptime_ms": i64,
    /// The server goes down.
    4 draining: bool,
    /// Connections that are open.
    5 connections: i64,
    /// Calls that run.
    6 calls as "calls_in_flight": i64,
    /// Bytes that are held for peers.
    7 memory as "held_bytes": i64,
    /// The server's counters by name.
    8 counters: BTreeMap<String, i64>,
    /// The services, with their packages.
    9 services: Vec<String>,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Method {
    pub(super) service: String,
    pub(super) method: String,
    pub(super) wire: String,
    pub(super) calls: i64,
    pub(super) in_flight: i64,
    pub(super) outcomes: BTreeMap<String, i64>,
    pub(super) received: i64,
    pub(super) sent: i64,
    pub(super) received_items: i64,
    pub(super) sent_items: i64,
    pub(super) p50: f64,
    pub(super) p90: f64,
    pub(super) p99: f64,
    pub(super) p999: f64,
    pub(super) times: Vec<Bucket>,
    pub(super) queued: i64,
    pub(super) queued_p50: f64,
    pub(super) queued_p99: f64,
    pub(super) first_items: i64,
    pub(super) first_item_p50: f64,
    pub(super) first_item_p99: f64,
}

message!(Method {
    /// The service with its package; empty for functions.
    1 service: String,
    2 method: String,
    /// The wire; `other` for those beyond the sixteenth.
    3 wire: String,
    /// Calls that have ended.
    4 calls: i64,
    /// Calls that run.
    5 in_flight: i64,
    /// Calls by how they ended: `OK`, `EXCEPTION`, or the code of a failure.
    6 outcomes: BTreeMap<String, i64>,
    /// Bytes of encoded parameters.
    7 received as "received_bytes": i64,
    /// Bytes of answers.
    8 sent as "sent_bytes": i64,
    9 received_items: i64,
    10 sent_items: i64,
    /// Quantiles of the times of calls, in microseconds.
    11 p50 as "p50_us": f64,
    12 p90 as "p90_us": f64,
    13 p99 as "p99_us": f64,
    14 p999 as "p999_us": f64,
    /// The histogram of the times, without its empty buckets.
    15 times: Vec<Bucket>,
    /// Calls that have waited for their handlers, and quantiles of that time.
    16 queued as "queued_calls": i64,
    17 queued_p50 as "queued_p50_us": f64,
    18 queued_p99 as "queued_p99_us": f64,
    /// Calls whose handlers have sent items, and quantiles of the times to the first one.
    19 first_items as "streaming_calls": i64,
    20 first_item_p50 as "first_item_p50_us": f64,
    21 first_item_p99 as "first_item_p99_us": f64,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Bucket {
    pub(super) up_to: f64,
    pub(super) calls: i64,
}

message!(Bucket {
    /// The longest time, in microseconds.
    1 up_to as "up_to_us": f64,
    2 calls: i64,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Call {
    pub(super) id: i64,
    pub(super) service: String,
    pub(super) method: String,
    pub(super) wire: String,
    pub(super) peer: String,
    pub(super) principal: String,
    pub(super) running: i64,
    pub(super) left: Option<i64>,
}

message!(Call {
    /// The number by which it is cancelled.
    1 id: i64,
    2 service: String,
    3 method: String,
    4 wire: String,
    5 peer: String,
    /// The name of its caller's identity; empty without one.
    6 principal: String,
    /// How long it has been running, in microseconds.
    7 running as "running_us": i64,
    /// The time until its deadline, in microseconds.
    8 left as "left_us": Option<i64>,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Connection {
    pub(super) id: i64,
    pub(super) peer: String,
    pub(super) age: i64,
    pub(super) idle: bool,
    pub(super) wire: String,
    pub(super) calls: i64,
    pub(super) received: i64,
    pub(super) sent: i64,
}

message!(Connection {
    1 id: i64,
    2 peer: String,
    /// Milliseconds since it was accepted.
    3 age as "age_ms": i64,
    /// No call of it runs.
    4 idle: bool,
    /// The wire of its first call; empty before that.
    5 wire: String,
    /// Calls that have come.
    6 calls: i64,
    /// All bytes that have come, and that have been sent; over TLS those inside.
    7 received as "received_bytes": i64,
    8 sent as "sent_bytes": i64,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Peer {
    pub(super) peer: String,
    pub(super) open: i64,
    pub(super) connections: i64,
    pub(super) calls: i64,
    pub(super) received: i64,
    pub(super) sent: i64,
}

message!(Peer {
    /// The address without its port; `unix`, `in-process`; `other` for all those beyond a thousand.
    1 peer: String,
    /// Connections that are open.
    2 open as "open_connections": i64,
    /// All its connections so far.
    3 connections: i64,
    4 calls: i64,
    5 received as "received_bytes": i64,
    6 sent as "sent_bytes": i64,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RecentCall {
    pub(super) ended: i64,
    pub(super) service: String,
    pub(super) method: String,
    pub(super) wire: String,
    pub(super) peer: String,
    pub(super) elapsed: i64,
    pub(super) code: String,
    pub(super) message: String,
    pub(super) trace: String,
}

message!(RecentCall {
    /// When it ended, in milliseconds since 1970.
    1 ended as "ended_ms": i64,
    2 service: String,
    3 method: String,
    4 wire: String,
    5 peer: String,
    /// The time that it took, in microseconds.
    6 elapsed as "elapsed_us": i64,
    /// `OK`, `EXCEPTION`, or the code of its failure.
    7 code: String,
    8 message: String,
    /// The id of its trace.
    9 trace as "trace_id": String,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Refusal {
    pub(super) place: String,
    pub(super) each_caller: bool,
    pub(super) reason: String,
    pub(super) calls: i64,
    pub(super) callers: Vec<RefusedCaller>,
}

message!(Refusal {
    /// The place of the quota: a service, a method, or `this server`.
    1 place: String,
    /// Each caller has a quota of its own.
    2 each_caller: bool,
    /// `rate`, `bytes`, `message`, `in-flight` or `queue-time`.
    3 reason: String,
    4 calls: i64,
    /// The callers with the most of them; the quota remembers 64.
    5 callers: Vec<RefusedCaller>,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RefusedCaller {
    pub(super) caller: String,
    pub(super) calls: i64,
}

message!(RefusedCaller {
    /// The name of its identity, or its address without the port.
    1 caller: String,
    2 calls: i64,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Server {
    pub(super) name: String,
    pub(super) address: String,
    pub(super) state: String,
    pub(super) failure: Option<String>,
    pub(super) ejected: bool,
    pub(super) ejections: i64,
    pub(super) calls: i64,
    pub(super) in_flight: i64,
    pub(super) latency: Option<i64>,
    pub(super) weight: i64,
    pub(super) priority: i64,
    pub(super) zone: Option<String>,
    pub(super) retry_tokens: f64,
}

message!(Server {
    /// The name that the channel was made for.
    1 name: String,
    /// The address of the server; empty where the name has none.
    2 address: String,
    /// `idle`, `connecting`, `ready` or `failed`; of one that is connected also `checking` or
    /// `unhealthy`, by its health checks; `unknown` for a name without servers.
    3 state: String,
    /// Why it cannot be used, or why the servers of the name cannot be found.
    4 failure: Option<String>,
    /// It gets no calls for a while, because it has failed.
    5 ejected: bool,
    /// How often that was so.
    6 ejections: i64,
    /// Calls that were made to it.
    7 calls: i64,
    8 in_flight: i64,
    /// The moving average of the time of a call, in microseconds.
    9 latency as "latency_us": Option<i64>,
    10 weight: i64,
    11 priority: i64,
    12 zone: Option<String>,
    /// The tokens that the channel has left for retries.
    13 retry_tokens: f64,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reloaded {
    pub(crate) changed: Vec<String>,
    pub(crate) restart: Vec<String>,
}

message!(Reloaded {
    /// Keys whose new values count now.
    1 changed: Vec<String>,
    /// Keys whose new values count after a restart.
    2 restart: Vec<String>,
});
