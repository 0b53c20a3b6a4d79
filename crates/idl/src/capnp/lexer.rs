//! Text to tokens. Comments vanish here; the parser looks for documentation in the text behind a
//! token.

use crate::diagnostic::{Diagnostic, Sink};
use crate::source::{FileId, Span};
use logos::{Lexer, Logos};

/// The kinds of token. The language has no reserved words: `struct` can be the name of a field.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n\f\u{FEFF}]+")]
#[logos(skip(r"#[^\n]*", allow_greedy = true))]
#[logos(error = LexError)]
pub(super) enum Tok {
    #[regex("[A-Za-z_][A-Za-z0-9_]*")]
    Ident,
    #[regex("[0-9]+")]
    #[regex("0[xX][0-9A-Fa-f]+")]
    Int,
    #[regex(r"[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?")]
    #[regex(r"[0-9]+[eE][+-]?[0-9]+")]
    Float,
    #[token("\"", text)]
    Text,
    #[token("0x\"", text)]
    Data,
    #[regex("`[^\n]*", allow_greedy = true)]
    Line,

    #[token("@")]
    At,
    #[token(":")]
    Colon,
    #[token(";")]
    Semicolon,
    #[token("=")]
    Equals,
    #[token(",")]
    Comma,
    #[token(".")]
    Dot,
    #[token("$")]
    Dollar,
    #[token("*")]
    Star,
    #[token("-")]
    Minus,
    #[token("->")]
    Arrow,
    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,

    /// Text that is no token; it has been reported.
    Bad,
    /// After the last token, for ever.
    End,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LexError {
    #[default]
    Unexpected,
    OpenText,
}

/// Goes up to the closing quote. The parser understands the escapes.
fn text(lexer: &mut Lexer<'_, Tok>) -> Result<(), LexError> {
    let rest = lexer.remainder().as_bytes();
    let mut at = 0;
    while let Some(&byte) = rest.get(at) {
        match byte {
            b'\n' => break,
            b'\\' if rest.get(at + 1).is_some_and(|next| next.is_ascii_graphic()) => at += 2,
            b'"' => {
                lexer.bump(at + 1);
                return Ok(());
            }
            _ => at += 1,
        }
    }
    lexer.bump(at);
    Err(LexError::OpenText)
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) tok: Tok,
    pub(super) span: Span,
}

/// Splits a text; the tokens end with [`Tok::End`]. Text that is no token is reported, once for
/// each run of it.
pub(super) fn lex(file: FileId, text: &str, sink: &mut Sink) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut bad: Option<Span> = None;
    for (result, range) in Tok::lexer(text).spanned() {
        let span = Span::new(range.start, range.end);
        let tok = match result {
            Ok(tok) => tok,
            Err(LexError::OpenText) => {
                let error = Diagnostic::error("E2102", "this text is not closed on its line");
                sink.push(
                    error
                        .at(file, span, "no closing \" follows")
                        .help("close it, or write a line break as `\\n`"),
                );
                Tok::Bad
            }
            Err(LexError::Unexpected) => match &mut bad {
                Some(run) if run.end == span.start => {
                    run.end = span.end;
                    continue;
                }
                _ => {
                    report(file, text, bad.replace(span), sink);
                    Tok::Bad
                }
            },
        };
        tokens.push(Token { tok, span });
    }
    report(file, text, bad, sink);
    let span = Span::new(text.len(), text.len());
    tokens.push(Token {
        tok: Tok::End,
        span,
    });
    tokens
}

fn report(file: FileId, text: &str, bad: Option<Span>, sink: &mut Sink) {
    let Some(span) = bad else { return };
    let run = text.get(span.start as usize..span.end as usize);
    let shown: String = run
        .unwrap_or_default()
        .chars()
        .take(20)
        .flat_map(char::escape_debug)
        .collect();
    let message = format!("`{shown}` means nothing in a Cap'n Proto schema");
    let help = match shown.chars().next() {
        Some('/') => "comments begin with `#`",
        Some('\'') => "texts stand in double quotes: \"…\"",
        Some('<') => "the types in a type stand in parentheses: `List(Text)`",
        _ => "remove it; comments begin with `#`",
    };
    let error = Diagnostic::error("E2101", message).at(file, span, "");
    sink.push(error.help(help));
}
