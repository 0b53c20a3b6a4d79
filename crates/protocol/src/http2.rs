//! Authorities that are no hosts, in requests over HTTP/2.
//!
//! Clients of gRPC's libraries name a socket or a registry there, `tmp%2Frun%2Fsock`
//! (`unix:/tmp/run/sock`) or `services%2Forders` (`etcd:///services/orders`). By RFC 3986 a host
//! may have such characters; the libraries that read HTTP/2 for us take them for malformed, and
//! refuse the request. [`Authorities`] changes them on the way.

/// The name of the field, where it does not come by its number.
const NAME: &[u8] = b":authority";

/// The number of the field in HPACK's static table (RFC 7541, appendix A).
const NUMBER: u8 = 1;

/// Types and flags of frames (RFC 9113, section 6).
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// The bytes before the first frame of a client.
const PREFACE: usize = 24;

const FRAME_HEAD: usize = 9;

/// Follows the bytes that a client sends, and makes hosts of its authorities.
///
/// Percent signs become dots and slashes the digit 3: in Huffman's code that is one bit each. So
/// lengths stay, and bytes can be passed on as they come. A text with a bracket is an address of
/// IPv6, and left as it is.
#[derive(Debug)]
pub struct Authorities {
    frame: Frame,
    fields: Fields,
    is_changed: bool,
}

/// A place in the frames.
#[derive(Clone, Copy, Debug)]
enum Frame {
    /// Bytes of no account.
    Skip(usize),
    /// The part of the next frame's head that is there, and its length.
    Head(usize, [u8; FRAME_HEAD]),
    /// The length of the padding, before fields.
    Padding { priority: usize, left: usize },
    /// Fields, behind bytes of a priority and before those of a padding.
    Fields {
        priority: usize,
        left: usize,
        padding: usize,
    },
}

impl Default for Authorities {
    fn default() -> Self {
        Authorities {
            frame: Frame::Skip(PREFACE),
            fields: Fields::Field,
            is_changed: false,
        }
    }
}

impl Authorities {
    /// Takes the next bytes of the client, and changes authorities in them.
    pub fn pass(&mut self, mut bytes: &mut [u8]) {
        while !bytes.is_empty() {
            let taken = self.step(bytes);
            bytes = bytes.get_mut(taken..).unwrap_or_default();
        }
    }

    /// Returns true once an authority was changed: the client names other things than hosts there.
    pub fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// Returns how many bytes it has taken.
    fn step(&mut self, bytes: &mut [u8]) -> usize {
        match &mut self.frame {
            Frame::Skip(left) => {
                let taken = bytes.len().min(*left);
                *left -= taken;
                if *left == 0 {
                    self.frame = Frame::Head(0, [0; FRAME_HEAD]);
                }
                taken
            }
            Frame::Head(there, head) => {
                let taken = bytes.len().min(FRAME_HEAD - *there);
                head[*there..*there + taken].copy_from_slice(&bytes[..taken]);
                *there += taken;
                if *there == FRAME_HEAD {
                    self.frame = Frame::behind(*head);
                }
                taken
            }
            Frame::Padding { priority, left } => {
                let padding = usize::from(bytes[0]);
                self.frame = Frame::fields(*priority, *left, padding);
                1
            }
            Frame::Fields {
                priority: priority @ 1..,
                ..
            } => {
                let taken = bytes.len().min(*priority);
                *priority -= taken;
                taken
            }
            Frame::Fields { left, padding, .. } => {
                let taken = bytes.len().min(*left);
                self.is_changed |= self.fields.pass(&mut bytes[..taken]);
                *left -= taken;
                if *left == 0 {
                    self.frame = Frame::Skip(*padding);
                }
                taken
            }
        }
    }
}

impl Frame {
    /// Returns the place behind the head of a frame.
    fn behind(head: [u8; FRAME_HEAD]) -> Self {
        let [a, b, c, kind, flags, ..] = head;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        let priority = if flags & PRIORITY == 0 { 0 } else { 5 };
        match kind {
            HEADERS if flags & PADDED != 0 && length > 0 => Frame::Padding {
                priority,
                left: length - 1,
            },
            HEADERS => Frame::fields(priority, length, 0),
            CONTINUATION => Frame::fields(0, length, 0),
            _ => Frame::Skip(length),
        }
    }

