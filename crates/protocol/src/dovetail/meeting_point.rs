//! How a server tells its clients where they find it on the same machine. `docs/spec/wire.md`,
//! "Local upgrade".

use std::fmt;

/// The place where a client on the same machine meets its server, to go on through shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeetingPoint {
    /// The number in the name of the server's abstract Unix socket. Nobody can guess it.
    pub number: u128,
    /// The port of this connection's client, as the server sees it. Another one than the client
    /// sees: somebody is in between.
    pub client_port: u16,
    /// The port of this connection's server, as the server sees it.
    pub server_port: u16,
}

impl MeetingPoint {
    /// Both ports as HELLO has them.
    pub(super) fn ports(&self) -> u64 {
        u64::from(self.client_port) << 16 | u64::from(self.server_port)
    }

    /// Reads the place from HELLO; `None` where that is no place to meet.
    pub(super) fn read([low, high, ports]: [u64; 3]) -> Option<Self> {
        let ports = u32::try_from(ports).ok().filter(|ports| *ports != 0)?;
        Some(MeetingPoint {
            number: u128::from(high) << 64 | u128::from(low),
            client_port: (ports >> 16) as u16,
            server_port: ports as u16,
        })
    }
}

/// The name of the socket, without the zero byte before it.
impl fmt::Display for MeetingPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dovetail-{:032x}", self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hello_says() {
        let point = MeetingPoint {
            number: 0x0123_4567_89ab_cdef_0000_0000_0000_00ff,
            client_port: 40_000,
            server_port: 9090,
        };
        let name = "dovetail-0123456789abcdef00000000000000ff";
        assert_eq!(point.to_string(), name);
        let (low, high) = (0xff, 0x0123_4567_89ab_cdef);
        for (said, read) in [
            ([low, high, point.ports()], Some(point)),
            ([low, high, 0], None),
            ([low, high, 1 << 32], None),
            ([0, 0, 0], None),
        ] {
            assert_eq!(MeetingPoint::read(said), read, "{said:?}");
        }
    }
}
