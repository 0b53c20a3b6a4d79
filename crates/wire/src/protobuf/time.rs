//! Protobuf's own times: whatever a peer sends in them, they hold it, and say in JSON what they are
//! if that is a time.

use crate::carrier::{Carried, carried};
use crate::description::Logical;
use crate::time::{Seconds, from_text};
use crate::{DecodeError, EncodeError, Reader, Writer};
use jiff::SignedDuration;
use jiff::civil::{self, DateTime};
use std::fmt;
use std::str::FromStr;

const NANOS_PER_SECOND: i32 = 1_000_000_000;

/// The seconds of 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z, between which an instant is, as
/// `google/protobuf/timestamp.proto` says.
const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// The most seconds of a duration: 10,000 years, as `google/protobuf/duration.proto` says.
const MAX_SECONDS: i64 = 315_576_000_000;

const EPOCH: DateTime = civil::date(1970, 1, 1).at(0, 0, 0, 0);

/// `google.protobuf.Timestamp`, for contracts in protobuf's language. A peer can send one that is
/// no instant, and an instant that [`jiff::Timestamp`] does not have: the last day of the
/// year 9999. So it becomes one by `try_from`.
///
/// ```
/// use dovetail_wire::protobuf::Timestamp;
///
/// let last: Timestamp = "9999-12-31T23:59:59.999999999Z".parse()?;
/// assert_eq!((last.seconds, last.nanos), (253_402_300_799, 999_999_999));
/// assert!(jiff::Timestamp::try_from(last).is_err());
/// assert_eq!(Timestamp::from(jiff::Timestamp::UNIX_EPOCH), Timestamp::default());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp {
    /// Seconds since 1970 in UTC.
    pub seconds: i64,
    /// Nanoseconds from there on, 0 to 999,999,999, also before 1970.
    pub nanos: i32,
}

/// `google.protobuf.Duration`, for contracts in protobuf's language. A peer can send one that is
/// out of range, or has two signs, so it becomes a [`SignedDuration`] by `try_from`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Duration {
    /// Seconds; at most 315,576,000,000 of them in JSON.
    pub seconds: i64,
    /// Nanoseconds, with the sign of the seconds, fewer than a second.
    pub nanos: i32,
}

/// A time that is none, or is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange;

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a date, time or duration that is out of range")
    }
}

impl std::error::Error for OutOfRange {}

impl Timestamp {
    fn is_valid(self) -> bool {
        SECONDS.contains(&self.seconds) && (0..NANOS_PER_SECOND).contains(&self.nanos)
    }

    /// Returns the time in the calendar, in UTC; `None` for one that is no instant.
    fn civil(self) -> Option<DateTime> {
        let since = SignedDuration::new(self.seconds, self.nanos);
        let time = EPOCH.checked_add(since).ok();
        time.filter(|_| self.is_valid())
    }
}

impl From<jiff::Timestamp> for Timestamp {
    fn from(timestamp: jiff::Timestamp) -> Self {
        let (seconds, nanos) = (timestamp.as_second(), timestamp.subsec_nanosecond());
        match nanos {
            0.. => Timestamp { seconds, nanos },
            _ => Timestamp {
                seconds: seconds - 1,
                nanos: nanos + NANOS_PER_SECOND,
            },
        }
    }
}

impl TryFrom<Timestamp> for jiff::Timestamp {
    type Error = OutOfRange;

    fn try_from(timestamp: Timestamp) -> Result<Self, OutOfRange> {
        let Timestamp { seconds, nanos } = timestamp;
        let valid = (0..NANOS_PER_SECOND).contains(&nanos);
        let known = valid.then(|| jiff::Timestamp::new(seconds, nanos).ok());
        known.flatten().ok_or(OutOfRange)
    }
}

impl From<SignedDuration> for Duration {
    fn from(duration: SignedDuration) -> Self {
        Duration {
            seconds: duration.as_secs(),
            nanos: duration.subsec_nanos(),
        }
    }
}

impl TryFrom<Duration> for SignedDuration {
    type Error = OutOfRange;

    /// Both parts have one sign.
    fn try_from(duration: Duration) -> Result<Self, OutOfRange> {
        let Duration { seconds, nanos } = duration;
        let one_sign = seconds.signum() * i64::from(nanos.signum()) >= 0;
        match one_sign && nanos.unsigned_abs() < NANOS_PER_SECOND.unsigned_abs() {
            true => Ok(SignedDuration::new(seconds, nanos)),
            false => Err(OutOfRange),
        }
    }
}

/// As in JSON; one that is no instant as its two numbers.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.civil() {
            Some(time) => write!(f, "{time:.*}Z", digits(self.nanos)),
            None => write!(
                f,
                "1970-01-01T00:00:00Z + {}s + {}ns",
                self.seconds, self.nanos
            ),
        }
    }
}

/// As in JSON; one that is out of range as its two numbers.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Duration { seconds, nanos } = *self;
        if SignedDuration::try_from(*self).is_err() {
            return write!(f, "{seconds}s + {nanos}ns");
        }
        let sign = if seconds < 0 || nanos < 0 { "-" } else { "" };
        let (whole, part) = (seconds.unsigned_abs(), nanos.unsigned_abs());
        match digits(nanos) {
            0 => write!(f, "{sign}{whole}s"),
            digits => {
                let fraction = part / 10_u32.pow(9 - digits as u32);
                write!(f, "{sign}{whole}.{fraction:0digits$}s")
            }
        }
    }
}

