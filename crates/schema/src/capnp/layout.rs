//! The places of fields.

use super::space::{SpaceId, Spaces, TOP};
use super::{TAG, UNION, is_group, is_void};
use crate::{Field, Presence, Schema, Struct, StructKind, Type, TypeDef, TypeId, TypeKind};

/// The places of the fields of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructLayout {
    /// The words of its data section.
    pub data_words: u16,
    /// The pointers behind them.
    pub pointers: u16,
    /// Its fields.
    pub fields: GroupLayout,
}

/// The places of the fields of a struct, or of a group in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupLayout {
    /// One for each field, in the order of the schema.
    pub fields: Vec<FieldLayout>,
}

/// The place of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldLayout {
    /// The tag that says the field is there; `None` for a field that is no member of a union.
    pub tag: Option<Tag>,
    /// Its room.
    pub slot: Slot,
}

/// The tag of a union, when it has a certain member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Its value.
    pub value: u16,
    /// Its place in the data section, in units of 16 bits.
    pub offset: u32,
}

/// The room of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slot {
    /// None at all.
    Void,
    /// Bits of the data section.
    Data {
        /// How many: 1, 8, 16, 32 or 64.
        bits: u8,
        /// The place, in units of as many bits.
        offset: u32,
    },
    /// The pointer with this number.
    Pointer(u32),
    /// The places of the group's fields.
    Group(GroupLayout),
}

/// The layout of a struct, a union or an exception. Fields get their places in the order of their
/// ids.
pub fn layout(schema: &Schema, id: TypeId) -> StructLayout {
    match &schema[id].kind {
        TypeKind::Struct(def) => of(schema, Some(&schema[id]), &def.fields, def.kind),
        _ => of(schema, None, &[], StructKind::Struct),
    }
}

/// The layout of the struct that the parameters of a method make.
pub fn parameters(schema: &Schema, fields: &[Field]) -> StructLayout {
    of(schema, None, fields, StructKind::Struct)
}

fn of(
    schema: &Schema,
    owner: Option<&TypeDef>,
    fields: &[Field],
    kind: StructKind,
) -> StructLayout {
    let mut plan = Plan {
        schema,
        spaces: Spaces::new(),
        leaves: Vec::new(),
        slots: Vec::new(),
    };
    let group = plan.group(TOP, owner, fields, kind);
    plan.give_out();
    let (words, pointers) = plan.spaces.size();
    StructLayout {
        data_words: words.try_into().unwrap_or(u16::MAX),
        pointers: pointers.try_into().unwrap_or(u16::MAX),
        fields: plan.finish(&group),
    }
}

/// The tree of a struct's fields, with the spaces that they take their room from.
struct Plan<'a> {
    schema: &'a Schema,
    spaces: Spaces,
    leaves: Vec<Leaf>,
    /// The places of the leaves, by their number.
    slots: Vec<Slot>,
}

/// A field that takes room, or the tag of a union that has an ordinal.
struct Leaf {
    id: i32,
    space: SpaceId,
    room: Room,
    number: usize,
}

#[derive(Clone, Copy)]
enum Room {
    Void,
    Data(u32),
    Pointer,
    Tag,
}

struct Group {
    members: Vec<Member>,
}

struct Member {
    /// The union that it is a member of, and its space there.
    union: Option<(SpaceId, SpaceId)>,
    content: Content,
}

enum Content {
    Leaf(usize),
    Group(Group),
}

