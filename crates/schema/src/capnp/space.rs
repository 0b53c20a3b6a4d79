//! How room in a struct is given out, field by field in the order of ordinals
//! (<https://capnproto.org/encoding.html#structs>; the rules for unions are those of the reference
//! compiler).
//!
//! A struct grows by a word where no hole has room. The members of a union use the same room: each
//! takes it from the *locations* of the union, which are places in what is around it.

use super::holes::Holes;

/// The binary logarithm of the bits of a word, and of a union's tag.
const WORD: u32 = 6;
const TAG: u32 = 4;

/// The place of a [`Space`] in [`Spaces`].
pub(super) type SpaceId = usize;

/// The struct itself, which is always the first space.
pub(super) const TOP: SpaceId = 0;

/// All spaces of one struct.
#[derive(Debug)]
pub(super) struct Spaces(Vec<Space>);

#[derive(Debug)]
enum Space {
    Top(Top),
    Union(Union),
    Member(Member),
}

#[derive(Debug, Default)]
struct Top {
    words: u32,
    pointers: u32,
    holes: Holes,
}

#[derive(Debug)]
struct Union {
    around: SpaceId,
    /// Members that have a field.
    members: u16,
    tag: Option<u32>,
    data: Vec<Location>,
    pointers: Vec<u32>,
}

/// A member of a union.
#[derive(Debug)]
struct Member {
    union: SpaceId,
    tag: Option<u16>,
    /// How much of each of the union's data locations it uses.
    usage: Vec<Usage>,
    pointers: usize,
}

#[derive(Clone, Copy, Debug)]
struct Location {
    size: u32,
    offset: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    /// `None` where nothing of the location is used.
    size: Option<u32>,
    holes: Holes,
}

impl Spaces {
    pub(super) fn new() -> Self {
        Spaces(vec![Space::Top(Top::default())])
    }

    fn add(&mut self, space: Space) -> SpaceId {
        self.0.push(space);
        self.0.len() - 1
    }

    /// Adds a union to a space.
    pub(super) fn add_union(&mut self, around: SpaceId) -> SpaceId {
        self.add(Space::Union(Union {
            around,
            members: 0,
            tag: None,
            data: Vec::new(),
            pointers: Vec::new(),
        }))
    }

    /// Adds a member to a union: a space for its fields.
    pub(super) fn add_member(&mut self, union: SpaceId) -> SpaceId {
        self.add(Space::Member(Member {
            union,
            tag: None,
            usage: Vec::new(),
            pointers: 0,
        }))
    }

    /// Words of data, and pointers, of the whole struct.
    pub(super) fn size(&self) -> (u32, u32) {
        match self.0.first() {
            Some(Space::Top(top)) => (top.words, top.pointers),
            _ => (0, 0),
        }
    }

    /// The place of a union's tag.
    pub(super) fn tag_place(&self, union: SpaceId) -> Option<u32> {
        self.0.get(union).and_then(|space| match space {
            Space::Union(union) => union.tag,
            _ => None,
        })
    }

    /// The value of a union's tag that stands for this member.
    pub(super) fn tag_of(&self, member: SpaceId) -> Option<u16> {
        self.0.get(member).and_then(|space| match space {
            Space::Member(member) => member.tag,
            _ => None,
        })
    }

    fn union(&mut self, id: SpaceId) -> Option<&mut Union> {
        match self.0.get_mut(id) {
            Some(Space::Union(union)) => Some(union),
            _ => None,
        }
    }

    fn member(&mut self, id: SpaceId) -> Option<&mut Member> {
        match self.0.get_mut(id) {
            Some(Space::Member(member)) => Some(member),
            _ => None,
        }
    }

    /// The union that a space is a member of, and what is around that.
    fn outside(&mut self, space: SpaceId) -> Option<(SpaceId, SpaceId)> {
        let union = self.member(space)?.union;
        Some((union, self.union(union)?.around))
    }

    /// Gives a union its tag.
    pub(super) fn tag(&mut self, union: SpaceId) {
        if let Some(Union {
            around, tag: None, ..
        }) = self.union(union)
        {
            let around = *around;
            let place = self.data(around, TAG);
            self.union(union).into_iter().for_each(|it| it.tag = place);
        }
    }

    /// Notes that a member has a field. The union gets its tag just before its second member gets
    /// its first field.
    fn begin(&mut self, space: SpaceId) {
        let Some(Member {
            union, tag: None, ..
        }) = self.member(space)
        else {
            return;
        };
        let union = *union;
        let Some(found) = self.union(union) else {
            return;
        };
        let number = found.members;
        found.members += 1;
        self.member(space)
            .into_iter()
            .for_each(|it| it.tag = Some(number));
        if number == 1 {
            self.tag(union);
        }
    }

    /// Adds a field that takes no room.
    pub(super) fn void(&mut self, space: SpaceId) {
        let mut space = Some(space);
        while let Some(here) = space {
            self.begin(here);
            space = self.outside(here).map(|(_, around)| around);
        }
    }

    /// Gives out a pointer.
    pub(super) fn pointer(&mut self, space: SpaceId) -> Option<u32> {
        if let Space::Top(top) = self.0.get_mut(space)? {
            top.pointers += 1;
            return Some(top.pointers - 1);
        }
        self.begin(space);
        let (union, around) = self.outside(space)?;
        let member = self.member(space)?;
        let number = member.pointers;
        member.pointers += 1;
        if let Some(known) = self.union(union)?.pointers.get(number) {
            return Some(*known);
        }
        let pointer = self.pointer(around)?;
        self.union(union)?.pointers.push(pointer);
        Some(pointer)
    }

