//! How two processes that have a Unix socket between them come to share memory: an offer each way.
//! docs/spec/shared-memory.md has the bytes.

use crate::connection::{Connection, Credentials, End};
use crate::error::{Error, Refusal};
use crate::geometry::Settings;
use crate::line::{self, Line};
use crate::segment::{OutputRing, OwnSegment, PeerSegment};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, sockopt,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

/// The first bytes of an offer: how a server on a Unix socket tells this from other protocols,
/// before it reads them (`MSG_PEEK`).
pub const MAGIC: [u8; 4] = [0xD7, b'S', b'H', b'M'];

/// The version of the handshake.
const VERSION: u8 = 1;

/// The verdict of an offer is 0, which is a yes, or 1 more than the place in here.
const REFUSALS: [Refusal; 3] = [Refusal::Version, Refusal::TooLarge, Refusal::Offer];

/// The most descriptors that an offer brings.
const MAX_FDS: usize = 2;

/// A connection in the making. Nothing here blocks but [`finish`](Self::finish): an event loop
/// calls [`try_finish`](Self::try_finish) whenever the descriptor is readable.
#[derive(Debug)]
pub struct Handshake {
    socket: OwnedFd,
    settings: Settings,
    /// The offer that was made already: the client speaks first.
    offered: Option<Offered>,
}

/// This end's part of a connection.
#[derive(Debug)]
struct Offered {
    own: Arc<OwnSegment>,
    ring: OutputRing,
    /// The line of the senders.
    senders: OwnedFd,
}

impl Handshake {
    /// Begins as the client, on a connected Unix stream socket, with the offer.
    pub fn connect(socket: impl Into<OwnedFd>, settings: &Settings) -> Result<Self, Error> {
        let socket = socket.into();
        let (memory, own, ring) = OwnSegment::create(settings.bounds()?)?;
        let (senders, theirs) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        send(&socket, 0, &[memory.as_fd(), theirs.as_fd()])?;
        let offered = Offered { own, ring, senders };
        Ok(Handshake {
            socket,
            settings: *settings,
            offered: Some(offered),
        })
    }

    /// Begins as the server, on a Unix stream socket that was accepted and not read from.
    pub fn accept(socket: impl Into<OwnedFd>, settings: &Settings) -> Self {
        Handshake {
            socket: socket.into(),
            settings: *settings,
            offered: None,
        }
    }

    /// The connection, or the handshake itself again where the peer has said nothing yet.
    pub fn try_finish(mut self) -> Result<Progress, Error> {
        let offer = match receive(&self.socket) {
            Err(Error::WouldBlock) => return Ok(Progress::Pending(self)),
            offer => offer?,
        };
        let connection = match self.offered.take() {
            Some(offered) => self.complete(offered, offer),
            None => self.answer(offer),
        };
        connection.map(Progress::Done)
    }

    /// Waits for the peer until the deadline.
    pub fn finish(mut self, deadline: Instant) -> Result<Connection, Error> {
        loop {
            self = match self.try_finish()? {
                Progress::Done(connection) => return Ok(connection),
                Progress::Pending(handshake) => handshake,
            };
            line::wait_readable(self.socket.as_fd(), deadline)?;
        }
    }

    /// The client's end, once the server has answered.
    fn complete(self, offered: Offered, offer: Offer) -> Result<Connection, Error> {
        let [memory] = offer.check()?;
        let peer = PeerSegment::open(&memory, self.settings.largest_peer_segment)?;
        connection(self.socket, offered, peer)
    }

    /// The server's end, once the client has made its offer. The client is told why it is refused.
    fn answer(self, offer: Offer) -> Result<Connection, Error> {
        let result = self.examine(offer);
        let verdict = match &result {
            Ok(_) => 0,
            Err(Error::Refused(why)) => verdict(*why),
            Err(_) => verdict(Refusal::Offer),
        };
        let memory = result.as_ref().ok().map(|(memory, ..)| memory.as_fd());
        send(&self.socket, verdict, memory.as_slice())?;
        let (_, offered, peer) = result?;
        connection(self.socket, offered, peer)
    }

