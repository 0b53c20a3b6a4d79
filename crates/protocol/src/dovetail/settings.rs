//! The settings that ends exchange when they open. `docs/spec/wire.md`, "Opening".

use super::ProtocolError;
use super::compression::Algorithms;
use super::cursor::{Cursor, put_varint};
use super::frame::{self, Kind};
use super::meeting_point::MeetingPoint;
use std::time::Duration;

/// The one version there is.
const VERSION: u64 = 1;

/// The limits and abilities of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// The largest payload of a frame.
    pub(super) frame: usize,
    /// The largest message.
    pub(super) message: usize,
    /// Items before it gives credit.
    pub(super) windows: Windows,
    /// The deadline of calls that bring none.
    pub(super) deadline: Option<Duration>,
    /// How many headers it keeps.
    pub(super) headers: usize,
    /// The algorithms that it can decompress.
    pub(super) compression: Algorithms,
    /// The place where a client on the same machine finds it.
    pub(super) meeting_point: Option<MeetingPoint>,
}

/// Bytes of items that an end takes before it gives credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Windows {
    /// On one stream.
    pub(super) stream: usize,
    /// On all streams together.
    pub(super) all: usize,
}

impl Default for Windows {
    fn default() -> Self {
        Windows {
            stream: 256 << 10,
            all: 4 << 20,
        }
    }
}

/// No window is wider: sums of them fit 64 bits.
const MAX_WINDOW: usize = 1 << 40;

/// The least that an end must take in a frame.
pub(super) const LEAST_FRAME: usize = 16 << 10;

/// The largest length that fits the 24 bits of a frame.
pub(super) const MAX_FRAME: usize = (1 << 24) - 1;

/// The most headers that are kept.
pub(super) const MAX_HEADERS: usize = 64;

const FRAME: u64 = 1;
const MESSAGE: u64 = 2;
const STREAM_WINDOW: u64 = 3;
const WINDOW: u64 = 4;
const DEADLINE: u64 = 5;
const HEADERS: u64 = 6;
const COMPRESSION: u64 = 7;
const MEETING_LOW: u64 = 8;
const MEETING_HIGH: u64 = 9;
const PORTS: u64 = 10;

/// The settings until HELLO has come.
impl Default for Settings {
    fn default() -> Self {
        Settings {
            frame: 64 << 10,
            message: 64 << 20,
            windows: Windows::default(),
            deadline: None,
            headers: MAX_HEADERS,
            compression: Algorithms::default(),
            meeting_point: None,
        }
    }
}

impl Settings {
    /// Appends HELLO.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let deadline = self.deadline.map_or(0, |deadline| deadline.as_micros());
        let start = frame::begin(out);
        put_varint(VERSION, out);
        let always = [
            (FRAME, self.frame as u64),
            (MESSAGE, self.message as u64),
            (STREAM_WINDOW, self.windows.stream as u64),
            (WINDOW, self.windows.all as u64),
            (DEADLINE, u64::try_from(deadline).unwrap_or(u64::MAX)),
            (HEADERS, self.headers as u64),
            (COMPRESSION, self.compression.0),
        ];
        let meeting_point = self.meeting_point.map(|point| {
            [
                (MEETING_LOW, point.number as u64),
                (MEETING_HIGH, (point.number >> 64) as u64),
                (PORTS, point.ports()),
            ]
        });
        for (key, value) in always
            .into_iter()
            .chain(meeting_point.into_iter().flatten())
        {
            put_varint(key, out);
            put_varint(value, out);
        }
        frame::end(out, start, Kind::Hello, frame::Flags::NONE, 0);
    }

    /// Reads the payload of HELLO.
    pub(super) fn read(payload: &[u8]) -> Result<Self, ProtocolError> {
        let mut fields = Cursor(payload);
        let found = fields.varint()?;
        if found != VERSION {
            return Err(ProtocolError::InvalidVersion { found });
        }
        let (mut settings, mut meeting_point) = (Settings::default(), [0; 3]);
        while !fields.0.is_empty() {
            let (key, value) = (fields.varint()?, fields.varint()?);
            let size = usize::try_from(value).unwrap_or(usize::MAX);
            match key {
                FRAME if size < LEAST_FRAME => {
                    return Err(ProtocolError::malformed(format!(
                        "frames of at most {size} bytes are too small"
                    )));
                }
                FRAME => settings.frame = size.min(MAX_FRAME),
                MESSAGE => settings.message = size,
                STREAM_WINDOW => settings.windows.stream = size.min(MAX_WINDOW),
                WINDOW => settings.windows.all = size.min(MAX_WINDOW),
                DEADLINE => settings.deadline = (value > 0).then(|| Duration::from_micros(value)),
                HEADERS => settings.headers = size.min(MAX_HEADERS),
                COMPRESSION => settings.compression = Algorithms(value),
                MEETING_LOW => meeting_point[0] = value,
                MEETING_HIGH => meeting_point[1] = value,
                PORTS => meeting_point[2] = value,
                _ => {}
            }
        }
        settings.meeting_point = MeetingPoint::read(meeting_point);
        Ok(settings)
    }
}
