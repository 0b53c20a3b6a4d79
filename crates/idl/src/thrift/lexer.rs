//! Text to tokens. Comments vanish here, except that documentation is kept beside the tokens.

use crate::diagnostic::{Diagnostic, Sink};
use crate::source::{FileId, Span};
use logos::{FilterResult, Lexer, Logos};

/// The kinds of token. Only Apache Thrift's own keywords are here: the words that Dovetail adds are
/// plain [`Tok::Ident`]s, which the parser understands where Thrift has no meaning for them.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip(r"[ \t\r\n\f\u{FEFF}]+"))]
#[logos(error = LexError)]
pub(crate) enum Tok {
    #[regex("[A-Za-z_][A-Za-z0-9_.]*")]
    Ident,
    #[regex("[+-]?[0-9]+")]
    Int,
    #[regex("[+-]?0x[0-9A-Fa-f]+")]
    Hex,
    #[regex(r"[+-]?[0-9]*\.[0-9]+([eE][+-]?[0-9]+)?")]
    #[regex(r"[+-]?[0-9]+[eE][+-]?[0-9]+")]
    Double,
    #[token("\"", literal)]
    #[token("'", literal)]
    Literal,

    #[token("//", line_comment)]
    #[token("#", line_comment)]
    #[token("/*", block_comment)]
    Doc,

    #[token(":")]
    Colon,
    #[token(";")]
    Semicolon,
    #[token(",")]
    Comma,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token("<")]
    Less,
    #[token(">")]
    Greater,
    #[token("=")]
    Equals,
    #[token("*")]
    Star,
    #[token("&")]
    Ampersand,
    #[token("@")]
    At,

    #[token("true")]
    True,
    #[token("false")]
    False,
    #[token("namespace")]
    Namespace,
    #[token("include")]
    Include,
    #[token("cpp_include")]
    CppInclude,
    #[token("cpp_type")]
    CppType,
    #[token("xsd_all")]
    XsdAll,
    #[token("xsd_optional")]
    XsdOptional,
    #[token("xsd_nillable")]
    XsdNillable,
    #[token("xsd_attrs")]
    XsdAttrs,
    #[token("void")]
    Void,
    #[token("bool")]
    Bool,
    #[token("byte")]
    #[token("i8")]
    I8,
    #[token("i16")]
    I16,
    #[token("i32")]
    I32,
    #[token("i64")]
    I64,
    #[token("double")]
    DoubleType,
    #[token("string")]
    String,
    #[token("binary")]
    Binary,
    #[token("uuid")]
    Uuid,
    #[token("slist")]
    Slist,
    #[token("map")]
    Map,
    #[token("list")]
    List,
    #[token("set")]
    Set,
    #[token("oneway")]
    Oneway,
    #[token("async")]
    Async,
    #[token("typedef")]
    Typedef,
    #[token("struct")]
    Struct,
    #[token("union")]
    Union,
    #[token("exception")]
    Exception,
    #[token("extends")]
    Extends,
    #[token("throws")]
    Throws,
    #[token("service")]
    Service,
    #[token("enum")]
    Enum,
    #[token("senum")]
    Senum,
    #[token("const")]
    Const,
    #[token("required")]
    Required,
    #[token("optional")]
    Optional,

    /// Text that is no token; it has been reported.
    Bad,
    /// After the last token, for ever.
    End,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LexError {
    #[default]
    Unexpected,
    OpenLiteral,
    OpenComment,
}

/// Up to the closing quote. Escapes are understood later; here only their length matters.
fn literal(lexer: &mut Lexer<'_, Tok>) -> Result<(), LexError> {
    let quote = lexer.slice().as_bytes()[0];
    let rest = lexer.remainder().as_bytes();
    let mut at = 0;
    while let Some(&byte) = rest.get(at) {
        match byte {
            b'\n' => break,
            b'\\'
                if rest
                    .get(at + 1)
                    .is_some_and(|next| next.is_ascii() && *next != b'\n') =>
            {
                at += 2;
            }
            byte => {
                at += 1;
                if byte == quote {
                    lexer.bump(at);
                    return Ok(());
                }
            }
        }
    }
    lexer.bump(at);
    Err(LexError::OpenLiteral)
}

