//! The contracts of the methods that a channel calls, as headers bring them along on foreign wires.

use crate::peer::outgoing::Outgoing;
use dovetail_protocol::dovetail::MethodKey;
use dovetail_protocol::{CONTRACT_HEADER, ContractHeader, Headers, Name, Wire};
use dovetail_wire::Bytes;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Headers for the methods that were called; `None` for one without a description that fits a
/// header.
#[derive(Default)]
pub(crate) struct Contracts(Mutex<HashMap<MethodKey, Option<Arc<Values>>>>);

/// The values of the header: the fingerprint, and with it the description.
struct Values {
    short: Bytes,
    full: Bytes,
}

impl Contracts {
    /// Returns the headers of a call with that of its contract, which has the description where it
    /// `describes`. A call that cannot be sent a second time has it, too.
    pub(super) fn headers<'a, P>(
        &self,
        wire: Wire,
        call: &Outgoing<'a, P>,
        describes: bool,
    ) -> Cow<'a, Headers> {
        let Some(values) = travels(wire).then(|| self.values(call)).flatten() else {
            return Cow::Borrowed(call.headers);
        };
        let once = call
            .method
            .is_some_and(|method| method.kind.client_streams());
        let value = match describes || call.oneway || once {
            true => values.full.clone(),
            false => values.short.clone(),
        };
        let mut headers = call.headers.clone();
        headers.push(CONTRACT_HEADER, value);
        Cow::Owned(headers)
    }

    fn values<P>(&self, call: &Outgoing<'_, P>) -> Option<Arc<Values>> {
        if call.method.is_none() && call.types.is_none() {
            return None;
        }
        let usual = Name::default();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let values = known.entry(call.key(&usual)).or_insert_with(|| {
            let protobuf = call.method.is_some_and(|method| method.messages);
            let description = call.contract(&usual).description?;
            let ContractHeader { short, full } = ContractHeader::new(&description, protobuf)?;
            Some(Arc::new(Values {
                short: short.into(),
                full: full.into(),
            }))
        });
        values.clone()
    }
}

/// Returns true if the wire has headers and no other way to compare contracts.
fn travels(wire: Wire) -> bool {
    wire.has_headers() && !matches!(wire, Wire::Dovetail | Wire::WebSocket)
}

impl fmt::Debug for Contracts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Contracts")
    }
}
