//! Where a client that came by TCP finds its server on the same machine: an abstract Unix socket, whose name only those
//! can reach who are in the server's network namespace.

use crate::Address;
use crate::transport::SocketListener;
use dovetail_shm::Credentials;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
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

/// False for a stranger where those meet who came by TCP. Asked before anything is said: who was told yes would rely on
/// it.
pub(crate) fn admits(socket: &impl AsFd) -> bool {
    let socket = socket.as_fd();
    is_met(socket).is_ok_and(|met| !met || same_user(socket).is_ok())
}

/// Lets nobody but processes of the same user, and of root, share memory where everybody may knock.
pub(super) fn same_user(socket: BorrowedFd<'_>) -> io::Result<()> {
    let Credentials { uid, .. } = Credentials::of(socket)?;
    match uid == 0 || uid == rustix::process::geteuid().as_raw() {
        true => Ok(()),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}
