//! One end of a TLS connection without a transport: records in, plaintext out, and the other way
//! round.

use crate::tls::{Session, TlsPeer, explain};
use bytes::BytesMut;
use rustls::{Connection, Error};
use std::io::{self, BufRead, IoSlice, Write};

/// The most bytes of a record on its way (RFC 8446, 5.2; TLS 1.2 has a little more, and its older
/// ciphers 2 KiB).
pub(super) const RECORD: usize = (16 << 10) + (2 << 10) + 5;

/// A session of TLS. Whoever owns it sends what [`take_out`](Self::take_out) gives, in that order,
/// also after an error: that is the alert which tells the peer.
pub(super) struct Records {
    session: Session,
    /// The peer has said that nothing comes any more.
    ended: bool,
}

impl Records {
    pub(super) fn new(session: Session) -> Self {
        Records {
            session,
            ended: false,
        }
    }

    /// Returns the other end, once the handshake is done.
    pub(super) fn peer(&self) -> Option<TlsPeer> {
        (!self.session.is_handshaking()).then(|| TlsPeer::of(&self.session))
    }

    /// Takes in what was received. All plaintext there is goes behind what `into` holds.
    pub(super) fn open(&mut self, mut received: &[u8], into: &mut BytesMut) -> Result<(), Error> {
        while !received.is_empty() && !self.ended {
            // There is room: all plaintext has been taken, and a record that is too long is an
            // error by itself.
            if !matches!(self.session.read_tls(&mut received), Ok(1..)) {
                return Err(Error::General("records that cannot be read".to_owned()));
            }
            let state = self.session.process_new_packets()?;
            self.ended = state.peer_has_closed();
            let mut plain = self.session.reader();
            while let Ok(piece @ [_, ..]) = plain.fill_buf() {
                into.extend_from_slice(piece);
                let length = piece.len();
                plain.consume(length);
            }
        }
        Ok(())
    }

    /// Returns the meaning of the transport's end. A server's peers frame all that they send, and
    /// many close without a word. An answer of a server may end with its connection, so that an
    /// attacker who cuts it could leave out the end.
    pub(super) fn end(&self) -> io::Result<usize> {
        match &self.session {
            Connection::Client(_) if !self.ended => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "it ended without the goodbye of TLS (close_notify)",
            )),
            _ => Ok(0),
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Encrypts as much as goes out in one piece (64 KiB), and appends it to `out`. Gives how much
    /// that was.
    pub(super) fn seal(&mut self, slices: &[IoSlice<'_>], out: &mut Vec<u8>) -> io::Result<usize> {
        let sealed = self.session.writer().write_vectored(slices)?;
        self.take_out(out);
        match sealed == 0 && slices.iter().any(|slice| !slice.is_empty()) {
            true => Err(io::ErrorKind::WriteZero.into()),
            false => Ok(sealed),
        }
    }

    /// Says goodbye: the peer knows that nothing was cut off.
    pub(super) fn close(&mut self, out: &mut Vec<u8>) {
        self.session.send_close_notify();
        self.take_out(out);
    }

    /// Appends what is to be sent.
    pub(super) fn take_out(&mut self, out: &mut Vec<u8>) {
        while self.session.wants_write() && self.session.write_tls(out).is_ok() {}
    }
}

/// Why a handshake ended before it was done.
pub(super) fn broken_off() -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "TLS: the other end closed the connection in the handshake; does it speak TLS?",
    )
}

/// The error of what the peer has sent.
pub(super) fn refused(error: &Error) -> io::Error {
    explain(error)
}
