//! JSON Web Tokens (RFC 7519), signed (RFC 7515) with keys that the server has.

use super::{Authenticator, Credentials, Principal, unauthenticated};
use crate::{Code, Status};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header, errors};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};
use std::{fmt, fs, io};

/// Identifies callers by JSON Web Tokens that somebody has issued to them.
///
/// A token is taken whose signature is that of one of the [keys](JwtKeys), by an algorithm of this
/// key; whose `iss` and `aud` are those given here; and whose time (`exp`, and `nbf` where it is
/// there) is now. All other tokens are refused. The name of the principal is `sub`, its roles are
/// in the claim `roles`, or another one: a list of texts, or one text with spaces. Claims that are
/// texts, numbers or truth values are attributes.
///
/// Cheap to clone; clones are the same.
#[derive(Clone)]
pub struct Jwt {
    keys: JwtKeys,
    issuer: String,
    audience: String,
    leeway: Duration,
    roles: String,
}

/// The clocks of issuers may differ from that of the server by so much.
const LEEWAY: Duration = Duration::from_secs(60);

const UNKNOWN_KEY: &str = "the token is signed with a key that is not known here";
const ALGORITHM: &str = "the token is signed by an algorithm that is not taken here";

impl Jwt {
    /// Takes tokens of this issuer, for this audience.
    pub fn new(keys: JwtKeys, issuer: impl Into<String>, audience: impl Into<String>) -> Self {
        Jwt {
            keys,
            issuer: issuer.into(),
            audience: audience.into(),
            leeway: LEEWAY,
            roles: "roles".to_owned(),
        }
    }

    /// Sets how much the issuer's clock may differ. Default: 60 seconds.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway;
        self
    }

    /// Sets the claim that has the roles. Default: `roles`.
    #[must_use]
    pub fn roles_claim(mut self, claim: impl Into<String>) -> Self {
        self.roles = claim.into();
        self
    }

    /// Reads the file of the keys again. After an error everything stays as it was.
    pub fn reload(&self) -> io::Result<()> {
        self.keys.reload()
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.leeway = self.leeway.as_secs();
        validation.validate_nbf = true;
        validation.set_issuer(&[&self.issuer]);
        validation.set_audience(&[&self.audience]);
        validation.set_required_spec_claims(&["aud", "exp", "iss", "sub"]);
        validation
    }

    fn claims(&self, token: &str) -> Result<Map<String, Value>, Status> {
        let refused = |error: errors::Error| unauthenticated(refusal(&error));
        check_critical(token)?;
        let header = decode_header(token).map_err(refused)?;
        let keys = self.keys.current();
        let named = |key: &&Key| header.kid.is_none() || key.id.is_none() || key.id == header.kid;
        let mut named = keys.iter().filter(named).peekable();
        if named.peek().is_none() {
            return Err(unauthenticated(UNKNOWN_KEY));
        }
        // Never by an algorithm that the token alone chooses.
        let fitting = named.filter(|key| key.algorithms.contains(&header.alg));
        let validation = self.validation(header.alg);
        let mut error = unauthenticated(ALGORITHM);
        for key in fitting {
            match decode(token, &key.key, &validation) {
                Ok(decoded) => return Ok(decoded.claims),
                Err(failed) => error = refused(failed),
            }
        }
        Err(error)
    }

    fn principal(&self, claims: &Map<String, Value>) -> Result<Principal, Status> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        let Some(name) = text("sub").filter(|name| !name.is_empty()) else {
            return Err(unauthenticated("the token names nobody: `sub` is missing"));
        };
        let mut principal = Principal::new(name, Principal::JWT);
        for (claim, value) in claims {
            if let Some(value) = attribute(value) {
                principal = principal.with_attribute(claim, value);
            }
        }
        let expires = claims.get("exp").and_then(Value::as_f64);
        let expires = expires.and_then(|at| Duration::try_from_secs_f64(at).ok());
        let expires = expires.and_then(|at| at.checked_add(self.leeway));
        if let Some(expires) = expires.and_then(|at| SystemTime::UNIX_EPOCH.checked_add(at)) {
            principal = principal.with_expiry(expires);
        }
        let roles: Vec<_> = match claims.get(&self.roles) {
            Some(Value::String(roles)) => roles.split_whitespace().collect(),
            Some(Value::Array(roles)) => roles.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        Ok(roles.into_iter().fold(principal, Principal::with_role))
    }
}

