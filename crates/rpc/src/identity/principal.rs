use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

/// An identity that a caller has proved. Cheap to clone.
///
/// Handlers find it with [`Context::principal`](crate::Context::principal).
///
/// ```
/// use dovetail::identity::Principal;
///
/// let ada = Principal::new("ada", "badge").with_role("clerk").with_attribute("desk", "7");
/// assert!(ada.has_role("clerk"));
/// assert_eq!(ada.attribute("desk"), Some("7"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Principal(Arc<Facts>);

#[derive(Clone, PartialEq, Eq)]
struct Facts {
    name: String,
    kind: Cow<'static, str>,
    attributes: BTreeMap<String, String>,
    roles: BTreeSet<String>,
    expires: Option<SystemTime>,
}

impl Principal {
    /// The kind of those who have shown a certificate.
    pub const CERTIFICATE: &'static str = "certificate";
    /// The kind of those who have shown a token of [`Tokens`](super::Tokens).
    pub const TOKEN: &'static str = "token";
    /// The kind of those who have shown a JSON Web Token.
    pub const JWT: &'static str = "jwt";
    /// The kind of processes on this machine.
    pub const PROCESS: &'static str = "process";

    /// Makes a principal without attributes and roles, which does not expire. The kind says how it
    /// was identified.
    pub fn new(name: impl Into<String>, kind: impl Into<Cow<'static, str>>) -> Self {
        Principal(Arc::new(Facts {
            name: name.into(),
            kind: kind.into(),
            attributes: BTreeMap::new(),
            roles: BTreeSet::new(),
            expires: None,
        }))
    }

    fn change(mut self, change: impl FnOnce(&mut Facts)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Adds a role.
    #[must_use]
    pub fn with_role(self, role: impl Into<String>) -> Self {
        self.change(|facts| {
            facts.roles.insert(role.into());
        })
    }

    /// Sets an attribute.
    #[must_use]
    pub fn with_attribute(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.change(|facts| {
            facts.attributes.insert(name.into(), value.into());
        })
    }

    /// Sets the end of its time. Later calls are refused, and streams end at their next item.
    #[must_use]
    pub fn with_expiry(self, expires: SystemTime) -> Self {
        self.change(|facts| facts.expires = Some(expires))
    }

    /// Returns the name, unique among those of its kind.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns how it was identified: [`CERTIFICATE`](Self::CERTIFICATE), [`TOKEN`](Self::TOKEN),
    /// [`JWT`](Self::JWT), [`PROCESS`](Self::PROCESS), or the kind that an authenticator of one's
    /// own gives.
    pub fn kind(&self) -> &str {
        &self.0.kind
    }

    /// Returns an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.0.attributes.get(name).map(String::as_str)
    }

    /// Returns all attributes, by name.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        let attributes = self.0.attributes.iter();
        attributes.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns its roles, sorted.
    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.0.roles.iter().map(String::as_str)
    }

    /// True if it has the role.
    pub fn has_role(&self, role: &str) -> bool {
        self.0.roles.contains(role)
    }

    /// Returns the end of its time; `None` if there is none.
    pub fn expires(&self) -> Option<SystemTime> {
        self.0.expires
    }

    pub(super) fn is_expired(&self) -> bool {
        self.expires()
            .is_some_and(|expires| expires <= SystemTime::now())
    }

    /// True for the same identity, whatever is known of it.
    pub(crate) fn is(&self, other: &Principal) -> bool {
        self.kind() == other.kind() && self.name() == other.name()
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Principal")
            .field("name", &self.0.name)
            .field("kind", &self.0.kind)
            .field("roles", &self.0.roles)
            .field("expires", &self.0.expires)
            .finish_non_exhaustive()
    }
}
