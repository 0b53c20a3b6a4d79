use dovetail_protocol::ConnectionLimits;
use std::time::Duration;

/// Limits on the cost of peers. Every limit but the age of connections is on by default, for every
/// wire; refusals are counted (see [`Counters`](crate::server::Counters)) and answered.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// Messages, headers and names of one connection.
    pub connection: ConnectionLimits,
    /// Decoding and encoding one message.
    pub message: dovetail_wire::Limits,
    /// Bytes that the server holds for all its peers: received, decompressed and decoded, until the
    /// calls have been answered, and answers until they have been taken. Nothing more is received
    /// from who holds too much, or its calls are answered with `RESOURCE_EXHAUSTED`. `None`, the
    /// default: a quarter of the memory that the process may use, by its control group or the
    /// machine.
    pub memory: Option<usize>,
    /// The part of `memory` for the connections of one address; by IPv6, of one network of 64 bits.
    /// Unix sockets and shared memory have none. `None`, the default: a quarter of `memory`.
    pub memory_per_address: Option<usize>,
    /// The part of `memory` for one connection. `None`, the default: a sixteenth of `memory`.
    pub memory_per_connection: Option<usize>,
    /// Connections at a time. The first call of one too many is answered with `RESOURCE_EXHAUSTED`;
    /// far too many are closed at once. Where there is no room, connections that have been idle for
    /// a second are closed, the one that has been so longest first, unless references to objects
    /// were passed on them. One address, or a /64 of IPv6, may have half of them, and more while
    /// over a quarter is free. Default 20,000.
    pub connections: usize,
    /// TLS handshakes at a time; one too many is closed. One address, or a /64 of IPv6, may have
    /// half of them, and more while over a quarter is free. Default 1,000.
    pub handshakes: usize,
    /// Calls at a time whose handlers wait, of all connections; further ones are answered with
    /// `RESOURCE_EXHAUSTED`. Default 100,000.
    pub calls: usize,
    /// Calls at a time whose handlers wait, of one connection; nothing is received from it until
    /// one is answered. Default 1,000.
    pub calls_per_connection: usize,
    /// How long a connection may be silent between two calls. Default 10 minutes.
    pub idle: Duration,
    /// How long a peer may take from when it has connected, or has completed the handshake of TLS,
    /// until it says something (by TCP alone: others have as long as between two calls), and from
    /// then until its wire is known. Clients that connect long before they call need more. Default
    /// 10 seconds.
    pub handshake: Duration,
    /// How long a peer may take to send one message, whatever it comes in (frames, fragments,
    /// chunks), or to take the answers that wait for it. Default 60 seconds.
    pub transfer: Duration,
    /// How many bytes a second a peer has to send at least, on average, of a message that has taken
    /// longer than `rate_grace`; 0 for any number. Default 256.
    pub rate: u32,
    /// How long a message may take, however slowly it comes. Default 10 seconds.
    pub rate_grace: Duration,
    /// How long a connection of HTTP/2 may last: then its client is told by GOAWAY to make another
    /// one, and what it has called goes on. So clients spread over servers that have come later. Up
    /// to a tenth less, so that clients that came together do not return together. `None`, the
    /// default: for ever.
    pub connection_age: Option<Duration>,
    /// How long calls on a connection of that age may go on; then it is cut. `None`, the default:
    /// for ever.
    pub connection_grace: Option<Duration>,
}

impl ServerLimits {
    /// How long a peer may be silent that has said nothing yet.
    pub(super) fn silence(&self, remote: bool) -> Duration {
        match remote {
            true => self.handshake,
            false => self.idle,
        }
    }
}

impl Default for ServerLimits {
    fn default() -> Self {
        ServerLimits {
            connection: ConnectionLimits::default(),
            message: dovetail_wire::Limits::default(),
            memory: None,
            memory_per_address: None,
            memory_per_connection: None,
            connections: 20_000,
            handshakes: 1_000,
            calls: 100_000,
            calls_per_connection: 1_000,
            handshake: Duration::from_secs(10),
            idle: Duration::from_secs(600),
            transfer: Duration::from_secs(60),
            rate: 256,
            rate_grace: Duration::from_secs(10),
            connection_age: None,
            connection_grace: None,
        }
    }
}
