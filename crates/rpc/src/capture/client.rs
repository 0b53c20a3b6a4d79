use super::{CaptureFilter, DumpFilter, Dumped};
use crate::admin::ADMIN;
use crate::method::Method;
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
    channel.stream(method("capture")?, (filter,)).await
}

/// Has an administration show the bytes of its server's connections, with the calls that they make
/// up. Dropped before their end, the items end the dump.
///
/// # Errors
///
/// `FAILED_PRECONDITION` where a capture or a dump runs already; otherwise those of any call.
pub async fn dump(channel: &Channel, filter: &DumpFilter) -> Result<Receiver<Dumped>, Status> {
    channel.stream(method("dump")?, (filter,)).await
}

fn method(name: &str) -> Result<&'static Method, Status> {
    let method = ADMIN.methods.iter().find(|method| method.name == name);
    method.ok_or_else(|| Status::new(Code::Internal, format!("a contract without `{name}`")))
}
