//! How a call by WebSocket is answered: messages of text, each an object with one member.

use super::message::Form;
use super::reply::{Thrown, WebAnswer};
use super::style::sendable;
use crate::method::Method;
use crate::peer::response_headers::ResponseHeaders;
use dovetail_protocol::connect;
use dovetail_protocol::websocket::{
    CloseCode, END, ITEM, RESULT, write_close, write_member, write_text,
};
use dovetail_wire::Bytes;

/// An item, or a result before the items, which come in envelopes.
pub(super) fn item(method: &Method, message: &Bytes) -> Vec<u8> {
    let mut out = Vec::new();
    write(ITEM, method.messages, message, &mut out);
    out
}

/// Appends the last messages: the result, unless items were the answer, how the call ended, and the
/// close.
pub(super) fn write_last(
    method: Option<&Method>,
    answer: WebAnswer,
    said: &ResponseHeaders,
    out: &mut Vec<u8>,
) {
    let thrown = match answer {
        WebAnswer::Message(message) => {
            let bare = method.is_some_and(|method| method.messages);
            write(RESULT, bare, &message, out);
            None
        }
        WebAnswer::Failure(thrown) => Some(thrown),
        WebAnswer::End => None,
    };
    let end = end(thrown.as_ref(), said);
    write_text(&write_member(END, &end), out);
    write_close(CloseCode::Normal, "", out);
}

/// A message that names nothing, as those of protobuf do, gets the name. An empty one of the others
/// says nothing.
fn write(name: &str, bare: bool, message: &Bytes, out: &mut Vec<u8>) {
    let message = Form::without_prefix(message);
    match bare {
        true => write_text(&write_member(name, &message), out),
        false if *message == *b"{}" => {}
        false => write_text(&message, out),
    }
}

/// Makes Connect's last message. Headers stand among the trailers: those of the answer have been
/// sent before the call.
fn end(thrown: Option<&Thrown>, said: &ResponseHeaders) -> Bytes {
    let mut metadata = said.with_headers(|said| sendable(said));
    metadata.extend(said.with_trailers(|said| sendable(said)));
    let failure = thrown.map(|thrown| &thrown.failure);
    let end = connect::end(failure, thrown.and_then(Thrown::debug), &metadata);
    Form::without_prefix(&end.into())
}
