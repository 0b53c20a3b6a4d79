//! Copying out of memory that another process may write meanwhile.
#![allow(unsafe_code)]

/// What one load fetches.
#[cfg(target_arch = "x86_64")]
type Block = std::arch::x86_64::__m128i;
#[cfg(target_arch = "aarch64")]
type Block = std::arch::aarch64::uint8x16_t;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
type Block = u64;

const BLOCK: usize = size_of::<Block>();

/// Blocks of a step: loads that do not wait for each other.
const STEP: usize = 4;

/// Copies `into.len()` bytes, each loaded exactly once. If they change meanwhile, old and new ones arrive mixed.
///
/// # Safety
///
/// The bytes behind `from` are mapped, and no reference to them exists in this process.
pub(crate) unsafe fn copy(from: *const u8, into: &mut [u8]) {
    let unaligned = from.align_offset(BLOCK).min(into.len());
    let (first, into) = into.split_at_mut(unaligned);
    // SAFETY: all reads stay within `into.len()` bytes, which the caller vouches for; blocks begin at
    // multiples of their size after the first, unaligned bytes. What is written is a slice of our own.
    unsafe {
        copy_bytes(from, first);
        let mut from = from.add(unaligned);
        let mut steps = into.chunks_exact_mut(BLOCK * STEP);
        for step in &mut steps {
            let blocks: [Block; STEP] =
                std::array::from_fn(|i| from.cast::<Block>().add(i).read_volatile());
            step.as_mut_ptr()
                .cast::<[Block; STEP]>()
                .write_unaligned(blocks);
            from = from.add(BLOCK * STEP);
        }
        let mut blocks = steps.into_remainder().chunks_exact_mut(BLOCK);
        for block in &mut blocks {
            let loaded = from.cast::<Block>().read_volatile();
            block.as_mut_ptr().cast::<Block>().write_unaligned(loaded);
            from = from.add(BLOCK);
        }
        copy_bytes(from, blocks.into_remainder());
    }
}

/// The same for a few bytes.
///
/// # Safety
///
/// As for [`copy`].
unsafe fn copy_bytes(from: *const u8, into: &mut [u8]) {
    for (at, byte) in into.iter_mut().enumerate() {
        // SAFETY: within the bytes that the caller vouches for.
        *byte = unsafe { from.add(at).read_volatile() };
    }
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
                // SAFETY: within `from`, which nobody writes.
                unsafe { copy(from.as_ptr().add(start), &mut into[..length]) }
                assert_eq!(into[..length], from[start..start + length]);
                assert_eq!(into[length], 0xFF);
            }
        }
    }
}
