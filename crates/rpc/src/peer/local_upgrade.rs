//! How a connection that goes over TCP moves to shared memory, where client and server turn out to
//! be on the same machine. `docs/spec/wire.md`, "Local upgrade", has the rules.

use crate::Address;
use dovetail_protocol::dovetail::MeetingPoint;
use std::time::Duration;

/// How long to try; nobody waits for it.
pub(crate) const UPGRADE_TIMEOUT: Duration = Duration::from_secs(5);

/// The progress of a connection towards shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalUpgrade {
    /// The server has not said yet where it can be met. The ports of this end and of the other one.
    Unknown(u16, u16),
    /// Another connection is being made.
    Begun,
    /// There is nowhere to go, or something belongs to this connection.
    Off,
    /// Other calls go elsewhere.
    Done,
}

impl LocalUpgrade {
    /// Makes the state of a connection with these ports, where it is TCP.
    pub(crate) fn new(may_move: bool, ports: Option<(u16, u16)>) -> Self {
        match ports {
            Some((own, other)) if may_move => LocalUpgrade::Unknown(own, other),
            _ => LocalUpgrade::Off,
        }
    }

    /// Takes the server's meeting point; `None` as long as the server has said nothing. Returns the
    /// address to connect to, once, and only where no proxy is in between.
    pub(crate) fn begin(&mut self, said: Option<Option<MeetingPoint>>) -> Option<Address> {
        let (LocalUpgrade::Unknown(own, other), Some(said)) = (*self, said) else {
            return None;
        };
        let point = said.filter(|point| (point.client_port, point.server_port) == (own, other));
        *self = match point {
            Some(_) => LocalUpgrade::Begun,
            None => LocalUpgrade::Off,
        };
        Some(Address::upgrade_target(point?.number))
    }

    /// Keeps the connection for something that belongs to it. Returns false where the calls have
    /// moved already.
    pub(crate) fn stay(&mut self) -> bool {
        if *self == LocalUpgrade::Done {
            return false;
        }
        *self = LocalUpgrade::Off;
        true
    }

    /// Returns whether other calls may go elsewhere, which they do from now on.
    pub(crate) fn give_way(&mut self) -> bool {
        let leaves = *self == LocalUpgrade::Begun;
        if leaves {
            *self = LocalUpgrade::Done;
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
        let new = || LocalUpgrade::new(true, Some((40_000, 9090)));
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
                goes.then(|| Address::upgrade_target(7)),
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
        assert_eq!(LocalUpgrade::new(true, None), LocalUpgrade::Off);
        assert_eq!(LocalUpgrade::new(false, Some((1, 2))), LocalUpgrade::Off);
    }
}
