/// The names that a contract gives to the numbers of an enum, for encodings that write them.
pub trait Names {
    /// The name of a number; `None` for one that has none.
    fn name(&self, number: i32) -> Option<&str>;

    /// The number with this name.
    fn number(&self, name: &str) -> Option<i32>;
}

/// Numbers with their names, in the order of the contract.
impl Names for &[(i32, &str)] {
    fn name(&self, number: i32) -> Option<&str> {
        let found = self.iter().find(|(known, _)| *known == number);
        found.map(|(_, name)| *name)
    }

    fn number(&self, name: &str) -> Option<i32> {
        let found = self.iter().find(|(_, known)| *known == name);
        found.map(|(number, _)| *number)
    }
}

/// Those of an enum that nobody knows.
pub(crate) const NO_NAMES: &[(i32, &str)] = &[];
