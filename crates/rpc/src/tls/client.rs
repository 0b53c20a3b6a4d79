use super::loaded::{Loaded, Source};
use super::pem::{Identity, Pem};
use super::pinned::Pinned;
use super::{Session, explain, provider};
use rustls::client::{ResolvesClientCert, VerifierBuilderError, WebPkiServerVerifier};
use rustls::pki_types::ServerName;
use rustls::sign::SingleCertAndKey;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::io;
use std::sync::{Arc, OnceLock};

/// The certificates that a client trusts over TLS, and its own. A cheap handle: clones share one
/// state, and [`reload`](Self::reload) of any of them counts for all channels that have it.
///
/// ```no_run
/// use dovetail::blocking::Channel;
/// use dovetail::tls::ClientTls;
///
/// # fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let tls = ClientTls::roots("ca.pem")?.identity("client.pem", "client.key")?;
/// let channel = Channel::builder("tls://calculator.example:9090")?.tls(&tls).build();
/// # drop(channel);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ClientTls {
    loaded: Arc<Loaded<Settings>>,
    /// The name that the server's certificate has to be for, where that is not the host of its
    /// address.
    name: Option<ServerName<'static>>,
}

#[derive(Clone, Debug)]
struct Settings {
    /// `None` are those of the system.
    roots: Option<Pem>,
    identity: Option<Identity>,
}

impl Source for Settings {
    type Config = ClientConfig;

    fn load(&self) -> io::Result<ClientConfig> {
        let (roots, own) = match &self.roots {
            Some(roots) => roots.roots()?,
            None => (system_roots()?, Vec::new()),
        };
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider()).build();
        let verifier = verifier.map_err(|error| unverifiable(&error))?;
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| explain(&error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Pinned::new(verifier, own)));
        Ok(match &self.identity {
            Some(identity) => {
                let identity = SingleCertAndKey::from(identity.load()?);
                let resolver: Arc<dyn ResolvesClientCert> = Arc::new(identity);
                builder.with_client_cert_resolver(resolver)
            }
            None => builder.with_no_client_auth(),
        })
    }
}

fn unverifiable(error: &VerifierBuilderError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("TLS: {error}"))
}

/// The roots that the system trusts, read once for the process.
fn system_roots() -> io::Result<Arc<RootCertStore>> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    if let Some(roots) = ROOTS.get() {
        return Ok(roots.clone());
    }
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (trusted, _) = roots.add_parsable_certificates(found.certs);
    if trusted == 0 {
        let why = found.errors.first().map(|error| format!(": {error}"));
        let what = format!(
            "the system has no root certificates{}; install its package `ca-certificates`, or say whom to trust \
             with `ClientTls::roots`",
            why.unwrap_or_default()
        );
        return Err(io::Error::new(io::ErrorKind::NotFound, what));
    }
    Ok(ROOTS.get_or_init(|| Arc::new(roots)).clone())
}

impl ClientTls {
    /// Trusts the roots that the system trusts; SSL_CERT_FILE and SSL_CERT_DIR name others, as for
    /// most programs. An error where there are none.
    pub fn system() -> io::Result<Self> {
        Self::with(Settings {
            roots: None,
            identity: None,
        })
    }

    /// Trusts these roots and no others: a private authority, or a certificate that has signed
    /// itself, such as `openssl req -x509` makes.
    pub fn roots(roots: impl Into<Pem>) -> io::Result<Self> {
        Self::with(Settings {
            roots: Some(roots.into()),
            identity: None,
        })
    }

    /// Adds a certificate of the client's own, behind it in `chain` those that lead to its root,
    /// and its private key. Servers that do not ask for one are shown none.
    pub fn identity(&self, chain: impl Into<Pem>, key: impl Into<Pem>) -> io::Result<Self> {
        let (chain, key) = (chain.into(), key.into());
        let with = Self::with(Settings {
            identity: Some(Identity { chain, key }),
            ..self.loaded.source()
        })?;
        let name = self.name.clone();
        Ok(ClientTls { name, ..with })
    }

    /// Sets the name or IP address that the server's certificate is for. Default: the host of its
    /// address. An error where it can be no name.
    pub fn server_name(&self, name: &str) -> io::Result<Self> {
        Ok(ClientTls {
            name: Some(parse_name(name)?),
            ..self.clone()
        })
    }

    fn with(settings: Settings) -> io::Result<Self> {
        Ok(ClientTls {
            loaded: Arc::new(Loaded::new(settings)?),
            name: None,
        })
    }

    /// Reads the files again, for new connections. After an error everything stays as it was.
    pub fn reload(&self) -> io::Result<()> {
        self.loaded.reload()
    }

    /// One end of a connection to a server at this `host:port`; `protocol` is what ALPN offers.
    pub(crate) fn session(&self, place: &str, protocol: Option<&[u8]>) -> io::Result<Session> {
        let name = match &self.name {
            Some(name) => name.clone(),
            None => parse_name(host(place))?,
        };
        let protocols = protocol.map(Vec::from).into_iter().collect();
        let session = ClientConnection::new_with_alpn(self.loaded.config(), name, protocols);
        Ok(session.map_err(|error| explain(&error))?.into())
    }
}

/// The host of `host:port`; an IPv6 address has brackets around it there.
fn host(place: &str) -> &str {
    let host = place.rsplit_once(':').map_or(place, |(host, _)| host);
    let inside = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    inside.unwrap_or(host)
}

fn parse_name(name: &str) -> io::Result<ServerName<'static>> {
    ServerName::try_from(name.to_owned()).map_err(|_| {
        let what = format!(
            "`{name}` is no name that a certificate can be for; give one with `ClientTls::server_name`"
        );
        io::Error::new(io::ErrorKind::InvalidInput, what)
    })
}

impl std::fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ClientTls({:?})", self.loaded.source())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_an_address() {
        for (place, expected) in [
            ("localhost:9090", "localhost"),
            ("127.0.0.1:1", "127.0.0.1"),
            ("[::1]:9090", "::1"),
            ("host", "host"),
        ] {
            assert_eq!(host(place), expected);
            assert!(parse_name(host(place)).is_ok(), "{place}");
        }
        assert!(parse_name("/run/a.sock").is_err());
    }
}