fn line_comment(lexer: &mut Lexer<'_, Tok>) -> FilterResult<(), LexError> {
    let rest = lexer.remainder();
    lexer.bump(rest.find('\n').unwrap_or(rest.len()));
    let text = lexer.slice();
    let documents = text.starts_with("///") && !text.starts_with("////");
    if documents {
        FilterResult::Emit(())
    } else {
        FilterResult::Skip
    }
}

fn block_comment(lexer: &mut Lexer<'_, Tok>) -> FilterResult<(), LexError> {
    let rest = lexer.remainder();
    let Some(end) = rest.find("*/") else {
        lexer.bump(rest.len());
        return FilterResult::Error(LexError::OpenComment);
    };
    lexer.bump(end + 2);
    let text = lexer.slice();
    // `/**/` and rows of stars are decoration, not documentation.
    let decoration = text
        .trim_start_matches('/')
        .trim_end_matches('/')
        .bytes()
        .all(|b| b == b'*');
    if text.starts_with("/**") && !decoration {
        FilterResult::Emit(())
    } else {
        FilterResult::Skip
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) tok: Tok,
    pub(crate) span: Span,
}

/// A documentation comment that stands before the token with the number `before`.
#[derive(Clone, Debug)]
pub(crate) struct Doc {
    pub(crate) before: usize,
    /// True for `/**< … */` and `///<`, which describe what they follow.
    pub(crate) trailing: bool,
    pub(crate) text: String,
    line: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Lexed {
    /// Always ends with [`Tok::End`].
    pub(crate) tokens: Vec<Token>,
    pub(crate) docs: Vec<Doc>,
}

/// Splits a text. What is no token is reported, and becomes one [`Tok::Bad`].
pub(crate) fn lex(file: FileId, text: &str, sink: &mut Sink) -> Lexed {
    let mut lexed = Lexed::default();
    let mut bad: Option<Span> = None;
    for (result, range) in Tok::lexer(text).spanned() {
        let span = Span::new(range.start, range.end);
        if result != Err(LexError::Unexpected) {
            report_bad(file, text, &mut bad, sink);
        }
        let tok = match result {
            Ok(Tok::Doc) => {
                add_doc(&mut lexed, &text[range]);
                continue;
            }
            Ok(Tok::Ident)
                if text[range.clone()].ends_with('.') || text[range.clone()].contains("..") =>
            {
                let message = format!(
                    "`{}` is not a name: a `.` stands between two names",
                    &text[range]
                );
                let error = Diagnostic::error("E0103", message).at(file, span, "");
                sink.push(error.help("write `Name` or `file.Name`"));
                Tok::Ident
            }
            Ok(tok) => tok,
            Err(LexError::Unexpected) => {
                // One report for a run of bad characters, not one for each.
                match &mut bad {
                    Some(run) if run.end == span.start => run.end = span.end,
                    _ => {
                        report_bad(file, text, &mut bad, sink);
                        bad = Some(span);
                        lexed.tokens.push(Token {
                            tok: Tok::Bad,
                            span,
                        });
                    }
                }
                continue;
            }
            Err(LexError::OpenLiteral) => {
                let error = Diagnostic::error("E0102", "this string is not closed on its line")
                    .at(
                        file,
                        span,
                        format!("no closing {} follows", &text[range.start..range.start + 1]),
                    )
                    .help("close it, or write a line break as `\\n`");
                sink.push(error);
                Tok::Bad
            }
            Err(LexError::OpenComment) => {
                let opening = Span {
                    start: span.start,
                    end: span.start + 2,
                };
                let error = Diagnostic::error("E0104", "this comment is never closed")
                    .at(file, opening, "no `*/` follows")
                    .note("comments do not nest: the first `*/` ends a comment");
                sink.push(error);
                continue;
            }
        };
        lexed.tokens.push(Token { tok, span });
    }
    report_bad(file, text, &mut bad, sink);
    let end = Span::new(text.len(), text.len());
    lexed.tokens.push(Token {
        tok: Tok::End,
        span: end,
    });
    lexed
}

fn report_bad(file: FileId, text: &str, bad: &mut Option<Span>, sink: &mut Sink) {
    let Some(span) = bad.take() else { return };
    let run = text
        .get(span.start as usize..span.end as usize)
        .unwrap_or_default();
    let shown: String = run.chars().take(20).flat_map(char::escape_debug).collect();
    let error = Diagnostic::error("E0101", format!("`{shown}` means nothing in Thrift"));
    let error = error.at(file, span, "");
    let help = match run.chars().next() {
        Some('-')
            if text
                .get(span.end as usize..)
                .is_some_and(|rest| rest.starts_with('>')) =>
        {
            Some("the result of a method comes first: `i32 name(…)`")
        }
        Some('.' | '+' | '-') => Some("a number has a digit after its sign and after its point"),
        Some('\u{201c}' | '\u{201d}' | '\u{2018}' | '\u{2019}') => {
            Some("strings stand in straight quotes: \"…\" or '…'")
        }
        Some('|' | '?') => Some("an optional field is written `1: optional i32 name`"),
        Some(first) if first.is_alphabetic() => Some("names are made of a-z, A-Z, 0-9 and _"),
        Some('!') => Some("Thrift has no operators"),
        _ => Some("remove it; comments begin with `//` or `#`"),
    };
    sink.push(error.maybe_help(help.map(str::to_owned)));
}

fn add_doc(lexed: &mut Lexed, comment: &str) {
    let before = lexed.tokens.len();
    let line = comment.starts_with("///");
    let body = match comment.strip_prefix("///") {
        Some(body) => body,
        None => comment.get(3..comment.len() - 2).unwrap_or_default(),
    };
    let (trailing, body) = match body.strip_prefix('<') {
        Some(body) => (true, body),
        None => (false, body),
    };
    if let Some(last) = lexed.docs.last_mut() {
        // The lines of a `///` comment are one text.
        if line && last.line && last.before == before && last.trailing == trailing {
            last.text.push('\n');
            last.text
                .push_str(body.strip_prefix(' ').unwrap_or(body).trim_end());
            return;
        }
    }
    let text = if line {
        body.trim().to_owned()
    } else {
        normalize(body)
    };
    lexed.docs.push(Doc {
        before,
        trailing,
        text,
        line,
    });
}

/// The text of a block comment without its frame: no stars at the line starts, no common
/// indentation, no blank lines at either end.
fn normalize(body: &str) -> String {
    let mut lines: Vec<&str> = body.lines().map(str::trim_end).collect();
    let (_, rest) = match lines.split_first_mut() {
        Some((first, rest)) => {
            *first = first.trim_start_matches('*').trim_start();
            (first, rest)
        }
        None => return String::new(),
    };
    let framed = rest
        .iter()
        .all(|line| line.is_empty() || line.trim_start().starts_with('*'));
    if framed {
        for line in rest.iter_mut() {
            *line = line.trim_start().trim_start_matches('*');
        }
    }
    let indentation = |line: &&str| line.len() - line.trim_start().len();
    let common = rest
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(indentation)
        .min();
    for line in rest.iter_mut() {
        *line = line.get(common.unwrap_or(0)..).unwrap_or_default();
    }
    let blank = |line: &&str| line.trim().is_empty();
    let start = lines
        .iter()
        .position(|line| !blank(line))
        .unwrap_or(lines.len());
    let end = lines
        .iter()
        .rposition(|line| !blank(line))
        .map_or(start, |last| last + 1);
    lines[start..end]
        .join("\n")
        .trim_end_matches('*')
        .trim_end()
        .to_owned()
}
