use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Where a server listens and a client connects.
///
/// ```
/// use dovetail::Address;
///
/// let address: Address = "tcp://127.0.0.1:9090".parse()?;
/// assert_eq!(address.to_string(), "tcp://127.0.0.1:9090");
/// assert!("unix:/run/calculator.sock".parse::<Address>().is_ok());
/// # Ok::<(), dovetail::ParseAddressError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// `tcp://host:port`, or `host:port` alone. A server may give port 0 and is told the real one.
    Tcp(String),
    /// `tls://host:port`: TLS over TCP. A server takes nothing else there; it and its clients need the crate's feature
    /// `tls`.
    Tls(String),
    /// `unix:/path`: a Unix socket. A server removes a socket that nobody listens on any longer.
    Unix(PathBuf),
    /// `shm:/path`, for clients: shared memory with the server that listens on this Unix socket. Linux only.
    Shm(PathBuf),
}

impl Address {
    /// Where clients meet a server that came to it by TCP; see `docs/spec/wire.md`, "Moving".
    pub(crate) fn meeting(number: u128) -> Self {
        Address::Unix(Self::meeting_name(number))
    }

    /// The same for the client.
    pub(crate) fn met(number: u128) -> Self {
        Address::Shm(Self::meeting_name(number))
    }

    /// The same place with TLS.
    #[cfg(feature = "async")]
    pub(crate) fn secured(self) -> Self {
        match self {
            Address::Tcp(place) => Address::Tls(place),
            other => other,
        }
    }

    /// A name in the abstract namespace begins with a zero byte.
    fn meeting_name(number: u128) -> PathBuf {
        format!("\0dovetail-{number:032x}").into()
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
                return (!path.is_empty())
                    .then(|| address(PathBuf::from(path)))
                    .ok_or_else(error);
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
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Shm(path) => write!(f, "shm:{}", path.display()),
        }
    }
}

impl fmt::Display for ParseAddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no address; write tcp://127.0.0.1:9090, tls://host:9090, unix:/path/to/socket or shm:/path/to/socket",
            self.text
        )
    }
}

impl std::error::Error for ParseAddressError {}
