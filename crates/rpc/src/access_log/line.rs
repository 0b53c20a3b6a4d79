use crate::Context;
use crate::method::path;
use crate::peer::intercept::{CallEnd, Outcome};
use dovetail_wire::{visible, visible_json};
use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The columns of a line about a call.
pub(super) struct Entry(Vec<(&'static str, Value)>);

enum Value {
    Text(String),
    Number(u64),
    /// Milliseconds, with three digits behind the point.
    Milliseconds(Duration),
}

impl Entry {
    pub(super) fn of(call: &Context, end: &CallEnd<'_>) -> Self {
        let service = call.called().map(|(service, _)| service.full_name());
        let method = path(service.as_deref().unwrap_or_default(), call.method());
        let mut entry = Entry(vec![
            ("time", Value::Text(timestamp(SystemTime::now()))),
            ("method", Value::Text(method)),
            ("wire", Value::Text(call.wire().to_string())),
            ("peer", Value::Text(call.peer().to_owned())),
        ]);
        if let Some(principal) = call.principal() {
            entry.text_field("principal", principal.name());
        }
        entry.text_field("code", end.outcome().name());
        if let Outcome::Failed(status) = end.outcome() {
            entry.text_field("message", status.message());
        }
        let times = [
            ("ms", Some(end.elapsed())),
            ("queued_ms", end.queued()),
            ("first_item_ms", end.first_item()),
        ];
        for (name, time) in times {
            if let Some(time) = time {
                entry.0.push((name, Value::Milliseconds(time)));
            }
        }
        let counts = [
            ("received", end.received_bytes() as u64, true),
            ("sent", end.sent_bytes() as u64, true),
            ("items_received", end.items_received(), false),
            ("items_sent", end.items_sent(), false),
        ];
        for (name, count, always) in counts {
            if always || count > 0 {
                entry.0.push((name, Value::Number(count)));
            }
        }
        if let Some(trace) = call.trace() {
            entry.text_field("trace", &format!("{:032x}", trace.trace_id()));
        }
        entry
    }

    fn text_field(&mut self, name: &'static str, text: &str) {
        self.0.push((name, Value::Text(text.to_owned())));
    }

    /// `name=value`, in quotes where the value has spaces or quotes.
    pub(super) fn text(&self) -> String {
        let mut line = String::new();
        for (name, value) in &self.0 {
            let space = if line.is_empty() { "" } else { " " };
            // Writing to a string cannot fail, here and below.
            let _ = match value {
                Value::Text(text) => write!(line, "{space}{name}={}", word(text)),
                Value::Number(number) => write!(line, "{space}{name}={number}"),
                Value::Milliseconds(time) => write!(line, "{space}{name}={:.3}", millis(*time)),
            };
        }
        line + "\n"
    }

    pub(super) fn json(&self) -> String {
        let mut line = "{".to_owned();
        for (name, value) in &self.0 {
            let comma = if line.len() == 1 { "" } else { "," };
            let _ = match value {
                Value::Text(text) => write!(line, "{comma}\"{name}\":\"{}\"", quoted(text)),
                Value::Number(number) => write!(line, "{comma}\"{name}\":{number}"),
                Value::Milliseconds(time) => {
                    write!(line, "{comma}\"{name}\":{:.3}", millis(*time))
                }
            };
        }
        line + "}\n"
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A text that nobody takes for several: a peer chose it.
fn word(text: &str) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !matches!(c, '"' | '=' | '\\');
    let shown = visible(text).to_string();
    match !shown.is_empty() && text.chars().all(is_plain) {
        true => shown,
        false => format!("\"{}\"", shown.replace('"', "\\\"")),
    }
}

/// A text inside the quotes of JSON.
fn quoted(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => escaped.extend(['\\', c]),
            c if c.is_control() => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => escaped.push(c),
        }
    }
    visible_json(&escaped).to_string()
}

/// A time as RFC 3339 has it, to the millisecond.
fn timestamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = date(days);
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let (seconds, millis) = (seconds % 60, since.subsec_millis());
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{millis:03}Z")
}

/// Year, month and day of a number of days since 1970, in the Gregorian calendar. Years begin in
/// March here, so that leap days are the last ones.
fn date(days: u64) -> (u64, u64, u64) {
    const ERA: u64 = 146_097;
    let shifted = days + 719_468;
    let (era, day) = (shifted / ERA, shifted % ERA);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let first = (153 * month + 2) / 5;
    let (month, later) = match month {
        0..=9 => (month + 3, 0),
        month => (month - 9, 1),
    };
    (era * 400 + year + later, month, day - first + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_rfc_3339() {
        let rows = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
            (1_735_689_599_999, "2024-12-31T23:59:59.999Z"),
            (1_764_287_457_123, "2025-11-27T23:50:57.123Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ];
        for (millis, expected) in rows {
            let time = UNIX_EPOCH + Duration::from_millis(millis);
            assert_eq!(timestamp(time), expected);
        }
    }

    #[test]
    fn nobody_forges_a_line() {
        let rows = [
            ("plain", "plain", "plain"),
            ("", "\"\"", ""),
            ("two words", "\"two words\"", "two words"),
            ("a=b", "\"a=b\"", "a=b"),
            ("say \"x\"", "\"say \\\"x\\\"\"", "say \\\"x\\\""),
            ("line\nbreak", "\"line\\nbreak\"", "line\\u000abreak"),
            ("exe.\u{202e}txt", "exe.\\u{202e}txt", "exe.\\u202etxt"),
        ];
        for (text, as_word, in_json) in rows {
            assert_eq!(word(text), as_word, "{text:?}");
            assert_eq!(quoted(text), in_json, "{text:?}");
        }
    }
}
