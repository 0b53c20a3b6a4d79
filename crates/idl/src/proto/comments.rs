//! Which comment belongs to what. A declaration ends with `;`, `{` or `}`; between two of them,
//! comments are trailing (they belong to what has ended), detached (to nothing) or leading (to what
//! follows). The rules are those of `SourceCodeInfo.Location` in
//! `google/protobuf/descriptor.proto`.

use super::lexer::Comment;
use crate::source::Span;

/// The comments between two tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Gap {
    pub(super) trailing: Option<String>,
    pub(super) detached: Vec<String>,
    pub(super) leading: Option<String>,
}

/// A comment, or several line comments that follow each other, and the lines that they stand on.
struct Block {
    text: String,
    first: usize,
    last: usize,
    line: bool,
}

/// Sorts the comments of a gap: between the end of `before` (nothing at the start of a file) and
/// the start of `after`, which closes a scope or not.
pub(super) fn sort(
    text: &str,
    comments: &[Comment],
    before: Option<Span>,
    after: Span,
    closes: bool,
) -> Gap {
    let start = before.map_or(0, |span| span.end as usize);
    let mut lines = Lines {
        text,
        at: start,
        line: 0,
    };
    let mut blocks: Vec<Block> = Vec::new();
    for comment in comments {
        let alone = before.is_some() && blocks.len() == 1;
        push(&mut blocks, text, comment.span, alone, &mut lines);
    }
    let next = lines.of(after.start as usize);
    let mut gap = Gap::default();
    let mut blocks = blocks.into_iter().peekable();
    // A comment on the line of a declaration's end belongs to it, unless the next one begins there,
    // too.
    if before.is_some() {
        let same_line = blocks.next_if(|block| block.first == 0);
        match same_line {
            Some(block) if block.line || next > block.last || blocks.peek().is_some() => {
                gap.trailing = Some(block.text);
            }
            Some(block) => gap.detached.push(block.text),
            None => {}
        }
    }
    let mut attachable = before.is_some() && gap == Gap::default();
    let mut end = 0;
    while let Some(block) = blocks.next() {
        // A blank line separates from what has ended.
        attachable &= block.first <= end + 1;
        end = block.last;
        let leads = blocks.peek().is_none() && next <= end + 1 && !closes;
        if leads {
            gap.leading = Some(block.text);
        } else if attachable {
            gap.trailing = Some(block.text);
            attachable = false;
        } else {
            gap.detached.push(block.text);
        }
    }
    gap
}

/// Counts lines forwards, from the end of a declaration on.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl Lines<'_> {
    fn of(&mut self, place: usize) -> usize {
        let skipped = self.text.as_bytes().get(self.at..place).unwrap_or_default();
        self.line += skipped.iter().filter(|byte| **byte == b'\n').count();
        self.at = self.at.max(place);
        self.line
    }
}

/// Adds a comment; `alone` where the last block does not go on if it stands on the first line.
fn push(blocks: &mut Vec<Block>, text: &str, span: Span, alone: bool, lines: &mut Lines<'_>) {
    let first = lines.of(span.start as usize);
    let last = lines.of(span.end as usize);
    let raw = text
        .get(span.start as usize..span.end as usize)
        .unwrap_or_default();
    let Some(inner) = raw.strip_prefix("//") else {
        let inner = raw.get(2..raw.len().saturating_sub(2)).unwrap_or_default();
        let text = block_text(inner);
        blocks.push(Block {
            text,
            first,
            last,
            line: false,
        });
        return;
    };
    match blocks.last_mut() {
        Some(block) if block.line && block.last + 1 == first && !(alone && block.first == 0) => {
            block.text.push_str(inner);
            block.text.push('\n');
            block.last = last;
        }
        _ => blocks.push(Block {
            text: format!("{inner}\n"),
            first,
            last,
            line: true,
        }),
    }
}

/// The inside of a block comment, without the frame of stars at the starts of its lines.
fn block_text(inner: &str) -> String {
    let mut lines = inner.split('\n');
    let mut out = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        let line = line.trim_start_matches([' ', '\t', '\r', '\x0b', '\x0c']);
        out.push('\n');
        out.push_str(line.strip_prefix('*').unwrap_or(line));
    }
    out
}
