//! WebSocket (RFC 6455), as a server has it, and the calls that pages of browsers make by it: one
//! socket is one call.
//!
//! ```text
//!   http::Request ─► asks, accept ─┬─► 101 Switching Protocols      then the connection is a socket
//!                                  └─► http::Response               a refusal; the connection goes on
//!   frames ─► Reader ─► Message ─► Said
//!   frames ◄─ write_text, write_pong, write_close
//! ```
//!
//! `docs/http.md` says what a server makes of this.

mod call;
mod error;
mod frame;
mod handshake;
mod write;

pub use call::{END, ITEM, RESULT, Said, write_member};
pub use error::{CloseCode, Error};
pub use frame::{Message, Reader};
pub use handshake::{accept, asks};
pub use write::{write_close, write_close_reply, write_pong, write_text};

/// The kinds of frames, in four bits.
mod opcode {
    pub(super) const CONTINUATION: u8 = 0;
    pub(super) const TEXT: u8 = 1;
    pub(super) const BINARY: u8 = 2;
    pub(super) const CLOSE: u8 = 8;
    pub(super) const PING: u8 = 9;
    pub(super) const PONG: u8 = 10;
}

/// The bit of the first byte that says that a message ends with this frame.
const FIN: u8 = 0x80;

/// The most bytes of frames about the connection itself.
const MAX_CONTROL: usize = 125;
