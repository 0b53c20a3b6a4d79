//! How a connection that goes over TCP moves to shared memory, where client and server turn out to
//! be on the same machine. `docs/spec/wire.md`, "Moving", has the rules.

use super::options::Options;
use crate::{Address, Wire};
use dovetail_protocol::dovetail::MeetingPoint;
use std::time::Duration;

/// How long to try; nobody waits for it.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The progress of a connection towards shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moving {
    /// The server has not said yet where it can be met. The ports of this end and of the other one.
    Unknown(u16, u16),
    /// Another connection is being made.
    Begun,
    /// There is nowhere to go, or something belongs to this connection.
    Stays,
    /// Other calls go elsewhere.
    Moved,
}

impl Moving {
    /// Makes the state of a connection with these ports, where it is TCP.
    pub(super) fn new(options: &Options, ports: Option<(u16, u16)>) -> Self {
        match ports {
            // A server that may call back keeps the connection for that.
            Some((own, other))
                if options.local_upgrade && options.wire == Wire::Dovetail && !options.serves() =>
            {
                Moving::Unknown(own, other)
            }
            _ => Moving::Stays,
        }
    }

    /// Takes the server's word, which is `None` as long as there is none: where to meet it, once,
    /// and only where nobody is in between.
    pub(super) fn begin(&mut self, said: Option<Option<MeetingPoint>>) -> Option<Address> {
        let (Moving::Unknown(own, other), Some(said)) = (*self, said) else {
            return None;
        };
        let point = said.filter(|point| (point.client_port, point.server_port) == (own, other));
        *self = match point {
            Some(_) => Moving::Begun,
            None => Moving::Stays,
        };
        Some(Address::met(point?.number))
    }

    /// Something comes to belong to this connection: false where it is too late for that.
    pub(super) fn stay(&mut self) -> bool {
        if *self == Moving::Moved {
            return false;
        }
        *self = Moving::Stays;
        true
    }

    /// Returns whether other calls may go elsewhere, which they do from now on.
    pub(super) fn give_way(&mut self) -> bool {
        let leaves = *self == Moving::Begun;
        if leaves {
            *self = Moving::Moved;
        }
        leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: MeetingPoint = MeetingPoint {
        number: 7,
        client_port: 40_000,
        server_port: 9090,
    };

    #[test]
    fn who_may_move_and_when() {
        let options = Options::default();
        let new = || Moving::new(&options, Some((40_000, 9090)));
        let proxied = MeetingPoint {
            client_port: 40_001,
            ..HERE
        };
        for (said, goes) in [
            (None, false),
            (Some(None), false),
            (Some(Some(proxied)), false),
            (Some(Some(HERE)), true),
        ] {
            let mut moving = new();
            assert_eq!(
                moving.begin(said),
                goes.then(|| Address::met(7)),
                "{said:?}"
            );
            assert_eq!(moving.begin(said), None, "{said:?}: once");
            assert_eq!(moving.give_way(), goes, "{said:?}");
            // Calls that belong to a connection come before it has been left, or go elsewhere.
            assert_eq!(moving.stay(), !goes, "{said:?}");
        }
        let mut moving = new();
        assert!(moving.begin(Some(Some(HERE))).is_some() && moving.stay());
        assert!(!moving.give_way(), "it has something by then");
        assert_eq!(Moving::new(&options, None), Moving::Stays);
        let off = Options {
            local_upgrade: false,
            ..Options::default()
        };
        assert_eq!(Moving::new(&off, Some((1, 2))), Moving::Stays);
    }
}
