//! How a server says on a foreign wire that a call did not run: `docs/server.md`, "Whether a call ran", has the table.
//!
//! HTTP wires have the header [`HEADER`] with the value `not-started`, beside the status of the call. It is missing
//! where the handler ran or may have run, and in the answers of other servers.

use crate::{Execution, Status};

/// The name of the header.
pub(crate) const HEADER: &str = "dovetail-execution";

/// Its value for a call that did not run.
pub(crate) const NOT_STARTED: &str = "not-started";

impl Status {
    /// Returns whether the call did not run.
    pub(crate) fn is_not_started(&self) -> bool {
        matches!(self.execution(), Execution::NotSent | Execution::NotStarted)
    }

    /// Returns the header of a failure whose call did not run.
    pub(crate) fn execution_header(&self) -> Option<(&'static str, &'static str)> {
        self.is_not_started().then_some((HEADER, NOT_STARTED))
    }

    /// Takes from the value of the header whether the call ran.
    #[must_use]
    pub(crate) fn heed(self, header: Option<&[u8]>) -> Self {
        match header {
            Some(value) if value == NOT_STARTED.as_bytes() => {
                self.with_execution(Execution::NotStarted)
            }
            _ => self,
        }
    }
}
