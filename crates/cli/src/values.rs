//! What the commands share about calls: durations, the default wire.

use dovetail::Wire;
use dovetail::protocol::thrift::{self, Protocol, Transport};
use std::time::Duration;

/// What Apache Thrift's own examples speak. A server that expects frames refuses it at once, where an
/// unframed one would wait for more of a frame.
pub(crate) const DEFAULT_WIRE: Wire =
    Wire::Thrift(thrift::Wire::new(Protocol::Binary, Transport::Unframed));

/// `20ms`, `1.5s`, `2m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic() || c == 'µ');
    let unit = match &text[digits.len()..] {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "" => return Err("the unit is missing: 20ms, 1.5s, 2m".to_owned()),
        _ => return Err("the units are us, ms, s, m, h".to_owned()),
    };
    let number: f64 = digits
        .parse()
        .map_err(|_| "expected a number and a unit: 20ms")?;
    Duration::try_from_secs_f64(number * unit).map_err(|_| "too large or negative".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let rows = [
            ("20ms", Some(20_000)),
            ("1.5s", Some(1_500_000)),
            ("2m", Some(120_000_000)),
            ("5µs", Some(5)),
            ("0s", Some(0)),
            ("20", None),
            ("ms", None),
            ("-1s", None),
            ("1y", None),
        ];
        for (text, micros) in rows {
            assert_eq!(duration(text).ok().map(|d| d.as_micros()), micros, "{text}");
        }
    }
}
