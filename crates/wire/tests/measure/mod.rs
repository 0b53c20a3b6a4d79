//! Memory that decoding takes from the allocator, beside the budget.
#![allow(unsafe_code, dead_code, unreachable_pub, clippy::unwrap_used)]

use dovetail_wire::{Bytes, DecodeErrorKind, Encoding, Limits};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts the blocks that this thread holds. It moves a block that grows, as an allocator may, so
/// both are counted then.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

#[cfg(target_env = "gnu")]
mod glibc {
    unsafe extern "C" {
        safe fn malloc_usable_size(block: *mut u8) -> usize;
    }

    /// Size of the block, with the word in front of it.
    pub(super) fn size(block: *mut u8, _: usize) -> usize {
        malloc_usable_size(block) + size_of::<usize>()
    }
}

#[cfg(not(target_env = "gnu"))]
mod glibc {
    pub(super) fn size(_: *mut u8, bytes: usize) -> usize {
        dovetail_wire::block(bytes)
    }
}

fn count(change: isize) {
    let _ = HELD.try_with(|held| {
        held.set(held.get() + change);
        PEAK.try_with(|peak| peak.set(peak.get().max(held.get())))
    });
}

// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promised us.
        let block = unsafe { System.alloc(layout) };
        if !block.is_null() {
            count(glibc::size(block, layout.size()) as isize);
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(glibc::size(block, layout.size()) as isize));
        // SAFETY: as the caller promised us.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most that this thread holds at any time while it does something, beyond what it holds
/// before.
pub fn peak<R>(act: impl FnOnce() -> R) -> (R, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = act();
    (result, (PEAK.get() - before) as usize)
}

/// Memory of the decoder itself, for a message of any length: its place in nested structs, and an
/// error.
const OWN: usize = 16 << 10;

/// The fewest bytes that let a message be decoded, found by trying. With fewer it is refused, and
/// takes no more than a tenth above what is allowed.
pub fn cost(
    name: &str,
    encoding: Encoding,
    input: &Bytes,
    mut decode: impl FnMut(Limits) -> Result<(), DecodeErrorKind>,
) -> Result<usize, String> {
    let mut fits = |allocation: usize| {
        let limits = Limits {
            allocation,
            ..Limits::default()
        };
        let (result, peak) = peak(|| decode(limits));
        let most = allocation + allocation / 10 + OWN;
        let what = format!("{name} in {encoding:?}, {} bytes", input.len());
        match result {
            _ if peak > most => Err(format!("{what}: {peak} bytes, {allocation} were allowed")),
            Ok(()) => Ok(true),
            Err(DecodeErrorKind::AllocationLimit { .. }) => Ok(false),
            Err(other) => Err(format!("{what}: {other}")),
        }
    };
    let (mut least, mut enough) = (0, 16 << 10);
    while !fits(enough)? {
        (least, enough) = (enough, enough * 2);
    }
    for _ in 0..6 {
        let between = least.midpoint(enough);
        match fits(between)? {
            true => enough = between,
            false => least = between,
        }
    }
    Ok(enough)
}
