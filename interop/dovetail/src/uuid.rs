//! uuid.thrift: the cases; what the server answers is in `derived.rs`. Their names are the same for
//! every peer.

use crate::case::{Case, Outcome, case, check, pass};
use crate::connector::{Connector, ask};
use crate::uuids::Uuids;
use dovetail::types::Uuid;
use std::collections::{BTreeMap, BTreeSet};

/// Nil, one with a different byte in each place, and all ones.
pub(crate) const KNOWN: [Uuid; 3] = [
    Uuid::nil(),
    Uuid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff),
    Uuid::max(),
];

/// The value that golden/uuid.json describes.
fn example() -> Uuids {
    let [_, middle, last] = KNOWN;
    Uuids {
        single: middle,
        many: KNOWN.into(),
        pairs: BTreeMap::from([(middle, last)]),
        distinct: BTreeSet::from([last]),
        last: "end".to_owned(),
        ..Uuids::default()
    }
}

fn echo_uuid(connector: &Connector) -> Outcome {
    let client = connector.uuid()?;
    for value in KNOWN {
        check(&ask!(client.echo_uuid(value))?, &value)?;
    }
    pass()
}

fn echo_uuids(connector: &Connector, value: &Uuids) -> Outcome {
    let client = connector.uuid()?;
    check(&ask!(client.echo_uuids(value))?, value)?;
    pass()
}

fn known_uuids(connector: &Connector) -> Outcome {
    let client = connector.uuid()?;
    check(&ask!(client.known_uuids())?, &KNOWN.into())?;
    pass()
}

pub(crate) fn all() -> Vec<Case> {
    vec![
        case("echo_uuid", echo_uuid),
        case("echo_uuids", |connector| echo_uuids(connector, &example())),
        case("echo_uuids_empty", |connector| {
            echo_uuids(connector, &Uuids::default())
        }),
        case("known_uuids", known_uuids),
    ]
}
