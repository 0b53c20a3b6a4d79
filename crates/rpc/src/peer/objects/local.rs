//! Calls of objects of this process.

use crate::method::Method;
use crate::peer::answer::Answered;
use crate::peer::call::Call;
use crate::peer::context::Caller;
use crate::peer::incoming::{Incoming, ReplyTo, Target};
use crate::peer::intercept::Observed;
use crate::peer::objects::Passage;
use crate::peer::outgoing::Outgoing;
use crate::transport::IN_PROCESS;
use crate::{Code, Service, Status, clock};
use dovetail_wire::{Encode, EncodeError, Encoding, Limits, ObjectNumbers, WithObjects};
use std::sync::{Arc, Mutex, PoisonError};

/// An encoded answer, or why there is none.
type Outcome = Result<Vec<u8>, Status>;

/// The place for the answer.
#[derive(Clone, Default)]
pub(crate) struct LocalAnswer(Arc<Mutex<Option<Outcome>>>);

impl LocalAnswer {
    fn put(&self, answer: Outcome) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
    }

    fn take(&self) -> Option<Outcome> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn reply(&self, body: &impl Encode, limits: Limits) -> Result<(), EncodeError> {
        let mut out = Vec::new();
        ENCODING.encode(body, &mut out, limits)?;
        self.put(Ok(out));
        Ok(())
    }

    pub(crate) fn fail(&self, status: &Status) {
        self.put(Err(status.clone()));
    }
}

/// Carries every value.
const ENCODING: Encoding = Encoding::Tagged;

/// Calls an object of this process, and waits for its answer; `None` for a one-way call.
pub(crate) async fn call(
    service: &Arc<dyn Service>,
    call: Outgoing<'_, impl Encode>,
    limits: Limits,
) -> Result<Option<Answered>, Status> {
    let (number, method) = find(&**service, call.method, call.name)?;
    let objects: Arc<dyn ObjectNumbers> = Arc::new(Passage::default());
    let objects = method.objects.then_some(objects);
    let mut params = Vec::new();
    let body = WithObjects::new(call.params, objects.clone());
    let encoded = ENCODING.encode(&body, &mut params, limits);
    encoded.map_err(|error| Status::new(Code::InvalidArgument, error.to_string()))?;
    let answer = LocalAnswer::default();
    let reply = ReplyTo::Local(answer.clone());
    let incoming = Box::new(Incoming {
        oneway: call.oneway,
        deadline: call.timeout.and_then(|left| clock::now().checked_add(left)),
        headers: call.headers.clone(),
        objects: objects.clone(),
        ..Incoming::new(Target::Route(number), (ENCODING, params.into()), reply)
    });
    let caller = Arc::new(Caller::new(IN_PROCESS.to_owned(), false));
    let call = Call::new(
        incoming,
        method,
        caller,
        limits,
        Vec::new(),
        Observed::default(),
    );
    service.call(number, call).await;
    match answer.take() {
        None => Ok(None),
        Some(answer) => Ok(Some(Answered {
            body: (ENCODING, answer?.into()),
            objects,
        })),
    }
}

/// The method, among those of the object; by its name where the caller has no more.
fn find(
    service: &dyn Service,
    method: Option<&'static Method>,
    name: &str,
) -> Result<(usize, &'static Method), Status> {
    let mut known = service.descriptor().iter();
    let found = known.find(|(_, known)| match method {
        Some(method) => std::ptr::eq(*known, method),
        None => known.name == name,
    });
    let (number, method) = found.ok_or_else(|| {
        let what = format!(
            "an object of `{}` has no such method",
            service.descriptor().name
        );
        Status::new(Code::Unimplemented, what)
    })?;
    match method.kind.streams() {
        true => Err(no_streams()),
        false => Ok((number, method)),
    }
}

#[cold]
pub(crate) fn no_streams() -> Status {
    let what = "streams of an object that is in this process; call the implementation itself";
    Status::new(Code::Unimplemented, what)
}