impl Plan<'_> {
    fn group(
        &mut self,
        space: SpaceId,
        owner: Option<&TypeDef>,
        fields: &[Field],
        kind: StructKind,
    ) -> Group {
        let unions = self.unions(space, fields, kind);
        let tag = owner.and_then(|owner| owner.annotations.get(TAG)?.parse::<i32>().ok());
        // Only the language of Cap'n Proto has such tags, and there is one union then.
        if let (Some((_, union)), Some(ordinal)) = (unions.first(), tag) {
            self.leaf(ordinal.saturating_add(1), *union, Room::Tag);
        }
        let mut members = Vec::new();
        for field in fields {
            let found = unions
                .iter()
                .find(|(name, _)| *name == union_of(field, kind));
            let union = found.map(|(_, union)| (*union, self.spaces.add_member(*union)));
            let space = union.map_or(space, |(_, space)| space);
            members.push(Member {
                union,
                content: self.content(space, field, union.is_some()),
            });
        }
        Group { members }
    }

    /// The unions of a struct, by their names. One with a single member gets another one: each has
    /// a tag.
    fn unions<'f>(
        &mut self,
        space: SpaceId,
        fields: &'f [Field],
        kind: StructKind,
    ) -> Vec<(Option<&'f str>, SpaceId)> {
        let mut unions: Vec<(Option<&str>, SpaceId)> = Vec::new();
        let members = |name| {
            let of = |field: &&Field| union_of(field, kind) == name;
            fields.iter().filter(of).count()
        };
        for name in fields.iter().map(|field| union_of(field, kind)) {
            if name.is_some() && unions.iter().all(|(known, _)| *known != name) {
                let union = self.spaces.add_union(space);
                if members(name) == 1 {
                    let other = self.spaces.add_member(union);
                    self.leaf(i32::MAX, other, Room::Void);
                }
                unions.push((name, union));
            }
        }
        unions
    }

    fn content(&mut self, space: SpaceId, field: &Field, is_member: bool) -> Content {
        let schema = self.schema;
        if let Some((def, inside)) = group_of(schema, &field.ty) {
            let group = self.group(space, Some(def), &inside.fields, inside.kind);
            return Content::Group(group);
        }
        let room = match room(schema, &field.ty) {
            // A number is always there: an optional one is in a struct of its own, whose pointer
            // can be null.
            Room::Data(_) if field.presence == Presence::Optional && !is_member => Room::Pointer,
            room => room,
        };
        Content::Leaf(self.leaf(field.id, space, room))
    }

    fn leaf(&mut self, id: i32, space: SpaceId, room: Room) -> usize {
        let number = self.leaves.len();
        self.leaves.push(Leaf {
            id,
            space,
            room,
            number,
        });
        number
    }

    fn give_out(&mut self) {
        let mut leaves = std::mem::take(&mut self.leaves);
        self.slots = vec![Slot::Void; leaves.len()];
        leaves.sort_by_key(|leaf| leaf.id);
        for leaf in leaves {
            let slot = match leaf.room {
                Room::Void => {
                    self.spaces.void(leaf.space);
                    None
                }
                Room::Tag => {
                    self.spaces.tag(leaf.space);
                    None
                }
                Room::Pointer => self.spaces.pointer(leaf.space).map(Slot::Pointer),
                Room::Data(size) => {
                    let offset = self.spaces.data(leaf.space, size);
                    offset.map(|offset| Slot::Data {
                        bits: 1 << size,
                        offset,
                    })
                }
            };
            if let Some(place) = self.slots.get_mut(leaf.number) {
                *place = slot.unwrap_or(Slot::Void);
            }
        }
    }

    fn finish(&self, group: &Group) -> GroupLayout {
        let field = |member: &Member| FieldLayout {
            tag: member.union.and_then(|(union, space)| {
                Some(Tag {
                    value: self.spaces.tag_of(space)?,
                    offset: self.spaces.tag_place(union)?,
                })
            }),
            slot: match &member.content {
                Content::Leaf(number) => self.slots.get(*number).cloned().unwrap_or(Slot::Void),
                Content::Group(group) => Slot::Group(self.finish(group)),
            },
        };
        GroupLayout {
            fields: group.members.iter().map(field).collect(),
        }
    }
}

/// The name of the union that a field is a member of.
fn union_of(field: &Field, kind: StructKind) -> Option<&str> {
    match kind {
        StructKind::Union => Some(UNION),
        _ => field.protobuf.oneof.as_deref(),
    }
}

/// The group that a type is.
fn group_of<'a>(schema: &'a Schema, ty: &Type) -> Option<(&'a TypeDef, &'a Struct)> {
    let Type::Named(id) = ty else { return None };
    let def = &schema[*id];
    match &def.kind {
        TypeKind::Struct(inside) if is_group(def) => Some((def, inside)),
        _ => None,
    }
}

fn room(schema: &Schema, ty: &Type) -> Room {
    match schema.resolve(ty) {
        Type::Bool => Room::Data(0),
        Type::I8 | Type::U8 => Room::Data(3),
        Type::I16 | Type::U16 => Room::Data(4),
        Type::I32 | Type::U32 | Type::F32 | Type::Date => Room::Data(5),
        Type::I64 | Type::U64 | Type::F64 => Room::Data(6),
        Type::Named(id) => match &schema[*id].kind {
            TypeKind::Enum(_) => Room::Data(4),
            _ if is_void(&schema[*id]) => Room::Void,
            _ => Room::Pointer,
        },
        _ => Room::Pointer,
    }
}
