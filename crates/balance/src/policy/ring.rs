use super::HashRing;
use crate::hash;

/// The hashes of all endpoints, in order, each some times as its weight says.
#[derive(Debug)]
pub(crate) struct Ring(Vec<(u64, u32)>);

impl Ring {
    pub(crate) fn new(settings: HashRing, members: &[(&str, u32)]) -> Self {
        let total: u64 = members.iter().map(|(_, weight)| u64::from(*weight)).sum();
        let least = members.iter().map(|(_, weight)| *weight).filter(|w| *w > 0);
        let (smallest, largest) = settings.size;
        // The endpoint of the least weight has at least one entry, within the limits.
        let wanted = (total / u64::from(least.min().unwrap_or(1))) as usize;
        let size = wanted.max(smallest).min(largest.max(1)) as f64;
        let mut ring = Vec::new();
        for (index, (address, weight)) in members.iter().enumerate() {
            let entries = size * f64::from(*weight) / total.max(1) as f64;
            for entry in 0..entries.ceil() as usize {
                let point = hash(format!("{address}_{entry}").as_bytes());
                ring.push((point, index as u32));
            }
        }
        ring.sort_unstable();
        Ring(ring)
    }

    /// The endpoints from the place of a hash on, in the order of the ring; an endpoint comes
    /// several times.
    pub(crate) fn from(&self, hash: u64) -> impl Iterator<Item = usize> + '_ {
        let start = self.0.partition_point(|(point, _)| *point < hash);
        let (before, behind) = self.0.split_at(start);
        behind
            .iter()
            .chain(before)
            .map(|(_, index)| *index as usize)
    }
}
