//! `grpc-timeout`: at most eight digits, and a unit.

use std::fmt;
use std::time::Duration;

/// A `grpc-timeout` that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidTimeout;

impl fmt::Display for InvalidTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`grpc-timeout` is one to eight digits and a unit: H, M, S, m, u or n")
    }
}

impl std::error::Error for InvalidTimeout {}

const NANOS: u64 = 1_000_000_000;

/// Units by size, in nanoseconds.
const UNITS: [(u8, u64); 6] = [
    (b'n', 1),
    (b'u', 1_000),
    (b'm', 1_000_000),
    (b'S', NANOS),
    (b'M', 60 * NANOS),
    (b'H', 3600 * NANOS),
];

/// Reads the value of a header.
pub fn parse_timeout(text: &[u8]) -> Result<Duration, InvalidTimeout> {
    let (unit, digits) = text.split_last().ok_or(InvalidTimeout)?;
    let (_, unit) = UNITS
        .iter()
        .find(|(letter, _)| letter == unit)
        .ok_or(InvalidTimeout)?;
    if !matches!(digits.len(), 1..=8) || !digits.iter().all(u8::is_ascii_digit) {
        return Err(InvalidTimeout);
    }
    let number = digits
        .iter()
        .fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
    let (seconds, rest) = (NANOS / (*unit).min(NANOS), (*unit / NANOS).max(1));
    // Hours of eight digits are more nanoseconds than 64 bits have.
    Ok(Duration::new(
        number / seconds * rest,
        (number % seconds * *unit % NANOS) as u32,
    ))
}

/// Writes the value of a header: in the smallest unit in which it has eight digits, rounded up, so
/// that the server does not give up before the client does.
pub fn timeout(duration: Duration) -> String {
    const MAX: u128 = 99_999_999;
    let nanos = duration.as_nanos();
    let fits = UNITS
        .iter()
        .map(|(letter, unit)| (nanos.div_ceil(u128::from(*unit)), char::from(*letter)))
        .find(|(number, _)| *number <= MAX);
    let (number, unit) = fits.unwrap_or((MAX, 'H'));
    format!("{number}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts() {
        let millis = Duration::from_millis;
        for (text, duration) in [
            ("1S", Some(millis(1000))),
            ("100m", Some(millis(100))),
            ("99999999m", Some(millis(99_999_999))),
            ("7u", Some(Duration::from_micros(7))),
            ("1234567n", Some(Duration::from_nanos(1_234_567))),
            ("2M", Some(millis(120_000))),
            ("99999999H", Some(Duration::from_secs(99_999_999 * 3600))),
            ("0n", Some(Duration::ZERO)),
            ("", None),
            ("S", None),
            ("1", None),
            ("1s", None),
            ("-1S", None),
            ("+1S", None),
            ("1.5S", None),
            (" 1S", None),
            ("123456789S", None),
        ] {
            assert_eq!(parse_timeout(text.as_bytes()).ok(), duration, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_and_never_shorter() {
        for (duration, text) in [
            (Duration::ZERO, "0n"),
            (Duration::from_millis(50), "50000000n"),
            (Duration::from_millis(100), "100000u"),
            (Duration::from_nanos(123_456_789), "123457u"),
            (Duration::from_secs(30), "30000000u"),
            (Duration::from_secs(86_400), "86400000m"),
            (Duration::MAX, "99999999H"),
        ] {
            assert_eq!(timeout(duration), text);
            let read = parse_timeout(text.as_bytes()).unwrap_or_default();
            assert!(read >= duration.min(Duration::from_secs(99_999_999 * 3600)));
        }
    }
}
