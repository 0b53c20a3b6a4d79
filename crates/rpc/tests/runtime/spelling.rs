//! Callers with the names of a contract in the style of buf's linter.

use crate::fixture::{Raw, listen};
use crate::http::{post, response};
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture};
use dovetail::{Context, Server, Service, Status, descriptor, enumeration, exceptions, message};

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Colour(i32);

enumeration!(Colour as "colourOf" {
    RED as "Red" = 0,
    DARK_BLUE as "darkBlue" = 1,
});

#[derive(Clone, Debug, Default, PartialEq)]
struct Paint {
    colour: Colour,
    layers: Vec<Colour>,
}

message!(Paint {
    1 colour as "theColour": Colour,
    2 layers as "Layers": Vec<Colour>,
});

#[derive(Clone, Debug, Default, PartialEq)]
struct Dry {
    why: String,
}

message!(Dry {
    1 why: String,
});

impl std::fmt::Display for Dry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.why)
    }
}

#[derive(Clone, Debug)]
enum MixError {
    Dry(Dry),
    Status(Status),
}

exceptions!(MixError { 1 Dry as "too_dry": Dry, });

descriptor!(static SHOP = "Shop" in "paintShop" {
    mix_it(1 paint: Paint, 2 fail: bool) -> Paint | MixError;
});

struct Shop;

impl Service for Shop {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &SHOP
    }

    fn call<'a>(&'a self, _: usize, call: Call) -> HandlerFuture<'a> {
        let nothing = (Paint::default(), false);
        call.unary(nothing, |_: Context, (paint, fail)| async move {
            match fail {
                true => Err(MixError::from(Dry { why: "old".into() })),
                false => Ok(paint),
            }
        })
    }
}

/// Both spellings of paths, values and fields are taken. In the answer fields have the contract's
/// names, which the exported file says; values are names for callers of the contract, and numbers,
/// which both know, for the others.
#[test]
fn both_spellings_are_answered() {
    const OWN: &str = "/paintShop.Shop/mix_it";
    const STYLED: &str = "/paint_shop.v1.ShopService/MixIt";
    const NAMES: &str = r#"{"result":{"theColour":"darkBlue","Layers":["Red","darkBlue"]}}"#;
    const NUMBERS: &str = r#"{"result":{"theColour":1,"Layers":[0,1]}}"#;
    let own = r#"{"paint":{"theColour":"darkBlue","Layers":["Red","darkBlue"]}}"#;
    let styled = r#"{"paint":{"the_colour":"COLOUR_OF_DARK_BLUE","layers":["COLOUR_OF_RED_UNSPECIFIED","COLOUR_OF_DARK_BLUE"]}}"#;
    let unknown = r#"{"paint":{"theColour":"COLOUR_OF_PINK"}}"#;
    let fail = r#"{"fail":true}"#;
    let rows = [
        (OWN, own, 200, NAMES),
        (OWN, styled, 200, NAMES),
        (STYLED, own, 200, NUMBERS),
        (STYLED, styled, 200, NUMBERS),
        (
            STYLED,
            unknown,
            400,
            r#"\"COLOUR_OF_PINK\" is no value of the enum"#,
        ),
        // Without type, which is of the package.
        (OWN, fail, 500, r#""type":"paintShop.Dry""#),
        (STYLED, fail, 500, r#""type":"paint_shop.v1.Dry""#),
        ("/paint_shop.v1.ShopService/mix_it", own, 404, "no method"),
        ("/paint_shop.v1.Shop/MixIt", own, 404, "no service"),
        ("/paintShop.Shop/MixIt", own, 404, "no method"),
    ];
    let running = listen(Server::new().service(Shop)).start().unwrap();
    let mut raw = Raw::connect(&running);
    for (path, body, status, expected) in rows {
        raw.send(&post(path, "Content-Type: application/json\r\n", body));
        let got = response(&mut raw);
        assert_eq!(got.status, status, "{path} {body} {}", got.text());
        assert!(
            got.text().contains(expected),
            "{path} {body} {}",
            got.text()
        );
    }
}
