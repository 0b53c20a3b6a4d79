//! Values of contracts inside values of the crate `serde`.

use dovetail::Message;
use dovetail::serde::AsJson;
use dovetail::types::{Bytes, UnknownFields};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Message)]
enum Colour {
    Red,
    #[dovetail(id = 7)]
    DarkBlue,
    Unknown(i32),
}

#[derive(Clone, Debug, Default, PartialEq, Message)]
struct Brush {
    width: f64,
    colour: Colour,
    label: Option<String>,
    tips: Vec<Bytes>,
    most: u64,
}

#[derive(Clone, Debug, PartialEq, Message)]
enum Tool {
    Brush(Brush),
    Palette(BTreeMap<String, Colour>),
    Unknown(UnknownFields),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Page {
    number: u32,
    #[serde(with = "dovetail::serde")]
    brush: Brush,
    tools: Vec<AsJson<Tool>>,
    best: Option<AsJson<Brush>>,
}

fn page() -> Page {
    let brush = Brush {
        width: 0.1,
        colour: Colour::DarkBlue,
        label: Some("fine".to_owned()),
        tips: vec![Bytes::from_static(b"\0\xff")],
        most: u64::MAX,
    };
    let colours = [("sea".to_owned(), Colour::DarkBlue)];
    Page {
        number: 1,
        brush: brush.clone(),
        tools: vec![
            AsJson(Tool::Palette(colours.into())),
            AsJson(Tool::Brush(brush.clone())),
        ],
        best: Some(AsJson(brush)),
    }
}

#[test]
fn values_have_the_form_of_json() {
    let page = page();
    let brush = json!({
        "width": 0.1, "colour": "DARK_BLUE", "label": "fine", "tips": ["AP8="], "most": u64::MAX.to_string()
    });
    let palette = json!({ "palette": { "sea": "DARK_BLUE" } });
    let expected = json!({
        "number": 1, "brush": brush, "tools": [palette, { "brush": brush }], "best": brush
    });
    let json = serde_json::to_value(&page).unwrap();
    assert_eq!(json, expected);
    assert_eq!(serde_json::from_value::<Page>(json).unwrap(), page);
}

#[test]
fn values_stand_in_other_formats() {
    let page = page();
    let text = toml::to_string(&page).unwrap();
    assert_eq!(toml::from_str::<Page>(&text).unwrap(), page, "{text}");
}

#[test]
fn errors_say_what_does_not_fit() {
    let rows = [
        (json!({ "colour": "PINK" }), "PINK"),
        (json!({ "width": "wide" }), "width"),
        (json!({ "tips": [5] }), "tips"),
        (json!(5), "expected Struct"),
    ];
    for (json, expected) in rows {
        let error = serde_json::from_value::<AsJson<Brush>>(json.clone()).unwrap_err();
        assert!(error.to_string().contains(expected), "{json}: {error}");
    }
}
