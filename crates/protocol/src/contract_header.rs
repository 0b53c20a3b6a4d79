//! How a caller says, on a foreign wire that has headers, which contract of the method it has:
//! `docs/spec/contract-header.md`.

use crate::dovetail::{Contract, Description};
use crate::metadata::{decode_base64, encode_base64};
use crate::{Code, Execution, Status};
use dovetail_wire::Bytes;
use dovetail_wire::description::{compare, fingerprint};
use std::collections::VecDeque;

/// The name of the header.
pub const CONTRACT_HEADER: &str = "dovetail-contract";

/// Bytes that a description takes at most in a header. Servers of HTTP take 8 to 16 KiB of headers.
const MAX: usize = 4 << 10;

/// Stands before the fingerprint of a contract of protobuf.
const PROTOBUF: &str = "proto:";

/// Contracts of callers that a server remembers, for each method.
const MAX_KNOWN: usize = 64;

type Fingerprint = [u8; 16];

/// The header's values for a method.
#[derive(Debug)]
pub struct ContractHeader {
    /// The fingerprint alone: what a call says first.
    pub short: String,
    /// The fingerprint and the description: what a call says that a server has asked for it.
    pub full: String,
}

impl ContractHeader {
    /// The values for a method with this description, whose contract is protobuf's or not; `None`
    /// where it is too large for a header.
    pub fn new(description: &Description, protobuf: bool) -> Option<Self> {
        let bytes = description.bytes();
        if bytes.len() > MAX {
            return None;
        }
        let mark = if protobuf { PROTOBUF } else { "" };
        let short = format!("{mark}{}", encode_base64(&description.fingerprint()));
        let full = format!("{short}.{}", encode_base64(bytes));
        Some(ContractHeader { short, full })
    }
}

/// A caller's contract of a method, as the header of a call says it.
#[derive(Debug)]
pub struct CallerContract {
    protobuf: bool,
    fingerprint: Fingerprint,
    description: Option<Bytes>,
}

impl CallerContract {
    /// Reads the value of the header. The error refuses the call.
    pub fn read(header: &[u8]) -> Result<Self, Status> {
        let marked = header.strip_prefix(PROTOBUF.as_bytes());
        let protobuf = marked.is_some();
        let mut parts = marked.unwrap_or(header).splitn(2, |byte| *byte == b'.');
        let mut part = || {
            parts
                .next()
                .map(|part| decode_base64(part).ok_or_else(malformed))
        };
        let fingerprint = part().ok_or_else(malformed)??;
        Ok(CallerContract {
            protobuf,
            fingerprint: Fingerprint::try_from(&fingerprint[..]).map_err(|_| malformed())?,
            description: part().transpose()?,
        })
    }

    /// True for a contract of protobuf. It may have been exported from another one, with the types
    /// that protobuf has.
    pub fn is_protobuf(&self) -> bool {
        self.protobuf
    }

    /// Returns whether this end has the same contract, or none to compare.
    pub fn equals(&self, ours: &Contract) -> bool {
        let ours = ours.description.as_ref();
        ours.is_none_or(|ours| ours.fingerprint() == self.fingerprint)
    }
}

/// The contracts of callers with which a server has compared its own of a method.
#[derive(Debug, Default)]
pub struct KnownContracts(VecDeque<(Fingerprint, Result<(), Status>)>);

impl KnownContracts {
    /// Compares a contract with that of a caller. The error refuses the call: the two contradict
    /// each other, or it [asks for the description](Status::asks_for_description) where only the
    /// fingerprint came.
    pub fn compare(&mut self, ours: &Contract, theirs: CallerContract) -> Result<(), Status> {
        let Some(description) = ours.description.as_ref().filter(|_| !theirs.equals(ours)) else {
            return Ok(());
        };
        let CallerContract {
            fingerprint: theirs,
            description: described,
            ..
        } = theirs;
        if let Some((_, verdict)) = self.0.iter().find(|(known, _)| *known == theirs) {
            return verdict.clone();
        }
        let described = described.ok_or_else(Status::asking_for_description)?;
        if fingerprint(&described) != theirs {
            return Err(malformed());
        }
        let verdict = compare(description.bytes(), &described)
            .map_err(|difference| Status::contradicting(&ours.method, &difference));
        self.0.truncate(MAX_KNOWN - 1);
        self.0.push_front((theirs, verdict.clone()));
        verdict
    }
}

