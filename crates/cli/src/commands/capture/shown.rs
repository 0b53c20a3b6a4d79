//! Calls as text.

use crate::captured::{ReadCall, path};
use crate::paint::{Paint, Style};
use dovetail::capture::ShownCall;
use serde_json::Value as Json;
use std::fmt::Write as _;

/// A call that is shown as text.
pub(super) struct Shown<'a> {
    began: i64,
    elapsed: i64,
    name: String,
    wire: &'a str,
    peer: &'a str,
    principal: &'a str,
    /// The messages in JSON; true for those that the server has sent.
    messages: Vec<(bool, String)>,
    code: &'a str,
    missing: &'a str,
}

impl<'a> From<&'a ReadCall> for Shown<'a> {
    fn from(read: &'a ReadCall) -> Self {
        let call = &read.call;
        let mut messages = vec![(false, read.arguments.to_string())];
        let items = read.items.iter();
        messages.extend(items.map(|(sent, item)| (*sent, item.to_string())));
        if !matches!(call.code.as_str(), "" | "OK") || read.outcome["result"] != Json::Null {
            messages.push((true, read.outcome.to_string()));
        }
        Shown {
            began: call.began,
            elapsed: call.elapsed,
            name: read.name(),
            wire: &call.wire,
            peer: &call.peer,
            principal: &call.principal,
            messages,
            code: &call.code,
            missing: &call.missing,
        }
    }
}

impl<'a> From<&'a ShownCall> for Shown<'a> {
    fn from(call: &'a ShownCall) -> Self {
        let items = call.items.iter().map(|item| (item.sent, &item.item));
        let parts = [(false, &call.parameters)].into_iter().chain(items);
        let parts = parts.chain([(true, &call.reply), (true, &call.message)]);
        let parts = parts.filter(|(_, text)| !text.is_empty());
        Shown {
            began: call.began,
            elapsed: call.elapsed,
            name: path(&call.service, &call.method),
            wire: &call.wire,
            peer: &call.peer,
            principal: &call.principal,
            messages: parts.map(|(sent, text)| (sent, text.clone())).collect(),
            code: &call.code,
            missing: &call.missing,
        }
    }
}

impl Shown<'_> {
    /// Returns it as lines: `>` is from the caller, `<` from the server.
    pub(super) fn text(&self, paint: Paint) -> String {
        let principal = match self.principal {
            "" => String::new(),
            name => format!(" ({name})"),
        };
        let mut text = format!(
            "{:.6} {} over {} from {}{principal}\n",
            self.began as f64 / 1e6,
            paint.text(Style::Strong, &self.name),
            self.wire,
            self.peer,
        );
        for (sent, message) in &self.messages {
            _ = writeln!(text, "  {} {message}", if *sent { "<" } else { ">" });
        }
        let (style, code) = match self.code {
            "" => (Style::Warning, "still running"),
            "OK" => (Style::Good, "OK"),
            code => (Style::Error, code),
        };
        let code = paint.text(style, code);
        _ = writeln!(text, "  {code} after {:.3} ms", self.elapsed as f64 / 1e3);
        if !self.missing.is_empty() {
            let missing = format!("missing: {}", self.missing);
            _ = writeln!(text, "  {}", paint.text(Style::Warning, &missing));
        }
        text
    }
}
