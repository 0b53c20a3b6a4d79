//! A connection as either end has it, and the calls on it. Clients and servers build on it, and it
//! knows neither.
//!
//! ```text
//!   calls of this end ──► outgoing ──► table ──► machine ──► bytes      all behind a Link,
//!   calls of the other ◄── incoming ◄── machine ◄── bytes               which several threads use
//!           └──► call, context ──► interceptors, handler
//! ```

pub(crate) mod answer;
pub(crate) mod call;
pub(crate) mod cancellation;
pub(crate) mod capnp;
pub(crate) mod context;
pub(crate) mod context_builder;
pub(crate) mod extensions;
pub(crate) mod failures;
pub(crate) mod incoming;
pub(crate) mod intercept;
pub(crate) mod link;
pub(crate) mod local_upgrade;
pub(crate) mod machine;
pub(crate) mod objects;
pub(crate) mod options;
pub(crate) mod outgoing;
pub(crate) mod proxies;
pub(crate) mod record;
pub(crate) mod remembered;
pub(crate) mod reply;
pub(crate) mod response_headers;
pub(crate) mod service;
pub(crate) mod share;
pub(crate) mod stop;
pub(crate) mod streams;
pub(crate) mod table;
pub(crate) mod traffic;
pub(crate) mod waiting;
pub(crate) mod wake_list;
