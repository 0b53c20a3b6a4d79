/// Ids that fit without an allocation.
const INLINE: usize = 16;

/// The ids of the fields before, in the structs around the one that is written.
#[derive(Debug, Default)]
pub(crate) struct Stack {
    first: [i32; INLINE],
    len: usize,
    rest: Vec<i32>,
}

impl Stack {
    #[inline]
    pub(crate) fn push(&mut self, id: i32) {
        match self.first.get_mut(self.len) {
            Some(slot) => *slot = id,
            None => self.rest.push(id),
        }
        self.len += 1;
    }

    /// The last one; 0 where there is none.
    #[inline]
    pub(crate) fn pop(&mut self) -> i32 {
        self.len = self.len.saturating_sub(1);
        match self.first.get(self.len) {
            Some(id) => *id,
            None => self.rest.pop().unwrap_or(0),
        }
    }
}
