//! Sensitive fields: hidden in messages that are kept, and in logs.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use dovetail_dynamic::{
    Contract, Params, ParamsSlot, Reply, ReplyBody, ReplySlot, arguments_from_json,
    arguments_to_json, arguments_to_log, from_json, to_json, to_log,
};
use dovetail_idl::{MemoryLoader, compile};
use dovetail_schema::{Method, Schema};
use dovetail_wire::description::{Masks, Part, parse};
use dovetail_wire::{Bytes, Decode, Encode, Encoding, Limits};
use serde_json::{Value as Json, json};

const CONTRACT: &str = r#"
struct Card { 1: string number (sensitive) 2: i32 code (sensitive) 3: string bank }
struct Keys { 1: required i32 pin (sensitive) 2: required binary key (sensitive) 3: i32 id }
union Payment { 1: Card card 2: string voucher (sensitive) 3: i64 cash }
struct Node { 1: string name 2: list<Node> children 3: optional Card card }
struct Animal { 1: string name }
struct Dog extends Animal { 2: string owner (sensitive) }
struct Plain { 1: string text (sensitive = "false") }
exception Declined { 1: string why 2: string token (sensitive) }
service Shop {
  Card pay(1: string user, 2: string password (sensitive), 3: Payment payment) throws (1: Declined declined)
  void keep(1: map<string, Card> cards, 2: list<list<Node>> nodes, 3: set<string> names (sensitive))
  void lock(1: Keys keys)
  void walk(1: Animal animal, 2: list<Animal> others, 3: i32 times)
  Plain plain(1: Plain plain)
}
"#;

fn schema() -> Schema {
    let loader: MemoryLoader = [("shop.thrift", CONTRACT)].into_iter().collect();
    compile("shop.thrift", &loader).schema.unwrap()
}

fn masks(contract: &Contract<'_>, method: &Method) -> Option<Masks> {
    let description = contract.describe(method).unwrap();
    Masks::of(&parse(&description).unwrap(), &contract.remarks(method))
}

/// Writes a message, hides its sensitive fields, and reads it.
fn kept(masks: &Masks, part: Part, sent: &impl Encode, slot: &mut impl Decode) {
    let encode = |value: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        value(&mut out);
        Bytes::from(out)
    };
    let limits = Limits::default();
    let sent = encode(&|out| Encoding::Tagged.encode(sent, out, limits).unwrap());
    let mut hidden = masks.hide(part);
    Encoding::Tagged.decode(&mut hidden, &sent, limits).unwrap();
    let hidden = encode(&|out| Encoding::Tagged.encode(&hidden, out, limits).unwrap());
    Encoding::Tagged.decode(slot, &hidden, limits).unwrap();
}

