//! Buffers of connections that are idle, for those of the same loop that become busy.

use crate::buffers::reclaim;
use crate::server::session::Outbox;
use bytes::BytesMut;
use std::cell::RefCell;

/// As many of each kind are kept as are likely to be needed at the same moment.
const KEPT: usize = 8;

#[derive(Default)]
struct Spares {
    outboxes: Vec<Outbox>,
    inputs: Vec<BytesMut>,
}

thread_local! {
    static SPARES: RefCell<Spares> = RefCell::default();
}

pub(super) fn outbox() -> Outbox {
    SPARES.with_borrow_mut(|spares| spares.outboxes.pop().unwrap_or_default())
}

pub(super) fn put_outbox(out: Outbox) {
    SPARES.with_borrow_mut(|spares| {
        if spares.outboxes.len() < KEPT && !out.is_new() {
            spares.outboxes.push(out);
        }
    });
}

pub(super) fn input() -> BytesMut {
    SPARES.with_borrow_mut(|spares| spares.inputs.pop().unwrap_or_default())
}

pub(super) fn put_input(mut input: BytesMut) {
    SPARES.with_borrow_mut(|spares| {
        if spares.inputs.len() < KEPT && reclaim(&mut input) {
            spares.inputs.push(input);
        }
    });
}
