//! Instants, days and spans of time, as `jiff` has them.

use crate::carrier::{Carried, carried};
use crate::description::Logical;
use crate::protobuf::time::Text;
use crate::{DecodeError, EncodeError, Reader, Writer, message, protobuf};
use jiff::civil;
use jiff::fmt::temporal::Pieces;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

pub use jiff::tz::Offset;
pub use jiff::{SignedDuration, Timestamp};

const SECONDS_PER_DAY: i64 = 24 * 60 * 60;

/// An instant, and the offset from UTC of the place that it was noted at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TimestampTz {
    /// The instant.
    pub timestamp: Timestamp,
    /// The offset of local time from UTC.
    pub offset: Offset,
}

impl TimestampTz {
    /// An instant that is known to be one: seconds and nanoseconds since 1970, and the offset in
    /// seconds.
    ///
    /// # Panics
    ///
    /// Panics if it is out of range.
    #[must_use]
    pub fn constant(seconds: i64, nanos: i32, offset: i32) -> Self {
        let timestamp = Timestamp::constant(seconds, nanos);
        match Offset::from_seconds(offset) {
            Ok(offset) => TimestampTz { timestamp, offset },
            Err(problem) => panic!("{problem}"),
        }
    }
}

/// A day of the Gregorian calendar, with no time zone: a [`civil::Date`] that begins at 1970-01-01,
/// where a peer that leaves a date out means it to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Date(pub civil::Date);

impl Date {
    /// The day with the number 0, 1970-01-01.
    pub const EPOCH: Self = Date::constant(1970, 1, 1);

    /// A day that is known to exist.
    ///
    /// # Panics
    ///
    /// Panics if it does not exist; in a constant, at compile time.
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
        // The parts that a timestamp needs (a time, an offset) are checked there.
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
    pub(crate) seconds: i64,
    pub(crate) nanos: i32,
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

fn join(seconds: i64, nanos: i32) -> Result<Timestamp, DecodeError> {
    Timestamp::try_from(protobuf::Timestamp { seconds, nanos }).map_err(|_| {
        out_of_range(format!(
            "a timestamp of {seconds} seconds and {nanos} nanoseconds"
        ))
    })
}

#[cold]
fn out_of_range(what: String) -> DecodeError {
    DecodeError::malformed(what + ", which is out of range")
}

/// Reads a value from the next text, in a human-readable encoding.
pub(crate) fn from_text<'de, T: FromStr, R: Reader<'de> + ?Sized>(
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
        protobuf::Timestamp::from(*self).to_carrier()
    }

    #[inline]
    fn write_own<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<bool, EncodeError> {
        let Seconds { seconds, nanos } = self.to_carrier();
        match writer.timestamp(seconds, nanos.unsigned_abs())? {
            true => Ok(true),
            false => writer.as_text(&Text(protobuf::Timestamp::from(*self))),
        }
    }

    #[inline]
    fn read_own<'de, R: Reader<'de> + ?Sized>(reader: &mut R) -> Result<Option<Self>, DecodeError> {
        let read = protobuf::Timestamp::read_own(reader)?;
        read.map(|read| join(read.seconds, read.nanos)).transpose()
    }

    fn from_carrier(carrier: Seconds) -> Result<Self, DecodeError> {
        join(carrier.seconds, carrier.nanos)
    }
}

impl Carried for TimestampTz {
    type Carrier = SecondsAndOffset;
    const LOGICAL: Logical = Logical::TimestampTz;

    fn to_carrier(&self) -> SecondsAndOffset {
        let Seconds { seconds, nanos } = self.timestamp.to_carrier();
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
        writer.as_text(&Text(protobuf::Duration::from(*self)))
    }

    #[inline]
    fn read_own<'de, R: Reader<'de> + ?Sized>(reader: &mut R) -> Result<Option<Self>, DecodeError> {
        let read = protobuf::Duration::read_own(reader)?;
        read.map(|read| Self::from_carrier(read.to_carrier()))
            .transpose()
    }

    fn from_carrier(carrier: Seconds) -> Result<Self, DecodeError> {
        let Seconds { seconds, nanos } = carrier;
        SignedDuration::try_from(protobuf::Duration { seconds, nanos }).map_err(|_| {
            out_of_range(format!(
                "a duration of {seconds} seconds and {nanos} nanoseconds"
            ))
        })
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
