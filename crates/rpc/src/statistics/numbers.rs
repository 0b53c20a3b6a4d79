//! The numbers that all exports have: names, units, meanings, and the way to find them.

use super::{Histogram, MethodStatistics};
use crate::names::{BackendStatus, ChannelStatus, Health, State};
use std::collections::BTreeMap;

/// The kind of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// It only grows.
    Counter,
    /// Sums of several processes make sense.
    UpDown,
    Gauge,
}

use Kind::{Counter, Gauge, UpDown};

/// A number. Its name is that of OpenTelemetry, from which others follow.
#[derive(Clone, Copy)]
pub(super) struct Number {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// By the names of UCUM.
    #[cfg_attr(
        not(feature = "grpc"),
        expect(dead_code, reason = "Prometheus has no units")
    )]
    pub(super) unit: &'static str,
    pub(super) help: &'static str,
}

const fn number(name: &'static str, kind: Kind, unit: &'static str, help: &'static str) -> Number {
    Number {
        name,
        kind,
        unit,
        help,
    }
}

/// A number of each method.
type MethodNumber = (Number, fn(&MethodStatistics) -> u64);

pub(super) const METHODS: &[MethodNumber] = &[
    (
        number(
            "dovetail.server.calls_in_flight",
            UpDown,
            "{call}",
            "Calls that are under way.",
        ),
        MethodStatistics::in_flight,
    ),
    (
        number(
            "dovetail.server.received_bytes",
            Counter,
            "By",
            "Bytes of encoded parameters, decompressed.",
        ),
        |method| method.received_bytes,
    ),
    (
        number(
            "dovetail.server.sent_bytes",
            Counter,
            "By",
            "Bytes of answers.",
        ),
        |method| method.sent_bytes,
    ),
    (
        number(
            "dovetail.server.received_items",
            Counter,
            "{item}",
            "Items of streams from callers.",
        ),
        |method| method.received_items,
    ),
    (
        number(
            "dovetail.server.sent_items",
            Counter,
            "{item}",
            "Items of streams to callers.",
        ),
        |method| method.sent_items,
    ),
];

/// Times of each method, in seconds.
#[derive(Clone, Copy)]
pub(super) struct MethodTimes {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    /// Each method has them, with exemplars; other times only where there were any.
    pub(super) of_each: bool,
    times: fn(&MethodStatistics) -> &Histogram,
}

impl MethodTimes {
    /// Returns the methods that have such times.
    pub(super) fn of(
        self,
        methods: &[MethodStatistics],
    ) -> impl Iterator<Item = (&MethodStatistics, &Histogram)> {
        let times = methods
            .iter()
            .map(move |method| (method, (self.times)(method)));
        times.filter(move |(_, times)| self.of_each || times.count() > 0)
    }
}

pub(super) const TIMES: &[MethodTimes] = &[
    MethodTimes {
        name: "dovetail.server.call_duration",
        help: "Times of calls, to their last item.",
        of_each: true,
        times: |method| &method.times,
    },
    MethodTimes {
        name: "dovetail.server.queue_duration",
        help: "Times for which calls have waited for their handlers, of those that have waited.",
        of_each: false,
        times: |method| &method.queued,
    },
    MethodTimes {
        name: "dovetail.server.first_item_duration",
        help: "Times from the beginning of a call to the first item of its handler.",
        of_each: false,
        times: |method| &method.first_items,
    },
];

pub(super) const CONNECTIONS: Number = number(
    "dovetail.server.connections",
    UpDown,
    "{connection}",
    "Connections that are open.",
);

/// A number of a server that channels call.
type BackendNumber = (Number, fn(&BackendStatus) -> u64);

pub(super) const BACKENDS: &[BackendNumber] = &[
    (
        number(
            "dovetail.client.backend.ready",
            UpDown,
            "{channel}",
            "Channels that have a connection to the server.",
        ),
        |backend| (backend.state == State::Ready).into(),
    ),
    (
        number(
            "dovetail.client.backend.unhealthy",
            UpDown,
            "{channel}",
            "Channels whose health checks keep calls away from the server.",
        ),
        |backend| (backend.health != Health::Healthy).into(),
    ),
    (
        number(
            "dovetail.client.backend.ejected",
            UpDown,
            "{channel}",
            "Channels whose outlier detection keeps calls away from the server.",
        ),
        |backend| backend.ejected.into(),
    ),
    (
        number(
            "dovetail.client.backend.calls_in_flight",
            UpDown,
            "{call}",
            "Calls that wait for the answer of the server.",
        ),
        |backend| backend.in_flight.into(),
    ),
    (
        number(
            "dovetail.client.backend.calls",
            Counter,
            "{call}",
            "Calls that were made to the server, each attempt counted.",
        ),
        |backend| backend.picks,
    ),
    (
        number(
            "dovetail.client.backend.ejections",
            Counter,
            "{ejection}",
            "Ejections of the server by outlier detection.",
        ),
        |backend| backend.ejections,
    ),
];

pub(super) const RESOLVER_FAILING: Number = number(
    "dovetail.client.resolver.failing",
    UpDown,
    "{channel}",
    "Channels whose name cannot be resolved now.",
);

pub(super) const RETRY_TOKENS: Number = number(
    "dovetail.client.retry_tokens",
    Gauge,
    "{token}",
    "Tokens that are left of the budget of retries; the fewest of channels with one name.",
);

/// Returns a number of each server, by the names of channel and server. Channels with one name are
/// added up.
pub(super) fn backends(
    channels: &[ChannelStatus],
    number: fn(&BackendStatus) -> u64,
) -> BTreeMap<(&str, &str), u64> {
    let mut sums = BTreeMap::new();
    for channel in channels {
        for backend in &channel.backends {
            let names = (&*channel.name, &*backend.backend.address);
            *sums.entry(names).or_default() += number(backend);
        }
    }
    sums
}

/// The state of the channels with one name.
pub(super) struct Named {
    /// Channels whose name cannot be resolved now.
    pub(super) failing: u64,
    /// The fewest tokens of retries.
    pub(super) tokens: f32,
}

/// Returns the state of channels, by their names.
pub(super) fn named(channels: &[ChannelStatus]) -> BTreeMap<&str, Named> {
    let mut known = BTreeMap::new();
    for channel in channels {
        let named = known.entry(&*channel.name).or_insert(Named {
            failing: 0,
            tokens: f32::INFINITY,
        });
        named.failing += u64::from(channel.failure.is_some());
        named.tokens = named.tokens.min(channel.retry_tokens);
    }
    known
}
