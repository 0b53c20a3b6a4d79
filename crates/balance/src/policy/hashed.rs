use super::maglev::Maglev;
use super::ring::Ring;
use super::{Endpoints, Policy};
use crate::Endpoint;
use std::sync::Arc;

/// A table that maps hashes to the endpoints of a list. It stays while the list does, whichever of
/// them can be used.
#[derive(Debug)]
pub(crate) struct Hashed {
    table: Table,
    /// The bound of an endpoint's calls in flight, in averages.
    bounded_load: Option<f64>,
    /// The addresses and weights that it is made of.
    members: Vec<(String, u32)>,
}

#[derive(Debug)]
enum Table {
    Ring(Ring),
    Maglev(Maglev),
}

impl Hashed {
    /// The table of a policy, which may be the one that is there; `None` where the policy needs
    /// none.
    pub(crate) fn new<T>(
        policy: &Policy,
        endpoints: &Endpoints<T>,
        before: Option<&Arc<Hashed>>,
    ) -> Option<Arc<Self>> {
        if !policy.is_hashed() {
            return None;
        }
        let backends: Vec<_> = endpoints
            .iter()
            .map(|endpoint| endpoint.backend())
            .collect();
        let members = backends
            .iter()
            .map(|backend| (&*backend.address, backend.weight));
        let members: Vec<(&str, u32)> = members.collect();
        if let Some(before) = before
            && before.is_of(&members)
        {
            return Some(before.clone());
        }
        let (table, bounded_load) = match policy {
            Policy::RingHash(settings) => {
                let bound = Some(settings.bounded_load).filter(|bound| *bound >= 1.0);
                (Table::Ring(Ring::new(*settings, &members)), bound)
            }
            _ => (Table::Maglev(Maglev::new(&members)), None),
        };
        let owned = members.iter().map(|(a, weight)| ((*a).to_owned(), *weight));
        Some(Arc::new(Hashed {
            table,
            bounded_load,
            members: owned.collect(),
        }))
    }

    fn is_of(&self, members: &[(&str, u32)]) -> bool {
        let own = self.members.iter().map(|(a, weight)| (&**a, *weight));
        own.eq(members.iter().copied())
    }

    /// The endpoint for a hash, of those that can be used. `in_flight` is the number of calls to
    /// all of them.
    pub(crate) fn choose<'a, T>(
        &self,
        hash: u64,
        endpoints: &'a Endpoints<T>,
        in_flight: Option<u32>,
        usable: &[bool],
    ) -> Option<&'a Arc<Endpoint<T>>> {
        let is_usable = |index: &usize| usable.get(*index).copied().unwrap_or(false);
        let most = self.bounded_load.zip(in_flight).map(|(bound, in_flight)| {
            (bound * (f64::from(in_flight) + 1.0) / endpoints.len() as f64).ceil()
        });
        let has_room =
            |index: &usize| most.is_none_or(|most| f64::from(endpoints[*index].in_flight()) < most);
        let fits = |index: &usize| is_usable(index) && has_room(index);
        let found = match &self.table {
            Table::Ring(ring) => ring.from(hash).find(fits),
            Table::Maglev(maglev) => maglev.from(hash).find(fits),
        };
        // While few of many can be used, all of them may be over the bound.
        let found = found.or_else(|| match &self.table {
            Table::Ring(ring) => ring.from(hash).find(is_usable),
            Table::Maglev(maglev) => maglev.from(hash).find(is_usable),
        });
        endpoints.get(found?)
    }
}
