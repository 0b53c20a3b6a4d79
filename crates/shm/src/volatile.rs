//! Copying out of memory that another process may write meanwhile.
#![allow(unsafe_code)]

/// The unit of a load.
#[cfg(target_arch = "x86_64")]
type Block = std::arch::x86_64::__m128i;
#[cfg(target_arch = "aarch64")]
type Block = std::arch::aarch64::uint8x16_t;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
type Block = u64;

const BLOCK: usize = size_of::<Block>();

/// Blocks of a step: loads that do not wait for each other.
const STEP: usize = 4;

/// Hints to the processor to fetch the cache line of a byte. It reads nothing, and cannot fail for
/// any address.
#[inline]
pub(crate) fn prefetch(at: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint is harmless for any address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}

/// Copies bytes, each loaded exactly once. If they change meanwhile, old and new ones arrive mixed.
///
/// # Safety
///
/// `count` bytes behind `from` are mapped, and no reference to them exists in this process; `count`
/// bytes behind `to` are memory of ours that nobody else uses.
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, count: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if count >= STRING {
        // SAFETY: the same is asked for.
        return unsafe { copy_string(from, to, count) };
    }
    let unaligned = from.align_offset(BLOCK).min(count);
    let steps = (count - unaligned) / (BLOCK * STEP);
    // SAFETY: all that is read and written lies within `count` bytes, which the caller vouches for;
    // blocks begin at multiples of their size after the first, unaligned bytes.
    unsafe {
        copy_few(from, to, unaligned);
        let (mut from, mut to) = (from.add(unaligned), to.add(unaligned));
        for _ in 0..steps {
            let blocks: [Block; STEP] =
                std::array::from_fn(|i| from.cast::<Block>().add(i).read_volatile());
            to.cast::<[Block; STEP]>().write_unaligned(blocks);
            (from, to) = (from.add(BLOCK * STEP), to.add(BLOCK * STEP));
        }
        let left = (count - unaligned) % (BLOCK * STEP);
        for _ in 0..left / BLOCK {
            let block = from.cast::<Block>().read_volatile();
            to.cast::<Block>().write_unaligned(block);
            (from, to) = (from.add(BLOCK), to.add(BLOCK));
        }
        copy_few(from, to, left % BLOCK);
    }
}

/// From so many bytes on, the processor's own instruction is faster: it does not fetch the lines
/// that it overwrites.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const STRING: usize = 4096;

/// Copies by one instruction, which the compiler knows nothing about.
///
/// # Safety
///
/// As for [`copy`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe fn copy_string(from: *const u8, to: *mut u8, count: usize) {
    // SAFETY: it reads and writes `count` bytes; the direction flag is clear, as between all
    // functions.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") count => _,
            inout("rsi") from => _,
            inout("rdi") to => _,
            options(nostack, preserves_flags),
        );
    }
}

/// Copies a few bytes, with the largest loads that `from` is aligned to.
///
/// # Safety
///
/// As for [`copy`].
unsafe fn copy_few(mut from: *const u8, mut to: *mut u8, mut count: usize) {
    while let Some(most) = count.checked_ilog2() {
        // SAFETY: within the bytes that the caller vouches for.
        let copied = unsafe {
            match most.min(from.addr().trailing_zeros()) {
                0 => copy_one::<u8>(from, to),
                1 => copy_one::<u16>(from, to),
                2 => copy_one::<u32>(from, to),
                _ => copy_one::<u64>(from, to),
            }
        };
        // SAFETY: not beyond them.
        (from, to) = unsafe { (from.add(copied), to.add(copied)) };
        count -= copied;
    }
}

/// Copies with one load. Returns the number of bytes.
///
/// # Safety
///
/// As for [`copy`]; `from` is aligned.
unsafe fn copy_one<T>(from: *const u8, to: *mut u8) -> usize {
    // SAFETY: as the caller vouches for.
    unsafe {
        let loaded = from.cast::<T>().read_volatile();
        to.cast::<T>().write_unaligned(loaded);
    }
    size_of::<T>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_alignments_and_lengths() {
        let from: Vec<u8> = (0..200).map(|i| i as u8).collect();
        for start in 0..40 {
            for length in 0..150 {
                let mut into = vec![0xFF; length + 1];
                // SAFETY: within `from`, which nobody writes, and within `into`.
                unsafe { copy(from.as_ptr().add(start), into.as_mut_ptr(), length) }
                assert_eq!(into[..length], from[start..start + length]);
                assert_eq!(into[length], 0xFF);
            }
        }
    }
}