fn attribute(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Refuses tokens that demand extensions (RFC 7515, 4.1.11): none is known here.
fn check_critical(token: &str) -> Result<(), Status> {
    let malformed = || unauthenticated("the token is no JSON Web Token");
    let header = token.split('.').next().unwrap_or_default();
    let header = URL_SAFE_NO_PAD.decode(header).map_err(|_| malformed())?;
    let header: Map<String, Value> = serde_json::from_slice(&header).map_err(|_| malformed())?;
    match header.contains_key("crit") {
        true => Err(unauthenticated(
            "the token demands extensions (`crit`), and none is known here",
        )),
        false => Ok(()),
    }
}

/// Says why a token is refused, without what would help to forge one.
fn refusal(error: &errors::Error) -> &'static str {
    use errors::ErrorKind;
    match error.kind() {
        ErrorKind::ExpiredSignature => "the token has expired",
        ErrorKind::ImmatureSignature => "the token is not valid yet",
        ErrorKind::InvalidIssuer => "the token is of another issuer",
        ErrorKind::InvalidAudience => "the token is for another audience",
        ErrorKind::MissingRequiredClaim(_) => {
            "the token lacks one of `iss`, `aud`, `sub` and `exp`"
        }
        ErrorKind::InvalidSignature => "the signature of the token is wrong",
        ErrorKind::InvalidAlgorithm | ErrorKind::InvalidAlgorithmName => ALGORITHM,
        _ => "the token is no JSON Web Token that is taken here",
    }
}

impl Authenticator for Jwt {
    fn authenticate(&self, credentials: &Credentials<'_>) -> Result<Option<Principal>, Status> {
        // Three parts with dots between them; other tokens are not for this.
        let token = credentials.token();
        let token = token.filter(|token| token.bytes().filter(|byte| *byte == b'.').count() == 2);
        token
            .map(|token| self.principal(&self.claims(token)?))
            .transpose()
    }

    fn accepts(&self) -> &str {
        "a header `authorization: Bearer …` with a JSON Web Token"
    }
}

impl fmt::Debug for Jwt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jwt")
            .field("issuer", &self.issuer)
            .field("audience", &self.audience)
            .field("leeway", &self.leeway)
            .finish_non_exhaustive()
    }
}

/// The keys by which tokens are signed.
///
/// Cheap to clone; clones are the same.
#[derive(Clone)]
pub struct JwtKeys(Arc<Source>);

struct Source {
    file: Option<PathBuf>,
    read: fn(&[u8]) -> Result<Vec<Key>, String>,
    keys: RwLock<Arc<Vec<Key>>>,
}

struct Key {
    id: Option<String>,
    key: DecodingKey,
    /// Those that this kind of key can have, and no others: a public key is never taken for the
    /// secret of an HMAC.
    algorithms: Vec<Algorithm>,
}

const RSA: &[Algorithm] = &[
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
];

impl JwtKeys {
    /// Reads a set of public keys (RFC 7517, 5) from a file. Keys for signatures count, of the
    /// kinds RSA, EC with the curves P-256 and P-384, and OKP with Ed25519.
    pub fn from_jwks_file(file: impl Into<PathBuf>) -> io::Result<Self> {
        Self::from_file(file.into(), jwks)
    }

    /// Reads a public key in PEM from a file: RSA, EC with P-256 or P-384, or Ed25519.
    pub fn from_pem_file(file: impl Into<PathBuf>) -> io::Result<Self> {
        Self::from_file(file.into(), pem)
    }

    /// Reads a set of public keys.
    pub fn from_jwks(text: &str) -> Result<Self, Status> {
        Self::from_text(text, jwks)
    }

    /// Reads a public key in PEM.
    pub fn from_pem(text: &str) -> Result<Self, Status> {
        Self::from_text(text, pem)
    }

    /// Takes a secret that the issuer has as well, for HS256. An error for one of less than 32
    /// bytes, which RFC 7518, 3.2 forbids.
    pub fn from_secret(secret: &[u8]) -> Result<Self, Status> {
        if secret.len() < 32 {
            let what = "the secret of HS256 has at least 32 bytes (RFC 7518, 3.2)";
            return Err(Status::new(Code::InvalidArgument, what));
        }
        let key = Key {
            id: None,
            key: DecodingKey::from_secret(secret),
            algorithms: vec![Algorithm::HS256],
        };
        Ok(Self::of(None, jwks, vec![key]))
    }

