use dovetail_protocol::thrift::ConnectionLimits;
use std::time::Duration;

/// What peers may cost a server. Every limit is on by default, for every wire; what is refused is counted
/// (see [`Counters`](crate::Counters)) and answered.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// Messages, headers and names of one connection.
    pub connection: ConnectionLimits,
    /// Decoding and encoding one message.
    pub message: dovetail_wire::Limits,
    /// Connections at a time. Default 20,000.
    pub connections: usize,
    /// How long a connection may be silent between two calls. Default 10 minutes.
    pub idle: Duration,
    /// How long a peer may take to send one message, or to take one answer. Default 60 seconds.
    pub transfer: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        ServerLimits {
            connection: ConnectionLimits::default(),
            message: dovetail_wire::Limits::default(),
            connections: 20_000,
            idle: Duration::from_secs(600),
            transfer: Duration::from_secs(60),
        }
    }
}
