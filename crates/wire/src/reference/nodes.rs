//! The numbers of nodes, while one message is read or written.

use crate::{DecodeError, DecodeErrorKind, EncodeError, Node, Reader, Value, Writer};
use std::any::Any;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::Arc;

/// The nodes of a message that have been read, or begun, by number. Takes no memory before the
/// first one.
#[derive(Default)]
pub struct ReadNodes {
    /// The encoding has nodes behind the value. In others each node stands where it is named.
    apart: bool,
    /// On the heap: most messages have no nodes, and pay for none.
    table: Option<Box<ReadTable>>,
}

#[derive(Default)]
struct ReadTable {
    nodes: BTreeMap<u64, ReadNode>,
    /// Those that have been named and come behind the value, the one that was named last at the
    /// end.
    later: Vec<Box<dyn ReadLater>>,
    /// How many of those have come.
    part: u64,
}

/// A node, in which part of the message it stands, and whether that has come.
struct ReadNode {
    node: Box<dyn Any>,
    part: u64,
    comes_later: bool,
}

/// A node that comes behind the value.
pub(crate) trait ReadLater {
    /// Reads it.
    fn read(&self, reader: &mut dyn Reader<'_>) -> Result<(), DecodeError>;
}

/// Bytes that the reader keeps for a node behind the value, in addition to
/// [`NODE_MEMORY`](super::NODE_MEMORY).
pub(crate) const LATER_MEMORY: usize = 256;

impl ReadNodes {
    /// In an encoding in which nodes may come behind the value.
    pub(crate) fn apart() -> Self {
        ReadNodes {
            apart: true,
            table: None,
        }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.table
            .as_ref()
            .map_or(0, |table| table.nodes.len() as u64)
    }

    /// Keeps a node; an error where its number is taken.
    pub fn insert<N: Any>(&mut self, number: u64, node: N) -> Result<(), DecodeError> {
        self.put(number, node, false)
    }

    fn put<N: Any>(&mut self, number: u64, node: N, later: bool) -> Result<(), DecodeError> {
        let table = self.table.get_or_insert_default();
        match table.nodes.entry(number) {
            Entry::Vacant(place) => {
                place.insert(ReadNode {
                    node: Box::new(node),
                    part: table.part,
                    comes_later: later,
                });
                Ok(())
            }
            Entry::Occupied(_) => Err(bad(number, "is there twice")),
        }
    }

    /// Puts a node in the place of what stood for it while it was read.
    pub fn complete<N: Any>(&mut self, number: u64, node: N) {
        let table = self.table.as_mut();
        if let Some(known) = table.and_then(|table| table.nodes.get_mut(&number)) {
            known.node = Box::new(node);
        }
    }

    /// The node of this number.
    pub fn get<N: Any + Clone>(&self, number: u64) -> Result<N, DecodeError> {
        self.find(number).map(|(node, _)| node)
    }

    /// The node of this number, and whether it stands in an earlier part of the message.
    pub(crate) fn find<N: Any + Clone>(&self, number: u64) -> Result<(N, bool), DecodeError> {
        let table = self.table.as_ref();
        let known = table.and_then(|table| Some((table.nodes.get(&number)?, table.part)));
        let Some((known, part)) = known else {
            return Err(bad(number, "has not come before it"));
        };
        let before = !known.comes_later && known.part != part;
        match known.node.downcast_ref::<N>() {
            Some(node) => Ok((node.clone(), before)),
            None => Err(bad(number, "is of another type")),
        }
    }

    /// True if a node with a new number may come behind the value.
    pub(crate) fn may_come_later(&self) -> bool {
        self.apart
    }

    /// Awaits a node behind the value; until then `node` stands for it.
    pub(crate) fn wait<N: Any>(
        &mut self,
        number: u64,
        node: N,
        later: impl ReadLater + 'static,
    ) -> Result<(), DecodeError> {
        self.put(number, node, true)?;
        let table = self.table.get_or_insert_default();
        table.later.push(Box::new(later));
        Ok(())
    }

    /// The node that comes next behind the value.
    pub(crate) fn next_part(&mut self) -> Option<Box<dyn ReadLater>> {
        let table = self.table.as_mut()?;
        let next = table.later.pop()?;
        table.part += 1;
        Some(next)
    }

    /// Forgets what stands for a node that comes now.
    pub(crate) fn comes(&mut self, number: u64) {
        if let Some(table) = &mut self.table {
            table.nodes.remove(&number);
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
    /// One that has not been written, and is written behind the value, under this number.
    Later(u64),
}

/// The nodes of a message that have been written. Takes no memory before the first one.
#[derive(Debug, Default)]
pub struct WrittenNodes {
    /// There are numbers from an earlier message.
    foreign: bool,
    /// On the heap: most messages have no nodes, and pay for none.
    table: Option<Box<WrittenTable>>,
}

#[derive(Debug, Default)]
struct WrittenTable {
    /// By address, or by what else they are known by. Their owners, so that no address is used
    /// again.
    numbers: BTreeMap<u64, (u64, Option<Arc<dyn Any>>)>,
    /// Those that are written behind the value, the one that was named last at the end.
    later: Later,
}

/// A node that is written behind the value.
pub(crate) trait WriteLater {
    /// Writes it.
    fn write(&self, writer: &mut dyn Writer) -> Result<(), EncodeError>;
}

impl<T: Node> WriteLater for T {
    fn write(&self, writer: &mut dyn Writer) -> Result<(), EncodeError> {
        Value::write(self, writer)
    }
}

#[derive(Default)]
struct Later(Vec<Arc<dyn WriteLater>>);

impl fmt::Debug for Later {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} nodes", self.0.len())
    }
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

    /// Writes a node behind the value.
    pub(crate) fn wait<T: Node>(&mut self, node: &Arc<T>) {
        let table = self.table.get_or_insert_default();
        table.later.0.push(node.clone());
    }

    /// The node that is written next behind the value.
    pub(crate) fn next_part(&mut self) -> Option<Arc<dyn WriteLater>> {
        self.table.as_mut()?.later.0.pop()
    }

    /// The number of the node with this label, which is unique among those of the message.
    pub fn labelled(&mut self, label: u64) -> Result<Numbered, EncodeError> {
        self.number(label, None::<fn() -> Arc<dyn Any>>)
    }

    /// The number of a node that nothing refers to again.
    pub fn anonymous(&mut self) -> Result<u64, EncodeError> {
        // Neither an address nor a label is that large.
        let number = self.count();
        self.labelled(u64::MAX - number).map(|_| number)
    }

    fn count(&self) -> u64 {
        let table = self.table.as_ref();
        table.map_or(0, |table| table.numbers.len() as u64)
    }

    fn number(
        &mut self,
        key: u64,
        owner: Option<impl FnOnce() -> Arc<dyn Any>>,
    ) -> Result<Numbered, EncodeError> {
        if self.foreign {
            return Err(FOREIGN);
        }
        let next = self.count();
        match self.table.get_or_insert_default().numbers.entry(key) {
            Entry::Occupied(known) => Ok(Numbered::Again(known.get().0)),
            Entry::Vacant(place) => {
                place.insert((next, owner.map(|owner| owner())));
                Ok(Numbered::New(next))
            }
        }
    }

    /// Numbers from an earlier message are about to be written: they and new ones do not go
    /// together.
    pub(crate) fn foreign(&mut self) -> Result<(), EncodeError> {
        self.foreign = true;
        match self.count() {
            0 => Ok(()),
            _ => Err(FOREIGN),
        }
    }
}