/// How many digits of a fraction of a second protobuf's JSON has: none, 3, 6 or 9.
fn digits(nanos: i32) -> usize {
    match nanos {
        0 => 0,
        nanos if nanos % 1_000_000 == 0 => 3,
        nanos if nanos % 1_000 == 0 => 6,
        _ => 9,
    }
}

/// The one form of RFC 3339 that protobuf's JSON has: `1972-01-01T10:00:20.021Z`, or with an
/// offset.
impl FromStr for Timestamp {
    type Err = OutOfRange;

    fn from_str(text: &str) -> Result<Self, OutOfRange> {
        let whole = "1972-01-01T10:00:20".len();
        let (date, rest) = text.split_at_checked(whole).ok_or(OutOfRange)?;
        let fraction = rest.strip_prefix('.').unwrap_or(rest);
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        let zone = fraction.get(digits..).unwrap_or_default();
        if !looks_like(date, "0000-00-00T00:00:00")
            || !matches!((rest.starts_with('.'), digits), (false, 0) | (true, 1..=9))
        {
            return Err(OutOfRange);
        }
        let local: DateTime = date.parse().map_err(|_| OutOfRange)?;
        let local = local.duration_since(EPOCH).as_secs();
        let parsed = Timestamp {
            seconds: local - offset(zone).ok_or(OutOfRange)?,
            nanos: nanos(fraction.get(..digits).unwrap_or_default())?,
        };
        Some(parsed)
            .filter(|parsed| parsed.is_valid())
            .ok_or(OutOfRange)
    }
}

impl FromStr for Duration {
    type Err = OutOfRange;

    fn from_str(text: &str) -> Result<Self, OutOfRange> {
        let number = text.strip_suffix('s').ok_or(OutOfRange)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let sign = if whole.starts_with('-') { -1 } else { 1 };
        let seconds: i64 = whole.parse().map_err(|_| OutOfRange)?;
        match (-MAX_SECONDS..=MAX_SECONDS).contains(&seconds) {
            true => Ok(Duration {
                seconds,
                nanos: sign * nanos(fraction)?,
            }),
            false => Err(OutOfRange),
        }
    }
}

/// The nanoseconds of the digits behind the point of a second.
fn nanos(digits: &str) -> Result<i32, OutOfRange> {
    match digits.len() <= 9 && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        true => format!("{digits:0<9}").parse().map_err(|_| OutOfRange),
        false => Err(OutOfRange),
    }
}

/// The seconds of an offset: `Z`, `+01:00`.
fn offset(zone: &str) -> Option<i64> {
    if zone == "Z" {
        return Some(0);
    }
    let (sign, time) = zone.split_at_checked(1)?;
    let sign = match sign {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let (hours, minutes) = time.split_once(':').filter(|_| looks_like(time, "00:00"))?;
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// Returns whether the text has digits in the places of zeros, and otherwise is the form itself.
fn looks_like(text: &str, form: &str) -> bool {
    let fits = |(byte, form): (u8, u8)| match form {
        b'0' => byte.is_ascii_digit(),
        form => byte == form,
    };
    text.len() == form.len() && text.bytes().zip(form.bytes()).all(fits)
}

/// The text of a time in JSON, which has none for one that is out of range.
pub(crate) struct Text<T>(pub(crate) T);

impl fmt::Display for Text<Timestamp> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.is_valid() {
            true => self.0.fmt(f),
            false => Err(fmt::Error),
        }
    }
}

impl fmt::Display for Text<Duration> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let valid = self.0.seconds.unsigned_abs() <= MAX_SECONDS.unsigned_abs()
            && SignedDuration::try_from(self.0).is_ok();
        match valid {
            true => self.0.fmt(f),
            false => Err(fmt::Error),
        }
    }
}

impl Carried for Timestamp {
    type Carrier = Seconds;
    const LOGICAL: Logical = Logical::Timestamp;

    fn to_carrier(&self) -> Seconds {
        let Timestamp { seconds, nanos } = *self;
        Seconds { seconds, nanos }
    }

    fn write_own<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<bool, EncodeError> {
        let nanos = u32::try_from(self.nanos).ok();
        if let Some(nanos) = nanos.filter(|_| self.is_valid())
            && writer.timestamp(self.seconds, nanos)?
        {
            return Ok(true);
        }
        writer.as_text(&Text(*self))
    }

    fn read_own<'de, R: Reader<'de> + ?Sized>(reader: &mut R) -> Result<Option<Self>, DecodeError> {
        let Some((seconds, nanos)) = reader.timestamp()? else {
            return from_text(reader);
        };
        // Too many for an `i32` are too many.
        let nanos = i32::try_from(nanos).unwrap_or(i32::MAX);
        Ok(Some(Timestamp { seconds, nanos }))
    }

    fn from_carrier(Seconds { seconds, nanos }: Seconds) -> Result<Self, DecodeError> {
        Ok(Timestamp { seconds, nanos })
    }
}

impl Carried for Duration {
    type Carrier = Seconds;
    const LOGICAL: Logical = Logical::Duration;

    fn to_carrier(&self) -> Seconds {
        let Duration { seconds, nanos } = *self;
        Seconds { seconds, nanos }
    }

    fn write_own<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<bool, EncodeError> {
        writer.as_text(&Text(*self))
    }

    fn read_own<'de, R: Reader<'de> + ?Sized>(reader: &mut R) -> Result<Option<Self>, DecodeError> {
        from_text(reader)
    }

    fn from_carrier(Seconds { seconds, nanos }: Seconds) -> Result<Self, DecodeError> {
        Ok(Duration { seconds, nanos })
    }
}

carried!(Timestamp, Duration);