    /// Returns the place before fields. Lengths that contradict each other are refused by the
    /// library.
    fn fields(priority: usize, length: usize, padding: usize) -> Self {
        match length.checked_sub(priority + padding) {
            Some(left @ 1..) => Frame::Fields {
                priority,
                left,
                padding,
            },
            _ => Frame::Skip(length),
        }
    }
}

/// A place in the fields of a request, as HPACK writes them (RFC 7541, section 6).
#[derive(Clone, Copy, Debug)]
enum Fields {
    /// A field begins.
    Field,
    /// The rest of a number, then a value if there is one.
    Number {
        value: bool,
    },
    /// The length of a text.
    Length(Text),
    /// The rest of the length of a text.
    LongLength {
        text: Text,
        huffman: bool,
        length: usize,
        shift: u32,
    },
    Plain {
        text: Text,
        left: usize,
    },
    Huffman {
        text: Text,
        left: usize,
        code: Code,
    },
}

/// Parts of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Text {
    /// A name, of which so many bytes are those of the authority's; `None` once it is another one.
    Name(Option<usize>),
    Value,
    Authority,
    /// An authority with a bracket.
    Address,
}

impl Fields {
    /// Takes the next bytes of fields. Returns true if an authority was changed.
    fn pass(&mut self, bytes: &mut [u8]) -> bool {
        let (mut changed, mut at) = (false, 0);
        while let Some(byte) = bytes.get_mut(at) {
            // Texts of no account are long.
            if let Fields::Plain {
                text: Text::Value,
                left,
            }
            | Fields::Huffman {
                text: Text::Value,
                left,
                ..
            } = self
            {
                let taken = (*left).min(bytes.len() - at);
                *left -= taken;
                at += taken;
                if *left == 0 {
                    *self = Fields::Field;
                }
                continue;
            }
            changed |= self.take(byte);
            at += 1;
        }
        changed
    }

    fn take(&mut self, byte: &mut u8) -> bool {
        let mut changed = false;
        *self = match *self {
            Fields::Field => Fields::begin(*byte),
            Fields::Number { value } => match (*byte & 0x80 != 0, value) {
                (true, _) => Fields::Number { value },
                (false, true) => Fields::Length(Text::Value),
                (false, false) => Fields::Field,
            },
            Fields::Length(text) => {
                let (huffman, length) = (*byte & 0x80 != 0, usize::from(*byte & 0x7f));
                match length {
                    0x7f => Fields::LongLength {
                        text,
                        huffman,
                        length,
                        shift: 0,
                    },
                    _ => Fields::text(text, huffman, length),
                }
            }
            Fields::LongLength {
                text,
                huffman,
                length,
                shift,
            } => {
                // Longer numbers are refused by the library.
                let more = usize::from(*byte & 0x7f)
                    .checked_shl(shift)
                    .unwrap_or(usize::MAX);
                let length = length.saturating_add(more);
                match *byte & 0x80 {
                    0 => Fields::text(text, huffman, length),
                    _ => Fields::LongLength {
                        text,
                        huffman,
                        length,
                        shift: shift.saturating_add(7),
                    },
                }
            }
            Fields::Plain { mut text, left } => {
                changed = text.read(byte);
                match left {
                    ..=1 => text.follower(),
                    left => Fields::Plain {
                        text,
                        left: left - 1,
                    },
                }
            }
            Fields::Huffman {
                mut text,
                left,
                mut code,
            } => {
                changed = code.read(&mut text, byte);
                match left {
                    ..=1 => text.follower(),
                    left => Fields::Huffman {
                        text,
                        left: left - 1,
                        code,
                    },
                }
            }
        };
        changed
    }

