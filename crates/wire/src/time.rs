//! Instants, days and spans of time, as `jiff` has them.

use crate::carrier::{Carried, carried};
use crate::description::Logical;
use crate::{DecodeError, EncodeError, Reader, Writer, message};
use jiff::civil;
use jiff::fmt::temporal::Pieces;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

pub use jiff::tz::Offset;
pub use jiff::{SignedDuration, Timestamp};

const SECONDS_PER_DAY: i64 = 24 * 60 * 60;
const NANOS_PER_SECOND: i32 = 1_000_000_000;

/// An instant, and the offset from UTC of the place that it was noted at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TimestampTz {
    /// The instant.
    pub timestamp: Timestamp,
    /// The offset of local time from UTC.
    pub offset: Offset,
}

impl TimestampTz {
    /// An instant that is known to be one: seconds and nanoseconds since 1970, and the offset in seconds.
    ///
    /// # Panics
    ///
    /// Where it is out of range.
    #[must_use]
    pub fn constant(seconds: i64, nanos: i32, offset: i32) -> Self {
        let timestamp = Timestamp::constant(seconds, nanos);
        match Offset::from_seconds(offset) {
            Ok(offset) => TimestampTz { timestamp, offset },
            Err(problem) => panic!("{problem}"),
        }
    }
}

/// A day of the Gregorian calendar, with no time zone: a [`civil::Date`] that begins at 1970-01-01, where a
/// peer that leaves a date out means it to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Date(pub civil::Date);

impl Date {
    /// The day with the number 0, 1970-01-01.
    pub const EPOCH: Self = Date::constant(1970, 1, 1);

    /// A day that is known to exist.
    ///
    /// # Panics
    ///
    /// Where it does not exist; in a constant, at compile time.
    #[must_use]
    pub const fn constant(year: i16, month: i8, day: i8) -> Self {
        Date(civil::Date::constant(year, month, day))
    }

    /// Days since 1970-01-01.
    #[must_use]
    pub fn days(self) -> i32 {
        let since = self.0.duration_since(Self::EPOCH.0).as_secs();
        (since / SECONDS_PER_DAY) as i32
    }

    /// The day that is so many days after 1970-01-01; `None` outside of the years −9999 to 9999.
    #[must_use]
    pub fn from_days(days: i32) -> Option<Self> {
        let since = SignedDuration::from_secs(i64::from(days) * SECONDS_PER_DAY);
        Self::EPOCH.0.checked_add(since).ok().map(Date)
    }
}

impl Default for Date {
    fn default() -> Self {
        Date::EPOCH
    }
}

impl Deref for Date {
    type Target = civil::Date;

    fn deref(&self) -> &civil::Date {
        &self.0
    }
}

impl From<civil::Date> for Date {
    fn from(date: civil::Date) -> Self {
        Date(date)
    }
}

impl From<Date> for civil::Date {
    fn from(date: Date) -> Self {
        date.0
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for Date {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, jiff::Error> {
        text.parse().map(Date)
    }
}

/// The beginning of 1970, UTC.
impl Default for TimestampTz {
    fn default() -> Self {
        TimestampTz {
            timestamp: Timestamp::UNIX_EPOCH,
            offset: Offset::UTC,
        }
    }
}

/// As in RFC 3339: `2026-11-20T23:47:36+01:00`.
impl fmt::Display for TimestampTz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.timestamp.display_with_offset(self.offset), f)
    }
}

impl FromStr for TimestampTz {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, jiff::Error> {
        // What a timestamp needs (a time, an offset) is checked there.
        let timestamp = text.parse()?;
        let offset = Pieces::parse(text)?.to_numeric_offset();
        Ok(TimestampTz {
            timestamp,
            offset: offset.unwrap_or(Offset::UTC),
        })
    }
}

/// The carrier of instants and durations, that of protobuf's well-known types.
#[derive(Debug, Default)]
pub(crate) struct Seconds {
    seconds: i64,
    nanos: i32,
}

message!(Seconds {
    1 seconds: i64 [implicit],
    2 nanos: i32 [implicit],
});

/// The carrier of instants with an offset: that of instants, and one field more.
#[derive(Debug, Default)]
pub(crate) struct SecondsAndOffset {
    seconds: i64,
    nanos: i32,
    offset: i32,
}

message!(SecondsAndOffset {
    1 seconds: i64 [implicit],
    2 nanos: i32 [implicit],
    3 offset: i32 [implicit],
});