    fn of(
        file: Option<PathBuf>,
        read: fn(&[u8]) -> Result<Vec<Key>, String>,
        keys: Vec<Key>,
    ) -> Self {
        let keys = RwLock::new(Arc::new(keys));
        JwtKeys(Arc::new(Source { file, read, keys }))
    }

    fn from_file(file: PathBuf, read: fn(&[u8]) -> Result<Vec<Key>, String>) -> io::Result<Self> {
        let keys = load(&file, read)?;
        Ok(Self::of(Some(file), read, keys))
    }

    fn from_text(text: &str, read: fn(&[u8]) -> Result<Vec<Key>, String>) -> Result<Self, Status> {
        let keys = read(text.as_bytes());
        let keys = keys.map_err(|why| Status::new(Code::InvalidArgument, why))?;
        Ok(Self::of(None, read, keys))
    }

    fn current(&self) -> Arc<Vec<Key>> {
        let keys = self.0.keys.read().unwrap_or_else(PoisonError::into_inner);
        keys.clone()
    }

    /// Reads the file again. After an error everything stays as it was. Without a file nothing
    /// happens.
    pub fn reload(&self) -> io::Result<()> {
        if let Some(file) = &self.0.file {
            let keys = Arc::new(load(file, self.0.read)?);
            *self.0.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
        }
        Ok(())
    }
}

impl fmt::Debug for JwtKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JwtKeys")
            .field("file", &self.0.file)
            .field("keys", &self.current().len())
            .finish()
    }
}

fn load(file: &Path, read: fn(&[u8]) -> Result<Vec<Key>, String>) -> io::Result<Vec<Key>> {
    let place = file.display();
    let text = fs::read(file)
        .map_err(|error| io::Error::new(error.kind(), format!("{place}: {error}")))?;
    read(&text).map_err(|why| {
        let what = format!("{place}: {why}");
        io::Error::new(io::ErrorKind::InvalidData, what)
    })
}

fn jwks(text: &[u8]) -> Result<Vec<Key>, String> {
    let set: JwkSet = serde_json::from_slice(text)
        .map_err(|error| format!("no set of JSON Web Keys: {error}"))?;
    let keys: Vec<_> = set.keys.iter().filter_map(public).collect();
    match keys.is_empty() {
        true => Err("no key for signatures of the kinds RSA, EC and OKP".to_owned()),
        false => Ok(keys),
    }
}

/// Returns a public key for signatures; `None` for others.
fn public(jwk: &Jwk) -> Option<Key> {
    use jsonwebtoken::jwk::PublicKeyUse;
    if let Some(used) = &jwk.common.public_key_use
        && *used != PublicKeyUse::Signature
    {
        return None;
    }
    let algorithms = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => RSA.to_vec(),
        AlgorithmParameters::EllipticCurve(key) => match key.curve {
            EllipticCurve::P256 => vec![Algorithm::ES256],
            EllipticCurve::P384 => vec![Algorithm::ES384],
            EllipticCurve::P521 | EllipticCurve::Ed25519 => return None,
        },
        AlgorithmParameters::OctetKeyPair(_) => vec![Algorithm::EdDSA],
        // A secret is none of the public's.
        AlgorithmParameters::OctetKey(_) => return None,
    };
    let own = jwk.common.key_algorithm;
    let own = own.and_then(|own| own.to_string().parse::<Algorithm>().ok());
    let algorithms = match own {
        Some(own) => algorithms.into_iter().filter(|one| *one == own).collect(),
        None => algorithms,
    };
    Some(Key {
        id: jwk.common.key_id.clone(),
        key: DecodingKey::from_jwk(jwk).ok()?,
        algorithms,
    })
}

fn pem(text: &[u8]) -> Result<Vec<Key>, String> {
    type Read = fn(&[u8]) -> errors::Result<DecodingKey>;
    let kinds: [(Read, &[Algorithm]); 3] = [
        (DecodingKey::from_rsa_pem, RSA),
        (
            DecodingKey::from_ec_pem,
            &[Algorithm::ES256, Algorithm::ES384],
        ),
        (DecodingKey::from_ed_pem, &[Algorithm::EdDSA]),
    ];
    let read = kinds
        .iter()
        .find_map(|(read, algorithms)| Some((read(text).ok()?, algorithms.to_vec())));
    let (key, algorithms) = read.ok_or("no public key in PEM of RSA, EC or Ed25519")?;
    Ok(vec![Key {
        id: None,
        key,
        algorithms,
    }])
}
