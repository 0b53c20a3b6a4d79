//! Text to tokens, with the comments beside them. The language has no reserved words: every word is
//! a [`Tok::Ident`], and the parser knows where it means something.

use crate::diagnostic::{Diagnostic, Sink};
use crate::source::{FileId, Span};
use logos::{Lexer, Logos};

#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip(r"[ \t\r\n\f\x0B]+"))]
#[logos(error = LexError)]
pub(super) enum Tok {
    #[regex("[A-Za-z_][A-Za-z0-9_]*")]
    Ident,
    #[regex("0[0-7]*|[1-9][0-9]*|0[xX][0-9a-fA-F]+", priority = 10)]
    Int,
    #[regex(r"[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?", priority = 10)]
    #[regex(r"\.[0-9]+([eE][+-]?[0-9]+)?", priority = 10)]
    #[regex(r"[0-9]+[eE][+-]?[0-9]+", priority = 10)]
    Float,
    /// Looks like a number and is none.
    #[regex(r"\.?[0-9][A-Za-z0-9_.]*", no_number, priority = 5)]
    #[token("\"", literal)]
    #[token("'", literal)]
    Str,
    #[regex("//[^\n]*", allow_greedy = true)]
    LineComment,
    #[token("/*", block_comment)]
    BlockComment,

    #[token(";")]
    Semicolon,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token("=")]
    Equals,
    #[token(".")]
    Dot,
    #[token("-")]
    Minus,
    #[token("+")]
    Plus,
    #[token("/")]
    Slash,
    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token("<")]
    Less,
    #[token(">")]
    Greater,

    /// Text that is no token; it has been reported.
    Bad,
    /// After the last token, for ever.
    End,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LexError {
    #[default]
    Unexpected,
    Number,
    OpenLiteral,
    OpenComment,
    NestedComment,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) tok: Tok,
    pub(super) span: Span,
}

/// A comment, with its marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comment {
    /// The token that follows, by index.
    pub(super) before: usize,
    pub(super) span: Span,
}

#[derive(Debug, Default)]
pub(super) struct Lexed {
    /// The last one is [`Tok::End`].
    pub(super) tokens: Vec<Token>,
    pub(super) comments: Vec<Comment>,
}

fn no_number(_: &mut Lexer<'_, Tok>) -> Result<(), LexError> {
    Err(LexError::Number)
}

/// Up to the closing quote, in one line. Escapes are understood later; here only their length
/// matters.
fn literal(lexer: &mut Lexer<'_, Tok>) -> Result<(), LexError> {
    let quote = lexer.slice().as_bytes().first().copied();
    let rest = lexer.remainder().as_bytes();
    let mut at = 0;
    while let Some(&byte) = rest.get(at) {
        match byte {
            b'\n' => break,
            b'\\' if rest.get(at + 1).is_some_and(|next| *next != b'\n') => at += 1,
            byte if Some(byte) == quote => {
                lexer.bump(at + 1);
                return Ok(());
            }
            _ => {}
        }
        at += 1;
    }
    // A character that a backslash hides may be longer than its first byte.
    let rest = lexer.remainder();
    let line = rest.find('\n').unwrap_or(rest.len());
    lexer.bump(line);
    Err(LexError::OpenLiteral)
}

fn block_comment(lexer: &mut Lexer<'_, Tok>) -> Result<(), LexError> {
    let rest = lexer.remainder();
    match (rest.find("*/"), rest.find("/*")) {
        (Some(end), Some(inner)) if inner < end => {
            lexer.bump(end + 2);
            Err(LexError::NestedComment)
        }
        (Some(end), _) => {
            lexer.bump(end + 2);
            Ok(())
        }
        (None, _) => {
            lexer.bump(lexer.remainder().len());
            Err(LexError::OpenComment)
        }
    }
}

pub(super) fn lex(file: FileId, text: &str, sink: &mut Sink) -> Lexed {
    let mut lexed = Lexed::default();
    // The mark of UTF-8 that some editors put first.
    let skipped = text.len() - text.trim_start_matches('\u{FEFF}').len();
    let mut lexer = Tok::lexer(text);
    lexer.bump(skipped);
    while let Some(token) = lexer.next() {
        let range = lexer.span();
        let span = Span::new(range.start, range.end);
        match token {
            Ok(Tok::LineComment | Tok::BlockComment) => {
                let before = lexed.tokens.len();
                lexed.comments.push(Comment { before, span });
            }
            Ok(tok) => lexed.tokens.push(Token { tok, span }),
            Err(error) => bad(file, text, span, error, &mut lexed, sink),
        }
    }
    let end = Span::new(text.len(), text.len());
    lexed.tokens.push(Token {
        tok: Tok::End,
        span: end,
    });
    lexed
}

/// Reports text that is no token. A run of it is one error.
fn bad(file: FileId, text: &str, span: Span, error: LexError, lexed: &mut Lexed, sink: &mut Sink) {
    if let Some(last) = lexed.tokens.last_mut()
        && last.tok == Tok::Bad
        && last.span.end == span.start
        && error == LexError::Unexpected
    {
        last.span.end = span.end;
        return;
    }
    lexed.tokens.push(Token {
        tok: Tok::Bad,
        span,
    });
    let range = span.start as usize..span.end as usize;
    let shown: String = text
        .get(range)
        .unwrap_or_default()
        .chars()
        .take(40)
        .collect();
    let begin = Span::new(span.start as usize, span.start as usize + 1);
    let error = match error {
        LexError::OpenLiteral => Diagnostic::error("E1102", "this string does not end in its line")
            .at(file, begin, "opened here")
            .help("close it; strings that stand side by side are one"),
        LexError::OpenComment => Diagnostic::error("E1103", "this comment does not end")
            .at(
                file,
                Span::new(span.start as usize, span.start as usize + 2),
                "opened here",
            )
            .help("add `*/`; comments do not nest"),
        LexError::NestedComment => {
            let start = span.start as usize + 2;
            let inner = text.get(start..).and_then(|rest| rest.find("/*"));
            let start = start + inner.unwrap_or_default();
            Diagnostic::error("E1103", "a comment begins inside this one")
                .at(file, Span::new(start, start + 2), "here")
                .help("comments do not nest: remove the inner `/*`")
        }
        LexError::Number => {
            let help = match shown.as_bytes() {
                [b'0', b'0'..=b'9', ..] => {
                    "a number that begins with 0 is octal, with digits up to 7"
                }
                [b'0', b'b' | b'B', ..] => "numbers are decimal, octal (017) or hexadecimal (0x1f)",
                _ => "a name begins with a letter, and stands apart from a number before it",
            };
            let message = format!("`{shown}` is not a number");
            Diagnostic::error("E1104", message)
                .at(file, span, "")
                .help(help)
        }
        LexError::Unexpected => {
            let message = format!("`{}` means nothing here", shown.escape_debug());
            let help = match shown.chars().next() {
                Some('#') => "comments begin with `//`",
                Some('\u{201c}' | '\u{201d}' | '\u{2018}' | '\u{2019}') => {
                    "strings stand in straight quotes: \"…\" or '…'"
                }
                Some(first) if first.is_alphabetic() => "names are made of a-z, A-Z, 0-9 and _",
                _ => "remove it",
            };
            Diagnostic::error("E1101", message)
                .at(file, span, "")
                .help(help)
        }
    };
    sink.push(error);
}
