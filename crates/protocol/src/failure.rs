use crate::Status;
use dovetail_wire::Any;

/// Why a call failed, with what the answer says beside: over gRPC and Connect.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The code and the message.
    pub status: Status,
    /// Messages of any type, in protobuf; declared exceptions among them.
    pub details: Vec<Any>,
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        let details = status.details().to_vec();
        Failure { status, details }
    }
}
