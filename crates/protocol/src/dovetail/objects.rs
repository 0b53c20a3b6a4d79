//! References to objects: their numbers on the wire, and the objects that an end has passed to the
//! other one. `docs/spec/wire.md`, "Objects".

use std::collections::HashMap;

/// The end that owns the object of a reference, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The end that sent the reference.
    Sender(u32),
    /// The end that got it: the reference comes home.
    Receiver(u32),
    /// The receiver: the result of the sender's call of this number.
    Result(u32),
}

/// Numbers of objects that have not been returned yet begin here.
const RESULTS: u64 = 1 << 32;

/// Reads a value; `None` where no object can have the number.
pub fn owner(value: u64) -> Option<Owner> {
    let number = value >> 1;
    let result = number.checked_sub(RESULTS).map(u32::try_from);
    Some(match (value & 1, result) {
        (0, _) => Owner::Sender(u32::try_from(number).ok()?),
        (_, None) => Owner::Receiver(u32::try_from(number).ok()?),
        (_, Some(call)) => Owner::Result(call.ok()?),
    })
}

/// The value that is a reference to an object of the sender.
pub fn of_sender(number: u32) -> u64 {
    u64::from(number) << 1
}

/// The value that is a reference to an object of the receiver.
pub fn of_receiver(number: u32) -> u64 {
    u64::from(number) << 1 | 1
}

/// The value that is a reference to what a call of the sender returns, an object of the receiver.
pub fn of_result(call: u32) -> u64 {
    (RESULTS | u64::from(call)) << 1 | 1
}

/// The objects of this end that the other one has references to. Plain data: what an object is, the
/// driver knows.
///
/// Answers are written away from the machine, and so the driver keeps this beside it.
///
/// # Calling contract
///
/// - [`export`](Self::export) for each reference that is written, [`take_back`](Self::take_back)
///   for one that is known not to have been received.
/// - [`release`](Self::release) for [`Event::Released`](super::Event::Released). A message that
///   came before it can have references that come home, and is perhaps read behind it: who keeps
///   such a message takes a [`lease`](Self::lease) until it is read. Releases wait for that.
/// - What a method gives back is out of the table, and is to be dropped where dropping may do
///   anything.
#[derive(Debug)]
pub struct Exports<T> {
    objects: HashMap<u32, Export<T>>,
    /// The numbers, by what the driver knows objects by.
    numbers: HashMap<usize, u32>,
    next: u32,
    most: usize,
    leases: usize,
    /// References that have been released while messages were not yet read.
    late: HashMap<u32, u64>,
}

#[derive(Debug)]
struct Export<T> {
    object: T,
    key: usize,
    /// How often the other end was sent the number and has not released it.
    count: u64,
}

/// There are as many objects as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany {
    /// How many.
    pub limit: usize,
}

/// The other end releases what it was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotExported;

impl<T> Exports<T> {
    /// No objects, and room for so many.
    pub fn new(most: usize) -> Self {
        Exports {
            objects: HashMap::new(),
            numbers: HashMap::new(),
            next: 1,
            most,
            leases: 0,
            late: HashMap::new(),
        }
    }

    /// The number of an object, for another reference to it. `key` is of this object alone as long
    /// as it is here.
    pub fn export(&mut self, key: usize, object: impl FnOnce() -> T) -> Result<u32, TooMany> {
        if let Some(number) = self.numbers.get(&key)
            && let Some(export) = self.objects.get_mut(number)
        {
            export.count += 1;
            return Ok(*number);
        }
        if self.objects.len() >= self.most {
            return Err(TooMany { limit: self.most });
        }
        let number = self.number();
        let export = Export {
            object: object(),
            key,
            count: 1,
        };
        self.objects.insert(number, export);
        self.numbers.insert(key, number);
        Ok(number)
    }

    /// One that is not in use, and has not been for as long as possible.
    fn number(&mut self) -> u32 {
        loop {
            let number = self.next;
            self.next = number.wrapping_add(1).max(1);
            if !self.objects.contains_key(&number) {
                return number;
            }
        }
    }

    /// A reference was not received. The object, if that was the last one.
    pub fn take_back(&mut self, number: u32) -> Option<T> {
        self.subtract(number, 1)
    }

    /// The other end has no longer so many references. The object, if those were the last ones.
    pub fn release(&mut self, number: u32, count: u64) -> Result<Option<T>, NotExported> {
        let sent = self.objects.get(&number).map_or(0, |export| export.count);
        let late = self.late.get(&number).copied().unwrap_or(0);
        if count > sent.saturating_sub(late) {
            return Err(NotExported);
        }
        if self.leases > 0 {
            self.late.insert(number, late + count);
            return Ok(None);
        }
        Ok(self.subtract(number, count))
    }

    fn subtract(&mut self, number: u32, count: u64) -> Option<T> {
        let export = self.objects.get_mut(&number)?;
        export.count = export.count.saturating_sub(count);
        if export.count > 0 {
            return None;
        }
        let export = self.objects.remove(&number)?;
        self.numbers.remove(&export.key);
        Some(export.object)
    }

    /// The object with this number; `None` where it has been released, or never was.
    pub fn get(&self, number: u32) -> Option<&T> {
        self.objects.get(&number).map(|export| &export.object)
    }

    /// Like `get`, to change the value.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let export = self.objects.get_mut(&number);
        export.map(|export| &mut export.object)
    }

    /// A message is kept to be read later.
    pub fn lease(&mut self) {
        self.leases += 1;
    }

    /// The message has been read. The objects that have waited only for that.
    pub fn end_lease(&mut self) -> Vec<T> {
        self.leases = self.leases.saturating_sub(1);
        if self.leases > 0 || self.late.is_empty() {
            return Vec::new();
        }
        let late = std::mem::take(&mut self.late);
        late.into_iter()
            .filter_map(|(number, count)| self.subtract(number, count))
            .collect()
    }

    /// The connection has ended: all objects.
    pub fn clear(&mut self) -> Vec<T> {
        self.numbers.clear();
        self.late.clear();
        self.objects
            .drain()
            .map(|(_, export)| export.object)
            .collect()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }
}
