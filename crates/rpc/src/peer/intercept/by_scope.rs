//! Rules for places, and facts about methods that follow from them.

use super::scope::{Level, Scope};
use crate::method::{Method, ServiceDescriptor};
use crate::peer::objects::reach;
use crate::{Code, Status};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Rules for everything, for services, and for methods.
pub(crate) struct ByScope<T>(Vec<(Scope, T)>);

impl<T> Default for ByScope<T> {
    fn default() -> Self {
        ByScope(Vec::new())
    }
}

impl<T> ByScope<T> {
    pub(crate) fn add(&mut self, place: &str, rule: T) {
        self.0.push((Scope::of(place), rule));
    }

    pub(crate) fn add_everywhere(&mut self, rule: T) {
        self.0.push((Scope::All, rule));
    }

    /// Adds a rule for everything, in front of all others.
    pub(crate) fn add_first(&mut self, rule: T) {
        self.0.insert(0, (Scope::All, rule));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|(_, rule)| rule)
    }

    /// Returns the rules for a method, outermost level first.
    pub(crate) fn around(
        &self,
        service: &ServiceDescriptor,
        method: &Method,
    ) -> impl Iterator<Item = (Level, &T)> {
        let rules = self.0.iter();
        let mut rules: Vec<_> = rules
            .filter(|(scope, _)| takes(scope, service, method))
            .map(|(scope, rule)| (scope.level(), rule))
            .collect();
        rules.sort_by_key(|(level, _)| *level);
        rules.into_iter()
    }

    /// Returns the rules of the innermost level that has any for a method, and that level.
    pub(crate) fn at(&self, service: &ServiceDescriptor, method: &Method) -> (Level, Vec<&T>) {
        let rules: Vec<_> = self.around(service, method).collect();
        let level = rules.last().map_or(Level::All, |(level, _)| *level);
        let rules = rules.into_iter().filter(|(other, _)| *other == level);
        (level, rules.map(|(_, rule)| rule).collect())
    }

    /// Returns an error where a rule is for something that none of these services has; it begins
    /// with these words.
    pub(crate) fn check(
        &self,
        rule: &str,
        services: &[&'static ServiceDescriptor],
    ) -> Result<(), Status> {
        let is_known = |scope: &Scope| {
            *scope == Scope::All
                || methods(services).any(|(service, method)| takes(scope, service, method))
        };
        let Some((unknown, _)) = self.0.iter().find(|(scope, _)| !is_known(scope)) else {
            return Ok(());
        };
        let mut names: Vec<_> = services.iter().map(|service| service.full_name()).collect();
        for (_, method) in methods(services) {
            let own = Cow::Borrowed(method.service);
            if !own.is_empty() && !names.contains(&own) {
                names.push(own);
            }
        }
        let what = format!(
            "{rule} {}, which this server does not have; its services are: {}",
            unknown.name(),
            names.join(", ")
        );
        Err(Status::new(Code::InvalidArgument, what))
    }
}

/// A method that is inherited has its own service beside the one that has inherited it.
fn takes(scope: &Scope, service: &ServiceDescriptor, method: &Method) -> bool {
    scope.takes(&[&service.full_name(), method.service], method.name)
}

fn methods(
    services: &[&'static ServiceDescriptor],
) -> impl Iterator<Item = (&'static ServiceDescriptor, &'static Method)> {
    let services = services.iter();
    services.flat_map(|service| service.iter().map(move |(_, method)| (*service, method)))
}

/// Returns these services, and those whose objects their methods pass.
pub(crate) fn reachable(
    services: impl Iterator<Item = &'static ServiceDescriptor>,
) -> Vec<&'static ServiceDescriptor> {
    let mut known: Vec<_> = services.collect();
    for service in known.clone() {
        reach(service, &mut known);
    }
    known
}

/// Facts about the methods of services. An inherited method is another one in each service that has
/// it. Callers do not choose the keys, which are addresses.
pub(crate) struct ByMethod<T>(FxHashMap<(usize, usize), T>);

impl<T> Default for ByMethod<T> {
    fn default() -> Self {
        ByMethod(FxHashMap::default())
    }
}

impl<T> ByMethod<T> {
    pub(crate) fn of(
        services: &[&'static ServiceDescriptor],
        mut fact: impl FnMut(&ServiceDescriptor, &Method) -> T,
    ) -> Self {
        let known = methods(services);
        ByMethod(
            known
                .map(|(service, method)| (key(service, method), fact(service, method)))
                .collect(),
        )
    }

    /// Returns the fact about a method; `None` if its service was not among the services.
    pub(crate) fn get(
        &self,
        service: &'static ServiceDescriptor,
        method: &'static Method,
    ) -> Option<&T> {
        self.0.get(&key(service, method))
    }
}

fn key(service: &ServiceDescriptor, method: &Method) -> (usize, usize) {
    (
        std::ptr::from_ref(service).addr(),
        std::ptr::from_ref(method).addr(),
    )
}
