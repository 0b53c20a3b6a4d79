use dovetail_wire::Bytes;

/// The headers of a message: THeader's key-value pairs, or HTTP's headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, Bytes)>);

impl Headers {
    /// No headers; takes no memory.
    pub const fn new() -> Self {
        Headers(Vec::new())
    }

    /// Adds a header. HTTP refuses line breaks when the message is written.
    pub fn push(&mut self, name: impl Into<String>, value: impl Into<Bytes>) {
        self.0.push((name.into(), value.into()));
    }

    /// The last value of a header, its name in any case: HTTP's have none, and THeader's are close
    /// to them.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        let named = |(key, _): &&(String, Bytes)| key.eq_ignore_ascii_case(name);
        self.0.iter().rev().find(named).map(|(_, value)| &value[..])
    }

    /// Removes a header, its name in any case; returns its last value.
    pub fn remove(&mut self, name: &str) -> Option<Bytes> {
        let mut removed = None;
        self.0.retain_mut(|(key, value)| {
            let named = key.eq_ignore_ascii_case(name);
            if named {
                removed = Some(std::mem::take(value));
            }
            !named
        });
        removed
    }

    /// Adds these behind those that are there.
    pub(crate) fn append(&mut self, mut more: Self) {
        self.0.append(&mut more.0);
    }

    /// All of them, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), &value[..]))
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl<N: Into<String>, V: Into<Bytes>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(iter: I) -> Self {
        let pairs = iter.into_iter();
        Headers(
            pairs
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }
}
