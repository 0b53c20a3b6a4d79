//! Types without servers and clients: the crate of the encodings is enough.
#![allow(clippy::unwrap_used)]

use dovetail_macros::Message;
use dovetail_wire::{Encoding, UnknownFields};

#[derive(Clone, Copy, Debug, PartialEq, Message)]
#[dovetail(crate = dovetail_wire)]
enum Kind {
    Plain,
    Unknown(i32),
}

#[derive(Clone, Debug, PartialEq, Message)]
#[dovetail(crate = dovetail_wire)]
enum Part {
    Number(i64),
    Kind(Kind),
    Unknown(UnknownFields),
}

#[derive(Clone, Debug, Default, PartialEq, Message)]
#[dovetail(crate = dovetail_wire, name = "whole")]
struct Whole {
    parts: Vec<Part>,
    more: Option<Box<Whole>>,
}

#[derive(Clone, Debug, Default, PartialEq, Message)]
#[dovetail(crate = dovetail_wire)]
struct Nothing;

#[test]
fn every_encoding() {
    let inner = Whole {
        parts: vec![Part::Number(7), Part::Kind(Kind::Plain)],
        more: None,
    };
    let whole = Whole {
        parts: vec![Part::Kind(Kind::Unknown(3))],
        more: Some(Box::new(inner)),
    };
    for encoding in Encoding::BUILT_IN {
        let bytes = encoding.to_bytes(&whole).unwrap().into();
        assert_eq!(
            encoding.from_bytes::<Whole>(&bytes).unwrap(),
            whole,
            "{encoding:?}"
        );
        let bytes = encoding.to_bytes(&Nothing).unwrap().into();
        assert_eq!(
            encoding.from_bytes::<Nothing>(&bytes).unwrap(),
            Nothing,
            "{encoding:?}"
        );
    }
}
