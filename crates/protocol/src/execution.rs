//! How a server says on a foreign wire that a call did not run: `docs/server.md`, "Whether a call
//! ran", has the table.
//!
//! HTTP wires have the header [`HEADER`] beside the status of the call, with one of the values
//! below. It is missing where the handler ran or may have run, and in the answers of other servers.

use crate::pushback;
use crate::{Code, Execution, Status};
use std::borrow::Cow;

/// The name of the header.
pub(crate) const HEADER: &str = "dovetail-execution";

/// Its value for a call that did not run.
pub(crate) const NOT_STARTED: &str = "not-started";

/// Its value for a call that did not run because the server has to see its caller's contract first:
/// `docs/spec/contract-header.md`.
pub(crate) const UNDESCRIBED: &str = "undescribed";

impl Status {
    /// The refusal of a call whose caller is to send it again with the description of its contract.
    #[cold]
    pub(crate) fn asking_for_description() -> Self {
        let what = "the server asks for the description of the caller's contract";
        let mut status =
            Status::new(Code::FailedPrecondition, what).with_execution(Execution::NotStarted);
        status.ask_for_description();
        status
    }

    /// Returns whether the call did not run.
    pub(crate) fn is_not_started(&self) -> bool {
        matches!(self.execution(), Execution::NotSent | Execution::NotStarted)
    }

    /// Returns the headers of a failure beside its code: whether its call ran, and when to try
    /// again.
    pub(crate) fn response_headers(
        &self,
    ) -> impl Iterator<Item = (&'static str, Cow<'static, str>)> {
        let value = match self.asks_for_description() {
            true => UNDESCRIBED,
            false => NOT_STARTED,
        };
        let execution = self.is_not_started().then_some((HEADER, value.into()));
        let after = self.retry_after();
        let pushback = after.map(|after| (pushback::HEADER, pushback::text(after).into()));
        execution.into_iter().chain(pushback)
    }

    /// Takes from headers whether the call ran, and when to try again.
    #[must_use]
    pub(crate) fn heed<'a>(self, header: impl Fn(&'static str) -> Option<&'a [u8]>) -> Self {
        let status = self.heed_execution(header(HEADER));
        match pushback::of(header) {
            Some(after) => status.with_retry_after(after),
            None => status,
        }
    }

    /// Takes from the value of the header whether the call ran.
    #[must_use]
    pub(crate) fn heed_execution(self, header: Option<&[u8]>) -> Self {
        match header {
            Some(value) if value == NOT_STARTED.as_bytes() => {
                self.with_execution(Execution::NotStarted)
            }
            Some(value) if value == UNDESCRIBED.as_bytes() => {
                let mut status = self.with_execution(Execution::NotStarted);
                status.ask_for_description();
                status
            }
            _ => self,
        }
    }
}
