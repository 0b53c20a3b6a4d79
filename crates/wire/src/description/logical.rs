use crate::Kind;

/// The types that every contract has and that are another one, their carrier, on the wire. The
/// numbers are those of descriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Logical {
    /// An instant.
    Timestamp = 1,
    /// An instant with an offset from UTC.
    TimestampTz = 2,
    /// A day.
    Date = 3,
    /// A span of time.
    Duration = 4,
    /// A decimal number.
    Decimal = 5,
    /// A message with the name of its type.
    Any = 6,
    /// A value that brings its own shape.
    Dynamic = 7,
}

impl Logical {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Timestamp,
        Self::TimestampTz,
        Self::Date,
        Self::Duration,
        Self::Decimal,
        Self::Any,
        Self::Dynamic,
    ];

    /// The name in a contract.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timestamp => "timestamp",
            Self::TimestampTz => "timestamp_tz",
            Self::Date => "date",
            Self::Duration => "duration",
            Self::Decimal => "decimal",
            Self::Any => "any",
            Self::Dynamic => "dynamic",
        }
    }

    /// The kind of the carrier.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Date => Kind::I32,
            Self::Decimal => Kind::String,
            _ => Kind::Struct,
        }
    }
}
