//! The service by which callers begin and end sessions, on every wire.

use super::session::refused;
use super::{HEADER, Handle};
use crate::method::ServiceDescriptor;
use crate::peer::call::{Call, HandlerFuture};
use crate::{Code, Context, Service, Status, descriptor};
use std::sync::Arc;

descriptor!(static SESSIONS = "Sessions" in "dovetail" {
    begin_session(1 service: String) -> String;
    resume_session(1 session: String);
    end_session(1 session: String);
});

const BEGIN: usize = 0;
const RESUME: usize = 1;
const END: usize = 2;

/// The sessions of a service, whatever their state is.
pub(crate) trait AnySessions: Send + Sync + 'static {
    fn begin(&self, context: &Context) -> Result<Handle, Status>;

    /// Refuses a handle that leads to no session of this caller's.
    fn check(&self, context: &Context, handle: Handle) -> Result<(), Status>;

    fn end(&self, context: &Context, handle: Handle) -> Result<(), Status>;

    /// Tells sessions of different services apart.
    fn identity(&self) -> usize;
}

/// Returns true for wires on which the connection remembers its session: they have no headers, and
/// the connection is one caller's.
fn remembers(context: &Context) -> bool {
    !context.wire().has_headers() && context.call.caller.proxies.is_none()
}

/// Returns the session that a call is for.
pub(super) fn session_of(context: &Context, sessions: usize) -> Result<Handle, Status> {
    let known = match context.header(HEADER) {
        Some(text) => Some(parse(text)?),
        None => {
            let resumed =
                remembers(context).then(|| context.call.caller.remembered.session(sessions));
            resumed.flatten()
        }
    };
    known.ok_or_else(|| refused(Code::FailedPrecondition, missing(context)))
}

fn parse(text: &[u8]) -> Result<Handle, Status> {
    let text = String::from_utf8_lossy(text);
    let handle = text.parse::<Handle>();
    handle.map_err(|error| refused(Code::InvalidArgument, error.to_string()))
}

fn missing(context: &Context) -> String {
    match context.wire().has_headers() {
        true => format!(
            "the service has sessions: begin one with `dovetail.Sessions/begin_session`, and send its handle as the header `{HEADER}`"
        ),
        false => "the service has sessions: begin one with `dovetail.Sessions/begin_session`, or go on with one by \
                  `resume_session`, on this connection"
            .to_owned(),
    }
}

/// The service `dovetail.Sessions`.
pub(crate) struct SessionService(Vec<(String, Arc<dyn AnySessions>)>);

impl SessionService {
    /// Serves these sessions; each has the name of its service.
    pub(crate) fn new(sessions: Vec<(String, Arc<dyn AnySessions>)>) -> Self {
        SessionService(sessions)
    }

    fn begin(&self, context: &Context, service: &str) -> Result<String, Status> {
        let mut known = self.0.iter();
        let sessions = known.find(|(name, _)| {
            let last = name.rsplit('.').next();
            name == service || last == Some(service)
        });
        let (_, sessions) = sessions.ok_or_else(|| self.without_sessions(service))?;
        let handle = sessions.begin(context)?;
        self.remember(context, &**sessions, handle);
        Ok(handle.to_string())
    }

    fn without_sessions(&self, service: &str) -> Status {
        let names: Vec<_> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        let what = format!(
            "`{service}` has no sessions; these have: {}",
            names.join(", ")
        );
        refused(Code::InvalidArgument, what)
    }

    fn remember(&self, context: &Context, sessions: &dyn AnySessions, handle: Handle) {
        if remembers(context) {
            let remembered = &context.call.caller.remembered;
            remembered.set_session(sessions.identity(), handle);
        }
    }

    /// Does something with the sessions that have this one. The error is the last one of those that
    /// refuse it.
    fn with(
        &self,
        session: &str,
        act: impl Fn(&dyn AnySessions, Handle) -> Result<(), Status>,
    ) -> Result<(), Status> {
        let handle = parse(session.as_bytes())?;
        let mut result = Err(super::session::no_session());
        for (_, sessions) in &self.0 {
            result = act(&**sessions, handle);
            match &result {
                Err(status) if status.code() == Code::NotFound => {}
                _ => break,
            }
        }
        result
    }

    fn resume(&self, context: &Context, session: &str) -> Result<(), Status> {
        self.with(session, |sessions, handle| {
            sessions.check(context, handle)?;
            self.remember(context, sessions, handle);
            Ok(())
        })
    }

    fn end(&self, context: &Context, session: &str) -> Result<(), Status> {
        self.with(session, |sessions, handle| sessions.end(context, handle))
    }
}

impl Service for SessionService {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &SESSIONS
    }

    fn call<'a>(&'a self, number: usize, call: Call) -> HandlerFuture<'a> {
        let text = (String::new(),);
        match number {
            BEGIN => call.unary(text, |context, (service,): (String,)| async move {
                self.begin(&context, &service)
            }),
            RESUME => call.unary(text, |context, (session,): (String,)| async move {
                self.resume(&context, &session)
            }),
            END => call.unary(text, |context, (session,): (String,)| async move {
                self.end(&context, &session)
            }),
            _ => call.no_such_method(),
        }
    }
}
