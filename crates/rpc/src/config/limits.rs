//! The table of limits; see [`ServerLimits`](crate::server::ServerLimits).

use super::keys::{Key, Section, Set};
use super::settings::Settings;

/// `live` keys count for connections that begin after a reload.
macro_rules! limit {
    (live $($key:tt)*) => {
        Key { live: true, ..limit!($($key)*) }
    };
    ($kind:ident $name:literal, $default:literal, $($field:ident).+, $doc:literal) => {
        limit!(@ $kind $name, $default, $doc, |settings, value| settings.limits.$($field).+ = value)
    };
    (some $kind:ident $name:literal, $default:literal, $field:ident, $doc:literal) => {
        limit!(@ $kind $name, $default, $doc, |settings, value| settings.limits.$field = Some(value))
    };
    (@ $kind:ident $name:literal, $default:literal, $doc:literal, $set:expr) => {
        Key::new($name, $default, $doc, Set::$kind($set))
    };
}

pub(super) const SECTION: Section<Settings> = Section {
    path: "server.limits",
    doc: "What peers may cost. Sizes are in bytes. A change of numbers and times counts for new connections.",
    keys: &[
        limit!(live Count "connections", "20000", connections, "Connections at a time."),
        limit!(live Count "handshakes", "1000", handshakes, "TLS handshakes at a time."),
        limit!(live Count "calls", "100000", calls, "Calls whose handlers wait, of all connections."),
        limit!(live Count "calls-per-connection", "1000", calls_per_connection, "Calls whose handlers wait, of one connection."),
        limit!(some Bytes "memory", "a quarter of the memory of the process", memory, "Memory that the server holds for all its peers."),
        limit!(some Bytes "memory-per-address", "a quarter of `memory`", memory_per_address, "The part for the connections of one address."),
        limit!(some Bytes "memory-per-connection", "a sixteenth of `memory`", memory_per_connection, "The part for one connection."),
        limit!(Bytes "message", "\"64 MiB\"", connection.message_bytes, "One message, before and after decompression."),
        limit!(Bytes "allocation", "\"128 MiB\"", message.allocation, "Memory for the values of one message."),
        limit!(Bytes "string", "as `message`", message.string, "One string or binary."),
        limit!(Count "elements", "as `message` has room for", message.elements, "Elements of one list, set or map."),
        limit!(Bytes "header", "\"16 KiB\"", connection.header_bytes, "The headers of one message."),
        limit!(Bytes "name", "\"1 KiB\"", connection.name_bytes, "The name of a method, with the service before it."),
        limit!(Count "objects", "10000", connection.objects, "Objects of one connection that its ends have references to."),
        limit!(live Time "idle", "\"10m\"", idle, "How long a connection may be silent between two calls."),
        limit!(live Time "handshake", "\"10s\"", handshake, "How long a peer may take until it says something."),
        limit!(live Time "transfer", "\"60s\"", transfer, "How long a peer may take to send one message, or to take its answers."),
        limit!(live Time "rate-grace", "\"10s\"", rate_grace, "How long a message may take, however slowly it comes."),
        limit!(live some Time "connection-age", "for ever", connection_age, "How long a connection of HTTP/2 may last."),
        limit!(live some Time "connection-grace", "for ever", connection_grace, "How long calls on a connection of that age may go on."),
        limit!(@ Count "depth", "64", "Structs and containers inside one another.", |settings, depth| {
            settings.limits.connection.depth = depth;
            settings.limits.message.depth = depth;
        }),
        limit!(live @ Count "rate", "256", "Bytes a second that a peer has to send at least; 0 for any number.", |settings, rate| {
            settings.limits.rate = u32::try_from(rate).unwrap_or(u32::MAX);
        }),
    ],
};
