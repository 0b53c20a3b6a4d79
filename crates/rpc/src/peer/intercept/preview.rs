//! Calls of which only the head is there.

use super::{CallHead, Chain, Decision};
use crate::Status;
use crate::method::ServiceDescriptor;
use crate::peer::call::Call;
use crate::peer::extensions::Extensions;

/// The result of showing interceptors the head of a call. It goes with the call.
#[derive(Debug, Default)]
pub(crate) struct Preview {
    /// The values that interceptors have left.
    pub(crate) extensions: Extensions,
    pub(crate) refusal: Option<Status>,
}

impl Preview {
    /// Shows a call without parameters to interceptors, until one refuses it or cannot decide.
    pub(crate) fn new(mut call: Call, service: &'static ServiceDescriptor, chain: &Chain) -> Self {
        let mut refusal = None;
        for interceptor in chain {
            let mut head = CallHead::new(&mut call, service);
            match interceptor.before_body(&mut head) {
                Ok(Decision::Proceed) => {}
                Ok(Decision::Wait | Decision::Respond(_)) => break,
                Err(status) => {
                    refusal = Some(status);
                    break;
                }
            }
        }
        Preview {
            extensions: call.take_extensions(),
            refusal,
        }
    }
}
