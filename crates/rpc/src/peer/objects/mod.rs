//! Objects that the ends of a connection pass to each other.
//!
//! ```text
//!   handler ── ObjectRef ─► Transfer ─► number      number ─► Transfer ─► ObjectRef ─► Channel
//!                              │                                 │
//!                           Objects: what the other end has, and what this one has of the other's
//! ```

mod caps;
pub(crate) mod local;
mod macros;
mod owned;
mod passage;
mod reference;
mod remote;
mod transfer;

pub use reference::ObjectRef;

pub(crate) use caps::{ReceivedCaps, SentCaps};
pub(crate) use owned::Owned;
pub(crate) use passage::Passage;
pub(crate) use reference::ObjectPlace;
pub(crate) use remote::{ObjectState as RemoteState, Remote, Slot};
pub(crate) use transfer::{Collected, Transfer, Unsent};

use crate::method::{Method, ServiceDescriptor};
use crate::peer::capnp;
use crate::peer::link::Link;
use crate::{Code, Service, Status};
use dovetail_protocol::dovetail::{Contract, Directory, Exports, NotExported};
use dovetail_protocol::{Execution, Name};
use dovetail_wire::{DecodeError, DecodeErrorKind, EncodeError};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// The objects that the two ends of a connection have of each other.
///
/// Locks are taken in this order: the connection's table, this, a remote object. Nothing that may
/// be somebody's last reference is dropped under them.
pub(crate) struct Objects {
    home: OnceLock<Weak<Link>>,
    most: usize,
    table: Mutex<Table>,
    /// The other end has had a reference to an object of this one.
    exporting: AtomicBool,
    /// This end has had a reference to an object of the other one.
    importing: AtomicBool,
    /// There is something in `unused`.
    untidy: AtomicBool,
}

struct Table {
    exports: Exports<Owned>,
    imports: HashMap<u32, Weak<Remote>>,
    /// Objects that are out of the table, and to be dropped where no lock is held.
    unused: Vec<Owned>,
    /// The services of which there may be objects.
    services: Vec<&'static ServiceDescriptor>,
    methods: Vec<ObjectMethod>,
    /// Those that were called by Cap'n Proto's protocol.
    placed: HashMap<capnp::MethodKey, capnp::Found>,
    ended: bool,
}

/// A method that is called on objects.
#[derive(Clone, Copy)]
pub(crate) struct ObjectMethod {
    pub(crate) descriptor: &'static ServiceDescriptor,
    pub(crate) number: usize,
    pub(crate) method: &'static Method,
}

/// Methods of objects have numbers from here on, beyond those of all routers.
pub(crate) const ROUTES: usize = 1 << 24;

