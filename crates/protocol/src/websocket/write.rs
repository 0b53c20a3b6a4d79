//! Frames of a server: without masks, each a whole message.

use super::{CloseCode, FIN, MAX_CONTROL, opcode};

/// Appends a message that is text.
pub fn write_text(text: &[u8], out: &mut Vec<u8>) {
    write(opcode::TEXT, text, out);
}

/// Appends the answer to a ping with these bytes.
pub fn write_pong(bytes: &[u8], out: &mut Vec<u8>) {
    write(opcode::PONG, bytes, out);
}

/// Appends a close. Of the reason, as much is said as there is room for.
pub fn write_close(code: CloseCode, reason: &str, out: &mut Vec<u8>) {
    let reason = &reason[..reason.floor_char_boundary(MAX_CONTROL - 2)];
    let code = code.number().to_be_bytes();
    write(opcode::CLOSE, &[&code, reason.as_bytes()].concat(), out);
}

/// Appends the answer to a close with this code, or with none.
pub fn write_close_reply(code: Option<u16>, out: &mut Vec<u8>) {
    let code = code.map(u16::to_be_bytes);
    write(opcode::CLOSE, code.as_ref().map_or(&[], |code| code), out);
}

fn write(opcode: u8, payload: &[u8], out: &mut Vec<u8>) {
    out.push(FIN | opcode);
    match payload.len() {
        length @ 0..126 => out.push(length as u8),
        length @ 126..0x1_0000 => {
            out.push(126);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            out.push(127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(payload);
}
