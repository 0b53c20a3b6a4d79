//! One server of those that a name resolves to.

/// The address of a server, and what its registry says about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backend {
    /// The address at which it listens: `tcp://10.0.0.1:9090`. Two backends with one address are
    /// one.
    pub address: String,
    /// Its share of the calls beside others. Default 1; 0 gives it none.
    pub weight: u32,
    /// Backends with a higher number get calls only while none with a lower number can be used.
    /// Default 0.
    pub priority: u32,
    /// The zone in which it runs.
    pub zone: Option<String>,
    /// The version of its program.
    pub version: Option<String>,
}

impl Backend {
    /// A backend of weight 1 and priority 0.
    pub fn new(address: impl Into<String>) -> Self {
        Backend {
            address: address.into(),
            weight: 1,
            priority: 0,
            zone: None,
            version: None,
        }
    }

    /// Sets its share of the calls.
    #[must_use]
    pub fn weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// Sets its priority.
    #[must_use]
    pub fn priority(mut self, priority: u32) -> Self {
        self.priority = priority;
        self
    }

    /// Sets its zone.
    #[must_use]
    pub fn zone(mut self, zone: impl Into<String>) -> Self {
        self.zone = Some(zone.into());
        self
    }

    /// Sets the version of its program.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }
}
