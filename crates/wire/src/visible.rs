//! Text of peers, as people are shown it.

use std::fmt::{self, Write as _};

/// Text that cannot change how the text around it is shown; see [`visible`].
#[derive(Clone, Copy, Debug)]
pub struct Visible<'a> {
    text: &'a str,
    json: bool,
}

/// A peer's text, to be shown in a log, in an error, or on a terminal. Characters that move the
/// cursor, change the direction of the text around them, or are not seen at all are escaped as Rust
/// has it: `\n`, `\u{202e}`.
///
/// ```
/// assert_eq!(dovetail_wire::visible("exe.\u{202e}txt\n").to_string(), r"exe.\u{202e}txt\n");
/// ```
pub fn visible(text: &str) -> Visible<'_> {
    Visible { text, json: false }
}

/// Like [`visible`], for a JSON document, whose meaning stays: such characters are in its strings,
/// except for the lines and spaces between its members.
pub fn visible_json(text: &str) -> Visible<'_> {
    Visible { text, json: true }
}

impl fmt::Display for Visible<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.text;
        while let Some((at, hidden)) = rest.char_indices().find(|(_, c)| self.hides(*c)) {
            f.write_str(&rest[..at])?;
            match self.json {
                false => hidden.escape_default().try_for_each(|c| f.write_char(c))?,
                true => {
                    let mut units = [0; 2];
                    let mut units = hidden.encode_utf16(&mut units).iter();
                    units.try_for_each(|unit| write!(f, "\\u{unit:04x}"))?;
                }
            }
            rest = &rest[at + hidden.len_utf8()..];
        }
        f.write_str(rest)
    }
}

impl Visible<'_> {
    fn hides(&self, c: char) -> bool {
        let between_members = self.json && matches!(c, '\n' | '\t' | '\r');
        !between_members && is_hidden(c)
    }
}

/// True for characters that terminals obey, and that do not show, or change the order of others:
/// those of Unicode's categories Cc, Cf, Zl and Zp but for the marks that scripts write numbers
/// with.
pub fn is_hidden(c: char) -> bool {
    match c {
        ' '..='~' => false,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => {
            true
        }
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' => true,
        '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => true,
        '\u{e0000}'..='\u{e0fff}' => true,
        _ => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_show_is_escaped() {
        for (text, shown, json) in [
            ("", "", ""),
            (
                "grün, 你好, 👍\u{fe0f}",
                "grün, 你好, 👍\u{fe0f}",
                "grün, 你好, 👍\u{fe0f}",
            ),
            ("a\u{202e}b", r"a\u{202e}b", r"a\u202eb"),
            ("\u{2066}\u{2069}", r"\u{2066}\u{2069}", r"\u2066\u2069"),
            (
                "\u{200b}\u{200d}\u{feff}",
                r"\u{200b}\u{200d}\u{feff}",
                r"\u200b\u200d\ufeff",
            ),
            (
                "\x1b[2J\x07\x7f",
                r"\u{1b}[2J\u{7}\u{7f}",
                r"\u001b[2J\u0007\u007f",
            ),
            ("\u{85}\u{9b}31m", r"\u{85}\u{9b}31m", r"\u0085\u009b31m"),
            ("a\r\n\tb", r"a\r\n\tb", "a\r\n\tb"),
            ("\u{2028}\u{2029}", r"\u{2028}\u{2029}", r"\u2028\u2029"),
            ("\u{e0041}", r"\u{e0041}", r"\udb40\udc41"),
            (r"C:\dir", r"C:\dir", r"C:\dir"),
        ] {
            assert_eq!(visible(text).to_string(), shown, "{text:?}");
            assert_eq!(visible_json(text).to_string(), json, "{text:?}");
        }
    }
}
