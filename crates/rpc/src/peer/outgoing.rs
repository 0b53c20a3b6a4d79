//! A call that leaves, whatever the wire.

use super::answer::ReadObjects;
use crate::method::{Method, MethodTypes, ServiceDescriptor};
use crate::peer::objects::{Remote, Slot};
use dovetail_protocol::dovetail::{Contract, Description, MethodKey, MethodKind};
use dovetail_protocol::{Headers, Name};
use std::time::Duration;

/// A call to be sent.
pub(crate) struct Outgoing<'a, P> {
    pub(crate) name: &'a str,
    /// The service that its channel names.
    pub(crate) service: Option<&'a str>,
    /// The method, if generated code has it.
    pub(crate) method: Option<&'static Method>,
    /// Describes the types of a call by name, where `method` is `None`.
    pub(crate) types: Option<fn() -> MethodTypes>,
    pub(crate) oneway: bool,
    /// The time left for it, where the wire carries that; `None` for no limit.
    pub(crate) timeout: Option<Duration>,
    pub(crate) headers: &'a Headers,
    /// Whether it is compressed, where somebody has chosen.
    pub(crate) compress: Option<bool>,
    pub(crate) params: &'a P,
    /// The object that is called; `None` for a service.
    pub(crate) object: Option<ObjectCall<'a>>,
    /// How objects are found in a reply that nobody takes, where there can be any.
    pub(crate) read: Option<ReadObjects>,
    /// The object that the call is to return, where others are addressed to it before.
    pub(crate) promise: Option<&'a Slot>,
}

impl<P> Outgoing<'_, P> {
    /// The key of its method, for a connection that calls this service where no other is named.
    pub(crate) fn key(&self, usual: &Name) -> MethodKey {
        let method = self.method_key();
        match self.service {
            Some(service) if self.object.is_none() && service != usual.as_str() => {
                MethodKey::OfService {
                    service: Name::new(service),
                    method: Box::new(method),
                }
            }
            _ => method,
        }
    }

    fn method_key(&self) -> MethodKey {
        let address = |method| std::ptr::from_ref::<Method>(method).addr();
        match (self.method, self.object) {
            (Some(method), None) => MethodKey::Address(address(method)),
            (Some(method), Some(object)) => MethodKey::OfObject {
                method: address(method),
                service: std::ptr::from_ref(object.service).addr(),
            },
            (None, _) => match self.types {
                Some(types) => MethodKey::Typed {
                    method: Name::new(self.name),
                    types: types as usize,
                },
                None => MethodKey::Name(Name::new(self.name)),
            },
        }
    }

    /// The contract of its method, on a connection that calls this service where no other is named.
    pub(crate) fn contract(&self, usual: &Name) -> Contract {
        let service = match (self.object, self.service) {
            (Some(object), _) => Name::new(object.service.name),
            (None, Some(service)) => Name::new(service),
            (None, None) => usual.clone(),
        };
        match self.method {
            Some(method) => method.contract(service),
            None => Contract {
                service,
                method: Name::new(self.name),
                kind: MethodKind::new(self.oneway, false, false),
                description: self
                    .types
                    .map(|types| Description::new(types().description(self.name, self.oneway))),
            },
        }
    }
}

/// An object that is called, as an object of this service.
#[derive(Clone, Copy)]
pub(crate) struct ObjectCall<'a> {
    pub(crate) remote: &'a Remote,
    pub(crate) service: &'static ServiceDescriptor,
}

impl<P> Clone for Outgoing<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Outgoing<'_, P> {}

/// A call that is queued, by the number under which its answer comes; `None` where none comes.
pub(crate) struct Queued(pub(crate) Option<u64>);