/// Nanoseconds count forward, also before 1970.
fn split(timestamp: Timestamp) -> (i64, i32) {
    let (seconds, nanos) = (timestamp.as_second(), timestamp.subsec_nanosecond());
    match nanos {
        0.. => (seconds, nanos),
        _ => (seconds - 1, nanos + NANOS_PER_SECOND),
    }
}

fn join(seconds: i64, nanos: i32) -> Result<Timestamp, DecodeError> {
    let valid = (0..NANOS_PER_SECOND).contains(&nanos);
    let timestamp = valid.then(|| Timestamp::new(seconds, nanos).ok()).flatten();
    timestamp.ok_or_else(|| {
        out_of_range(format!(
            "a timestamp of {seconds} seconds and {nanos} nanoseconds"
        ))
    })
}

#[cold]
fn out_of_range(what: String) -> DecodeError {
    DecodeError::malformed(what + ", which is out of range")
}

/// The first second of a timestamp in JSON, 0001-01-01T00:00:00Z, as `google/protobuf/timestamp.proto` says.
const FIRST_SECOND: i64 = -62_135_596_800;

/// An instant with as many digits behind the point as protobuf's JSON has: none, 3, 6 or 9.
struct Rfc3339(Timestamp, i32);

impl fmt::Display for Rfc3339 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rfc3339(timestamp, nanos) = self;
        if timestamp.as_second() < FIRST_SECOND {
            return Err(fmt::Error);
        }
        write!(f, "{timestamp:.*}", digits(nanos.unsigned_abs()))
    }
}

/// An instant in the one form of RFC 3339 that protobuf's JSON has, from the year 1 on: `1972-01-01T10:00:20.021Z`.
struct Strict(Timestamp);

impl FromStr for Strict {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (date, rest) = text
            .split_at_checked("1972-01-01T10:00:20".len())
            .ok_or(())?;
        let fraction = rest.strip_prefix('.').unwrap_or(rest);
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        let zone = fraction.get(digits..).unwrap_or_default();
        let whole = looks_like(date, "0000-00-00T00:00:00") && !date.starts_with("0000");
        let fraction = matches!((rest.starts_with('.'), digits), (false, 0) | (true, 1..=9));
        let zone = zone == "Z" || looks_like(zone, "+00:00") || looks_like(zone, "-00:00");
        match whole && fraction && zone {
            true => text.parse().map(Strict).map_err(drop),
            false => Err(()),
        }
    }
}

/// True where the text has digits in the places of zeros, and otherwise is the form itself.
fn looks_like(text: &str, form: &str) -> bool {
    let fits = |(byte, form): (u8, u8)| match form {
        b'0' => byte.is_ascii_digit(),
        form => byte == form,
    };
    text.len() == form.len() && text.bytes().zip(form.bytes()).all(fits)
}

/// A duration as protobuf's JSON has it: `-1.500s`.
struct InSeconds(SignedDuration);

impl fmt::Display for InSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.as_secs().unsigned_abs() > MOST_SECONDS.unsigned_abs() {
            return Err(fmt::Error);
        }
        let seconds = self.0.as_secs().unsigned_abs();
        let nanos = self.0.subsec_nanos().unsigned_abs();
        let sign = if self.0.is_negative() { "-" } else { "" };
        match digits(nanos) {
            0 => write!(f, "{sign}{seconds}s"),
            digits => {
                let fraction = nanos / 10_u32.pow(9 - digits as u32);
                write!(f, "{sign}{seconds}.{fraction:0digits$}s")
            }
        }
    }
}

/// The most seconds of a duration in JSON: 10,000 years, as `google/protobuf/duration.proto` says.
const MOST_SECONDS: i64 = 315_576_000_000;

impl FromStr for InSeconds {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let number = text.strip_suffix('s').ok_or(())?;
        let (seconds, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(());
        }
        let nanos: i32 = format!("{fraction:0<9}").parse().map_err(drop)?;
        let sign = if seconds.starts_with('-') { -1 } else { 1 };
        let seconds: i64 = seconds.parse().map_err(drop)?;
        if !(-MOST_SECONDS..=MOST_SECONDS).contains(&seconds) {
            return Err(());
        }
        Ok(InSeconds(SignedDuration::new(seconds, sign * nanos)))
    }
}

/// How many digits of a fraction of a second are written.
fn digits(nanos: u32) -> usize {
    match nanos {
        0 => 0,
        nanos if nanos % 1_000_000 == 0 => 3,
        nanos if nanos % 1_000 == 0 => 6,
        _ => 9,
    }
}

