use super::exemplars::Exemplars;
use super::{EXCEPTION, Histogram, OUTCOMES};
use crate::counters::Counters;
use crate::names::ChannelStatus;
use crate::{Code, Wire};
use std::time::SystemTime;

/// Everything that was counted up to a moment.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Snapshot {
    /// The start of the server that counts; `None` before it.
    pub since: Option<SystemTime>,
    /// The methods that were called, over each wire.
    pub methods: Vec<MethodStatistics>,
    /// The counters of the server.
    pub counters: Counters,
    /// The connections that the server has now.
    pub connections: usize,
    /// The channels of this process to the servers of names.
    pub channels: Vec<ChannelStatus>,
}

/// The calls of a method over one wire.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MethodStatistics {
    /// The service, with its package.
    pub service: String,
    /// The method, as the contract has it.
    pub method: &'static str,
    /// The wire; `None` for those for which there was no place, of more than 16.
    pub wire: Option<Wire>,
    /// The bytes of encoded parameters, decompressed.
    pub received_bytes: u64,
    /// The bytes of answers.
    pub sent_bytes: u64,
    /// The items of callers.
    pub received_items: u64,
    /// The items of handlers.
    pub sent_items: u64,
    /// The times of calls, from the interceptor that counts to their ends.
    pub times: Histogram,
    /// The times that calls have waited for their handlers: in the queue of a quota, for the
    /// decision of an interceptor, or for a thread of the pool. Calls whose handlers have started
    /// at once are not among them.
    pub queued: Histogram,
    /// The times from the beginning of a call to the first item of its handler.
    pub first_items: Histogram,
    pub(super) began: u64,
    pub(super) ended: u64,
    pub(super) outcomes: [u64; OUTCOMES],
    pub(super) exemplars: Exemplars,
}

impl MethodStatistics {
    pub(super) fn new(service: &str, method: &'static str, wire: Option<Wire>) -> Self {
        MethodStatistics {
            service: service.to_owned(),
            method,
            wire,
            received_bytes: 0,
            sent_bytes: 0,
            received_items: 0,
            sent_items: 0,
            times: Histogram::default(),
            queued: Histogram::default(),
            first_items: Histogram::default(),
            began: 0,
            ended: 0,
            outcomes: [0; OUTCOMES],
            exemplars: Exemplars::default(),
        }
    }

    /// Returns the number of calls that have ended.
    pub fn calls(&self) -> u64 {
        self.ended
    }

    /// Returns the number of calls that are under way.
    pub fn in_flight(&self) -> u64 {
        self.began.saturating_sub(self.ended)
    }

    /// Returns the number of calls that ended with a result.
    pub fn returned(&self) -> u64 {
        self.at(0)
    }

    /// Returns the number of calls that ended with a declared exception.
    pub fn exceptions(&self) -> u64 {
        self.at(EXCEPTION)
    }

    /// Returns the number of calls that failed with a code.
    pub fn failed(&self, code: Code) -> u64 {
        self.at(code as usize)
    }

    fn at(&self, place: usize) -> u64 {
        self.outcomes.get(place).copied().unwrap_or(0)
    }

    /// Returns the outcomes that calls had, by name, and their numbers.
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let codes = Code::ALL
            .into_iter()
            .map(|code| (code.name(), self.failed(code)));
        let others = [("OK", self.returned()), ("EXCEPTION", self.exceptions())];
        let all = others.into_iter().chain(codes);
        all.filter(|(_, calls)| *calls > 0)
    }
}
