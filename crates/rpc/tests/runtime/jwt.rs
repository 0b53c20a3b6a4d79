//! JSON Web Tokens that PyJWT has made, and forged ones. `jwt/make.py` makes them.

use crate::fixture::LONG;
use dovetail::identity::{Authentication, Jwt, JwtKeys};
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture};
use dovetail::{Code, Context, Server, Service, Status, blocking, descriptor};
use std::time::Duration;

descriptor!(static WHOM = "Whom" {
    ask() -> String;
});

struct Whom;

impl Service for Whom {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &WHOM
    }

    fn call<'a>(&'a self, _: usize, call: Call) -> HandlerFuture<'a> {
        call.unary((), |context: Context, ()| async move {
            let principal = context.principal();
            let principal = principal.ok_or_else(|| Status::new(Code::Internal, "nobody"))?;
            let roles: Vec<_> = principal.roles().collect();
            let tenant = principal.attribute("tenant").unwrap_or("none");
            let (name, kind) = (principal.name(), principal.kind());
            Ok::<_, Status>(format!("{kind} {name} {} {tenant}", roles.join("+")))
        })
    }
}

const TOKENS: &str = include_str!("jwt/tokens.txt");

fn token(name: &str) -> &'static str {
    let mut lines = TOKENS.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(known, _)| *known == name).unwrap().1
}

const TAKEN: &str = "jwt ada clerk+reader north";
const KEY: &str = "UNAUTHENTICATED the token is signed with a key that is not known here";
const ALGORITHM: &str =
    "UNAUTHENTICATED the token is signed by an algorithm that is not taken here";
const SIGNATURE: &str = "UNAUTHENTICATED the signature of the token is wrong";
const LACKS: &str = "UNAUTHENTICATED the token lacks one of `iss`, `aud`, `sub` and `exp`";
const NO_TOKEN: &str = "UNAUTHENTICATED the token is no JSON Web Token";

/// A token, and what becomes of its call where the server has the set of keys.
const ROWS: &[(&str, &str)] = &[
    ("RS256", TAKEN),
    ("PS256", TAKEN),
    ("ES256", TAKEN),
    ("EdDSA", TAKEN),
    ("no-kid", TAKEN),
    ("roles-as-text", TAKEN),
    ("several-audiences", TAKEN),
    ("HS256", ALGORITHM),
    (
        "none",
        "UNAUTHENTICATED the token is no JSON Web Token that is taken here",
    ),
    (
        "None",
        "UNAUTHENTICATED the token is no JSON Web Token that is taken here",
    ),
    ("no-signature", SIGNATURE),
    ("key-confusion", ALGORITHM),
    ("embedded-key", SIGNATURE),
    ("another-key", SIGNATURE),
    ("unknown-kid", KEY),
    ("wrong-kid", ALGORITHM),
    (
        "critical",
        "UNAUTHENTICATED the token demands extensions (`crit`), and none is known here",
    ),
    ("changed-claims", SIGNATURE),
    ("expired", "UNAUTHENTICATED the token has expired"),
    ("too-early", "UNAUTHENTICATED the token is not valid yet"),
    ("no-exp", LACKS),
    ("no-sub", LACKS),
    ("no-aud", LACKS),
    (
        "wrong-audience",
        "UNAUTHENTICATED the token is for another audience",
    ),
    (
        "wrong-issuer",
        "UNAUTHENTICATED the token is of another issuer",
    ),
    ("no-issuer", LACKS),
    ("no-json", NO_TOKEN),
    ("empty-parts", NO_TOKEN),
    ("no-base64", NO_TOKEN),
];

