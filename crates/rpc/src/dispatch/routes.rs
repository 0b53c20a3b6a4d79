#[cfg(feature = "async")]
use super::hold_ups::HoldUps;
use crate::method::{Method, ServiceDescriptor};
use crate::peer::call::{Call, HandlerFuture};
use crate::peer::capnp;
use crate::peer::incoming::Target;
use crate::peer::intercept::{Chain, Interceptors};
use crate::peer::objects::{ObjectMethod, reach};
use crate::web::Spelling;
use crate::{Code, Service, Status};
use dovetail_protocol::dovetail::{Contract, Directory};
use dovetail_protocol::{CallerContract, Execution, KnownContracts, Name};
use dovetail_wire::spelling;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Finds the handler of a call.
pub(crate) struct Routes {
    services: Vec<Box<dyn Service>>,
    entries: Vec<Entry>,
    /// By service, with and without its package, and method name.
    named: HashMap<Cow<'static, str>, HashMap<Cow<'static, str>, EntryName>>,
    /// By method name alone, for callers that name no service; the first service that has it.
    unnamed: HashMap<&'static str, usize>,
    /// By interface and ordinal of Cap'n Proto; the first service that has it.
    placed: HashMap<capnp::MethodKey, capnp::Found>,
    /// The services of the objects that methods pass.
    objects: Vec<&'static ServiceDescriptor>,
    interceptors: Interceptors,
    /// Filled by calls.
    around_objects: Mutex<ObjectChains>,
    /// Those of all methods of objects together.
    #[cfg(feature = "async")]
    hold_ups: HoldUps,
}

/// The interceptors around methods of objects, by service and number.
type ObjectChains = HashMap<(String, usize), Option<Arc<Chain>>>;

/// A method of a service.
struct Entry {
    route: Route,
    /// Made when the first caller asks.
    contract: OnceLock<Arc<Contract>>,
    /// Contracts of callers on foreign wires.
    known: Mutex<KnownContracts>,
    interceptors: Option<Arc<Chain>>,
    #[cfg(feature = "async")]
    hold_ups: HoldUps,
}

impl Entry {
    fn contract(&self) -> &Arc<Contract> {
        let contract = || Arc::new(self.route.method.contract(Name::default()));
        self.contract.get_or_init(contract)
    }

    fn compare(&self, header: &[u8]) -> Result<(), Status> {
        let theirs = CallerContract::read(header)?;
        let ours = self.contract();
        if theirs.is_protobuf() != self.route.method.messages || theirs.equals(ours) {
            return Ok(());
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.compare(ours, theirs)
    }
}

/// The index of a method's entry, and the spelling of its name.
type EntryName = (usize, Spelling);

/// The way to a handler.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    /// Its index among the entries.
    entry: usize,
    service: usize,
    pub(crate) descriptor: &'static ServiceDescriptor,
    pub(crate) number: usize,
    pub(crate) method: &'static Method,
    pub(crate) spelling: Spelling,
}

impl Routes {
    pub(crate) fn new(services: Vec<Box<dyn Service>>, interceptors: Interceptors) -> Self {
        let (mut entries, mut unnamed) = (Vec::new(), HashMap::new());
        let mut named: HashMap<_, HashMap<_, _>> = HashMap::new();
        let (mut objects, mut placed) = (Vec::new(), HashMap::new());
        for (service, handler) in services.iter().enumerate() {
            let descriptor = handler.descriptor();
            if !descriptor.objects.is_empty() || descriptor.base.is_some() {
                reach(descriptor, &mut objects);
            }
            let names = [descriptor.name.into(), descriptor.full_name()];
            for name in &names {
                named.entry(Cow::clone(name)).or_default();
            }
            for (number, method) in descriptor.iter() {
                for name in &names {
                    let methods = named.entry(name.clone()).or_default();
                    let place = (entries.len(), Spelling::Contract);
                    methods.insert(method.name.into(), place);
                }
                if let Some((service, name)) = in_style(descriptor, method) {
                    let methods = named.entry(service.into()).or_default();
                    let place = (entries.len(), Spelling::Buf);
                    methods.entry(name.into()).or_insert(place);
                }
                if !method.service.is_empty() {
                    // That of a service that this one extends, where it is inherited.
                    let methods = named.entry(method.service.into()).or_default();
                    let place = (entries.len(), Spelling::Contract);
                    methods.entry(method.name.into()).or_insert(place);
                }
                if let Some(found) = capnp::Method::of(method) {
                    placed.entry(found.place).or_insert((entries.len(), found));
                }
                unnamed.entry(method.name).or_insert(entries.len());
                let route = Route {
                    entry: entries.len(),
                    service,
                    descriptor,
                    number,
                    method,
                    spelling: Spelling::Contract,
                };
                entries.push(Entry {
                    route,
                    contract: OnceLock::new(),
                    known: Mutex::default(),
                    interceptors: interceptors.chain(descriptor, method),
                    #[cfg(feature = "async")]
                    hold_ups: HoldUps::default(),
                });
            }
        }
        Routes {
            services,
            entries,
            named,
            unnamed,
            placed,
            objects,
            interceptors,
            around_objects: Mutex::default(),
            #[cfg(feature = "async")]
            hold_ups: HoldUps::default(),
        }
    }