    /// Gives out a place of this size; its offset counts places of the size.
    pub(super) fn data(&mut self, space: SpaceId, size: u32) -> Option<u32> {
        if let Space::Top(top) = self.0.get_mut(space)? {
            return Some(top.data(size));
        }
        self.begin(space);
        let (union, around) = self.outside(space)?;
        let locations = self.union(union)?.data.clone();
        let member = self.member(space)?;
        member.usage.resize(locations.len(), Usage::default());
        let best = locations
            .iter()
            .zip(&member.usage)
            .enumerate()
            .filter_map(|(at, (location, usage))| Some((usage.room(*location, size)?, at)))
            .min();
        if let Some((_, at)) = best {
            return member.usage.get_mut(at)?.take(*locations.get(at)?, size);
        }
        for at in 0..locations.len() {
            if let Some(offset) = self.take_by_expanding(space, union, at, size) {
                return Some(offset);
            }
        }
        let offset = self.data(around, size)?;
        self.union(union)?.data.push(Location { size, offset });
        self.member(space)?.usage.push(Usage {
            size: Some(size),
            holes: Holes::default(),
        });
        Some(offset)
    }

    /// Takes a place out of a location that must grow for it.
    fn take_by_expanding(
        &mut self,
        space: SpaceId,
        union: SpaceId,
        at: usize,
        size: u32,
    ) -> Option<u32> {
        let used = self.member(space)?.usage.get(at)?.size;
        let Some(used) = used else {
            let location = self.expand_location(union, at, size)?;
            self.member(space)?.usage.get_mut(at)?.size = Some(size);
            return Some(location.offset << (location.size - size));
        };
        let wanted = used.max(size) + 1;
        let location = self.expand_location(union, at, wanted)?;
        let usage = self.member(space)?.usage.get_mut(at)?;
        usage.holes.add(used, 1, wanted);
        usage.size = Some(wanted);
        let place = usage.holes.take(size)?;
        Some((location.offset << (location.size - size)) + place)
    }

    /// Makes a location of a union as large as this; `None` where it has no room for that.
    fn expand_location(&mut self, union: SpaceId, at: usize, size: u32) -> Option<Location> {
        let found = self.union(union)?;
        let around = found.around;
        let location = *found.data.get(at)?;
        let factor = size.saturating_sub(location.size);
        if factor == 0 {
            return Some(location);
        }
        if !self.expand(around, location, factor)? {
            return None;
        }
        let larger = Location {
            size,
            offset: location.offset >> factor,
        };
        *self.union(union)?.data.get_mut(at)? = larger;
        Some(larger)
    }

    /// Makes a place in a space larger, if it is followed by holes.
    fn expand(&mut self, space: SpaceId, place: Location, factor: u32) -> Option<bool> {
        if let Space::Top(top) = self.0.get_mut(space)? {
            return Some(top.holes.expand(place.size, place.offset, factor));
        }
        let is_aligned = place.offset.trailing_zeros() >= factor;
        if place.size + factor > WORD || !is_aligned {
            return Some(false);
        }
        let (union, _) = self.outside(space)?;
        let locations = self.union(union)?.data.clone();
        let holds = |location: &Location| {
            location.size >= place.size
                && place.offset >> (location.size - place.size) == location.offset
        };
        let at = locations.iter().position(holds)?;
        let location = *locations.get(at)?;
        let inside = place.offset - (location.offset << (location.size - place.size));
        let usage = *self.member(space)?.usage.get(at)?;
        if inside != 0 || usage.size != Some(place.size) {
            let usage = self.member(space)?.usage.get_mut(at)?;
            return Some(usage.holes.expand(place.size, inside, factor));
        }
        // The place is all that is used of the location.
        let wanted = place.size + factor;
        if self.expand_location(union, at, wanted).is_none() {
            return Some(false);
        }
        self.member(space)?.usage.get_mut(at)?.size = Some(wanted);
        Some(true)
    }
}

impl Top {
    fn data(&mut self, size: u32) -> u32 {
        if let Some(hole) = self.holes.take(size) {
            return hole;
        }
        let offset = self.words << (WORD - size);
        self.words += 1;
        self.holes.add(size, offset + 1, WORD);
        offset
    }
}

impl Usage {
    /// The size of the smallest hole that a place of this size fits into.
    fn room(&self, location: Location, size: u32) -> Option<u32> {
        match self.size {
            None => (size <= location.size).then_some(location.size),
            Some(used) if size >= used => (size < location.size).then_some(size),
            Some(used) => {
                let larger = (used < location.size).then_some(used);
                self.holes.smallest(size).or(larger)
            }
        }
    }

    /// Takes a place out of the hole that [`room`](Self::room) has found.
    fn take(&mut self, location: Location, size: u32) -> Option<u32> {
        let place = match self.size {
            None => {
                self.size = Some(size);
                0
            }
            Some(used) if size >= used => {
                self.holes.add(used, 1, size);
                self.size = Some(size + 1);
                1
            }
            Some(used) => match self.holes.take(size) {
                Some(hole) => hole,
                None => {
                    let place = 1 << (used - size);
                    self.holes.add(size, place + 1, used);
                    self.size = Some(used + 1);
                    place
                }
            },
        };
        Some((location.offset << (location.size - size)) + place)
    }
}
