/// The names that a contract gives to the numbers of an enum, for encodings that write them.
pub trait Names {
    /// The name of a number; `None` for one that has none.
    fn name(&self, number: i32) -> Option<&str>;

    /// The number with this name.
    fn number(&self, name: &str) -> Option<i32>;

    /// The contract's name of the enum, or empty: other spellings of its values begin with it.
    fn type_name(&self) -> &str {
        ""
    }

    /// A number with its name, by its place in the contract.
    fn value(&self, index: usize) -> Option<(i32, &str)> {
        let _ = index;
        None
    }

    /// True for `google.protobuf.NullValue`, of which the only value is `null` in JSON.
    fn is_null(&self) -> bool {
        false
    }
}

/// The names of an enum that is `null` in JSON.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Null<N>(pub N);

impl<N: Names> Names for Null<N> {
    fn name(&self, number: i32) -> Option<&str> {
        self.0.name(number)
    }

    fn number(&self, name: &str) -> Option<i32> {
        self.0.number(name)
    }

    fn type_name(&self) -> &str {
        self.0.type_name()
    }

    fn value(&self, index: usize) -> Option<(i32, &str)> {
        self.0.value(index)
    }

    fn is_null(&self) -> bool {
        true
    }
}

/// The names of an enum of generated code.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct EnumNames {
    pub type_name: &'static str,
    pub values: &'static [(i32, &'static str)],
}

impl Names for EnumNames {
    fn name(&self, number: i32) -> Option<&str> {
        self.values.name(number)
    }

    fn number(&self, name: &str) -> Option<i32> {
        self.values.number(name)
    }

    fn type_name(&self) -> &str {
        self.type_name
    }

    fn value(&self, index: usize) -> Option<(i32, &str)> {
        self.values.get(index).copied()
    }
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
