use super::CaptureFilter;
use crate::admin::ADMIN;
use crate::peer::streams::Receiver;
use crate::{Channel, Code, Status};
use dovetail_wire::Bytes;

/// Has an administration capture calls of its server. The items that come are the parts of the
/// file, in order. Dropped before their end, they end the capture.
///
/// # Errors
///
/// `FAILED_PRECONDITION` where a capture runs already, `INVALID_ARGUMENT` for a filter that makes
/// no sense; otherwise those of any call.
pub async fn capture(channel: &Channel, filter: &CaptureFilter) -> Result<Receiver<Bytes>, Status> {
    let method = ADMIN.methods.iter().find(|method| method.name == "capture");
    let method =
        method.ok_or_else(|| Status::new(Code::Internal, "a contract without `capture`"))?;
    channel.stream(method, (filter,)).await
}
