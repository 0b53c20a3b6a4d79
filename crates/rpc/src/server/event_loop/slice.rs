//! The slice that Linux's scheduler gives a thread (sched(7), `sched_setattr(2)`; `sched_runtime`
//! of ordinary threads counts since Linux 6.12).
//!
//! The loops of a pool share their cores with handlers that compute. A loop has work for some
//! microseconds at a time, but with the slice of all others, 3 ms, it waits for theirs. A thread
//! with a short slice comes first, and has no more of the core for that.
#![allow(unsafe_code)]

use std::mem::size_of;
use std::time::Duration;

/// The shortest that the scheduler takes.
const SHORT: Duration = Duration::from_micros(100);

/// Has this thread take turns of a short slice.
pub(super) fn shorten() {
    set(SHORT);
}

/// Gives this thread the usual slice, in place of that of the thread that made it.
pub(super) fn restore() {
    set(Duration::ZERO);
}

/// Asks for a slice. The thread stays as it is if the kernel refuses.
fn set(slice: Duration) {
    const SIZE: u32 = size_of::<libc::sched_attr>() as u32;
    const THIS_THREAD: libc::pid_t = 0;
    const NO_FLAGS: u32 = 0;
    let mut attributes = libc::sched_attr {
        size: SIZE,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the kernel writes at most `SIZE` bytes, which are there.
    let read = unsafe {
        libc::syscall(
            libc::SYS_sched_getattr,
            THIS_THREAD,
            &raw mut attributes,
            SIZE,
            NO_FLAGS,
        )
    };
    if read != 0 || attributes.sched_policy != libc::SCHED_OTHER as u32 {
        return;
    }
    attributes.sched_runtime = slice.as_nanos() as u64;
    // SAFETY: the kernel reads `size` bytes, which are there.
    unsafe {
        libc::syscall(
            libc::SYS_sched_setattr,
            THIS_THREAD,
            &raw const attributes,
            NO_FLAGS,
        );
    }
}
