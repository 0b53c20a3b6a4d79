//! Places in a text as lines and columns.

use super::descriptor::Location;
use super::syntax::Positions;
use std::collections::HashMap;

/// All positions of a file as descriptors have them.
pub(super) fn locations(positions: &Positions, text: &str) -> Vec<Location> {
    let spans = positions.list.iter().map(|place| place.span);
    let ends = spans.flat_map(|span| [span.start as usize, span.end as usize]);
    let known = lines_and_columns(text, ends.collect());
    let at = |offset: u32| known.get(&(offset as usize)).copied().unwrap_or_default();
    let location = |place: &super::syntax::Place| {
        let (start, end) = (at(place.span.start), at(place.span.end));
        Location {
            path: place.path.clone(),
            span: match start[0] == end[0] {
                true => vec![start[0], start[1], end[1]],
                false => [start, end].concat(),
            },
            leading: place.leading.clone(),
            trailing: place.trailing.clone(),
            detached: place.detached.clone(),
        }
    };
    positions.list.iter().map(location).collect()
}

/// Line and column, both from zero, of positions in a text. A tab goes to the next multiple of
/// eight.
fn lines_and_columns(text: &str, mut wanted: Vec<usize>) -> HashMap<usize, [i32; 2]> {
    wanted.sort_unstable();
    wanted.dedup();
    let mut wanted = wanted.into_iter().peekable();
    let (mut line, mut column) = (0, 0);
    let mut known = HashMap::new();
    for (offset, byte) in text.bytes().chain([0]).enumerate() {
        if wanted.next_if_eq(&offset).is_some() {
            known.insert(offset, [line, column]);
        }
        match byte {
            b'\n' => (line, column) = (line + 1, 0),
            b'\t' => column += 8 - column % 8,
            _ => column += 1,
        }
    }
    known
}
