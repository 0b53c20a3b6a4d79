//! The first bytes of a value: its family, and how much follows.

/// A value up to what follows it: the content of text, the elements of an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Head {
    /// Nothing.
    Nil,
    /// A truth value.
    Bool(bool),
    /// An integer that is not negative.
    Unsigned(u64),
    /// A negative integer, or one that was sent as signed.
    Signed(i64),
    /// A 32-bit floating point number.
    F32(f32),
    /// A 64-bit floating point number.
    F64(f64),
    /// Text of so many bytes.
    Str(u32),
    /// Bytes, and how many.
    Bin(u32),
    /// An array, and the number of its elements.
    Array(u32),
    /// A map, and the number of its entries, of a key and a value each.
    Map(u32),
    /// A value of an extension: its type and its length in bytes.
    Ext(i8, u32),
}

/// Why bytes are no [`Head`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadError {
    /// At least so many more bytes belong to it.
    Short(usize),
    /// The byte 0xc1, which the specification keeps free for ever.
    Unused,
}

/// How many bytes of numbers follow the first byte; the type of an extension is one of them.
fn width(first: u8) -> usize {
    match first {
        0xc4 | 0xcc | 0xd0 | 0xd4..=0xd8 | 0xd9 => 1,
        0xc5 | 0xc7 | 0xcd | 0xd1 | 0xda | 0xdc | 0xde => 2,
        0xc8 => 3,
        0xc6 | 0xca | 0xce | 0xd2 | 0xdb | 0xdd | 0xdf => 4,
        0xc9 => 5,
        0xcb | 0xcf | 0xd3 => 8,
        _ => 0,
    }
}

impl Head {
    /// Reads the head at the front of the input, and says how many bytes it has.
    pub fn read(input: &[u8]) -> Result<(Self, usize), HeadError> {
        let Some((first, rest)) = input.split_first() else {
            return Err(HeadError::Short(1));
        };
        let width = width(*first);
        let Some(bytes) = rest.get(..width) else {
            return Err(HeadError::Short(width - rest.len()));
        };
        let number = bytes
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
        // As wide as its number is, where it is one.
        let (byte, short, word) = (number as u8, number as u16, number as u32);
        let head = match *first {
            0x00..=0x7f => Head::Unsigned((*first).into()),
            0x80..=0x8f => Head::Map((first & 0x0f).into()),
            0x90..=0x9f => Head::Array((first & 0x0f).into()),
            0xa0..=0xbf => Head::Str((first & 0x1f).into()),
            0xc0 => Head::Nil,
            0xc1 => return Err(HeadError::Unused),
            0xc2 => Head::Bool(false),
            0xc3 => Head::Bool(true),
            0xc4..=0xc6 => Head::Bin(word),
            0xc7..=0xc9 => Head::Ext(byte.cast_signed(), (number >> 8) as u32),
            0xca => Head::F32(f32::from_bits(word)),
            0xcb => Head::F64(f64::from_bits(number)),
            0xcc..=0xcf => Head::Unsigned(number),
            0xd0 => Head::Signed(byte.cast_signed().into()),
            0xd1 => Head::Signed(short.cast_signed().into()),
            0xd2 => Head::Signed(word.cast_signed().into()),
            0xd3 => Head::Signed(number.cast_signed()),
            0xd4..=0xd8 => Head::Ext(byte.cast_signed(), 1 << (first - 0xd4)),
            0xd9..=0xdb => Head::Str(word),
            0xdc | 0xdd => Head::Array(word),
            0xde | 0xdf => Head::Map(word),
            0xe0..=0xff => Head::Signed(first.cast_signed().into()),
        };
        Ok((head, 1 + width))
    }

    /// How many bytes follow that are no values themselves.
    pub fn content(self) -> usize {
        match self {
            Head::Str(len) | Head::Bin(len) | Head::Ext(_, len) => len as usize,
            _ => 0,
        }
    }

    /// How many values follow that belong to this one.
    pub fn children(self) -> u64 {
        match self {
            Head::Array(len) => len.into(),
            Head::Map(len) => 2 * u64::from(len),
            _ => 0,
        }
    }

