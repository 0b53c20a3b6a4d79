//! Identity: callers show who they are, and get what they may. `docs/identity.md` has the rules.
//!
//! ```text
//!   connection, headers ─► Credentials ─► Authenticator ─► Principal ─► Context
//!                                                              │
//!                                          method ─► Permissions ─► handler, or a refusal
//! ```

mod authentication;
mod bearer;
mod caller;
mod callers;
#[cfg(feature = "tls")]
mod certificates;
mod credentials;
#[cfg(feature = "jwt")]
mod jwt;
mod permissions;
mod principal;
mod processes;
mod session;
#[cfg(feature = "tokens")]
mod tokens;

pub use authentication::{Authentication, Authenticator};
pub use bearer::{Bearer, Token};
#[cfg(feature = "tls")]
pub use certificates::Certificates;
pub use credentials::Credentials;
#[cfg(feature = "jwt")]
pub use jwt::{Jwt, JwtKeys};
pub use permissions::Permissions;
pub use principal::Principal;
pub use processes::Processes;
#[cfg(feature = "tokens")]
pub use tokens::Tokens;

pub(crate) use callers::CallerKeys;
pub(crate) use session::{Identify, Session};

use crate::{Code, Status};
use dovetail_protocol::Execution;
use std::borrow::Cow;

/// Refuses credentials. The text goes to the caller: it must not help somebody who guesses.
fn unauthenticated(why: impl Into<Cow<'static, str>>) -> Status {
    Status::new(Code::Unauthenticated, why).with_execution(Execution::NotStarted)
}
