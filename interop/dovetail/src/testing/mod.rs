//! gRPC's own interop cases, of doc/interop-test-descriptions.md of github.com/grpc/grpc, but for
//! those about a cloud.

mod cases;
mod handler;

/// The types of testing.proto, in a module of their own: `grpc` is one of ours, too.
mod contract {
    dovetail::include_contract!("grpc.testing");
}

pub(crate) use cases::all;
pub(crate) use contract::grpc::testing::{TEST_SERVICE, TestServiceServer};
pub(crate) use handler::Handler;

use contract::grpc::testing::{Payload, ResponseParameters};
use dovetail::types::Bytes;
use dovetail::{Code, Status};

/// Headers with which a caller asks for the same beside the answer: before it, and behind it.
const ECHO_INITIAL: &str = "x-grpc-test-echo-initial";
const ECHO_TRAILING: &str = "x-grpc-test-echo-trailing-bin";

/// A payload of zeros.
fn payload(size: i32) -> Result<Payload, Status> {
    let size = usize::try_from(size)
        .map_err(|_| Status::new(Code::InvalidArgument, format!("a payload of {size} bytes")))?;
    Ok(Payload {
        body: Bytes::from(vec![0; size]),
        ..Payload::default()
    })
}

fn sizes(sizes: &[i32]) -> Vec<ResponseParameters> {
    let one = |size: &i32| ResponseParameters {
        size: *size,
        ..ResponseParameters::default()
    };
    sizes.iter().map(one).collect()
}
