//! The objects that each end of a connection has passed to the other, with counted references.

use super::message::Exception;
use std::collections::HashMap;

/// A table whose numbers this end gives out: the smallest free one each time.
#[derive(Debug)]
pub(super) struct Numbered<T> {
    entries: HashMap<u32, T>,
    free: Vec<u32>,
    next: u32,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Numbered {
            entries: HashMap::new(),
            free: Vec::new(),
            next: 0,
        }
    }
}

impl<T> Numbered<T> {
    pub(super) fn add(&mut self, entry: T) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        });
        self.entries.insert(number, entry);
        number
    }

    pub(super) fn get(&self, number: u32) -> Option<&T> {
        self.entries.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.entries.get_mut(&number)
    }

    pub(super) fn remove(&mut self, number: u32) -> Option<T> {
        let entry = self.entries.remove(&number)?;
        self.free.push(number);
        Some(entry)
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = (u32, T)> + '_ {
        self.free.clear();
        self.next = 0;
        self.entries.drain()
    }
}

/// The objects of this end that the peer has references to.
#[derive(Debug, Default)]
pub(super) struct Exports {
    table: Numbered<Export>,
    numbers: HashMap<u64, u32>,
}

#[derive(Debug)]
struct Export {
    object: u64,
    references: u32,
}

impl Exports {
    /// Another reference to an object goes to the peer; its number there.
    pub(super) fn pass(&mut self, object: u64) -> u32 {
        if let Some(number) = self.numbers.get(&object)
            && let Some(export) = self.table.get_mut(*number)
        {
            export.references = export.references.saturating_add(1);
            return *number;
        }
        let references = 1;
        let number = self.table.add(Export { object, references });
        self.numbers.insert(object, number);
        number
    }

    pub(super) fn object(&self, number: u32) -> Option<u64> {
        self.table.get(number).map(|export| export.object)
    }

    /// The peer gives references back; the object whose last one that was. An error where it has not as many.
    pub(super) fn release(&mut self, number: u32, count: u32) -> Result<Option<u64>, Wrong> {
        let export = self.table.get_mut(number).ok_or(Wrong)?;
        export.references = export.references.checked_sub(count).ok_or(Wrong)?;
        if export.references > 0 {
            return Ok(None);
        }
        let object = export.object;
        self.table.remove(number);
        self.numbers.remove(&object);
        Ok(Some(object))
    }

    /// All objects, when the connection is over.
    pub(super) fn drain(&mut self) -> Vec<u64> {
        self.numbers.clear();
        self.table
            .drain()
            .map(|(_, export)| export.object)
            .collect()
    }
}

/// The peer names something that is not there.
#[derive(Debug)]
pub(super) struct Wrong;

/// The objects of the peer that this end has references to: how many, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Imports(HashMap<u32, Import>);

#[derive(Debug, Default)]
pub(super) struct Import {
    references: u32,
    /// The object that a promise has become, or the failure.
    pub(super) resolved: Option<Result<super::Object, Exception>>,
}

impl Imports {
    /// The peer has passed another reference.
    pub(super) fn receive(&mut self, number: u32) {
        let import = self.0.entry(number).or_default();
        import.references = import.references.saturating_add(1);
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Import> {
        self.0.get_mut(&number)
    }

    /// This end lets an object go: the references to give back.
    pub(super) fn release(&mut self, number: u32) -> Option<u32> {
        self.0.remove(&number).map(|import| import.references)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
