use super::provider;
use rustls::RootCertStore;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Certificates or a key as PEM text (RFC 7468). A path, as text or as [`Path`], is a file, which
/// is read again with each reload; bytes are the PEM text itself.
#[derive(Clone)]
pub enum Pem {
    /// A file.
    File(PathBuf),
    /// The text.
    Text(Vec<u8>),
}

impl From<&str> for Pem {
    fn from(path: &str) -> Self {
        Pem::File(path.into())
    }
}

impl From<String> for Pem {
    fn from(path: String) -> Self {
        Pem::File(path.into())
    }
}

impl From<&Path> for Pem {
    fn from(path: &Path) -> Self {
        Pem::File(path.into())
    }
}

impl From<PathBuf> for Pem {
    fn from(path: PathBuf) -> Self {
        Pem::File(path)
    }
}

impl From<&[u8]> for Pem {
    fn from(text: &[u8]) -> Self {
        Pem::Text(text.into())
    }
}

impl From<Vec<u8>> for Pem {
    fn from(text: Vec<u8>) -> Self {
        Pem::Text(text)
    }
}

/// Roots of trust, and their certificates.
type Roots = (Arc<RootCertStore>, Vec<CertificateDer<'static>>);

impl Pem {
    /// The certificates, at least one.
    fn certificates(&self) -> io::Result<Vec<CertificateDer<'static>>> {
        let text = self.read()?;
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
        match found {
            Ok(found) if found.is_empty() => Err(self.bad(&NO_CERTIFICATE)),
            Ok(found) => Ok(found),
            Err(error) => Err(self.bad(&error)),
        }
    }

    /// The first private key.
    fn key(&self) -> io::Result<PrivateKeyDer<'static>> {
        PrivateKeyDer::from_pem_slice(&self.read()?).map_err(|error| match error {
            PemError::NoItemsFound => self.bad(&NO_KEY),
            error => self.bad(&error),
        })
    }

    /// The certificates as those that others are trusted by, and as they stand.
    pub(super) fn roots(&self) -> io::Result<Roots> {
        let certificates = self.certificates()?;
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            let added = roots.add(certificate.clone());
            added.map_err(|error| self.bad(&error))?;
        }
        Ok((Arc::new(roots), certificates))
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        match self {
            Pem::Text(text) => Ok(text.clone()),
            Pem::File(path) => std::fs::read(path).map_err(|error| {
                let what = format!("cannot read {}: {error}", path.display());
                io::Error::new(error.kind(), what)
            }),
        }
    }

    fn bad(&self, why: &dyn std::fmt::Display) -> io::Error {
        let what = match self {
            Pem::File(path) => format!("{}: {why}", path.display()),
            Pem::Text(_) => format!("the PEM text: {why}"),
        };
        io::Error::new(io::ErrorKind::InvalidData, what)
    }
}

/// A key is nobody's business.
impl std::fmt::Debug for Pem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Pem::File(path) => write!(f, "Pem({})", path.display()),
            Pem::Text(_) => f.write_str("Pem(…)"),
        }
    }
}

const NO_CERTIFICATE: &str = "no certificate in it; PEM has lines of BEGIN CERTIFICATE";
const NO_KEY: &str =
    "no private key in it; PEM has a line of BEGIN PRIVATE KEY, without a password";

/// The identity of one end: its certificate, behind it those that lead to a root, and the key.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    pub(super) chain: Pem,
    pub(super) key: Pem,
}

impl Identity {
    pub(super) fn load(&self) -> io::Result<Arc<CertifiedKey>> {
        let (chain, key) = (self.chain.certificates()?, self.key.key()?);
        let both = CertifiedKey::from_der(chain, key, &provider());
        both.map(Arc::new).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => self.key.bad(&OTHER_KEY),
            error => self.key.bad(&error),
        })
    }
}

const OTHER_KEY: &str = "the key of another certificate; the chain begins with the key's own";