impl Objects {
    /// Makes the table of a connection that may have so many in each direction.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Objects {
            home: OnceLock::new(),
            most,
            table: Mutex::new(Table {
                exports: Exports::new(most),
                imports: HashMap::new(),
                unused: Vec::new(),
                services: Vec::new(),
                methods: Vec::new(),
                placed: HashMap::new(),
                ended: false,
            }),
            exporting: AtomicBool::new(false),
            importing: AtomicBool::new(false),
            untidy: AtomicBool::new(false),
        })
    }

    /// Says which connection it is, once.
    pub(crate) fn settle(&self, link: &Arc<Link>) {
        // There is only one.
        let _ = self.home.set(Arc::downgrade(link));
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Services whose objects may be named before any of them was passed.
    pub(crate) fn expect(&self, services: &[&'static ServiceDescriptor]) {
        if !services.is_empty() {
            self.lock().services.extend(services);
        }
    }

    /// The number of an object of this end's, for another reference to it.
    fn export(&self, service: &Arc<dyn Service>) -> Result<u32, EncodeError> {
        let mut table = self.lock();
        if table.ended {
            return Err(ENDED);
        }
        let key = Arc::as_ptr(service).addr();
        let mut new = false;
        let number = table.exports.export(key, || {
            new = true;
            Owned::here(service.clone(), self)
        });
        let number = number.map_err(|full| EncodeError::TooManyObjects { limit: full.limit })?;
        if !new && let Some(known) = table.exports.get_mut(number) {
            known.passed_again(self);
        }
        reach(service.descriptor(), &mut table.services);
        self.exporting.store(true, Ordering::Release);
        Ok(number)
    }

    fn take_back(&self, number: u32) {
        let mut table = self.lock();
        if let Some(unused) = table.exports.take_back(number) {
            self.put_away(&mut table, unused);
        }
    }

    /// The other end has no longer so many references to an object.
    pub(crate) fn release(&self, number: u32, count: u64) -> Result<(), NotExported> {
        let mut table = self.lock();
        if let Some(unused) = table.exports.release(number, count)? {
            self.put_away(&mut table, unused);
        }
        Ok(())
    }

    fn put_away(&self, table: &mut Table, unused: Owned) {
        table.unused.push(unused);
        self.untidy.store(true, Ordering::Release);
    }

    /// True once either end has had a reference to an object of the other one.
    pub(crate) fn were_passed(&self) -> bool {
        self.exporting.load(Ordering::Relaxed) || self.importing.load(Ordering::Relaxed)
    }

    /// Drops what nobody uses any longer. Only where no lock is held.
    pub(crate) fn tidy(&self) {
        if self.untidy.load(Ordering::Acquire) && self.untidy.swap(false, Ordering::AcqRel) {
            let unused = std::mem::take(&mut self.lock().unused);
            drop(unused);
        }
    }

    /// The object of this end's with a number.
    pub(crate) fn get(&self, number: u32) -> Option<Owned> {
        self.lock().exports.get(number).cloned()
    }

    /// The object of the other end's with a number, for another reference to it.
    fn import(&self, number: u32) -> Result<Arc<Remote>, DecodeError> {
        let mut table = self.lock();
        let known = table.imports.get(&number).and_then(Weak::upgrade);
        if let Some(known) = known {
            known.add_reference();
            return Ok(known);
        }
        if table.imports.len() >= self.most {
            return Err(DecodeErrorKind::TooManyObjects { limit: self.most }.into());
        }
        let home = self.home.get().and_then(Weak::upgrade);
        let home = home.ok_or_else(|| DecodeError::malformed("the connection has ended"))?;
        let remote = Arc::new(Remote::new(home, number));
        table.imports.insert(number, Arc::downgrade(&remote));
        self.importing.store(true, Ordering::Relaxed);
        Ok(remote)
    }

    /// An object of the other end's is gone here.
    pub(crate) fn dropped(&self, number: u32, remote: *const Remote) {
        let mut table = self.lock();
        let own = table.imports.get(&number);
        if own.is_some_and(|known| std::ptr::eq(known.as_ptr(), remote)) {
            table.imports.remove(&number);
        }
    }

    /// For a message that is kept to be read later; `None` where there is nothing that it could
    /// refer to.
    pub(crate) fn lease(self: &Arc<Self>) -> Option<Lease> {
        self.exporting.load(Ordering::Acquire).then(|| {
            self.lock().exports.lease();
            Lease(self.clone())
        })
    }

    /// The connection has ended, and with it all references.
    pub(crate) fn end(&self) {
        let mut table = self.lock();
        table.ended = true;
        let mut unused = table.exports.clear();
        unused.append(&mut table.unused);
        drop(table);
        drop(unused);
    }

    /// The method with one of the numbers that [`ObjectDirectory`] gave.
    pub(crate) fn method(&self, route: usize) -> Option<ObjectMethod> {
        let index = route.checked_sub(ROUTES)?;
        self.lock().methods.get(index).copied()
    }

    fn find(&self, service: &str, method: &str) -> Option<(usize, Arc<Contract>)> {
        let mut table = self.lock();
        let mut services = table.services.iter();
        let descriptor = *services.find(|known| known.name == service)?;
        let (number, method) = descriptor.iter().find(|(_, known)| known.name == method)?;
        let route = table.route(descriptor, number, method);
        Some((route, Arc::new(method.contract(Name::default()))))
    }

    fn placed(&self, place: capnp::MethodKey) -> Option<capnp::Found> {
        let mut table = self.lock();
        if let Some(found) = table.placed.get(&place) {
            return Some(*found);
        }
        let mut methods = table.services.iter().flat_map(|descriptor| {
            let methods = descriptor.iter();
            methods.map(|(number, method)| (*descriptor, number, method))
        });
        let (descriptor, number, method, placed) =
            methods.find_map(|(service, number, method)| {
                let placed = capnp::Method::of(method).filter(|placed| placed.place == place)?;
                Some((service, number, method, placed))
            })?;
        let found = (table.route(descriptor, number, method), placed);
        table.placed.insert(place, found);
        Some(found)
    }
}

impl Table {
    /// Adds a method that is called on objects; returns its number.
    fn route(
        &mut self,
        descriptor: &'static ServiceDescriptor,
        number: usize,
        method: &'static Method,
    ) -> usize {
        self.methods.push(ObjectMethod {
            descriptor,
            number,
            method,
        });
        ROUTES + self.methods.len() - 1
    }
}

/// The service and those whose objects its methods pass, directly or not.
pub(crate) fn reach(
    service: &'static ServiceDescriptor,
    services: &mut Vec<&'static ServiceDescriptor>,
) {
    let mut left = vec![service];
    while let Some(service) = left.pop() {
        if !services.iter().any(|known| std::ptr::eq(*known, service)) {
            services.push(service);
            left.extend(service.objects);
            left.extend(service.base);
        }
    }
}

/// A message that is not read yet; see [`Exports`]. Ends where no lock is held.
pub(crate) struct Lease(Arc<Objects>);

impl Drop for Lease {
    fn drop(&mut self) {
        let unused = self.0.lock().exports.end_lease();
        drop(unused);
    }
}

/// The directory of the methods of an end's services, and of the objects that it may have passed.
pub(crate) struct ObjectDirectory<'a> {
    pub(crate) services: &'a dyn capnp::Directory,
    pub(crate) objects: &'a Arc<Objects>,
}

impl Directory for ObjectDirectory<'_> {
    fn find(&self, service: &str, method: &str) -> Result<(usize, Arc<Contract>), Status> {
        let found = self.services.find(service, method);
        found.or_else(|why| self.objects.find(service, method).ok_or(why))
    }
}

impl ObjectDirectory<'_> {
    /// The method at a place of Cap'n Proto's protocol.
    pub(crate) fn placed(&self, place: capnp::MethodKey) -> Option<capnp::Found> {
        let found = self.services.placed(place);
        found.or_else(|| self.objects.placed(place))
    }
}

/// A call on an object that is not there.
#[cold]
pub(crate) fn no_object() -> Status {
    let what = "no such object here: it has been released, or was never passed";
    Status::new(Code::NotFound, what).with_execution(Execution::NotStarted)
}

/// A call on a reference that leads to no object.
#[cold]
pub(crate) fn no_reference() -> Status {
    Status::new(Code::FailedPrecondition, "the reference leads to no object")
}

/// A call by a channel of the other kind than that which has made the connection.
#[cold]
pub(crate) fn wrong_channel(which: &str) -> Status {
    let what = format!("what comes by {which} channel can only be called by one");
    Status::new(Code::FailedPrecondition, what)
}

const ENDED: EncodeError = EncodeError::Unsupported {
    what: "objects on a connection that has ended",
};
