//! Names that must differ from each other.

use std::collections::HashSet;

/// The names taken so far in one place, a module or a parameter list for example.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope(HashSet<String>);

impl Scope {
    /// A scope in which these names are taken already.
    pub(crate) fn with(names: &[&str]) -> Self {
        Scope(names.iter().map(|&name| name.to_owned()).collect())
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Takes the name, or the first free one that underscores make of it.
    pub(crate) fn claim(&mut self, name: &str) -> String {
        let mut name = name.to_owned();
        while !self.0.insert(name.clone()) {
            name.push('_');
        }
        name
    }

    /// Takes a name for each of `names`, which are pairs of what the contract says and what the
    /// target language would make of it. Names written as the target language wants them come
    /// first, so that `fooBar` gives way to `foo_bar` wherever the two stand.
    pub(crate) fn claim_all(&mut self, names: &[(&str, String)]) -> Vec<String> {
        let mut claimed = vec![String::new(); names.len()];
        for exact in [true, false] {
            for (place, (original, wanted)) in claimed.iter_mut().zip(names) {
                if (original == wanted) == exact {
                    *place = self.claim(wanted);
                }
            }
        }
        claimed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_by_case_only_stay_apart() {
        let mut scope = Scope::with(&["taken"]);
        let wanted = [
            ("fooBar", "foo_bar".to_owned()),
            ("foo_bar", "foo_bar".to_owned()),
            ("taken", "taken".to_owned()),
            ("FooBar", "foo_bar".to_owned()),
        ];
        assert_eq!(
            scope.claim_all(&wanted),
            ["foo_bar_", "foo_bar", "taken_", "foo_bar__"]
        );
    }
}
