//! Which chunks of a segment its owner may write. Owner and peer count for each chunk, the one how
//! often it was sent, the other how often it was returned; it is free where both are equal. So each
//! counter has one writer, nothing has to be taken back from a list, and a peer that lies keeps or
//! spoils only its own chunks.

use crate::word::Word;

/// The owner's side.
#[derive(Debug)]
pub(crate) struct Pool {
    sent: Vec<u32>,
}

impl Pool {
    pub(crate) fn new(chunks: u32) -> Self {
        Pool {
            sent: vec![0; chunks as usize],
        }
    }

    /// The chunks that the peer does not have. The first ones are likely to be in the cache: they
    /// are used most.
    pub(crate) fn free<'a>(&'a self, returned: &'a [Word]) -> impl Iterator<Item = u32> + 'a {
        let both = self.sent.iter().zip(returned).enumerate();
        both.filter(|(_, (sent, returned))| returned.observe() == **sent)
            .map(|(index, _)| index as u32)
    }

    /// Counts what goes to the peer now.
    pub(crate) fn sent(&mut self, index: u32) {
        if let Some(sent) = self.sent.get_mut(index as usize) {
            *sent = sent.wrapping_add(1);
        }
    }
}