    /// Looks at the client's offer, and prepares the server's own.
    fn examine(&self, offer: Offer) -> Result<(OwnedFd, Offered, PeerSegment), Error> {
        let [memory, senders] = offer.check()?;
        let family = sockopt::socket_domain(&senders);
        let kind = sockopt::socket_type(&senders);
        if (family, kind) != (Ok(AddressFamily::UNIX), Ok(SocketType::STREAM)) {
            return Err(Error::Misbehaved("it passed something that is no socket"));
        }
        let peer = PeerSegment::open(&memory, self.settings.largest_peer_segment)?;
        let (memory, own, ring) = OwnSegment::create(self.settings.bounds()?)?;
        Ok((memory, Offered { own, ring, senders }, peer))
    }
}

impl AsFd for Handshake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Credentials {
    /// Returns the process at the other end of a connected Unix socket, before a handshake.
    pub fn of(socket: BorrowedFd<'_>) -> Result<Self, Error> {
        let who = getsockopt(&socket, PeerCredentials).map_err(std::io::Error::from)?;
        Ok(Credentials {
            pid: u32::try_from(who.pid()).ok().filter(|pid| *pid != 0),
            uid: who.uid(),
            gid: who.gid(),
        })
    }
}

fn connection(socket: OwnedFd, offered: Offered, peer: PeerSegment) -> Result<Connection, Error> {
    let credentials = Credentials::of(socket.as_fd())?;
    let end = End::new(
        offered.own,
        peer,
        Line::new(socket),
        Line::new(offered.senders),
    );
    Ok(Connection::new(end, offered.ring, credentials))
}

fn verdict(refusal: Refusal) -> u8 {
    let place = REFUSALS.iter().position(|known| *known == refusal);
    place.map_or(0, |place| place as u8 + 1)
}

fn send(socket: &OwnedFd, verdict: u8, fds: &[BorrowedFd<'_>]) -> Result<(), Error> {
    let [a, b, c, d] = MAGIC;
    let bytes = [a, b, c, d, VERSION, verdict, 0, 0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(fds));
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    match rustix::net::sendmsg(socket, &[IoSlice::new(&bytes)], &mut control, flags) {
        Ok(sent) if sent == bytes.len() => Ok(()),
        // It is the first message on the socket: there is room for it.
        Ok(_) => Err(Error::Invalid("the socket was in use")),
        Err(Errno::PIPE | Errno::CONNRESET) => Err(Error::PeerGone),
        Err(e) => Err(e.into()),
    }
}

/// An offer as it has come: bytes and descriptors.
struct Offer {
    bytes: [u8; 8],
    fds: Vec<OwnedFd>,
}

fn receive(socket: &OwnedFd) -> Result<Offer, Error> {
    let mut bytes = [0; 8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let mut iov = [IoSliceMut::new(&mut bytes)];
    let received = loop {
        match rustix::net::recvmsg(socket, &mut iov, &mut control, flags) {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Err(Error::WouldBlock),
            Err(Errno::CONNRESET) => return Err(Error::PeerGone),
            result => break result?,
        }
    };
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    match received.bytes {
        0 => Err(Error::PeerGone),
        8 if !received.flags.contains(ReturnFlags::CTRUNC) => Ok(Offer { bytes, fds }),
        _ => Err(Error::Misbehaved("its offer is not one message of 8 bytes")),
    }
}

impl Offer {
    /// The descriptors, if the peer wants the connection.
    fn check<const FDS: usize>(self) -> Result<[OwnedFd; FDS], Error> {
        let [a, b, c, d, version, verdict, ..] = self.bytes;
        if [a, b, c, d] != MAGIC {
            return Err(Error::Misbehaved(
                "its offer does not begin with the magic bytes",
            ));
        }
        if version != VERSION {
            return Err(Error::Refused(Refusal::Version));
        }
        if let Some(place) = verdict.checked_sub(1) {
            let why = REFUSALS.get(usize::from(place));
            return Err(Error::Refused(why.copied().unwrap_or(Refusal::Offer)));
        }
        let wrong = |_| Error::Misbehaved("its offer has too few or too many descriptors");
        self.fds.try_into().map_err(wrong)
    }
}

/// How far a handshake has come.
#[derive(Debug)]
pub enum Progress {
    /// All the way.
    Done(Connection),
    /// The peer has not said anything yet.
    Pending(Handshake),
}
