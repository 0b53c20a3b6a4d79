//! A value of unknown type from one message to another.

use super::WORD;
use super::pointer::{ElementSize, MAX, Pointer};
use super::segments::{ListAt, Segments, Spot, StructAt, Target};
use crate::{DecodeError, Limits};

/// The deepest value that is copied. A value that is sent many times inside itself so has an end.
const DEEPEST: usize = 64;

/// The words that a copy of a whole message may take beyond those of the message: elements without
/// room count as a word each.
const SLACK: usize = 1024;

/// Copies what a pointer leads to behind the end of a segment, and makes the pointer at the byte
/// `at` lead there. The segment begins at `base`. Objects keep their places in the table of the
/// message, or are refused.
pub(super) fn copy(
    from: &Segments,
    pointer: Spot,
    out: &mut Vec<u8>,
    (base, at): (usize, usize),
    keeps_objects: bool,
) -> Result<(), DecodeError> {
    let most = match keeps_objects {
        // A peer's message that goes to a peer: pointers to one place must not make it larger.
        true => from.words() + SLACK,
        false => Limits::default().allocation / WORD,
    };
    let mut copy = Copy {
        from,
        out,
        base,
        left: most.min(MAX),
        keeps_objects,
    };
    copy.pointer(pointer, at, DEEPEST)
}

struct Copy<'c> {
    from: &'c Segments,
    out: &'c mut Vec<u8>,
    base: usize,
    left: usize,
    keeps_objects: bool,
}

impl Copy<'_> {
    fn pointer(&mut self, pointer: Spot, at: usize, depth: usize) -> Result<(), DecodeError> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(DecodeError::malformed("a value of more than 64 levels"));
        };
        match self.from.follow(pointer)? {
            Target::Null => Ok(()),
            Target::Capability(place) if self.keeps_objects => {
                self.point(at, Pointer::Capability(place));
                Ok(())
            }
            Target::Capability(_) => Err(DecodeError::malformed(
                "an object inside a pointer to anything",
            )),
            Target::Struct(structure) => {
                let words = structure.data_len / WORD + structure.pointers;
                let start = self.room(words)?;
                let offset = if words == 0 {
                    -1
                } else {
                    self.distance(at, start)
                };
                let pointer = Pointer::Struct {
                    offset,
                    data: (structure.data_len / WORD) as u16,
                    pointers: structure.pointers as u16,
                };
                self.point(at, pointer);
                self.structure(&structure, start, depth)
            }
            Target::List(list) => self.list(&list, at, depth),
        }
    }

    fn structure(
        &mut self,
        structure: &StructAt,
        start: usize,
        depth: usize,
    ) -> Result<(), DecodeError> {
        let end = structure.data + structure.data_len;
        self.bytes(structure.segment, structure.data, end, start);
        for number in 0..structure.pointers {
            let pointer = Spot {
                segment: structure.segment,
                word: structure.pointer + number,
            };
            self.pointer(pointer, start + structure.data_len + number * WORD, depth)?;
        }
        Ok(())
    }

    fn list(&mut self, list: &ListAt, at: usize, depth: usize) -> Result<(), DecodeError> {
        let each = list.data + list.pointers;
        let words = match list.size {
            ElementSize::Composite => list.count * each + 1,
            size => (list.count * size.bits()).div_ceil(64),
        };
        self.spend(list.cost().saturating_sub(words))?;
        let start = self.room(words)?;
        let offset = self.distance(at, start);
        let count = match list.size {
            ElementSize::Composite => words - 1,
            _ => list.count,
        };
        let pointer = Pointer::List {
            offset,
            size: list.size,
            count: count as u32,
        };
        self.point(at, pointer);
        let from = list.word * WORD;
        match list.size {
            ElementSize::Composite => {
                let tag = Pointer::Struct {
                    offset: list.count as i32,
                    data: list.data as u16,
                    pointers: list.pointers as u16,
                };
                self.point(start, tag);
                for number in 0..list.count {
                    let structure = StructAt {
                        segment: list.segment,
                        data: from + number * each * WORD,
                        data_len: list.data * WORD,
                        pointer: list.word + number * each + list.data,
                        pointers: list.pointers,
                    };
                    self.structure(&structure, start + (1 + number * each) * WORD, depth)?;
                }
            }
            ElementSize::Pointer => {
                for number in 0..list.count {
                    let pointer = Spot {
                        segment: list.segment,
                        word: list.word + number,
                    };
                    self.pointer(pointer, start + number * WORD, depth)?;
                }
            }
            size => {
                let len = (list.count * size.bits()).div_ceil(8);
                self.bytes(list.segment, from, from + len, start);
            }
        }
        Ok(())
    }

    fn spend(&mut self, words: usize) -> Result<(), DecodeError> {
        match self.left.checked_sub(words) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(DecodeError::malformed("a value that is too large")),
        }
    }

    fn room(&mut self, words: usize) -> Result<usize, DecodeError> {
        self.spend(words)?;
        let start = self.out.len();
        if (start - self.base) / WORD + words > MAX {
            return Err(DecodeError::malformed("a value that is too large"));
        }
        self.out.resize(start + words * WORD, 0);
        Ok(start)
    }

    fn distance(&self, at: usize, target: usize) -> i32 {
        let word = |byte: usize| ((byte - self.base) / WORD) as i64;
        (word(target) - word(at) - 1) as i32
    }

    fn point(&mut self, at: usize, pointer: Pointer) {
        if let Some(place) = self.out.get_mut(at..at + WORD) {
            place.copy_from_slice(&pointer.encode().to_le_bytes());
        }
    }

    fn bytes(&mut self, segment: u32, from: usize, end: usize, to: usize) {
        let bytes = self.from.segment(segment).and_then(|it| it.get(from..end));
        let place = self.out.get_mut(to..to + end - from);
        if let (Some(bytes), Some(place)) = (bytes, place) {
            place.copy_from_slice(bytes);
        }
    }
}