#[test]
fn parameters() {
    let schema = schema();
    let contract = Contract::new(&schema);
    let card = json!({"number": "4000", "code": 7, "bank": "b"});
    let masked = json!({"number": "…", "bank": "b"});
    let logged = json!({"number": "…", "code": "…", "bank": "b"});
    // The method, its arguments, and these as they are kept, and in a log.
    let rows = [
        (
            "pay",
            json!({"user": "ann", "password": "secret", "payment": {"voucher": "V"}}),
            json!({"user": "ann", "password": "…", "payment": {"voucher": "…"}}),
            json!({"user": "ann", "password": "…", "payment": {"voucher": "…"}}),
        ),
        (
            "pay",
            json!({"user": "ann", "password": "", "payment": {"card": card}}),
            json!({"user": "ann", "password": "…", "payment": {"card": masked}}),
            json!({"user": "ann", "password": "…", "payment": {"card": logged}}),
        ),
        (
            "keep",
            json!({
                "cards": {"own": card},
                "nodes": [[{"name": "n", "children": [{"name": "m", "children": [], "card": card}]}]],
                "names": ["ann"],
            }),
            json!({
                "cards": {"own": masked},
                "nodes": [[{"name": "n", "children": [{"name": "m", "children": [], "card": masked}]}]],
            }),
            json!({
                "cards": {"own": logged},
                "nodes": [[{"name": "n", "children": [{"name": "m", "children": [], "card": logged}]}]],
                "names": "…",
            }),
        ),
        (
            "lock",
            json!({"keys": {"pin": 1234, "key": "c2VjcmV0", "id": 5}}),
            // The bytes of `…`, in base64.
            json!({"keys": {"pin": 0, "key": "4oCm", "id": 5}}),
            json!({"keys": {"pin": "…", "key": "…", "id": 5}}),
        ),
        (
            "walk",
            json!({
                "animal": {"#type": "Dog", "name": "rex", "owner": "ann"},
                "others": [{"name": "cat"}],
                "times": 2,
            }),
            json!({"animal": {}, "others": [{}], "times": 2}),
            json!({
                "animal": {"#type": "Dog", "name": "rex", "owner": "…"},
                "others": [{"name": "cat"}],
                "times": 2,
            }),
        ),
    ];
    for (name, arguments, expected, log) in rows {
        let method = method(&schema, name);
        let sent = arguments_from_json(&contract, method, &arguments).unwrap();
        let mut slot = ParamsSlot::new(&contract, method);
        let masks = masks(&contract, method).expect(name);
        let params = Params::new(&contract, method, &sent);
        kept(&masks, Part::Parameters, &params, &mut slot);
        let found = arguments_to_json(&contract, method, &slot.values);
        assert_eq!(found, expected, "{name} {arguments}");
        let found = arguments_to_log(&contract, method, &sent);
        assert_eq!(found, log, "{name} {arguments}");
    }
    let plain = method(&schema, "plain");
    assert_eq!(masks(&contract, plain), None);
    let arguments = json!({"plain": {"text": "t"}});
    let sent = arguments_from_json(&contract, plain, &arguments).unwrap();
    let mut slot = ParamsSlot::new(&contract, plain);
    let params = Params::new(&contract, plain, &sent);
    kept(&Masks::all(), Part::Parameters, &params, &mut slot);
    assert_eq!(arguments_to_json(&contract, plain, &slot.values), json!({}));
}

fn method<'a>(schema: &'a Schema, name: &str) -> &'a Method {
    let mut methods = schema.services[0].methods.iter();
    methods.find(|method| method.name == name).expect(name)
}

#[test]
fn answers() {
    let schema = schema();
    let contract = Contract::new(&schema);
    let method = method(&schema, "pay");
    let masks = masks(&contract, method).unwrap();
    let result = method.result.as_ref().unwrap();
    let declined = &method.throws[0].ty;
    let value = |ty, json: &Json| from_json(&contract, ty, json).unwrap();
    let card = value(result, &json!({"number": "4000", "code": 7, "bank": "b"}));
    let thrown = value(declined, &json!({"why": "no money", "token": "t"}));
    let log = to_log(&contract, result, &card);
    assert_eq!(log, json!({"number": "…", "code": "…", "bank": "b"}));
    let rows = [
        (
            Reply::Result(Some(card)),
            result,
            json!({"number": "…", "bank": "b"}),
        ),
        (
            Reply::Exception {
                index: 0,
                value: thrown,
            },
            declined,
            json!({"why": "no money", "token": "…"}),
        ),
    ];
    for (reply, ty, expected) in rows {
        let body = ReplyBody::new(&contract, method, reply);
        let mut slot = ReplySlot::new(&contract, method);
        kept(&masks, Part::Reply, &body, &mut slot);
        let (Reply::Result(Some(value)) | Reply::Exception { value, .. }) =
            slot.into_reply().unwrap()
        else {
            panic!("nothing is left");
        };
        assert_eq!(to_json(&contract, ty, &value), expected);
    }
}

#[test]
fn errors_do_not_repeat_values() {
    let schema = schema();
    let contract = Contract::new(&schema);
    let method = method(&schema, "lock");
    let body = Bytes::from_static(br#"{"keys": {"pin": "secret", "key": "", "id": 5}}"#);
    let mut slot = ParamsSlot::new(&contract, method);
    let read = Encoding::Json.decode(&mut slot, &body, Limits::default());
    assert_eq!(
        read.unwrap_err().to_string(),
        "keys.pin: its value cannot be decoded, and is not shown, since it is sensitive"
    );
}
