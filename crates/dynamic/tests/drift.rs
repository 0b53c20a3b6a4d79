//! The fate of a value when the two ends have different versions of its contract. `docs/drift.md`
//! is made from it: `UPDATE_GOLDEN=1` writes it again.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "drift/changes.rs"]
mod changes;

use changes::{CHANGES, Change};
use dovetail_dynamic::{Contract, Params, ParamsSlot, arguments_from_json, arguments_to_json};
use dovetail_idl::{MemoryLoader, compile};
use dovetail_schema::{Method, Schema};
use dovetail_wire::description::compare;
use dovetail_wire::{Bytes, Encoding, Limits};
use serde_json::Value as Json;
use std::fmt::Write as _;

/// Encodings by the wires that have them. Ends that both are Dovetail's compare their contracts
/// before, where they can.
const WIRES: [(&str, Encoding); 6] = [
    ("Dovetail", Encoding::Tagged),
    ("protobuf", Encoding::Protobuf),
    ("Thrift binary", Encoding::ThriftBinary),
    ("Thrift compact", Encoding::ThriftCompact),
    ("MessagePack", Encoding::Msgpack),
    ("JSON", Encoding::Json),
];

/// One end.
struct End {
    schema: Schema,
    value: Json,
}

impl End {
    fn new(definitions: &str, value: &str) -> Self {
        let service = match definitions.contains("service") {
            true => "",
            false => "service X { void f(1: S s) }",
        };
        let text = format!("{definitions} {service}");
        let compiled = compile("a.thrift", &MemoryLoader::from_iter([("a.thrift", text)]));
        let schema = compiled.schema.as_ref().cloned();
        let schema = schema.unwrap_or_else(|| panic!("{definitions}\n{}", compiled.render(false)));
        let value = serde_json::from_str(value).unwrap();
        End { schema, value }
    }

    fn method(&self) -> &Method {
        &self.schema.services[0].methods[0]
    }

    fn describe(&self) -> Vec<u8> {
        Contract::new(&self.schema).describe(self.method()).unwrap()
    }

    fn encode(&self, encoding: Encoding, value: &Json) -> Result<Bytes, String> {
        let contract = Contract::new(&self.schema);
        let values = arguments_from_json(&contract, self.method(), value);
        let values = values.map_err(|error| error.problem().to_owned())?;
        let params = Params::new(&contract, self.method(), &values);
        let mut out = Vec::new();
        let encoded = encoding.encode(&params, &mut out, Limits::default());
        encoded.map_err(|error| error.to_string())?;
        Ok(out.into())
    }

    /// Reads parameters; what they are in JSON, and what this end sends when it passes them on.
    fn pass_on(&self, encoding: Encoding, bytes: &Bytes) -> Result<(Json, Bytes), String> {
        let contract = Contract::new(&self.schema);
        let mut slot = ParamsSlot::new(&contract, self.method());
        let decoded = encoding.decode(&mut slot, bytes, Limits::default());
        decoded.map_err(|error| error.to_string())?;
        let values = slot.values;
        let json = arguments_to_json(&contract, self.method(), &values);
        let mut out = Vec::new();
        let params = Params::new(&contract, self.method(), &values);
        let encoded = encoding.encode(&params, &mut out, Limits::default());
        encoded.map_err(|error| error.to_string())?;
        Ok((json, out.into()))
    }
}

/// The fate of a value.
#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    /// Each field that both ends have has its value, and the rest is passed on.
    Right,
    /// Each field that both ends have has its value. A field that this end does not have is gone.
    Dropped,
    /// An error, which names the place.
    Refused(String),
    /// A field has another value than the one that was sent under its name.
    Wrong(String),
}

/// Finds a difference between values of the same name; `None` if there is none. A name that `known`
/// has may not be missing.
fn difference(sent: &Json, read: &Json, known: &Json) -> Option<String> {
    match (sent, read) {
        (Json::Object(sent), Json::Object(read)) => sent.iter().find_map(|(name, value)| {
            let inside = match read.get(name) {
                Some(read) => difference(value, read, &known[name.as_str()]),
                None => known.get(name).map(|_| format!("{value} is gone")),
            };
            inside.map(|inside| match inside.starts_with('`') {
                true => format!("`{name}.{}", &inside[1..]),
                false => format!("`{name}`: {inside}"),
            })
        }),
        (Json::Array(sent), Json::Array(read)) if sent.len() == read.len() => sent
            .iter()
            .zip(read)
            .find_map(|(sent, read)| difference(sent, read, &known[0])),
        (Json::Number(one), Json::Number(other)) if one.as_f64() == other.as_f64() => None,
        (sent, read) if sent == read || [sent, read].into_iter().all(is_two) => None,
        (sent, read) => Some(format!("{sent} is read as {read}")),
    }
}

/// True for 2, and for the value of an enum that has this number at its end: the name may have
/// changed.
fn is_two(value: &Json) -> bool {
    ["2", "\"TWO\"", "\"ZWEI\""].contains(&&*value.to_string())
}

