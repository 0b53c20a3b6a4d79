//! Nearly valid texts.

use proptest::prelude::*;

/// Texts of a corpus with pieces cut out, doubled, swapped or replaced.
pub fn mutated(
    corpus: Vec<String>,
    words: &'static [&'static str],
) -> impl Strategy<Value = String> {
    let edit = (
        0..4usize,
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        0..words.len(),
    );
    let edits = prop::collection::vec(edit, 1..6);
    (prop::sample::select(corpus), edits).prop_map(move |(mut text, edits)| {
        for (kind, from, to, word) in edits {
            let boundaries: Vec<usize> = (0..=text.len())
                .filter(|at| text.is_char_boundary(*at))
                .collect();
            let (a, b) = (
                boundaries[from.index(boundaries.len())],
                boundaries[to.index(boundaries.len())],
            );
            let (a, b) = (a.min(b), a.max(b));
            match kind {
                0 => text.replace_range(a..b.min(text.len()), ""),
                1 => {
                    let piece = text[a..b].to_owned();
                    text.insert_str(b, &piece);
                }
                2 => text.insert_str(a, words[word]),
                _ => {
                    let moved = text[a..b].to_owned();
                    text.replace_range(a..b, "");
                    text.push_str(&moved);
                }
            }
        }
        text
    })
}
