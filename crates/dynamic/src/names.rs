//! Names as a person means them.

/// The candidate that `wanted` was most likely meant to be, if any is close enough.
pub fn closest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Quadratic below: no name that a person typed is longer.
    if wanted.len() > 64 {
        return None;
    }
    let fold = |name: &str| name.replace(['_', '-'], "").to_lowercase();
    let wanted = fold(wanted);
    let most = wanted.chars().count().div_ceil(3);
    candidates
        .into_iter()
        .filter(|name| name.len() <= 64)
        .map(|name| (distance(&wanted, &fold(name)), name))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The Damerau-Levenshtein distance: edits, where two neighbours that changed places count as one.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                let swapped: &Vec<usize> = &before;
                best = best.min(swapped[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions() {
        let known = ["name", "userId", "created_at", "RED"];
        let rows = [
            ("nmae", Some("name")),
            ("user_id", Some("userId")),
            ("createdAt", Some("created_at")),
            ("red", Some("RED")),
            ("price", None),
            ("", None),
        ];
        for (wanted, expected) in rows {
            assert_eq!(closest(wanted, known), expected, "{wanted}");
        }
    }
}
