//! The ids of definitions that state none (<https://capnproto.org/language.html#unique-ids>): a
//! digest of the id of the scope and of the name.

use md5::{Digest, Md5};

/// The id of a definition in a scope.
pub(super) fn child(parent: u64, name: &str) -> u64 {
    digest(&[&parent.to_le_bytes(), name.as_bytes()])
}

/// The id of the struct that the parameters or the results of a method make.
pub(super) fn parameters(interface: u64, ordinal: u16, results: bool) -> u64 {
    digest(&[
        &interface.to_le_bytes(),
        &ordinal.to_le_bytes(),
        &[u8::from(results)],
    ])
}

/// An id for a file that states none, to be copied into it.
pub(super) fn proposed(name: &str, text: &str) -> u64 {
    digest(&[name.as_bytes(), text.as_bytes()])
}

/// Ids have their highest bit set.
pub(super) const MARK: u64 = 1 << 63;

fn digest(parts: &[&[u8]]) -> u64 {
    let mut digest = Md5::new();
    for part in parts {
        digest.update(part);
    }
    let bytes: [u8; 16] = digest.finalize().into();
    let first = bytes.first_chunk().copied().unwrap_or_default();
    u64::from_be_bytes(first) | MARK
}
