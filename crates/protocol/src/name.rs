use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// The name of a method or service as it came over the wire: a string that needs no memory of its
/// own while it is short, and does not keep the message alive.
#[derive(Clone)]
pub struct Name(Repr);

#[derive(Clone)]
enum Repr {
    Short { len: u8, bytes: [u8; SHORT] },
    Long(Arc<str>),
}

/// Makes a `Name` 40 bytes; nearly every method's name is shorter.
const SHORT: usize = 38;

impl Name {
    /// Copies the text.
    pub fn new(text: &str) -> Self {
        let mut bytes = [0; SHORT];
        Name(match bytes.get_mut(..text.len()) {
            Some(room) => {
                room.copy_from_slice(text.as_bytes());
                // At most `SHORT`, which is less than 256.
                let len = text.len() as u8;
                Repr::Short { len, bytes }
            }
            None => Repr::Long(text.into()),
        })
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            // It was text when it was copied, so this never falls back.
            Repr::Short { len, bytes } => {
                std::str::from_utf8(&bytes[..usize::from(*len)]).unwrap_or_default()
            }
            Repr::Long(text) => text,
        }
    }

    /// The text as bytes, which is cheaper than [`as_str`](Self::as_str).
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Short { len, bytes } => &bytes[..usize::from(*len)],
            Repr::Long(text) => text.as_bytes(),
        }
    }

    /// True for the empty name.
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }
}

impl Default for Name {
    fn default() -> Self {
        Name::new("")
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Name::new(text)
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
