//! The packed form of a message (<https://capnproto.org/encoding.html#packing>): each word is a
//! byte that says which of its bytes are not zero, and these. Behind a word of zeros a count says
//! how many more follow; behind one without a zero, how many words follow as they are.

use super::WORD;
use crate::DecodeError;

/// The most words that one count says.
const RUN: usize = 255;

/// Packs whole words.
pub fn pack(message: &[u8]) -> Vec<u8> {
    let (words, _) = message.as_chunks::<WORD>();
    let mut packed = Vec::with_capacity(message.len() / 2);
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        let tag = word
            .iter()
            .enumerate()
            .map(|(bit, byte)| u8::from(*byte != 0) << bit)
            .sum();
        packed.push(tag);
        packed.extend(word.iter().filter(|byte| **byte != 0));
        let rest = words.get(at..).unwrap_or_default();
        let run = match tag {
            0 => count(rest, |word| *word == [0; WORD]),
            // A word with two zeros is smaller by itself.
            0xff => count(rest, |word| {
                word.iter().filter(|byte| **byte == 0).count() < 2
            }),
            _ => continue,
        };
        packed.push(run as u8);
        if tag == 0xff {
            packed.extend(rest.iter().take(run).flatten());
        }
        at += run;
    }
    packed
}

fn count(words: &[[u8; WORD]], fits: impl Fn(&[u8; WORD]) -> bool) -> usize {
    words.iter().take(RUN).take_while(|word| fits(word)).count()
}

/// Unpacks at most `most` bytes.
pub fn unpack(packed: &[u8], most: usize) -> Result<Vec<u8>, DecodeError> {
    let mut out = Vec::new();
    let mut rest = packed;
    let cut = || DecodeError::malformed("a packed message that ends within a word");
    let check = |len: usize| match len <= most {
        true => Ok(()),
        false => Err(DecodeError::malformed(
            "a packed message that is larger than the limit",
        )),
    };
    while let Some(tag) = take(&mut rest) {
        check(out.len() + WORD)?;
        for bit in 0..WORD {
            out.push(match tag >> bit & 1 {
                0 => 0,
                _ => take(&mut rest).ok_or_else(cut)?,
            });
        }
        if tag != 0 && tag != 0xff {
            continue;
        }
        let run = usize::from(take(&mut rest).ok_or_else(cut)?) * WORD;
        check(out.len() + run)?;
        match tag {
            0 => out.resize(out.len() + run, 0),
            _ => {
                let (words, behind) = rest.split_at_checked(run).ok_or_else(cut)?;
                out.extend_from_slice(words);
                rest = behind;
            }
        }
    }
    Ok(out)
}

fn take(bytes: &mut &[u8]) -> Option<u8> {
    bytes.split_off_first().copied()
}
