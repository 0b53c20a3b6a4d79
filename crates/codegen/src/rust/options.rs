/// The parts to generate, and their form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The trait that a server implements, and the type that serves it.
    pub server: bool,
    /// The client for async code. Compiled only where `dovetail` has its feature `async`.
    pub async_client: bool,
    /// The client for threads.
    pub blocking_client: bool,
    /// Tables for Cap'n Proto's protocol in the descriptors of services, which a `.capnp` contract
    /// has in any case.
    pub capnp: bool,
    /// The types for sets and maps.
    pub maps: Maps,
    /// The type for text.
    pub strings: Strings,
    /// Traits that every type derives besides the usual, as in `serde::Serialize`.
    pub derives: Vec<String>,
    /// The path of the runtime crate, `::dovetail` unless it is re-exported elsewhere.
    pub crate_path: String,
}

/// The types for sets and maps of the contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Maps {
    /// `BTreeSet`, `BTreeMap`: the same order on every run, and types that contain one are ordered
    /// too.
    #[default]
    Ordered,
    /// `HashSet`, `HashMap`; ordered ones remain inside keys, which have to be comparable
    /// themselves.
    Hashed,
}

/// The type for text of the contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strings {
    /// `String`.
    #[default]
    Standard,
    /// `CompactString` of the crate `compact_str`, which keeps up to 24 bytes in itself: for
    /// contracts with many short texts, each of which would be an allocation. Needs the feature
    /// `compact-strings` of `dovetail`.
    Compact,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            server: true,
            async_client: true,
            blocking_client: true,
            capnp: false,
            maps: Maps::default(),
            strings: Strings::default(),
            derives: Vec::new(),
            crate_path: "::dovetail".to_owned(),
        }
    }
}

impl Options {
    pub(super) fn has_services(&self) -> bool {
        self.server || self.async_client || self.blocking_client
    }

    pub(super) fn only_async_client(&self) -> bool {
        self.async_client && !self.server && !self.blocking_client
    }
}