fn check(keys: JwtKeys, rows: &[(&str, &str)]) {
    let jwt = Jwt::new(keys, "https://issuer.example", "shop");
    let server = Server::new()
        .service(Whom)
        .authentication(Authentication::new().by(jwt))
        .listen("tcp://127.0.0.1:0")
        .unwrap();
    let running = server.start().unwrap();
    let channel = blocking::Channel::builder(&running.addresses()[0].to_string()).unwrap();
    let channel = channel.timeout(LONG).build();
    let message = |token: &str| -> String {
        let channel = channel.with_header("authorization", format!("Bearer {token}"));
        let answer: Result<String, Status> = channel.call(&WHOM.methods[0], ());
        answer.unwrap_or_else(|status| format!("{} {}", status.code(), status.message()))
    };
    for (name, expected) in rows {
        assert_eq!(message(token(name)), *expected, "{name}");
    }
    let long = format!("{}.{}.c", "a".repeat(4_000), "b".repeat(5_000));
    assert_eq!(
        message(&long),
        "UNAUTHENTICATED the token is longer than 8192 bytes"
    );
    drop(channel);
    assert!(running.shutdown(LONG));
}

#[test]
fn tokens_of_a_set_of_keys() {
    check(
        JwtKeys::from_jwks(include_str!("jwt/keys.json")).unwrap(),
        ROWS,
    );
    let every: Vec<_> = TOKENS
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    let tested: Vec<_> = ROWS.iter().map(|(name, _)| *name).collect();
    assert_eq!(every, tested);
}

#[test]
fn tokens_of_one_key() {
    let rsa = JwtKeys::from_pem(include_str!("jwt/rsa.pem")).unwrap();
    let rows = [
        ("RS256", TAKEN),
        ("ES256", ALGORITHM),
        ("key-confusion", ALGORITHM),
        ("another-key", SIGNATURE),
    ];
    check(rsa, &rows);
    let ec = JwtKeys::from_pem(include_str!("jwt/ec.pem")).unwrap();
    check(ec, &[("ES256", TAKEN), ("RS256", ALGORITHM)]);
    let ed = JwtKeys::from_pem(include_str!("jwt/ed.pem")).unwrap();
    check(ed, &[("EdDSA", TAKEN), ("RS256", ALGORITHM)]);
    let secret = JwtKeys::from_secret(b"a secret that has thirty-two bytes.").unwrap();
    check(secret, &[("HS256", TAKEN), ("RS256", ALGORITHM)]);
    let other = JwtKeys::from_secret(b"another one that has thirty-two bytes.").unwrap();
    check(other, &[("HS256", SIGNATURE)]);
}

#[test]
fn a_file_of_keys_is_read_again() {
    let file = std::env::temp_dir().join(format!("dovetail-jwks-{}.json", std::process::id()));
    std::fs::write(&file, include_str!("jwt/keys.json")).unwrap();
    let keys = JwtKeys::from_jwks_file(&file).unwrap();
    check(keys.clone(), &[("RS256", TAKEN)]);
    // A file that cannot be read changes nothing.
    std::fs::write(&file, "{").unwrap();
    let error = keys.reload().unwrap_err();
    assert!(
        error.to_string().contains("no set of JSON Web Keys"),
        "{error}"
    );
    check(keys.clone(), &[("RS256", TAKEN)]);
    let set: serde_json::Value = serde_json::from_str(include_str!("jwt/keys.json")).unwrap();
    let without = serde_json::json!({ "keys": [set["keys"][1]] });
    std::fs::write(&file, without.to_string()).unwrap();
    keys.reload().unwrap();
    check(keys, &[("RS256", KEY), ("ES256", TAKEN)]);
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn keys_that_are_none() {
    let rows = [
        (
            r#"{"keys": []}"#,
            "no key for signatures of the kinds RSA, EC and OKP",
        ),
        ("[]", "no set of JSON Web Keys: invalid length 0"),
        // A secret among public keys is not taken for one.
        (
            r#"{"keys": [{"kty": "oct", "k": "c2VjcmV0", "alg": "HS256"}]}"#,
            "no key for signatures of the kinds RSA, EC and OKP",
        ),
    ];
    for (text, expected) in rows {
        let error = JwtKeys::from_jwks(text).unwrap_err();
        assert!(error.message().starts_with(expected), "{text}: {error}");
    }
    assert!(JwtKeys::from_pem("").is_err());
    assert!(JwtKeys::from_secret(b"short").is_err());
    let keys = JwtKeys::from_secret(&[7; 32]).unwrap();
    let jwt = Jwt::new(keys, "a", "b").leeway(Duration::ZERO);
    assert!(!format!("{jwt:?}").contains('7'));
}
