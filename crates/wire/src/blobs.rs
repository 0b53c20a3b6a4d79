use bytes::Bytes;

/// The large blobs of a message, for whoever can send bytes from several places at once: they are
/// not copied to the message's buffer, but each is to be sent before the buffer's byte at its
/// place.
///
/// ```
/// use dovetail_wire::{Blobs, Bytes, Encoding, Limits, Out};
///
/// let (mut buffer, mut blobs) = (Vec::new(), Blobs::default());
/// let blob = Bytes::from(vec![7; Blobs::LEAST]);
/// let out = Out::with_blobs(&mut buffer, &mut blobs);
/// Encoding::ThriftBinary.encode_to(&blob, out, Limits::default())?;
/// assert_eq!((buffer.len(), blobs.len()), (4, blob.len()));
/// let whole: Vec<&[u8]> = blobs.pieces(&buffer).collect();
/// assert_eq!(whole.concat(), Encoding::ThriftBinary.to_bytes(&blob)?);
/// # Ok::<(), dovetail_wire::EncodeError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Blobs {
    /// In the order of their places.
    places: Vec<(usize, Bytes)>,
    /// The length of all together.
    len: usize,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Bytes of its buffer.
    Bytes(&'a [u8]),
    /// A blob.
    Blob(&'a Bytes),
}

impl Blobs {
    /// A shorter blob is copied: that costs less than to send it from a place of its own.
    pub const LEAST: usize = 16 << 10;

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The bytes of all of them.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Takes a blob that is to be sent behind the first `place` bytes of the buffer and what was
    /// taken before. Places only grow.
    pub fn push(&mut self, place: usize, blob: Bytes) {
        self.len += blob.len();
        self.places.push((place, blob));
    }

    /// Moves the blobs of another message here, the buffer of which is appended to one of `length`
    /// bytes.
    pub fn append(&mut self, length: usize, others: &mut Blobs) {
        for (place, blob) in others.places.drain(..) {
            self.push(length + place, blob);
        }
        others.len = 0;
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.places.clear();
        self.len = 0;
    }

    /// The message, piece by piece; none is empty.
    pub fn parts<'a>(&'a self, buffer: &'a [u8]) -> impl Iterator<Item = Piece<'a>> {
        let mut from = 0;
        let before = self.places.iter().flat_map(move |(place, blob)| {
            let bytes = buffer.get(from..*place).unwrap_or_default();
            from = *place;
            [Piece::Bytes(bytes), Piece::Blob(blob)]
        });
        let last = self.places.last().map_or(0, |(place, _)| *place);
        let rest = Piece::Bytes(buffer.get(last..).unwrap_or_default());
        before
            .chain([rest])
            .filter(|piece| !piece.as_slice().is_empty())
    }

    /// Returns the pieces as bytes.
    pub fn pieces<'a>(&'a self, buffer: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        self.parts(buffer).map(|piece| piece.as_slice())
    }

    /// Copies all of them to their places.
    pub fn join(&mut self, buffer: &mut Vec<u8>) {
        if self.is_empty() {
            return;
        }
        let mut whole = Vec::with_capacity(buffer.len() + self.len);
        for piece in self.pieces(buffer) {
            whole.extend_from_slice(piece);
        }
        *buffer = whole;
        self.clear();
    }
}

impl<'a> Piece<'a> {
    /// Its bytes.
    pub fn as_slice(&self) -> &'a [u8] {
        match self {
            Piece::Bytes(bytes) => bytes,
            Piece::Blob(blob) => blob,
        }
    }
}

/// The output of a message: a buffer, with or without blobs that are left where they are.
#[derive(Debug)]
pub struct Out<'a> {
    /// To which is appended.
    pub buffer: &'a mut Vec<u8>,
    /// `None` where blobs are copied to the buffer.
    pub blobs: Option<&'a mut Blobs>,
}

impl<'a> Out<'a> {
    /// Makes an output in which large blobs may be left where they are; there is none yet.
    pub fn with_blobs(buffer: &'a mut Vec<u8>, blobs: &'a mut Blobs) -> Self {
        let blobs = Some(blobs);
        Out { buffer, blobs }
    }

    /// Borrows the output for a while.
    pub fn again(&mut self) -> Out<'_> {
        Out {
            buffer: self.buffer,
            blobs: self.blobs.as_deref_mut(),
        }
    }

    /// Appends a blob, or leaves it where it is.
    pub fn blob(&mut self, blob: &Bytes) {
        put(self.buffer, self.blobs.as_deref_mut(), blob);
    }

    /// The bytes of the blobs that were left where they are.
    pub fn apart(&self) -> usize {
        self.blobs.as_ref().map_or(0, |blobs| blobs.len())
    }

    /// Takes back what was written behind the buffer's first `length` bytes, and all blobs.
    pub fn truncate(&mut self, length: usize) {
        self.buffer.truncate(length);
        if let Some(blobs) = &mut self.blobs {
            blobs.clear();
        }
    }
}

/// Appends a blob, or leaves it where it is.
#[inline]
pub(crate) fn put(buffer: &mut Vec<u8>, blobs: Option<&mut Blobs>, blob: &Bytes) {
    match blobs {
        Some(blobs) if blob.len() >= Blobs::LEAST => blobs.push(buffer.len(), blob.clone()),
        _ => buffer.extend_from_slice(blob),
    }
}

impl<'a> From<&'a mut Vec<u8>> for Out<'a> {
    fn from(buffer: &'a mut Vec<u8>) -> Self {
        Out {
            buffer,
            blobs: None,
        }
    }
}