#[cold]
fn malformed() -> Status {
    let what = format!("the header `{CONTRACT_HEADER}` is no fingerprint with its description");
    Status::new(Code::InvalidArgument, what).with_execution(Execution::NotStarted)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Name;
    use crate::dovetail::MethodKind;
    use dovetail_wire::FieldValue;
    use dovetail_wire::description::{FieldPresence, FieldType, Named, Signature, Type, describe};

    /// The description of `f(1: T a)`.
    fn description<T: FieldValue>() -> Description {
        let ty: Type<Named> = T::describe().unwrap();
        let params = vec![FieldType {
            id: 1,
            name: "a",
            presence: FieldPresence::Always,
            ty,
        }];
        Description::new(describe(&Signature {
            name: "f",
            oneway: false,
            params,
            result: None,
            exceptions: Vec::new(),
            client_stream: None,
            server_stream: None,
        }))
    }

    fn contract(description: Description) -> Contract {
        Contract {
            service: Name::default(),
            method: Name::new("f"),
            kind: MethodKind::Unary,
            description: Some(description),
        }
    }

    #[test]
    fn a_server_asks_once() {
        let ours = contract(description::<i32>());
        let same = ContractHeader::new(&description::<i32>(), false).unwrap();
        let other = ContractHeader::new(&description::<String>(), false).unwrap();
        let mut known = KnownContracts::default();
        let mut compare = |header: &str| {
            let theirs = CallerContract::read(header.as_bytes())?;
            known.compare(&ours, theirs)
        };

        assert_eq!(compare(&same.short), Ok(()));
        let exported = ContractHeader::new(&description::<i32>(), true).unwrap();
        let exported = CallerContract::read(exported.full.as_bytes()).unwrap();
        assert!(exported.is_protobuf() && exported.equals(&ours));
        assert!(compare(&other.short).unwrap_err().asks_for_description());
        let refused = compare(&other.full).unwrap_err();
        assert_eq!(refused.code(), Code::FailedPrecondition);
        assert_eq!(refused.execution(), Execution::NotStarted);
        assert_eq!(
            refused.message(),
            "the contracts of `f` contradict each other: `f.a` is i32 here and string there"
        );
        assert_eq!(compare(&other.short), Err(refused));

        let third = ContractHeader::new(&description::<bool>(), false).unwrap();
        let forged = format!("{}.{}", third.short, encode_base64(b"x"));
        assert_eq!(compare(&forged).unwrap_err().code(), Code::InvalidArgument);
        assert!(compare(&third.short).unwrap_err().asks_for_description());
    }

    #[test]
    fn no_fingerprint() {
        let ours = contract(description::<i32>());
        for header in ["", "x", ".", "AAAA", "!", "AAAAAAAAAAAAAAAAAAAAAA.!"] {
            let refused = CallerContract::read(header.as_bytes()).unwrap_err();
            assert_eq!(refused.code(), Code::InvalidArgument, "{header}");
        }
        let mut known = KnownContracts::default();
        for number in 0..2 * MAX_KNOWN as u32 {
            let mut bytes = b"no description ".to_vec();
            bytes.extend(number.to_le_bytes());
            let header = ContractHeader::new(&Description::new(bytes), false).unwrap();
            let theirs = CallerContract::read(header.full.as_bytes()).unwrap();
            assert!(known.compare(&ours, theirs).is_err());
        }
        assert_eq!(known.0.len(), MAX_KNOWN);
    }
}
