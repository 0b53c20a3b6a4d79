use super::loaded::{Loaded, Source};
use super::pem::{Identity, Pem};
use super::{Session, explain, provider};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::SingleCertAndKey;
use rustls::{ServerConfig, ServerConnection};
use std::io;
use std::sync::Arc;

/// The protocols that a server on event loops agrees on with clients that name some (ALPN, RFC
/// 7301), the best one first.
const WITH_HTTP2: [&[u8]; 3] = [b"dovetail/1", b"h2", b"http/1.1"];

/// The protocols of the models without HTTP/2. A client that names `h2` alone is told so in its own
/// wire.
const WITHOUT_HTTP2: [&[u8]; 3] = [b"dovetail/1", b"http/1.1", b"h2"];

/// The certificate of a server, and the clients that it lets in. A cheap handle: clones share one
/// state, and [`reload`](Self::reload) of any of them counts for the server.
///
/// ```no_run
/// use dovetail::Server;
/// use dovetail::tls::{ClientCertificate, ServerTls};
///
/// # fn run(calculator: impl dovetail::Service) -> std::io::Result<()> {
/// let tls = ServerTls::new("server.pem", "server.key")?
///     .clients("clients.pem", ClientCertificate::Optional)?;
/// let server = Server::new().service(calculator).tls(&tls).listen("tcp://0.0.0.0:9090")?;
/// let running = server.start()?;
/// // Later, when the files are new ones:
/// tls.reload()?;
/// # drop(running);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ServerTls(Arc<Loaded<Settings>>);

/// Whether clients have to show a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificate {
    /// They may; one that is shown has to be valid.
    Optional,
    /// They have to.
    Required,
}

#[derive(Clone, Debug)]
struct Settings {
    identity: Identity,
    clients: Option<(Pem, ClientCertificate)>,
}

/// One configuration for each order of protocols. They share sessions and certificates.
struct Configs {
    with_http2: Arc<ServerConfig>,
    without_http2: Arc<ServerConfig>,
}

impl Source for Settings {
    type Config = Configs;

    fn load(&self) -> io::Result<Configs> {
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| explain(&error))?
            .with_client_cert_verifier(self.verifier()?);
        let identity = SingleCertAndKey::from(self.identity.load()?);
        let mut config = builder.with_cert_resolver(Arc::new(identity));
        config.alpn_protocols = WITHOUT_HTTP2.map(Vec::from).into();
        let without_http2 = Arc::new(config.clone());
        config.alpn_protocols = WITH_HTTP2.map(Vec::from).into();
        Ok(Configs {
            with_http2: Arc::new(config),
            without_http2,
        })
    }
}

impl Settings {
    fn verifier(&self) -> io::Result<Arc<dyn ClientCertVerifier>> {
        let Some((roots, wanted)) = &self.clients else {
            return Ok(WebPkiClientVerifier::no_client_auth());
        };
        let builder = WebPkiClientVerifier::builder_with_provider(roots.roots()?.0, provider());
        let builder = match wanted {
            ClientCertificate::Optional => builder.allow_unauthenticated(),
            ClientCertificate::Required => builder,
        };
        let verifier = builder.build();
        verifier.map(|verifier| verifier as _).map_err(|error| {
            let what = format!("{roots:?} cannot be trusted: {error}");
            io::Error::new(io::ErrorKind::InvalidData, what)
        })
    }
}

impl ServerTls {
    /// With this certificate, behind it in `chain` those that lead to its root, and its private
    /// key. An error where they cannot be read, or do not belong together.
    pub fn new(chain: impl Into<Pem>, key: impl Into<Pem>) -> io::Result<Self> {
        let (chain, key) = (chain.into(), key.into());
        Self::with(Settings {
            identity: Identity { chain, key },
            clients: None,
        })
    }

    /// Asks clients for a certificate, which one of these roots has to have signed. Handlers see it
    /// with [`Context::tls`](crate::Context::tls). Default: they are not asked.
    pub fn clients(&self, roots: impl Into<Pem>, wanted: ClientCertificate) -> io::Result<Self> {
        Self::with(Settings {
            clients: Some((roots.into(), wanted)),
            ..self.0.source()
        })
    }

    fn with(settings: Settings) -> io::Result<Self> {
        Ok(ServerTls(Arc::new(Loaded::new(settings)?)))
    }

    /// Reads the files again. New connections get what is in them, those that are there go on.
    /// After an error everything stays as it was.
    pub fn reload(&self) -> io::Result<()> {
        self.0.reload()
    }

    /// Takes over all settings of the other one, for certificates that are not in files.
    pub fn replace(&self, other: &ServerTls) {
        self.0.replace(&other.0);
    }

    /// Returns whether clients have to show a certificate.
    pub(crate) fn requires_certificates(&self) -> bool {
        let clients = self.0.source().clients;
        clients.is_some_and(|(_, wanted)| wanted == ClientCertificate::Required)
    }

    /// Returns one end of a connection; `http2` says whether the connection can go on in HTTP/2.
    pub(crate) fn session(&self, http2: bool) -> io::Result<Session> {
        let configs = self.0.config();
        let config = match http2 {
            true => &configs.with_http2,
            false => &configs.without_http2,
        };
        let session = ServerConnection::new(config.clone());
        Ok(session.map_err(|error| explain(&error))?.into())
    }
}

impl std::fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ServerTls({:?})", self.0.source())
    }
}
