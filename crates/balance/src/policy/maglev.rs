use crate::hash;

/// The table of Google's Maglev (Eisenbud and others, 2016, section 3.4): endpoints take turns in
/// filling it, each in an order of its own.
#[derive(Debug)]
pub(crate) struct Maglev(Vec<u32>);

/// A prime, as large as Envoy's.
const SIZE: u64 = 65_537;

const EMPTY: u32 = u32::MAX;

impl Maglev {
    pub(crate) fn new(members: &[(&str, u32)]) -> Self {
        let heaviest = members.iter().map(|(_, weight)| *weight).max().unwrap_or(0);
        let mut table = vec![EMPTY; SIZE as usize];
        let mut left = table.len();
        let mut orders: Vec<Order> = members
            .iter()
            .map(|(address, weight)| Order::new(address, *weight))
            .collect();
        while left > 0 && heaviest > 0 {
            for (index, order) in orders.iter_mut().enumerate() {
                if left > 0 && order.has_turn(heaviest) {
                    let place = order.find(&table);
                    table[place] = index as u32;
                    left -= 1;
                }
            }
        }
        Maglev(table)
    }

    /// The endpoints for a hash, the best one first. Those behind it are for when that cannot be
    /// used.
    pub(crate) fn from(&self, hash: u64) -> impl Iterator<Item = usize> + '_ {
        let start = (hash % SIZE) as usize;
        let (before, behind) = self.0.split_at(start);
        let places = behind.iter().chain(before);
        places
            .filter(|index| **index != EMPTY)
            .map(|index| *index as usize)
    }
}

/// The places of the table in the order in which an endpoint wants them.
struct Order {
    next: u64,
    skip: u64,
    weight: u64,
    /// Grows by the weight each round; a turn takes the heaviest weight.
    credit: u64,
}

impl Order {
    fn new(address: &str, weight: u32) -> Self {
        Order {
            next: hash(address.as_bytes()) % SIZE,
            skip: hash(format!("{address} skip").as_bytes()) % (SIZE - 1) + 1,
            weight: u64::from(weight),
            credit: 0,
        }
    }

    fn has_turn(&mut self, heaviest: u32) -> bool {
        self.credit += self.weight;
        let has_turn = self.credit >= u64::from(heaviest);
        if has_turn {
            self.credit -= u64::from(heaviest);
        }
        has_turn
    }

    /// The next empty place; there is one.
    fn find(&mut self, table: &[u32]) -> usize {
        loop {
            let place = self.next as usize;
            self.next = (self.next + self.skip) % SIZE;
            if table[place] == EMPTY {
                return place;
            }
        }
    }
}
