//! The code for streams in the methods of services and clients.

use super::client::Side;
use super::module::{Module, Place};
use super::names::{ErrorNames, param_names};
use dovetail_schema::{Method, Stream};

/// Which streams a method has.
#[derive(Clone, Copy)]
pub(super) enum CallShape {
    Unary,
    Stream,
    Upload,
    Chat,
}

impl CallShape {
    pub(super) fn of(method: &Method) -> Self {
        match (&method.client_stream, &method.server_stream) {
            (None, None) => CallShape::Unary,
            (None, Some(_)) => CallShape::Stream,
            (Some(_), None) => CallShape::Upload,
            (Some(_), Some(_)) => CallShape::Chat,
        }
    }

    /// The function of `Call` that runs its handler.
    pub(super) fn server_function(self) -> &'static str {
        match self {
            CallShape::Unary => "unary",
            CallShape::Stream => "stream",
            CallShape::Upload => "upload",
            CallShape::Chat => "chat",
        }
    }

    /// The function of a channel that calls it.
    pub(super) fn client_function(self, method: &Method) -> &'static str {
        match self {
            CallShape::Unary if method.oneway => "notify",
            CallShape::Unary => "call",
            other => other.server_function(),
        }
    }
}

/// Returns a handler's name for its caller's items; `None` where there are none.
pub(super) fn sink_param(method: &Method) -> Option<&'static str> {
    method.client_stream.as_ref()?;
    let taken = param_names(&method.params);
    let free = |name: &&str| !taken.iter().any(|taken| taken == name);
    ["items", "sink", "incoming_items"].into_iter().find(free)
}

impl Module<'_> {
    /// `items: Receiver<Job>`, the last parameter of a handler.
    pub(super) fn sink_of_handler(&self, method: &Method, errors: &ErrorNames) -> Option<String> {
        let stream = method.client_stream.as_ref()?;
        let arguments = self.stream_arguments(stream, errors.sink.as_ref());
        let receiver = self.generic("Receiver", &arguments);
        Some(format!("{}: {receiver}", sink_param(method)?))
    }

    /// `Result<(Job, Items<'_, Progress>), FollowError>`.
    pub(super) fn result_of_handler(&self, method: &Method, errors: &ErrorNames) -> String {
        let value = match &method.server_stream {
            None => self.result_type(method),
            Some(stream) => {
                let mut arguments = vec!["'_".to_owned()];
                arguments.extend(self.stream_arguments(stream, errors.stream.as_ref()));
                self.behind_result(method, self.generic("Items", &arguments))
            }
        };
        self.result(value, errors.call.as_ref())
    }

    /// Returns the type as a client gets it.
    pub(super) fn result_of_client(
        &self,
        method: &Method,
        errors: &ErrorNames,
        side: Side,
    ) -> String {
        let path = |name: &str| match side {
            Side::Async => self.runtime(&format!("stream::{name}")),
            Side::Blocking => self.runtime(&format!("blocking::{name}")),
        };
        let value = match &method.server_stream {
            None => self.result_type(method),
            Some(stream) => {
                let arguments = self.stream_arguments(stream, errors.stream.as_ref());
                let receiver = format!("{}<{}>", path("Receiver"), arguments.join(", "));
                self.behind_result(method, receiver)
            }
        };
        let Some(sink) = &method.client_stream else {
            return self.result(value, errors.call.as_ref());
        };
        // The types of errors are left out from the end, where they are `Status`.
        let mut arguments = vec![self.ty(&sink.item, Place::Value), value];
        if errors.sink.is_some() || errors.call.is_some() {
            arguments.push(errors.sink.clone().unwrap_or_else(|| self.name("Status")));
        }
        arguments.extend(errors.call.clone());
        let upload = format!("{}<{}>", path("Upload"), arguments.join(", "));
        self.result(upload, None)
    }

    /// A result, where the method has one, and a stream.
    fn behind_result(&self, method: &Method, stream: String) -> String {
        match &method.result {
            Some(ty) => format!("({}, {stream})", self.shared_result(method, ty)),
            None => stream,
        }
    }

    /// `Progress, FollowStreamError`.
    fn stream_arguments(&self, stream: &Stream, error: Option<&String>) -> Vec<String> {
        let mut arguments = vec![self.ty(&stream.item, Place::Value)];
        arguments.extend(error.cloned());
        arguments
    }

    /// `, sink<Job>, stream<Progress | FollowStreamError>`.
    pub(super) fn row_streams(&self, method: &Method, errors: &ErrorNames) -> String {
        let word = |word, stream: &Option<Stream>, error: &Option<String>| {
            let Some(stream) = stream else {
                return String::new();
            };
            let arguments = self.stream_arguments(stream, error.as_ref());
            format!(", {word}<{}>", arguments.join(" | "))
        };
        let sink = word("sink", &method.client_stream, &errors.sink);
        sink + &word("stream", &method.server_stream, &errors.stream)
    }
}
