//! Diagnostics as people read them.

use crate::diagnostic::{Diagnostic, Label, Severity};
use crate::source::{FileId, Source, Span};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// Renders diagnostics the way rustc does; `sources` are those of [`Compiled`](crate::Compiled).
pub fn render(diagnostics: &[Diagnostic], sources: &[Source], color: bool) -> String {
    let renderer = if color {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut out = String::new();
    for diagnostic in diagnostics {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let title = level
            .primary_title(diagnostic.message.as_str())
            .id(diagnostic.code);
        let mut group = Group::with_title(title);
        let mut labels: Vec<&Label> = diagnostic.labels.iter().collect();
        labels.sort_by_key(|label| !label.primary);
        while let Some(first) = labels.first() {
            let file = first.file;
            let (here, rest) = labels.into_iter().partition(|label| label.file == file);
            labels = rest;
            for window in windows(&here, sources, file) {
                group = group.element(window);
            }
        }
        let notes = diagnostic
            .notes
            .iter()
            .map(|note| Level::NOTE.message(note.as_str()));
        let helps = diagnostic
            .helps
            .iter()
            .map(|help| Level::HELP.message(help.as_str()));
        group = group.elements(notes.chain(helps));
        out.push_str(&renderer.render(&[group]));
        out.push_str("\n\n");
    }
    out
}

/// Lines longer than this are cut, so that the cost of a message does not grow with its file.
const LONGEST: usize = 2000;

/// The parts of a file that the labels are about. Labels that are near each other share one.
fn windows<'a>(
    labels: &[&'a Label],
    sources: &'a [Source],
    file: FileId,
) -> Vec<Snippet<'a, annotate_snippets::Annotation<'a>>> {
    let Some(source) = sources.get(file.index()) else {
        return Vec::new();
    };
    let text = source.text.as_str();
    let mut parts: Vec<(Span, Vec<&Label>)> = Vec::new();
    for label in labels {
        let lines = lines_around(text, label.span);
        let near = parts.iter_mut().find(|(part, _)| {
            let joint = part.start.min(lines.start)..part.end.max(lines.end);
            joint.len() < LONGEST
        });
        match near {
            Some((part, labels)) => {
                *part = Span {
                    start: part.start.min(lines.start),
                    end: part.end.max(lines.end),
                };
                labels.push(label);
            }
            None => parts.push((lines, vec![label])),
        }
    }
    let snippet = |(part, labels): (Span, Vec<&'a Label>)| {
        let start = part.start as usize;
        let shown = text.get(start..part.end as usize).unwrap_or_default();
        let line = text.as_bytes()[..start]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
            + 1;
        let annotations = labels.into_iter().map(|label| {
            let kind = if label.primary {
                AnnotationKind::Primary
            } else {
                AnnotationKind::Context
            };
            let clamp = |at: u32| (at as usize).clamp(start, start + shown.len()) - start;
            let annotation = kind.span(clamp(label.span.start)..clamp(label.span.end));
            match label.message.as_str() {
                "" => annotation,
                message => annotation.label(message),
            }
        });
        Snippet::source(shown)
            .path(source.name.as_str())
            .line_start(line)
            .fold(true)
            .annotations(annotations.collect::<Vec<_>>())
    };
    parts.into_iter().map(snippet).collect()
}

/// The whole lines of a span, or what is near it in a line that is very long.
fn lines_around(text: &str, span: Span) -> Span {
    let bytes = text.as_bytes();
    let start = (span.start as usize).min(bytes.len());
    let end = (span.end as usize)
        .clamp(start, bytes.len())
        .min(start + LONGEST / 2);
    let mut first = start;
    while first > 0 && bytes[first - 1] != b'\n' && start - first < LONGEST / 4 {
        first -= 1;
    }
    let mut last = end;
    while last < bytes.len() && bytes[last] != b'\n' && last - end < LONGEST / 4 {
        last += 1;
    }
    while !text.is_char_boundary(first) {
        first -= 1;
    }
    while !text.is_char_boundary(last) {
        last += 1;
    }
    Span::new(first, last)
}
