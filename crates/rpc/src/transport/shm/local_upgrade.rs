//! The place where a client that came by TCP finds its server on the same machine: an abstract Unix
//! socket, which only processes in the server's network namespace can reach.

use crate::Address;
use crate::address::UPGRADE_PREFIX;
use crate::random::unguessable;
use crate::transport::{Process, SocketListener};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Listens under a name that nobody can guess.
pub(crate) fn bind_upgrade() -> io::Result<(u128, SocketListener)> {
    let number = unguessable()?;
    let listener = SocketListener::bind(&Address::upgrade_listener(number))?;
    Ok((number, listener))
}

/// Returns whether a name is in the abstract namespace.
pub(super) fn is_abstract(path: &Path) -> bool {
    path.as_os_str().as_bytes().starts_with(b"\0")
}

/// The kind of name under which a Unix socket was accepted.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Name {
    /// A file, whose permissions say who may connect.
    File,
    /// An abstract name, which everybody may call.
    Abstract,
    /// A [meeting point](bind_upgrade) of clients that came by TCP.
    LocalUpgrade,
}

impl Name {
    pub(super) fn of(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let address = socket2::SockRef::from(&socket).local_addr()?;
        Ok(match address.as_abstract_namespace() {
            None => Name::File,
            Some(name) if name.starts_with(UPGRADE_PREFIX.as_bytes()) => Name::LocalUpgrade,
            Some(_) => Name::Abstract,
        })
    }
}

/// Returns false for another user's process on the listener of local upgrades. Asked before the
/// handshake: a client relies on one that was accepted.
pub(crate) fn admits(socket: &impl AsFd) -> bool {
    let socket = socket.as_fd();
    Name::of(socket).is_ok_and(|name| name != Name::LocalUpgrade || same_user(socket).is_ok())
}

/// Lets only processes of the same user, and of root, share memory through an abstract name, which
/// every process can reach.
pub(super) fn same_user(socket: BorrowedFd<'_>) -> io::Result<()> {
    let own = rustix::process::geteuid().as_raw();
    match Process::at(socket) {
        Some(peer) if peer.uid == 0 || peer.uid == own => Ok(()),
        _ => Err(io::ErrorKind::PermissionDenied.into()),
    }
}
