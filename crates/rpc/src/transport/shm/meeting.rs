//! Where a client that came by TCP finds its server on the same machine: an abstract Unix socket, whose name only those
//! can reach who are in the server's network namespace.

use crate::Address;
use crate::transport::SocketListener;
use dovetail_shm::{Connection, Credentials};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Listens under a name that nobody can guess.
pub(crate) fn meet() -> io::Result<(u128, SocketListener)> {
    let mut number = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut number)?;
    let number = u128::from_ne_bytes(number);
    let listener = SocketListener::bind(&Address::meeting(number))?;
    Ok((number, listener))
}

/// True for a name in the abstract namespace.
pub(super) fn is_abstract(path: &Path) -> bool {
    path.as_os_str().as_bytes().starts_with(b"\0")
}

/// True for a socket that was accepted where those meet who came by TCP.
pub(super) fn is_met(socket: BorrowedFd<'_>) -> io::Result<bool> {
    let address = socket2::SockRef::from(&socket).local_addr()?;
    Ok(address.as_abstract_namespace().is_some())
}

/// Lets nobody but processes of the same user, and of root, share memory where everybody may knock.
pub(super) fn same_user(connection: Connection) -> io::Result<Connection> {
    let Credentials { uid, .. } = connection.peer;
    match uid == 0 || uid == rustix::process::geteuid().as_raw() {
        true => Ok(connection),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}
