//! The numbers of nodes, while one message is read or written.

use crate::{DecodeError, DecodeErrorKind, EncodeError};
use std::any::Any;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// The nodes of a message that have been read, or begun, by number. Takes no memory before the first one.
#[derive(Default)]
pub struct ReadNodes(BTreeMap<u64, Box<dyn Any>>);

impl ReadNodes {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// Keeps a node; an error where its number is taken.
    pub fn insert<N: Any>(&mut self, number: u64, node: N) -> Result<(), DecodeError> {
        match self.0.entry(number) {
            Entry::Vacant(place) => {
                place.insert(Box::new(node));
                Ok(())
            }
            Entry::Occupied(_) => Err(bad(number, "is there twice")),
        }
    }

    /// Puts a node in the place of what stood for it while it was read.
    pub fn complete<N: Any>(&mut self, number: u64, node: N) {
        self.0.insert(number, Box::new(node));
    }

    /// The node of this number.
    pub fn get<N: Any + Clone>(&self, number: u64) -> Result<N, DecodeError> {
        let Some(node) = self.0.get(&number) else {
            return Err(bad(number, "has not come before it"));
        };
        match node.downcast_ref::<N>() {
            Some(node) => Ok(node.clone()),
            None => Err(bad(number, "is of another type")),
        }
    }
}

#[cold]
fn bad(number: u64, problem: &'static str) -> DecodeError {
    DecodeErrorKind::BadReference { number, problem }.into()
}

/// Which node is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbered {
    /// One that has not been written; it gets this number.
    New(u64),
    /// One that has been written under this number.
    Again(u64),
}

/// The nodes of a message that have been written. Takes no memory before the first one.
#[derive(Debug, Default)]
pub struct WrittenNodes {
    /// By address, or by what else they are known by. Their owners, so that no address is used again.
    numbers: BTreeMap<u64, (u64, Option<Arc<dyn Any>>)>,
    /// There are numbers from an earlier message.
    foreign: bool,
}

const FOREIGN: EncodeError = EncodeError::Unsupported {
    what: "references beside those in fields that the contract does not have: their numbers would mix",
};

impl WrittenNodes {
    /// The number of the value behind this pointer.
    pub fn of<T: 'static>(&mut self, node: &Arc<T>) -> Result<Numbered, EncodeError> {
        let address = Arc::as_ptr(node).addr() as u64;
        self.number(address, Some(|| Arc::clone(node) as Arc<dyn Any>))
    }

    /// The number of the node with this label, which is unique among those of the message.
    pub fn labelled(&mut self, label: u64) -> Result<Numbered, EncodeError> {
        self.number(label, None::<fn() -> Arc<dyn Any>>)
    }

    /// The number of a node that nothing refers to again.
    pub fn anonymous(&mut self) -> Result<u64, EncodeError> {
        // Neither an address nor a label is that large.
        let number = self.numbers.len() as u64;
        self.labelled(u64::MAX - number).map(|_| number)
    }

    fn number(
        &mut self,
        key: u64,
        owner: Option<impl FnOnce() -> Arc<dyn Any>>,
    ) -> Result<Numbered, EncodeError> {
        if self.foreign {
            return Err(FOREIGN);
        }
        let next = self.numbers.len() as u64;
        match self.numbers.entry(key) {
            Entry::Occupied(known) => Ok(Numbered::Again(known.get().0)),
            Entry::Vacant(place) => {
                place.insert((next, owner.map(|owner| owner())));
                Ok(Numbered::New(next))
            }
        }
    }

    /// Numbers from an earlier message are about to be written: they and new ones do not go together.
    pub(crate) fn foreign(&mut self) -> Result<(), EncodeError> {
        self.foreign = true;
        match self.numbers.is_empty() {
            true => Ok(()),
            false => Err(FOREIGN),
        }
    }
}
