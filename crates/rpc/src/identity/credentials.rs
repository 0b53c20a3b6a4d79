use crate::transport::Process;
use crate::{Context, Status, Wire};
use std::fmt;

/// The evidence of a caller's identity, as an [`Authenticator`](super::Authenticator) sees it.
pub struct Credentials<'a> {
    context: &'a Context,
    token: Option<&'a str>,
}

/// The longest token that is looked at, in bytes.
const MAX_TOKEN: usize = 8 << 10;

impl<'a> Credentials<'a> {
    /// Reads those of a call.
    pub(super) fn of(context: &'a Context) -> Result<Self, Status> {
        let token = bearer(context)?;
        Ok(Credentials { context, token })
    }

    /// Returns those of a caller that logs in.
    pub(super) fn of_session(context: &'a Context, token: &'a str) -> Result<Self, Status> {
        check_size(token.as_bytes())?;
        let token = Some(token);
        Ok(Credentials { context, token })
    }

    /// Returns the token of the header `authorization: Bearer …` (RFC 6750, 2.1), or of a login.
    pub fn token(&self) -> Option<&'a str> {
        self.token
    }

    /// Returns a header of the call.
    pub fn header(&self, name: &str) -> Option<&'a [u8]> {
        self.context.header(name)
    }

    /// Returns the caller's address.
    pub fn peer(&self) -> &'a str {
        self.context.peer()
    }

    /// Returns the wire of the call.
    pub fn wire(&self) -> Wire {
        self.context.wire()
    }

    /// Returns the certificate of the connection; `None` without TLS, and for a proxy that passes
    /// on the calls of others.
    #[cfg(feature = "tls")]
    pub fn tls(&self) -> Option<&'a crate::tls::TlsPeer> {
        let caller = &self.context.call.caller;
        self.context.tls().filter(|_| caller.proxies.is_none())
    }

    /// Returns the process at the other end of a Unix socket or of shared memory; `None` on other
    /// connections, and for a proxy that passes on the calls of others.
    pub fn process(&self) -> Option<&'a Process> {
        let caller = &self.context.call.caller;
        let process = caller.process.as_ref();
        process.filter(|_| caller.proxies.is_none())
    }
}

impl fmt::Debug for Credentials<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("peer", &self.peer())
            .field("wire", &self.wire().to_string())
            .field("token", &self.token.map(|_| "…"))
            .field("process", &self.process())
            .finish()
    }
}

/// Finds the one token among the headers. Another scheme than `Bearer` is none; an own
/// authenticator may know it.
fn bearer(context: &Context) -> Result<Option<&str>, Status> {
    let mut sent = context
        .headers()
        .filter(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    let Some((_, value)) = sent.next() else {
        return Ok(None);
    };
    if sent.next().is_some() {
        return Err(super::unauthenticated(
            "send one header `authorization`, not several",
        ));
    }
    check_size(value)?;
    let text = std::str::from_utf8(value).ok();
    let split = text.and_then(|text| text.split_once(' '));
    let bearer = split.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    Ok(bearer.map(|(_, token)| token.trim()))
}

fn check_size(token: &[u8]) -> Result<(), Status> {
    match token.len() > MAX_TOKEN {
        true => Err(super::unauthenticated(format!(
            "the token is longer than {MAX_TOKEN} bytes"
        ))),
        false => Ok(()),
    }
}
