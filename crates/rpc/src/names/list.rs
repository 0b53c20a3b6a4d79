use super::{Resolution, Resolver, Updates};
use crate::Address;
use dovetail_balance::Backend;

/// Servers that are given with the channel.
pub(super) struct List {
    name: String,
    backends: Vec<Backend>,
}

impl List {
    pub(super) fn new(target: &str) -> Result<Self, String> {
        let backends = target.split(',').map(|address| backend(address.trim()));
        Ok(List {
            name: target.to_owned(),
            backends: backends.collect::<Result<_, _>>()?,
        })
    }
}

/// The backend at an address.
pub(super) fn backend(address: &str) -> Result<Backend, String> {
    let parsed: Result<Address, _> = address.parse();
    let address = parsed.map_err(|error| error.to_string())?;
    Ok(Backend::new(address.to_string()))
}

impl Resolver for List {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn watch(&self, updates: &Updates) {
        updates.found(Resolution::of(self.backends.clone()));
    }
}
