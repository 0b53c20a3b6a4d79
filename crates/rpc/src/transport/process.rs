use std::os::fd::AsFd;

/// A process on this machine, at the other end of a Unix socket or of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Process {
    /// Its user: the effective one when it connected.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Its number. It may have ended since, and another process may have the number.
    pub pid: u32,
}

impl Process {
    /// Asks the kernel who has connected (`SO_PEERCRED`, unix(7)); `None` for what is no Unix
    /// socket.
    #[cfg(target_os = "linux")]
    pub(crate) fn at(socket: impl AsFd) -> Option<Self> {
        let socket = socket.as_fd();
        let is_unix = socket2::SockRef::from(&socket).local_addr().ok()?.is_unix();
        let peer = rustix::net::sockopt::socket_peercred(socket);
        let peer = peer.ok().filter(|_| is_unix)?;
        Some(Process {
            uid: peer.uid.as_raw(),
            gid: peer.gid.as_raw(),
            pid: peer.pid.as_raw_pid().try_into().ok()?,
        })
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn at(_: impl AsFd) -> Option<Self> {
        None
    }
}