    /// Returns the name for error messages.
    pub fn name(self) -> &'static str {
        match self {
            Head::Nil => "nil",
            Head::Bool(_) => "a bool",
            Head::Unsigned(_) | Head::Signed(_) => "an integer",
            Head::F32(_) | Head::F64(_) => "a float",
            Head::Str(_) => "a string",
            Head::Bin(_) => "binary",
            Head::Array(_) => "an array",
            Head::Map(_) => "a map",
            Head::Ext(..) => "an extension",
        }
    }
}

/// Heads on their way out, each in its shortest form.
pub mod put {
    /// A first byte for each width of a length: one, two, four bytes.
    const BIN: [u8; 3] = [0xc4, 0xc5, 0xc6];
    const STR: [u8; 3] = [0xd9, 0xda, 0xdb];

    /// Nothing.
    pub fn nil(out: &mut Vec<u8>) {
        out.push(0xc0);
    }

    /// A truth value.
    pub fn bool(out: &mut Vec<u8>, value: bool) {
        out.push(0xc2 + u8::from(value));
    }

    /// An integer that is not negative.
    pub fn unsigned(out: &mut Vec<u8>, value: u64) {
        match value {
            0..0x80 => out.push(value as u8),
            0x80..0x100 => out.extend([0xcc, value as u8]),
            0x100..0x1_0000 => number(out, 0xcd, (value as u16).to_be_bytes()),
            0x1_0000..0x1_0000_0000 => number(out, 0xce, (value as u32).to_be_bytes()),
            _ => number(out, 0xcf, value.to_be_bytes()),
        }
    }

    /// Any integer of 64 bits with a sign.
    pub fn signed(out: &mut Vec<u8>, value: i64) {
        match value {
            0.. => unsigned(out, value.cast_unsigned()),
            -0x20..0 => out.push(value as u8),
            -0x80..-0x20 => out.extend([0xd0, value as u8]),
            -0x8000..-0x80 => number(out, 0xd1, (value as i16).to_be_bytes()),
            -0x8000_0000..-0x8000 => number(out, 0xd2, (value as i32).to_be_bytes()),
            _ => number(out, 0xd3, value.to_be_bytes()),
        }
    }

    /// A 32-bit floating point number.
    pub fn f32(out: &mut Vec<u8>, value: f32) {
        number(out, 0xca, value.to_be_bytes());
    }

    /// A 64-bit floating point number.
    pub fn f64(out: &mut Vec<u8>, value: f64) {
        number(out, 0xcb, value.to_be_bytes());
    }

    /// Text; it must be shorter than 4 GiB.
    pub fn str(out: &mut Vec<u8>, value: &str) {
        match value.len() {
            len @ 0..0x20 => out.push(0xa0 | len as u8),
            len => length(out, STR, len),
        }
        out.extend_from_slice(value.as_bytes());
    }

    /// Bytes; there must be fewer than 4 GiB.
    pub fn bin(out: &mut Vec<u8>, value: &[u8]) {
        length(out, BIN, value.len());
        out.extend_from_slice(value);
    }

    /// An array up to its elements.
    pub fn array(out: &mut Vec<u8>, len: u32) {
        count(out, 0x90, 0xdc, len);
    }

    /// A map up to its entries.
    pub fn map(out: &mut Vec<u8>, len: u32) {
        count(out, 0x80, 0xde, len);
    }

    fn number<const N: usize>(out: &mut Vec<u8>, first: u8, bytes: [u8; N]) {
        out.push(first);
        out.extend_from_slice(&bytes);
    }

    fn length(out: &mut Vec<u8>, [byte, short, word]: [u8; 3], len: usize) {
        match len {
            0..0x100 => out.extend([byte, len as u8]),
            0x100..0x1_0000 => number(out, short, (len as u16).to_be_bytes()),
            _ => number(out, word, (len as u32).to_be_bytes()),
        }
    }

    fn count(out: &mut Vec<u8>, fixed: u8, short: u8, len: u32) {
        match len {
            0..0x10 => out.push(fixed | len as u8),
            0x10..0x1_0000 => number(out, short, (len as u16).to_be_bytes()),
            _ => number(out, short + 1, len.to_be_bytes()),
        }
    }
}