    pub(crate) fn objects(&self) -> &[&'static ServiceDescriptor] {
        &self.objects
    }

    pub(crate) fn find(&self, target: &Target) -> Result<Route, Status> {
        let (number, spelling) = match target {
            Target::Named { service, method } => self.place(service.as_deref(), method)?,
            Target::Route(number) => (*number, Spelling::Contract),
            Target::Nothing => return Err(unknown("nothing is called".to_owned())),
        };
        let missing = || unknown("no such method here".to_owned());
        let entry = self.entries.get(number).ok_or_else(missing)?;
        Ok(Route {
            spelling,
            ..entry.route
        })
    }

    /// Compares the contract of a method with that of a caller, whose call has this header. The
    /// error refuses the call.
    pub(crate) fn compare(&self, route: &Route, header: &[u8]) -> Result<(), Status> {
        let entry = self.entries.get(route.entry);
        entry.map_or(Ok(()), |entry| entry.compare(header))
    }

    fn place(&self, service: Option<&str>, method: &str) -> Result<EntryName, Status> {
        let place = match service {
            None => self
                .unnamed
                .get(method)
                .map(|number| (*number, Spelling::Contract)),
            Some(service) => match self.named.get(service) {
                None => return Err(unknown(format!("no service `{service}` here"))),
                Some(methods) => methods.get(method).copied(),
            },
        };
        place.ok_or_else(|| unknown(format!("no method `{method}` here")))
    }

    /// Returns the interceptors around a method.
    pub(crate) fn around(&self, route: &Route) -> Option<&Arc<Chain>> {
        self.entries.get(route.entry)?.interceptors.as_ref()
    }

    /// Returns the interceptors around a method of objects.
    pub(crate) fn around_object(&self, method: &ObjectMethod) -> Option<Arc<Chain>> {
        if self.interceptors.is_empty() {
            return None;
        }
        let place = (method.descriptor.full_name().into_owned(), method.number);
        let known = self.around_objects.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        let chain = || self.interceptors.chain(method.descriptor, method.method);
        known.entry(place).or_insert_with(chain).clone()
    }

    /// Returns the loops that a method has held up; without a route, those that methods of objects
    /// have.
    #[cfg(feature = "async")]
    pub(super) fn hold_ups(&self, route: Option<&Route>) -> &HoldUps {
        let entry = route.and_then(|route| self.entries.get(route.entry));
        entry.map_or(&self.hold_ups, |entry| &entry.hold_ups)
    }

    pub(crate) fn call(&self, route: Route, call: Call) -> HandlerFuture<'_> {
        self.services[route.service].call(route.number, call)
    }
}

impl Directory for Routes {
    fn find(&self, service: &str, method: &str) -> Result<(usize, Arc<Contract>), Status> {
        let service = (!service.is_empty()).then_some(service);
        let (number, _) = self.place(service, method)?;
        Ok((number, self.entries[number].contract().clone()))
    }
}

impl capnp::Directory for Routes {
    fn placed(&self, place: capnp::MethodKey) -> Option<capnp::Found> {
        self.placed.get(&place).copied()
    }
}

/// The names of a service and of a method in the style of buf's linter. A contract of protobuf has
/// names of its own.
fn in_style(
    descriptor: &'static ServiceDescriptor,
    method: &'static Method,
) -> Option<(String, String)> {
    let package = descriptor.package;
    (!package.is_empty() && !method.messages).then(|| {
        let service = spelling::service(descriptor.name);
        let service = format!("{}.{service}", spelling::package(package));
        (service, spelling::pascal(method.name))
    })
}

#[cold]
fn unknown(what: String) -> Status {
    Status::new(Code::Unimplemented, what).with_execution(Execution::NotStarted)
}
