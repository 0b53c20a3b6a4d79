//! The place of a call in a trace, as it crosses wires: W3C Trace Context, level 1, section 3.2,
//! and Zipkin's B3.

use std::fmt;
use std::str::FromStr;

/// The header of W3C's Trace Context.
pub(crate) const TRACEPARENT: &str = "traceparent";

/// The header of B3 that has everything.
pub(crate) const B3: &str = "b3";

/// The place of a call in a trace.
///
/// ```
/// use dovetail::trace::TraceContext;
///
/// let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let context: TraceContext = text.parse()?;
/// assert!(context.is_sampled());
/// assert_eq!(context.to_string(), text);
/// # Ok::<(), dovetail::trace::ParseTraceError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceContext {
    trace: u128,
    span: u64,
    sampled: bool,
}

impl TraceContext {
    /// Makes the root of a new trace.
    pub(crate) fn root(sampled: bool) -> Self {
        TraceContext {
            trace: u128::from(id()) << 64 | u128::from(id()),
            span: id(),
            sampled,
        }
    }

    /// Makes a new span in the same trace.
    pub(super) fn child(self) -> Self {
        TraceContext { span: id(), ..self }
    }

    /// Returns the id of the trace, which is not zero.
    pub fn trace_id(self) -> u128 {
        self.trace
    }

    /// Returns the id of the span, which is not zero.
    pub fn span_id(self) -> u64 {
        self.span
    }

    /// Returns true if the spans of the trace are recorded.
    pub fn is_sampled(self) -> bool {
        self.sampled
    }

    /// Writes the header `b3`.
    pub(crate) fn b3(self) -> String {
        let sampled = u8::from(self.sampled);
        format!("{:032x}-{:016x}-{sampled}", self.trace, self.span)
    }

    /// Finds the context among headers: `traceparent`, else `b3`, else the `x-b3-…` headers.
    pub(super) fn find<'a>(header: impl Fn(&str) -> Option<&'a [u8]>) -> Option<Self> {
        let text = |name: &str| header(name).and_then(|value| std::str::from_utf8(value).ok());
        if let Some(parent) = text(TRACEPARENT) {
            return parent.parse().ok();
        }
        if let Some(b3) = text(B3) {
            let mut parts = b3.split('-');
            return Self::of_b3(parts.next()?, parts.next()?, parts.next());
        }
        let sampled = text("x-b3-flags").filter(|flags| *flags == "1");
        let sampled = sampled.or_else(|| text("x-b3-sampled"));
        Self::of_b3(text("x-b3-traceid")?, text("x-b3-spanid")?, sampled)
    }

    /// Takes ids of B3, of which that of the trace may have 64 bits. A decision that was left to
    /// the server is one for recording.
    fn of_b3(trace: &str, span: &str, sampled: Option<&str>) -> Option<Self> {
        let trace = match trace.len() {
            16 => u128::from(hex::<16>(trace)? as u64),
            _ => hex::<32>(trace)?,
        };
        let span = hex::<16>(span)? as u64;
        let sampled = !matches!(sampled, Some("0" | "false"));
        (trace != 0 && span != 0).then_some(TraceContext {
            trace,
            span,
            sampled,
        })
    }
}

/// Draws an id, which is not zero.
fn id() -> u64 {
    fastrand::u64(..).max(1)
}

/// Reads so many hexadecimal digits; W3C has them in lower case, B3 in either.
fn hex<const DIGITS: usize>(text: &str) -> Option<u128> {
    let digits = text.len() == DIGITS && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    digits
        .then(|| u128::from_str_radix(text, 16).ok())
        .flatten()
}

impl FromStr for TraceContext {
    type Err = ParseTraceError;