/// Sends the value of one end to the other.
fn send(encoding: Encoding, from: &End, to: &End) -> Outcome {
    let compares = matches!(encoding, Encoding::Tagged);
    if compares && let Err(why) = compare(&to.describe(), &from.describe()) {
        return Outcome::Refused(why.to_string());
    }
    let bytes = from.encode(encoding, &from.value).unwrap();
    let (read, passed_on) = match to.pass_on(encoding, &bytes) {
        Ok(read) => read,
        Err(why) => return Outcome::Refused(why),
    };
    if let Some(wrong) = difference(&from.value, &read, &to.value) {
        return Outcome::Wrong(wrong);
    }
    let back = from.pass_on(encoding, &passed_on);
    match back.map(|(back, _)| difference(&from.value, &back, &from.value)) {
        Ok(None) => Outcome::Right,
        _ => Outcome::Dropped,
    }
}

impl Outcome {
    fn word(&self) -> &'static str {
        match self {
            Outcome::Right => "right",
            Outcome::Dropped => "dropped",
            Outcome::Refused(_) => "refused",
            Outcome::Wrong(_) => "**wrong**",
        }
    }
}

/// The outcomes of a change, to the new end and to the old one, on each wire.
fn outcomes(change: &Change) -> [(Outcome, Outcome); WIRES.len()] {
    let old = End::new(change.old, change.old_value);
    let new = End::new(change.new, change.new_value);
    WIRES.map(|(_, encoding)| (send(encoding, &old, &new), send(encoding, &new, &old)))
}

const HEAD: &str = "\
# When contracts drift apart

One end has a newer version of a contract than the other. This page says, for each change and each encoding, what becomes of the
parameters of a call; results and items of streams are the same values. It is made by
[`drift.rs`](../crates/dynamic/tests/drift.rs), which compiles both contracts and sends the values.

| word | means |
|---|---|
| right | each field that both ends have has its value, and what only the caller has is passed on as it came |
| dropped | each field that both ends have has its value; what only the caller has is gone where the value is passed on |
| refused | the call does not run, and the error names the place |
| **wrong** | a field has another value than the one that was sent under its name |

The column *Dovetail* is Dovetail's own wire, and every wire on which two Dovetail ends compare their contracts:
[gRPC, Connect, Thrift over HTTP and THeader](spec/contract-header.md). The others are what happens between peers of which one does not
compare: there a contradiction is found by [`dovetail check --against`](cli.md#against-a-server). Where the two directions differ,
the first word is of the old end that calls the new one.

";

fn page() -> String {
    let mut page = HEAD.to_owned();
    let names: Vec<_> = WIRES.iter().map(|(name, _)| *name).collect();
    writeln!(page, "| change | {} |", names.join(" | ")).unwrap();
    writeln!(page, "|---|{}", "---|".repeat(WIRES.len())).unwrap();
    let (mut refused, mut wrong) = (String::new(), String::new());
    for change in CHANGES {
        let outcomes = outcomes(change);
        let cells = outcomes
            .iter()
            .map(|(there, back)| match (there.word(), back.word()) {
                (there, back) if there == back => there.to_owned(),
                (there, back) => format!("{there}, {back}"),
            });
        let cells: Vec<_> = cells.collect();
        writeln!(page, "| {} | {} |", change.name, cells.join(" | ")).unwrap();
        let [(own, _), ..] = &outcomes;
        if let Outcome::Refused(why) = own {
            writeln!(refused, "| {} | {why} |", change.name).unwrap();
        }
        for ((wire, _), (there, back)) in WIRES.iter().zip(&outcomes) {
            for (outcome, direction) in [(there, "old to new"), (back, "new to old")] {
                if let Outcome::Wrong(what) = outcome {
                    writeln!(wrong, "| {} | {wire}, {direction} | {what} |", change.name).unwrap();
                }
            }
        }
    }
    let refusals = "What Dovetail's own wire says, at the new end";
    writeln!(
        page,
        "\n## {refusals}\n\n| change | message |\n|---|---|\n{refused}"
    )
    .unwrap();
    let about = "Encodings that say neither the name nor the exact type of a value cannot tell these changes from none.";
    writeln!(
        page,
        "## Wrong values\n\n{about}\n\n| change | wire | value |\n|---|---|---|"
    )
    .unwrap();
    page + &wrong
}

#[test]
fn changes_of_contracts() {
    assert!(CHANGES.len() >= 60, "{}", CHANGES.len());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/drift.md");
    let page = page();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        page == written,
        "docs/drift.md: UPDATE_GOLDEN=1 writes it again; then read the difference"
    );
}

/// Two ends that compare their contracts never take one value for another, and lose none.
#[test]
fn nothing_is_wrong_on_the_own_wire() {
    for change in CHANGES {
        let [(there, back), ..] = outcomes(change);
        for outcome in [there, back] {
            let fine = matches!(outcome, Outcome::Right | Outcome::Refused(_));
            assert!(fine, "{}: {outcome:?}", change.name);
        }
    }
}
