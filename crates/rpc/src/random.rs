//! Numbers that nobody can guess.

use std::fs::File;
use std::io::{self, Read};

/// Draws 128 bits from the system.
pub(crate) fn unguessable() -> io::Result<u128> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u128::from_ne_bytes(bytes))
}