    /// Reads a `traceparent`. Later versions than 00 may have more behind the flags.
    fn from_str(text: &str) -> Result<Self, ParseTraceError> {
        let read = || {
            if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
                return None;
            }
            let mut parts = text.splitn(5, '-');
            let version = hex::<2>(parts.next()?)?;
            let trace = hex::<32>(parts.next()?)?;
            let span = hex::<16>(parts.next()?)? as u64;
            let flags = hex::<2>(parts.next()?)?;
            let has_more = parts.next().is_some();
            let is_valid = version != 0xff && !(version == 0 && has_more);
            (is_valid && trace != 0 && span != 0).then_some(TraceContext {
                trace,
                span,
                sampled: flags & 1 == 1,
            })
        };
        read().ok_or(ParseTraceError)
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = u8::from(self.sampled);
        write!(f, "00-{:032x}-{:016x}-{flags:02x}", self.trace, self.span)
    }
}

impl fmt::Debug for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TraceContext({self})")
    }
}

/// A text that is no `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseTraceError;

impl fmt::Display for ParseTraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a `traceparent` of W3C's Trace Context")
    }
}

impl std::error::Error for ParseTraceError {}

/// A call that is traced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traced {
    pub(crate) context: TraceContext,
    pub(super) parent: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn traceparents() {
        let zeros = (&"0".repeat(32), &"0".repeat(16));
        for (text, sampled) in [
            (format!("00-{TRACE}-{SPAN}-01"), Some(true)),
            (format!("00-{TRACE}-{SPAN}-00"), Some(false)),
            (format!("00-{TRACE}-{SPAN}-03"), Some(true)),
            (format!("cc-{TRACE}-{SPAN}-01-what-comes"), Some(true)),
            (format!("00-{TRACE}-{SPAN}-01-more"), None),
            (format!("ff-{TRACE}-{SPAN}-01"), None),
            (format!("00-{}-{SPAN}-01", zeros.0), None),
            (format!("00-{TRACE}-{}-01", zeros.1), None),
            (format!("00-{}-{SPAN}-01", TRACE.to_uppercase()), None),
            (format!("00-{TRACE}-{SPAN}"), None),
            (format!("00-+{}-{SPAN}-01", &TRACE[1..]), None),
            (String::new(), None),
        ] {
            let read = text.parse::<TraceContext>().ok();
            assert_eq!(read.map(TraceContext::is_sampled), sampled, "{text}");
            let ids = read.map(|read| (read.trace, read.span));
            let known = (
                0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736,
                0x00f0_67aa_0ba9_02b7,
            );
            assert!(ids.is_none_or(|ids| ids == known), "{text}");
        }
    }

    #[test]
    fn headers() {
        let parent = format!("00-{TRACE}-{SPAN}-00");
        for (headers, found) in [
            (vec![("traceparent", parent.as_str())], Some((TRACE, false))),
            (vec![("traceparent", "broken"), ("b3", "0")], None),
            (
                vec![("b3", &format!("{TRACE}-{SPAN}-1"))],
                Some((TRACE, true)),
            ),
            (
                vec![("b3", &format!("{TRACE}-{SPAN}-1-{SPAN}"))],
                Some((TRACE, true)),
            ),
            (
                vec![("b3", &format!("{TRACE}-{SPAN}"))],
                Some((TRACE, true)),
            ),
            (
                vec![("b3", &format!("{}-{SPAN}-0", &TRACE[16..]))],
                Some((&TRACE[16..], false)),
            ),
            (vec![("b3", "0")], None),
            (
                vec![("x-b3-traceid", TRACE), ("x-b3-spanid", SPAN)],
                Some((TRACE, true)),
            ),
            (
                vec![
                    ("x-b3-traceid", TRACE),
                    ("x-b3-spanid", SPAN),
                    ("x-b3-sampled", "0"),
                ],
                Some((TRACE, false)),
            ),
            (vec![("x-b3-traceid", TRACE)], None),
            (vec![], None),
        ] {
            let header = |name: &str| {
                let mut headers = headers.iter();
                headers
                    .find(|(known, _)| *known == name)
                    .map(|(_, value)| value.as_bytes())
            };
            let read = TraceContext::find(header);
            let read = read.map(|read| (format!("{:x}", read.trace), read.sampled));
            let read = read
                .as_ref()
                .map(|(trace, sampled)| (trace.as_str(), *sampled));
            assert_eq!(read, found, "{headers:?}");
        }
    }
}
