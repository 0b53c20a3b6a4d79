//! How a server says when to try again: `docs/throttling.md`, "When to try again", has the table.
//!
//! gRPC has a header for it (gRFC A6, "Pushback"), in milliseconds; a negative number means never.
//! All HTTP wires use it here. Connect without streams and JSON have HTTP's own beside it (RFC
//! 9110, section 10.2.3), in whole seconds.

use std::time::Duration;

/// The name of gRPC's header.
pub(crate) const HEADER: &str = "grpc-retry-pushback-ms";

/// The name of HTTP's header.
const HTTP_HEADER: &str = "retry-after";

/// Returns the number of milliseconds, rounded up; -1 for never.
pub(crate) fn milliseconds(after: Duration) -> i64 {
    match after {
        Duration::MAX => -1,
        after => i64::try_from(after.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX),
    }
}

/// Returns the time of a number of milliseconds.
pub(crate) fn after(milliseconds: i64) -> Duration {
    u64::try_from(milliseconds).map_or(Duration::MAX, Duration::from_millis)
}

/// Returns the value of gRPC's header.
pub(crate) fn text(after: Duration) -> String {
    milliseconds(after).to_string()
}

/// Returns HTTP's header; `None` for never, which it cannot say.
pub(crate) fn http_header(after: Duration) -> Option<(&'static str, String)> {
    let seconds = after.as_nanos().div_ceil(1_000_000_000);
    (after != Duration::MAX).then(|| (HTTP_HEADER, seconds.to_string()))
}

/// Reads the headers. A value of gRPC's that is no number means never, as gRPC has it; a date in
/// HTTP's is not understood.
pub(crate) fn of<'a>(header: impl Fn(&'static str) -> Option<&'a [u8]>) -> Option<Duration> {
    if let Some(value) = header(HEADER) {
        return Some(number(value).map_or(Duration::MAX, after));
    }
    let seconds = number(header(HTTP_HEADER)?)?;
    u64::try_from(seconds).ok().map(Duration::from_secs)
}

fn number(value: &[u8]) -> Option<i64> {
    std::str::from_utf8(value).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pushbacks_are_read_as_grpc_and_http_write_them() {
        let millis = Duration::from_millis;
        let rows: [(Option<&str>, Option<&str>, Option<Duration>); 8] = [
            (None, None, None),
            (Some("0"), None, Some(Duration::ZERO)),
            (Some("250"), Some("9"), Some(millis(250))),
            (Some("-1"), None, Some(Duration::MAX)),
            (Some("soon"), None, Some(Duration::MAX)),
            (None, Some("2"), Some(millis(2000))),
            (None, Some("-2"), None),
            (None, Some("Wed, 21 Oct 2026 07:28:00 GMT"), None),
        ];
        for (grpc, http, expected) in rows {
            let header = |name| match name {
                HEADER => grpc.map(str::as_bytes),
                _ => http.map(str::as_bytes),
            };
            assert_eq!(of(header), expected, "{grpc:?} {http:?}");
        }
    }

    #[test]
    fn pushbacks_are_written_rounded_up() {
        let rows = [
            (Duration::ZERO, "0", Some("0")),
            (Duration::from_micros(1), "1", Some("1")),
            (Duration::from_millis(1500), "1500", Some("2")),
            (Duration::MAX, "-1", None),
        ];
        for (after, grpc, http) in rows {
            assert_eq!(text(after), grpc);
            let written = http_header(after);
            assert_eq!(written.as_ref().map(|(_, value)| value.as_str()), http);
        }
    }
}
