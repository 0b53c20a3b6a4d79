use crate::random::unguessable;
use std::fmt;
use std::io;
use std::str::FromStr;

/// The handle of a session: 128 random bits, as 32 hexadecimal digits. Whoever has it can use the
/// session, unless it belongs to a principal: treat it as a password.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(u128);

impl Handle {
    /// Draws one that nobody can guess.
    pub(super) fn random() -> io::Result<Self> {
        unguessable().map(Handle)
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Shows no more than what tells handles apart: logs are read by many.
impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handle({:04x}…)", self.0 >> 112)
    }
}

impl FromStr for Handle {
    type Err = ParseHandleError;

    fn from_str(text: &str) -> Result<Self, ParseHandleError> {
        let is_handle = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match u128::from_str_radix(text, 16) {
            Ok(bits) if is_handle => Ok(Handle(bits)),
            _ => Err(ParseHandleError),
        }
    }
}

/// A text that is no handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseHandleError;

impl fmt::Display for ParseHandleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the handle of a session is 32 hexadecimal digits")
    }
}

impl std::error::Error for ParseHandleError {}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_read_as_they_are_written() {
        for _ in 0..100 {
            let handle = Handle::random().unwrap();
            assert_eq!(handle.to_string().parse(), Ok(handle));
        }
        let zeros = "0".repeat(32);
        assert_eq!(zeros.parse(), Ok(Handle(0)));
        for text in [
            "",
            "0",
            &"0".repeat(33),
            &format!("+{}", "0".repeat(31)),
            &"g".repeat(32),
        ] {
            assert_eq!(text.parse::<Handle>(), Err(ParseHandleError), "{text}");
        }
    }
}
