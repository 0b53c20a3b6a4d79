//! Finds the end of a message. Goes on where it stopped, so that no byte is looked at twice.

use super::ProtocolError;
use crate::ConnectionLimits;
use dovetail_wire::msgpack::{Head, HeadError};

/// A value that is walked as it arrives.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The place of the next head, or the end.
    at: usize,
    /// How many values are still to come in each container that is open, the innermost last.
    open: Vec<u64>,
    begun: bool,
}

/// How far a scan has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scanned {
    /// The message has so many bytes.
    Complete(usize),
    /// At least so many more bytes are needed.
    Need(usize),
}

impl Scan {
    /// Goes on to the end of the message at the front of the input, or of the input.
    pub(super) fn scan(
        &mut self,
        input: &[u8],
        limits: &ConnectionLimits,
    ) -> Result<Scanned, ProtocolError> {
        while !self.begun || !self.open.is_empty() {
            let Some(rest) = input.get(self.at..) else {
                return Ok(Scanned::Need(self.at - input.len()));
            };
            match Head::read(rest) {
                Ok((head, len)) => self.pass(head, len, limits)?,
                Err(HeadError::Short(missing)) => return Ok(Scanned::Need(missing)),
                Err(HeadError::Unused) => {
                    return Err(ProtocolError::malformed("the byte 0xc1 begins no value"));
                }
            }
        }
        match self.at.checked_sub(input.len()) {
            None | Some(0) => {
                self.begun = false;
                Ok(Scanned::Complete(std::mem::take(&mut self.at)))
            }
            Some(missing) => Ok(Scanned::Need(missing)),
        }
    }

    /// Passes over a head and what follows it that is no value itself.
    fn pass(
        &mut self,
        head: Head,
        len: usize,
        limits: &ConnectionLimits,
    ) -> Result<(), ProtocolError> {
        if !self.begun && !matches!(head, Head::Array(3 | 4)) {
            return Err(ProtocolError::malformed(format!(
                "it begins with {}, not with an array of three or four elements",
                head.name()
            )));
        }
        self.begun = true;
        self.at = self.at.saturating_add(len).saturating_add(head.content());
        // Each value takes a byte at least.
        let least = (self.at as u64).saturating_add(head.children());
        if least > limits.message() as u64 {
            return Err(ProtocolError::MessageTooLarge {
                size: least,
                limit: limits.message(),
            });
        }
        if let Some(left) = self.open.last_mut() {
            *left -= 1;
        }
        if head.children() > 0 {
            if self.open.len() >= limits.depth {
                return Err(ProtocolError::TooDeep {
                    limit: limits.depth,
                });
            }
            self.open.push(head.children());
        }
        while self.open.last() == Some(&0) {
            self.open.pop();
        }
        Ok(())
    }
}
