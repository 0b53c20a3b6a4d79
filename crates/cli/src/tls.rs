//! TLS options that the commands share: the certificates of a server, and those that a call trusts.

use crate::address::Target;
use crate::failure::{Exit, Failure, Result};
use clap::Args;
use dovetail::tls::{ClientCertificate, ClientTls, ServerTls};
use dovetail::{Address, Server};
use std::io;
use std::path::PathBuf;

/// The certificate that a server shows over TLS.
#[derive(Debug, Default, Args)]
pub(crate) struct ServerOptions {
    /// Take TLS as well, with this certificate in PEM; --listen tls://… takes nothing else
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Its private key in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Ask clients for a certificate that one of these has signed
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_client_ca: Option<PathBuf>,
}

impl ServerOptions {
    /// The server with TLS, where that is wanted.
    pub(crate) fn apply(&self, server: Server) -> Result<Server> {
        let (Some(chain), Some(key)) = (&self.tls_cert, &self.tls_key) else {
            return Ok(server);
        };
        let mut tls = ServerTls::new(chain.as_path(), key.as_path()).map_err(unusable)?;
        if let Some(roots) = &self.tls_client_ca {
            let asked = tls.clients(roots.as_path(), ClientCertificate::Required);
            tls = asked.map_err(unusable)?;
        }
        Ok(server.tls(&tls))
    }
}

/// The certificates that a call trusts over TLS, and the one that it shows.
#[derive(Debug, Args)]
pub(crate) struct ClientOptions {
    /// Trust these root certificates in PEM, in place of the system's; for tls:// and https://
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Show the server this certificate in PEM
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Its private key in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
}

impl ClientOptions {
    /// Returns the target that a person names, with these settings.
    pub(crate) fn target(&self, text: &str) -> Result<Target> {
        let mut target: Target = text.parse()?;
        let address = &target.address;
        match address {
            Address::Tls(_) => target.tls = Some(self.settings().map_err(unusable)?),
            _ if self.ca.is_some() || self.cert.is_some() => {
                let failure = format!("--ca and --cert are for TLS, which {address} is not");
                return Err(Failure::new(Exit::Usage, failure).help("call tls://HOST:PORT"));
            }
            _ => {}
        }
        Ok(target)
    }

    fn settings(&self) -> io::Result<ClientTls> {
        let tls = match &self.ca {
            Some(roots) => ClientTls::roots(roots.as_path())?,
            None => ClientTls::system()?,
        };
        match (&self.cert, &self.key) {
            (Some(chain), Some(key)) => tls.identity(chain.as_path(), key.as_path()),
            _ => Ok(tls),
        }
    }
}

fn unusable(problem: io::Error) -> Failure {
    Failure::new(Exit::Failed, problem)
}
