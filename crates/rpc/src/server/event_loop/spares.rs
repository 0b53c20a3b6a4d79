//! Buffers for answers that are used again on the same loop.
//!
//! Those of connections that are idle wait for connections that become busy. One that has grown
//! large is not worth to be kept by a connection; but to make it anew for each large answer takes
//! longer than to fill it, since the kernel clears its pages. The loop keeps one, as long as it is
//! used.

use crate::buffers::SPARES;
use crate::server::session::Outbox;
use std::cell::RefCell;
use std::time::Duration;
use tokio::task::spawn_local;
use tokio::time::sleep;

/// A large buffer that nobody has used for so long is let go.
const UNUSED: Duration = Duration::from_secs(1);

/// A larger one is not kept.
const LARGEST: usize = 64 << 20;

#[derive(Default)]
struct Spares {
    outboxes: Vec<Outbox>,
    large: Large,
}

#[derive(Default)]
struct Large {
    buffer: Option<Vec<u8>>,
    /// Since somebody looked last.
    used: bool,
    /// Somebody looks now and then.
    watched: bool,
}

thread_local! {
    static SPARES_HERE: RefCell<Spares> = RefCell::default();
}

pub(super) fn outbox() -> Outbox {
    SPARES_HERE.with_borrow_mut(|spares| spares.outboxes.pop().unwrap_or_default())
}

pub(super) fn put_outbox(out: Outbox) {
    SPARES_HERE.with_borrow_mut(|spares| {
        if spares.outboxes.len() < SPARES && !out.is_new() {
            spares.outboxes.push(out);
        }
    });
}

/// The large buffer, where there is one and nobody has it.
pub(super) fn large() -> Option<Vec<u8>> {
    SPARES_HERE.with_borrow_mut(|spares| {
        let buffer = spares.large.buffer.take()?;
        spares.large.used = true;
        Some(buffer)
    })
}

/// Keeps a large buffer, which is empty, for a while.
pub(super) fn put_large(buffer: Vec<u8>) {
    let unwatched = SPARES_HERE.with_borrow_mut(|spares| {
        let large = &mut spares.large;
        if buffer.capacity() > LARGEST
            || large
                .buffer
                .as_ref()
                .is_some_and(|kept| kept.capacity() >= buffer.capacity())
        {
            return false;
        }
        large.buffer = Some(buffer);
        large.used = true;
        !std::mem::replace(&mut large.watched, true)
    });
    if unwatched {
        spawn_local(watch());
    }
}

/// Lets go of the large buffer once it has not been used for a while.
async fn watch() {
    loop {
        sleep(UNUSED).await;
        let goes_on = SPARES_HERE.with_borrow_mut(|spares| {
            let large = &mut spares.large;
            let used = std::mem::take(&mut large.used);
            if !used {
                *large = Large::default();
            }
            used
        });
        if !goes_on {
            return;
        }
    }
}
