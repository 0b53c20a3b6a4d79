use crate::peer::intercept::CallHead;

/// How much depends on a call. Where calls wait for room, critical ones go first, and sheddable
/// ones are refused first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Criticality {
    /// Nobody misses it soon: prefetching, batch work that is done again.
    Sheddable,
    /// The usual.
    #[default]
    Normal,
    /// Somebody waits for it who cannot go on without it.
    Critical,
}

impl Criticality {
    /// The header by which a caller says it: `critical`, `normal` or `sheddable`. Calls that a
    /// handler makes have that of the call that it answers.
    pub const HEADER: &'static str = "dovetail-criticality";

    pub(super) const COUNT: usize = 3;

    /// Reads the header. Anything else than its words is normal.
    pub(super) fn of(call: &CallHead<'_>) -> Self {
        match call.header(Self::HEADER) {
            Some(b"critical") => Criticality::Critical,
            Some(b"sheddable") => Criticality::Sheddable,
            _ => Criticality::Normal,
        }
    }
}
