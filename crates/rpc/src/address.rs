use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The place where a server listens and a client connects.
///
/// ```
/// use dovetail::Address;
///
/// let address: Address = "tcp://127.0.0.1:9090".parse()?;
/// assert_eq!(address.to_string(), "tcp://127.0.0.1:9090");
/// assert!("unix:/run/calculator.sock".parse::<Address>().is_ok());
/// # Ok::<(), dovetail::transport::ParseAddressError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// `tcp://host:port`, or `host:port` alone. A server may give port 0 and is told the real one.
    Tcp(String),
    /// `tls://host:port`: TLS over TCP. A server takes nothing else there; it and its clients need
    /// the crate's feature `tls`.
    Tls(String),
    /// `unix:/path`: a Unix socket. A server removes a socket that nobody listens on any longer.
    /// `unix:@name` has no file, but a name in Linux's abstract namespace, behind a zero byte in
    /// the path here; a file whose name begins so is `unix:./@name`.
    Unix(PathBuf),
    /// `shm:/path` or `shm:@name`, for clients: shared memory with the server that listens on this
    /// Unix socket. Linux only.
    Shm(PathBuf),
}

/// Names of meeting points begin so.
pub(crate) const UPGRADE_PREFIX: &str = "dovetail-";

impl Address {
    /// The place where clients meet a server that came to it by TCP; see `docs/spec/wire.md`,
    /// "Local upgrade".
    pub(crate) fn upgrade_listener(number: u128) -> Self {
        Address::Unix(Self::upgrade_name(number))
    }

    /// Returns that place for the client.
    pub(crate) fn upgrade_target(number: u128) -> Self {
        Address::Shm(Self::upgrade_name(number))
    }

    /// Returns the place with TLS.
    #[cfg(feature = "async")]
    pub(crate) fn secured(self) -> Self {
        match self {
            Address::Tcp(place) => Address::Tls(place),
            other => other,
        }
    }

    /// A name in the abstract namespace begins with a zero byte.
    fn upgrade_name(number: u128) -> PathBuf {
        format!("\0{UPGRADE_PREFIX}{number:032x}").into()
    }
}

/// A text that is no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseAddressError {
    text: String,
}

impl FromStr for Address {
    type Err = ParseAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseAddressError {
            text: text.to_owned(),
        };
        let kinds = [
            ("unix:", Address::Unix as fn(_) -> _),
            ("shm:", Address::Shm),
        ];
        for (prefix, address) in kinds {
            if let Some(path) = text.strip_prefix(prefix) {
                let path = path.strip_prefix("//").unwrap_or(path);
                let path = match path.strip_prefix('@') {
                    Some("") => return Err(error()),
                    Some(name) => format!("\0{name}"),
                    None => path.to_owned(),
                };
                return match path.is_empty() {
                    true => Err(error()),
                    false => Ok(address(path.into())),
                };
            }
        }
        let (place, address) = match text.strip_prefix("tls://") {
            Some(place) => (place, Address::Tls as fn(_) -> _),
            None => (
                text.strip_prefix("tcp://").unwrap_or(text),
                Address::Tcp as _,
            ),
        };
        let (host, port) = place.rsplit_once(':').ok_or_else(error)?;
        match port.parse::<u16>() {
            Ok(_) if !host.is_empty() && !host.contains("//") => Ok(address(place.to_owned())),
            _ => Err(error()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(place) => write!(f, "tcp://{place}"),
            Address::Tls(place) => write!(f, "tls://{place}"),
            Address::Unix(path) => write!(f, "unix:{}", DisplayPath(path)),
            Address::Shm(path) => write!(f, "shm:{}", DisplayPath(path)),
        }
    }
}

/// The place of a Unix socket, as an address has it.
struct DisplayPath<'a>(&'a Path);

impl fmt::Display for DisplayPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.0.display();
        match path.to_string().strip_prefix('\0') {
            Some(name) => write!(f, "@{name}"),
            None => write!(f, "{path}"),
        }
    }
}

impl fmt::Display for ParseAddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no address; write tcp://127.0.0.1:9090, tls://host:9090, unix:/path/to/socket, unix:@name or shm:/path/to/socket",
            self.text
        )
    }
}

impl std::error::Error for ParseAddressError {}
