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
    /// Those of the references that calls brought which were forwarded to the peer: the owner does
    /// not know of them.
    forwarded: u32,
    /// The answers and the waiting calls that lead to it.
    held: u32,
    /// References that the peer has given back meanwhile: they count when nothing leads to it any
    /// longer.
    late: u32,
}

impl Exports {
    /// Another reference to an object goes to the peer; its number there.
    pub(super) fn pass(&mut self, object: u64, forwarded: bool) -> u32 {
        let number = *self.numbers.entry(object).or_insert_with(|| {
            self.table.add(Export {
                object,
                references: 0,
                forwarded: 0,
                held: 0,
                late: 0,
            })
        });
        if let Some(export) = self.table.get_mut(number) {
            export.references = export.references.saturating_add(1);
            export.forwarded += u32::from(forwarded);
        }
        number
    }

    pub(super) fn object(&self, number: u32) -> Option<u64> {
        self.table.get(number).map(|export| export.object)
    }

    /// An answer or a waiting call leads to an object: until it is [let go](Self::let_go), it
    /// stays.
    pub(super) fn hold(&mut self, object: u64) {
        if let Some(export) = self.export(object) {
            export.held += 1;
        }
    }

    /// An answer or a waiting call does not lead to an object any longer. Returns how many
    /// references its owner has back.
    pub(super) fn let_go(&mut self, object: u64) -> u32 {
        let Some(export) = self.export(object) else {
            return 0;
        };
        export.held = export.held.saturating_sub(1);
        if export.held > 0 {
            return 0;
        }
        let late = std::mem::take(&mut export.late);
        let number = self.numbers.get(&object).copied();
        let released = number.and_then(|number| self.release(number, late).ok());
        released.map_or(0, |(_, count)| count)
    }

    fn export(&mut self, object: u64) -> Option<&mut Export> {
        let number = self.numbers.get(&object)?;
        self.table.get_mut(*number)
    }

    /// The peer gives references back to an object. Returns the object, and how many of the
    /// references its owner has passed: those are given back last. An error where the peer has not
    /// as many.
    pub(super) fn release(&mut self, number: u32, count: u32) -> Result<(u64, u32), Wrong> {
        let export = self.table.get_mut(number).ok_or(Wrong)?;
        let left = export.references.checked_sub(export.late).ok_or(Wrong)?;
        let left = left.checked_sub(count).ok_or(Wrong)?;
        if export.held > 0 {
            export.late += count;
            return Ok((export.object, 0));
        }
        export.references = left;
        let forwarded = export.forwarded.min(count);
        export.forwarded -= forwarded;
        let object = export.object;
        if left == 0 {
            self.table.remove(number);
            self.numbers.remove(&object);
        }
        Ok((object, count - forwarded))
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

/// References that are given back.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// How many.
    pub(super) count: u32,
    /// The object that the promise had become of which these are the last.
    pub(super) resolved: Option<Result<super::Object, Exception>>,
}

/// The objects of the peer that this end has references to: how many, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Imports(HashMap<u32, Import>);

#[derive(Debug, Default)]
pub(super) struct Import {
    references: u32,
    /// References that came from this end itself: the first ones that are released are these.
    lent: u32,
    /// The answers that lead to it.
    held: u32,
    /// References that are given back when no answer leads to it any longer.
    late: u32,
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

    /// This end gives itself a reference.
    pub(super) fn lend(&mut self, number: u32) {
        if let Some(import) = self.0.get_mut(&number) {
            import.lent += 1;
        }
    }

    /// An answer leads to an object: until it is [let go](Self::let_go), no reference to it is
    /// given back.
    pub(super) fn hold(&mut self, number: u32) {
        if let Some(import) = self.0.get_mut(&number) {
            import.held += 1;
        }
    }

    /// An answer does not lead to an object any longer. Returns the references that are to be given
    /// back.
    pub(super) fn let_go(&mut self, number: u32) -> u32 {
        let Some(import) = self.0.get_mut(&number) else {
            return 0;
        };
        import.held = import.held.saturating_sub(1);
        match import.held {
            0 => std::mem::take(&mut import.late),
            _ => 0,
        }
    }

    /// This end gives back so many references to an object, or as many as there are.
    pub(super) fn release(&mut self, number: u32, count: u32) -> Given {
        let Some(import) = self.0.get_mut(&number) else {
            return Given::default();
        };
        if import.held > 0 {
            import.late = import.late.saturating_add(count);
            return Given::default();
        }
        let lent = import.lent.min(count);
        import.lent -= lent;
        let count = (count - lent).min(import.references);
        import.references -= count;
        let last = match import.references {
            0 => self.0.remove(&number),
            _ => None,
        };
        Given {
            count,
            resolved: last.and_then(|import| import.resolved),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