/// What the next text says, in an encoding for people.
fn from_text<'de, T: FromStr, R: Reader<'de> + ?Sized>(
    reader: &mut R,
) -> Result<Option<T>, DecodeError> {
    let Some(text) = reader.as_text()? else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|_| {
        let shown: String = text.chars().take(48).collect();
        DecodeError::malformed(format!(
            "{shown:?} is no date or time of the kind that is expected"
        ))
    })
}

impl Carried for Timestamp {
    type Carrier = Seconds;
    const LOGICAL: Logical = Logical::Timestamp;

    fn to_carrier(&self) -> Seconds {
        let (seconds, nanos) = split(*self);
        Seconds { seconds, nanos }
    }

    #[inline]
    fn write_own<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<bool, EncodeError> {
        let (seconds, nanos) = split(*self);
        match writer.timestamp(seconds, nanos.unsigned_abs())? {
            true => Ok(true),
            false => writer.as_text(&Rfc3339(*self, nanos)),
        }
    }

    #[inline]
    fn read_own<'de, R: Reader<'de> + ?Sized>(reader: &mut R) -> Result<Option<Self>, DecodeError> {
        let Some((seconds, nanos)) = reader.timestamp()? else {
            return Ok(from_text(reader)?.map(|Strict(timestamp)| timestamp));
        };
        // Too many for an `i32` are too many.
        join(seconds, i32::try_from(nanos).unwrap_or(i32::MAX)).map(Some)
    }

    fn from_carrier(carrier: Seconds) -> Result<Self, DecodeError> {
        join(carrier.seconds, carrier.nanos)
    }
}

impl Carried for TimestampTz {
    type Carrier = SecondsAndOffset;
    const LOGICAL: Logical = Logical::TimestampTz;

    fn to_carrier(&self) -> SecondsAndOffset {
        let (seconds, nanos) = split(self.timestamp);
        SecondsAndOffset {
            seconds,
            nanos,
            offset: self.offset.seconds(),
        }
    }

    #[inline]
    fn write_own<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<bool, EncodeError> {
        // The text of an offset ends with its minutes.
        match self.offset.seconds() % 60 {
            0 => writer.as_text(self),
            _ => Ok(false),
        }
    }

    #[inline]
    fn read_own<'de, R: Reader<'de> + ?Sized>(reader: &mut R) -> Result<Option<Self>, DecodeError> {
        from_text(reader)
    }

    fn from_carrier(carrier: SecondsAndOffset) -> Result<Self, DecodeError> {
        let seconds = carrier.offset;
        let offset = Offset::from_seconds(seconds)
            .map_err(|_| out_of_range(format!("an offset of {seconds} seconds from UTC")))?;
        Ok(TimestampTz {
            timestamp: join(carrier.seconds, carrier.nanos)?,
            offset,
        })
    }
}

impl Carried for SignedDuration {
    type Carrier = Seconds;
    const LOGICAL: Logical = Logical::Duration;

    fn to_carrier(&self) -> Seconds {
        Seconds {
            seconds: self.as_secs(),
            nanos: self.subsec_nanos(),
        }
    }

    #[inline]
    fn write_own<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<bool, EncodeError> {
        writer.as_text(&InSeconds(*self))
    }

    #[inline]
    fn read_own<'de, R: Reader<'de> + ?Sized>(reader: &mut R) -> Result<Option<Self>, DecodeError> {
        Ok(from_text(reader)?.map(|InSeconds(duration)| duration))
    }

    /// Both parts have one sign, as in protobuf.
    fn from_carrier(carrier: Seconds) -> Result<Self, DecodeError> {
        let Seconds { seconds, nanos } = carrier;
        let one_sign = seconds.signum() * i64::from(nanos.signum()) >= 0;
        match one_sign && nanos.unsigned_abs() < NANOS_PER_SECOND.unsigned_abs() {
            true => Ok(SignedDuration::new(seconds, nanos)),
            false => Err(out_of_range(format!(
                "a duration of {seconds} seconds and {nanos} nanoseconds"
            ))),
        }
    }
}

impl Carried for Date {
    type Carrier = i32;
    const LOGICAL: Logical = Logical::Date;

    fn to_carrier(&self) -> i32 {
        self.days()
    }

    #[inline]
    fn write_own<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<bool, EncodeError> {
        writer.as_text(self)
    }

    #[inline]
    fn read_own<'de, R: Reader<'de> + ?Sized>(reader: &mut R) -> Result<Option<Self>, DecodeError> {
        from_text(reader)
    }

    fn from_carrier(days: i32) -> Result<Self, DecodeError> {
        Date::from_days(days).ok_or_else(|| out_of_range(format!("the day {days} after 1970")))
    }
}

carried!(Timestamp, TimestampTz, SignedDuration, Date);