    /// Reads the first byte of a field: a number of 7, 6, 5 or 4 bits behind the bits that say
    /// which kind of field it is.
    fn begin(byte: u8) -> Self {
        let (bits, has_value) = match byte.leading_zeros() {
            0 => (7, false),
            1 => (6, true),
            2 => (5, false),
            _ => (4, true),
        };
        let most = (1 << bits) - 1;
        match (byte & most, has_value) {
            (0, true) => Fields::Length(Text::Name(Some(0))),
            (NUMBER, true) => Fields::Length(Text::Authority),
            (number, value) if number == most => Fields::Number { value },
            (_, true) => Fields::Length(Text::Value),
            (_, false) => Fields::Field,
        }
    }

    /// Begins a text.
    fn text(text: Text, huffman: bool, length: usize) -> Self {
        match (huffman, length) {
            (_, 0) => text.follower(),
            (false, left) => Fields::Plain { text, left },
            (true, left) => Fields::Huffman {
                text,
                left,
                code: Code::default(),
            },
        }
    }
}

impl Text {
    /// Reads a byte of plain text. Returns true if it was changed.
    fn read(&mut self, byte: &mut u8) -> bool {
        match self {
            Text::Name(Some(there)) => {
                let is_same = NAME.get(*there) == Some(byte);
                *self = Text::Name(is_same.then_some(*there + 1));
                false
            }
            Text::Authority => {
                let (is_changed, with) = match *byte {
                    b'%' => (true, b'.'),
                    b'/' => (true, b'3'),
                    other => (false, other),
                };
                if *byte == b'[' {
                    *self = Text::Address;
                }
                *byte = with;
                is_changed
            }
            Text::Name(None) | Text::Value | Text::Address => false,
        }
    }

    /// Returns the place behind the text.
    fn follower(self) -> Fields {
        match self {
            Text::Name(Some(there)) if there == NAME.len() => Fields::Length(Text::Authority),
            Text::Name(_) => Fields::Length(Text::Value),
            _ => Fields::Field,
        }
    }
}

/// The bits of a character in Huffman's code that are there (RFC 7541, appendix B).
#[derive(Clone, Copy, Debug, Default)]
struct Code {
    bits: u32,
    length: u32,
}

/// Bits that tell characters. A space and a percent sign have the first five bits in common, and
/// neither belongs in a host; with the fifth bit changed they are a hyphen and a dot.
const SPACE_OR_PERCENT: (u32, u32) = (0b01010, 5);
/// With the last bit changed, a 3.
const SLASH: (u32, u32) = (0b01_1000, 6);
const BRACKET: (u32, u32) = (0x1ffb, 13);

/// Numbers of characters by the lengths of their codes. The code is canonical: its characters are
/// counted through in this order.
const LENGTHS: &[(u32, u32)] = &[
    (5, 10),
    (6, 26),
    (7, 32),
    (8, 6),
    (10, 5),
    (11, 3),
    (12, 2),
    (13, 6),
    (14, 2),
    (15, 3),
    (19, 3),
    (20, 8),
    (21, 13),
    (22, 26),
    (23, 29),
    (24, 12),
    (25, 4),
    (26, 15),
    (27, 19),
    (28, 29),
    (30, 4),
];

impl Code {
    /// Reads a byte of a text in Huffman's code. Returns true if it was changed.
    fn read(&mut self, text: &mut Text, byte: &mut u8) -> bool {
        let mut changed = false;
        for place in (0..8).rev() {
            self.bits = self.bits << 1 | u32::from(*byte >> place & 1);
            self.length += 1;
            let here = (self.bits, self.length);
            if *text == Text::Authority && matches!(here, SPACE_OR_PERCENT | SLASH) {
                self.bits ^= 1;
                *byte ^= 1 << place;
                changed = true;
            }
            if here == BRACKET && *text == Text::Authority {
                *text = Text::Address;
            }
            if self.is_whole() {
                *self = Code::default();
            }
        }
        changed
    }

    /// Returns true if the bits are those of a character.
    fn is_whole(&self) -> bool {
        let (mut first, mut at) = (0_u32, 0);
        for &(length, count) in LENGTHS {
            if length > self.length {
                return false;
            }
            first <<= length - at;
            at = length;
            if length == self.length {
                return (first..first + count).contains(&self.bits);
            }
            first += count;
        }
        // No character has so many bits.
        true
    }
}
