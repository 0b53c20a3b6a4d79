use super::scan::Scan;
use super::{MessageKind, ProtocolError};
use crate::Name;
use dovetail_wire::Codec;

/// A protocol that is not built in: how messages begin, and how values are encoded.
///
/// It runs inside frames; unframed only where [`scan`](Self::scan) can find the end of a message.
/// THeader and HTTP name their protocols and do not carry others.
pub trait CustomProtocol: Send + Sync {
    /// The name, for display and statistics; two protocols with the same name are taken for the
    /// same.
    fn name(&self) -> &str;

    /// Whether a message that begins with these bytes is one of this protocol. The built-in
    /// protocols are asked first.
    fn detect(&self, prefix: &[u8]) -> Detect;

    /// Reads what comes before the body. `message` is complete.
    fn read_head(&self, message: &[u8]) -> Result<CustomHead, ProtocolError>;

    /// Writes what comes before the body.
    fn write_head(&self, kind: MessageKind, name: &str, seqid: i32, out: &mut Vec<u8>);

    /// Writes what comes behind the body.
    fn write_end(&self, out: &mut Vec<u8>) {
        let _ = out;
    }

    /// How bodies are encoded.
    fn codec(&self) -> &'static dyn Codec;

    /// Returns a scanner that finds the end of one unframed message, from its first byte on; `None`
    /// where nothing can.
    fn scan(&self) -> Option<Box<dyn Scan>> {
        None
    }
}

/// The meaning of the first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detect {
    /// It is this protocol.
    Yes,
    /// It is another one.
    No,
    /// More bytes are needed to tell.
    More,
}

/// The head of a message of a custom protocol.
#[derive(Clone, Debug)]
pub struct CustomHead {
    /// The kind of the message.
    pub kind: MessageKind,
    /// The method, as sent.
    pub name: Name,
    /// The number that the reply carries again.
    pub seqid: i32,
    /// The place of the body in the message.
    pub body: std::ops::Range<usize>,
}
