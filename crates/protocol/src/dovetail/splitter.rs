//! Splits frames off the front of what has arrived.

use super::ProtocolError;
use super::frame::{Flags, Frame, HEADER, Header, Kind};
use bytes::{Buf, BytesMut};

/// Frames of a call or an answer that follow each other without anything in between are taken as
/// one: to move them together where they are costs less than to put them together somewhere else.
#[derive(Default)]
pub(super) struct Splitter {
    joined: Option<Joined>,
}

/// The joined front: the first frame's header, the payloads so far, and room that the other headers
/// have left.
#[derive(Clone, Copy)]
struct Joined {
    first: Header,
    /// The bytes of the payloads together.
    payload: usize,
    /// The place of the next frame.
    end: usize,
}

/// The largest frame, and the largest message, that this end takes.
#[derive(Clone, Copy)]
pub(super) struct Largest {
    pub(super) frame: usize,
    pub(super) message: usize,
}

impl Splitter {
    /// The next frame; where it is not complete, how many bytes are missing, or more where room for
    /// them will not be enough.
    pub(super) fn split(
        &mut self,
        input: &mut BytesMut,
        largest: Largest,
    ) -> Result<Result<Frame, usize>, ProtocolError> {
        loop {
            let start = self.joined.map_or(0, |joined| joined.end);
            let Some(header) = input.get(start..).and_then(<[u8]>::first_chunk) else {
                return Ok(Err(start + HEADER - input.len()));
            };
            let header = Header::read(*header, largest.frame)?;
            if let Some(joined) = self.joined
                && !joined.goes_on(&header, largest.message)
            {
                return Ok(Ok(self.take(joined, input)));
            }
            let end = start + HEADER + header.length;
            if input.len() < end {
                return Ok(Err(end + header.promised() - input.len()));
            }
            let joined = match self.joined {
                None => Joined {
                    first: header,
                    payload: header.length,
                    end,
                },
                Some(joined) => joined.with(&header, input),
            };
            if !joined.waits() {
                return Ok(Ok(self.take(joined, input)));
            }
            self.joined = Some(joined);
        }
    }

    fn take(&mut self, joined: Joined, input: &mut BytesMut) -> Frame {
        self.joined = None;
        input.advance(HEADER);
        let payload = input.split_to(joined.payload).freeze();
        // The room that other headers have left.
        input.advance(joined.end - HEADER - joined.payload);
        Frame {
            kind: joined.first.kind,
            flags: joined.first.flags,
            id: joined.first.id,
            payload,
        }
    }
}

impl Joined {
    /// Returns whether more frames of the message may follow at once. Each item counts for itself.
    fn waits(&self) -> bool {
        self.first.flags.has(Flags::MORE) && matches!(self.first.kind, Kind::Call | Kind::Reply)
    }

    fn goes_on(&self, next: &Header, largest: usize) -> bool {
        (self.first.kind, self.first.id) == (next.kind, next.id)
            && !next.flags.has(Flags::EXTRAS)
            && self.payload + next.length <= largest
    }

    /// Moves the payload of the next frame, which is complete, to the others.
    fn with(self, next: &Header, input: &mut BytesMut) -> Self {
        let from = self.end + HEADER;
        let end = from + next.length;
        input.copy_within(from..end, HEADER + self.payload);
        let more = next.flags.has(Flags::MORE);
        Joined {
            first: Header {
                flags: Flags(self.first.flags.0 & !Flags::MORE.0).with(Flags::MORE, more),
                ..self.first
            },
            payload: self.payload + next.length,
            end,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::dovetail::frame::{self, end_message};

    const LARGEST: Largest = Largest {
        frame: 100,
        message: 20,
    };

    /// Checks the messages that the frames become: kind, id, payload, `+` where more has to come.
    fn check(frames: &[(Kind, u32, &str, bool)], expected: &str) {
        let mut all = Vec::new();
        for (kind, id, payload, more) in frames {
            let start = frame::begin(&mut all);
            all.extend_from_slice(payload.as_bytes());
            frame::end(
                &mut all,
                start,
                *kind,
                Flags::NONE.with(Flags::MORE, *more),
                *id,
            );
        }
        for chunk in 1..=all.len() {
            assert_eq!(split(&all, chunk), expected, "{chunk} bytes at a time");
        }
    }

    fn split(all: &[u8], chunk: usize) -> String {
        let (mut splitter, mut input) = (Splitter::default(), BytesMut::new());
        let mut split = Vec::new();
        for chunk in all.chunks(chunk) {
            input.extend_from_slice(chunk);
            while let Ok(frame) = splitter.split(&mut input, LARGEST).unwrap() {
                let more = if frame.flags.has(Flags::MORE) {
                    "+"
                } else {
                    ""
                };
                let payload = String::from_utf8(frame.payload.to_vec()).unwrap();
                split.push(format!("{:?} {} {payload}{more}", frame.kind, frame.id));
            }
        }
        assert!(input.is_empty());
        split.join(", ")
    }

    #[test]
    fn frames_of_a_message_are_taken_as_one() {
        use Kind::{Call, Item, Ping, Reply};
        check(&[(Call, 1, "abc", false)], "Call 1 abc");
        let three = [
            (Reply, 1, "ab", true),
            (Reply, 1, "", true),
            (Reply, 1, "c", false),
        ];
        check(&three, "Reply 1 abc");
        let two = [
            (Call, 1, "ab", true),
            (Call, 1, "c", false),
            (Call, 3, "d", true),
            (Call, 3, "e", false),
        ];
        check(&two, "Call 1 abc, Call 3 de");
        let between = [
            (Call, 1, "a", true),
            (Call, 1, "b", true),
            (Ping, 0, "p", false),
            (Call, 1, "c", true),
            (Call, 1, "d", false),
        ];
        check(&between, "Call 1 ab+, Ping 0 p, Call 1 cd");
        let turns = [
            (Call, 1, "a", true),
            (Call, 3, "b", true),
            (Call, 1, "c", false),
            (Call, 3, "d", false),
        ];
        check(&turns, "Call 1 a+, Call 3 b+, Call 1 c, Call 3 d");
        check(
            &[(Item, 1, "a", true), (Item, 1, "b", false)],
            "Item 1 a+, Item 1 b",
        );
        let large = [
            (Call, 1, "fifteen letters", true),
            (Call, 1, "and six", true),
            (Call, 1, "!", false),
        ];
        check(&large, "Call 1 fifteen letters+, Call 1 and six!");
    }

    #[test]
    fn a_cut_message_is_joined_again() {
        let mut cut = Vec::new();
        let start = frame::begin(&mut cut);
        cut.extend_from_slice(b"nineteen letters +3");
        end_message((&mut cut).into(), start, Kind::Call, Flags::TAGGED, 7, 4);
        assert_eq!(cut.len(), 5 * HEADER + 19);
        assert_eq!(split(&cut, cut.len()), "Call 7 nineteen letters +3");
    }
}
