use crate::peer::intercept::{ClientCall, ClientInterceptor};
use crate::{Code, Status};
use dovetail_protocol::Execution;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use std::{fmt, fs};

/// Shows a token with each call, in the header `authorization: Bearer …` (RFC 6750, 2.1): an
/// interceptor of channels.
///
/// A call that has the header already, by `with_header`, keeps it. A call over plain TCP fails with
/// `FAILED_PRECONDITION`, as anybody on the way could read the token, and so does one over a wire
/// without headers. Cheap to clone; clones are the same.
///
/// ```
/// use dovetail::{blocking::Channel, identity::Bearer};
///
/// # fn connect() -> Result<Channel, dovetail::Status> {
/// let channel = Channel::builder("tls://shop.example:9443")?
///     .intercept(Bearer::file("/run/secrets/shop-token"))
///     .build();
/// # Ok(channel)
/// # }
/// ```
#[derive(Clone)]
pub struct Bearer {
    source: Arc<Source>,
    over_plain_tcp: bool,
}

struct Source {
    get: Box<dyn Fn() -> Result<Token, Status> + Send + Sync>,
    current: Mutex<Option<Token>>,
}

/// A token for [`Bearer`].
#[derive(Clone)]
pub struct Token {
    header: String,
    /// When another one is asked for.
    stale: Option<Instant>,
}

/// A file is read again when its token is so old.
const FILE: Duration = Duration::from_secs(10);

/// Another token is asked for so long before one expires.
const EARLY: Duration = Duration::from_secs(30);

impl Token {
    /// Makes one that does not expire.
    pub fn new(token: &str) -> Self {
        Token {
            header: format!("Bearer {}", token.trim()),
            stale: None,
        }
    }

    /// Sets when it expires. Another one is asked for 30 seconds before, or when half of the time
    /// is over.
    #[must_use]
    pub fn expires(self, expires: SystemTime) -> Self {
        let left = expires.duration_since(SystemTime::now());
        let left = left.unwrap_or(Duration::ZERO);
        self.stale_in(left.saturating_sub(EARLY).max(left / 2))
    }

    fn stale_in(self, time: Duration) -> Self {
        let stale = Instant::now().checked_add(time);
        Token { stale, ..self }
    }

    fn is_fresh(&self) -> bool {
        self.stale.is_none_or(|stale| Instant::now() < stale)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").finish_non_exhaustive()
    }
}

impl Bearer {
    /// Shows this token.
    pub fn token(token: &str) -> Self {
        let token = Token::new(token);
        Self::from_fn(move || Ok(token.clone()))
    }

    /// Shows the token that is in a file, without the space around it. The file is read again after
    /// 10 seconds; if it cannot be read then, the token from before is shown on.
    pub fn file(file: impl Into<PathBuf>) -> Self {
        let file = file.into();
        Self::from_fn(move || {
            let token = fs::read_to_string(&file).map_err(|error| {
                let what = format!("no token from {}: {error}", file.display());
                Status::new(Code::FailedPrecondition, what)
            })?;
            Ok(Token::new(&token).stale_in(FILE))
        })
    }

    /// Shows the tokens that a function returns. It is called in the caller's thread, for the first
    /// call and before a token expires, and must not block: a program that fetches tokens over a
    /// network keeps one here.
    pub fn from_fn(get: impl Fn() -> Result<Token, Status> + Send + Sync + 'static) -> Self {
        Bearer {
            source: Arc::new(Source {
                get: Box::new(get),
                current: Mutex::new(None),
            }),
            over_plain_tcp: false,
        }
    }

    /// Shows the token over plain TCP as well.
    #[must_use]
    pub fn over_plain_tcp(mut self) -> Self {
        self.over_plain_tcp = true;
        self
    }
}

impl Source {
    fn lock(&self) -> MutexGuard<'_, Option<Token>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn header(&self) -> Result<String, Status> {
        let mut current = self.lock();
        let known = current.clone();
        if let Some(known) = known.as_ref().filter(|known| known.is_fresh()) {
            return Ok(known.header.clone());
        }
        let token = match ((self.get)(), known) {
            (Ok(token), _) => token,
            (Err(error), Some(known)) => {
                tracing::warn!(%error, "the token from before is shown on");
                known
            }
            (Err(error), None) => return Err(error),
        };
        Ok(current.insert(token).header.clone())
    }
}

impl ClientInterceptor for Bearer {
    fn before(&self, call: &mut ClientCall<'_>) -> Result<(), Status> {
        if call.header("authorization").is_some() {
            return Ok(());
        }
        if !call.wire().has_headers() {
            return Err(unsafe_to_send(format!(
                "calls over {} have no headers for a token; log in by `dovetail.Session`, or choose another wire",
                call.wire()
            )));
        }
        if !call.is_private() && !self.over_plain_tcp {
            return Err(unsafe_to_send(
                "a token is not sent over plain TCP; connect to `tls://…`, or insist by `Bearer::over_plain_tcp`"
                    .to_owned(),
            ));
        }
        call.insert_header("authorization", self.source.header()?);
        Ok(())
    }
}

fn unsafe_to_send(why: String) -> Status {
    Status::new(Code::FailedPrecondition, why).with_execution(Execution::NotStarted)
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bearer")
            .field("over_plain_tcp", &self.over_plain_tcp)
            .finish_non_exhaustive()
    }
}
