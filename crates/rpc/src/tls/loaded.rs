use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Settings that are read from somewhere, and can be read again.
pub(super) trait Source: Clone {
    type Config;

    fn load(&self) -> io::Result<Self::Config>;
}

/// The settings that were read last. Connections keep those that they began with.
pub(super) struct Loaded<S: Source>(Mutex<(S, Arc<S::Config>)>);

impl<S: Source> Loaded<S> {
    pub(super) fn new(source: S) -> io::Result<Self> {
        let config = Arc::new(source.load()?);
        Ok(Loaded(Mutex::new((source, config))))
    }

    pub(super) fn source(&self) -> S {
        self.both().0
    }

    pub(super) fn config(&self) -> Arc<S::Config> {
        self.both().1
    }

    /// Reads it again; after an error all stays as it was.
    pub(super) fn reload(&self) -> io::Result<()> {
        let source = self.source();
        let config = Arc::new(source.load()?);
        self.put((source, config));
        Ok(())
    }

    /// Takes what another one has.
    pub(super) fn replace(&self, other: &Self) {
        self.put(other.both());
    }

    fn both(&self) -> (S, Arc<S::Config>) {
        let both = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (both.0.clone(), both.1.clone())
    }

    fn put(&self, both: (S, Arc<S::Config>)) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = both;
    }
}
