use super::{Authenticator, Credentials, Principal};
use crate::Status;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::{fmt, fs, io};
use subtle::ConstantTimeEq;

/// Identifies callers by tokens of which the server knows the hash alone.
///
/// A token is random, of 128 bits or more: a password is none, as its hash can be guessed. A file
/// has one on each line: a name, the SHA-256 of the token in hex, and its roles, separated by
/// spaces. Several lines may have the same name, while one token replaces another.
///
/// ```text
/// # The web shop.
/// shop  b221d9dbb083a7f33428d7c2a3c3198ae925614d70210e28716ccaa7cd4ddb79  clerk reader
/// ```
///
/// Cheap to clone; clones are the same.
#[derive(Clone)]
pub struct Tokens(Arc<Source>);

struct Source {
    file: Option<PathBuf>,
    known: RwLock<Arc<Known>>,
}

/// Principals by the first half of their token's hash, and the second half.
type Known = HashMap<[u8; HALF], Vec<([u8; HALF], Principal)>>;

const HALF: usize = 16;

impl Tokens {
    /// Reads a file. An error of the file's format names the line.
    pub fn from_file(file: impl Into<PathBuf>) -> io::Result<Self> {
        let file = file.into();
        let known = RwLock::new(Arc::new(load(&file)?));
        let file = Some(file);
        Ok(Tokens(Arc::new(Source { file, known })))
    }

    /// Reads lines as a file has them.
    pub fn from_lines(lines: &str) -> Result<Self, Status> {
        let known = RwLock::new(Arc::new(parse(lines).map_err(invalid)?));
        Ok(Tokens(Arc::new(Source { file: None, known })))
    }

    /// Reads the file again. After an error everything stays as it was. Without a file nothing
    /// happens.
    pub fn reload(&self) -> io::Result<()> {
        if let Some(file) = &self.0.file {
            let known = Arc::new(load(file)?);
            let mut place = self.0.known.write().unwrap_or_else(PoisonError::into_inner);
            *place = known;
        }
        Ok(())
    }

    /// Returns the hash of a token, as a file has it.
    pub fn hash(token: &str) -> String {
        let hash = Sha256::digest(token.as_bytes());
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn load(file: &PathBuf) -> io::Result<Known> {
    let failed =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", file.display()));
    let text = fs::read_to_string(file).map_err(failed)?;
    parse(&text).map_err(|(line, why)| {
        let what = format!("{}:{line}: {why}", file.display());
        io::Error::new(io::ErrorKind::InvalidData, what)
    })
}

fn invalid((line, why): (usize, String)) -> Status {
    Status::new(crate::Code::InvalidArgument, format!("line {line}: {why}"))
}

/// Reads the lines of a file. The error has the number of a line, from 1.
fn parse(text: &str) -> Result<Known, (usize, String)> {
    let mut known = Known::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else {
            continue;
        };
        let hash = words.next().unwrap_or_default();
        let Some((first, second)) = halves(hash) else {
            let why = "behind the name is the SHA-256 of the token: 64 digits in hex";
            return Err((number, why.to_owned()));
        };
        let principal = words.fold(Principal::new(name, Principal::TOKEN), Principal::with_role);
        known.entry(first).or_default().push((second, principal));
    }
    Ok(known)
}

/// Reads a hash.
fn halves(hex: &str) -> Option<([u8; HALF], [u8; HALF])> {
    let digit = |digit: &u8| {
        char::from(*digit)
            .to_digit(16)
            .and_then(|value| u8::try_from(value).ok())
    };
    let mut bytes = [0; 2 * HALF];
    if hex.len() != 2 * bytes.len() {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
        let [high, low] = digits else { return None };
        *byte = digit(high)? << 4 | digit(low)?;
    }
    split(&bytes)
}

fn split(hash: &[u8]) -> Option<([u8; HALF], [u8; HALF])> {
    let (first, second) = hash.split_at_checked(HALF)?;
    Some((first.try_into().ok()?, second.try_into().ok()?))
}

impl Authenticator for Tokens {
    fn authenticate(&self, credentials: &Credentials<'_>) -> Result<Option<Principal>, Status> {
        let Some(token) = credentials.token() else {
            return Ok(None);
        };
        let Some((first, second)) = split(&Sha256::digest(token.as_bytes())) else {
            return Ok(None);
        };
        let known = self.0.known.read();
        let known = known.unwrap_or_else(PoisonError::into_inner).clone();
        let mut candidates = known.get(&first).into_iter().flatten();
        let found = candidates.find(|(other, _)| bool::from(other.ct_eq(&second)));
        Ok(found.map(|(_, principal)| principal.clone()))
    }

    fn accepts(&self) -> &str {
        "a header `authorization: Bearer …` with a token of this server"
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("file", &self.0.file)
            .finish_non_exhaustive()
    }
}
