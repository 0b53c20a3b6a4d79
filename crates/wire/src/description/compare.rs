use super::parse::{Parsed, parse};
use super::{
    CLIENT_STREAM, Definition, FieldPresence, FieldType, ONE_WAY, SERVER_STREAM, Signature, Type,
};
use crate::{DecodeError, Kind, visible};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// Fields and values that are compared before two descriptions count as too large to be compared.
const MAX: usize = 1 << 20;

/// Characters of a name or type that an error shows.
const SHOWN: usize = 100;

/// Why two ends do not understand each other in a method, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Incompatible {
    /// Something is of one type here and of another one there.
    Type {
        /// `Struct.field`, `method.parameter`, or what else it is.
        place: String,
        /// The type here.
        ours: String,
        /// The type there.
        theirs: String,
    },
    /// A field of one name has two ids, or a name of an enum two numbers.
    Number {
        /// `Struct.field` or `Enum.NAME`.
        place: String,
        /// The number here.
        ours: i32,
        /// The number there.
        theirs: i32,
    },
    /// A field is required at one end and unknown to the other.
    Required {
        /// `Struct.field`.
        place: String,
        /// It is required here.
        here: bool,
    },
    /// A field is required at one end and may be absent at the other.
    Presence {
        /// `Struct.field`.
        place: String,
        /// It is required here.
        here: bool,
    },
    /// A description that is none, or one that is too large.
    Malformed(DecodeError),
}

impl fmt::Display for Incompatible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type {
                place,
                ours,
                theirs,
            } => write!(f, "{place} is {ours} here and {theirs} there"),
            Self::Number {
                place,
                ours,
                theirs,
            } => write!(f, "{place} is number {ours} here and number {theirs} there"),
            Self::Required { place, here: true } => {
                write!(f, "{place} is required here and unknown there")
            }
            Self::Required { place, here: false } => {
                write!(f, "{place} is unknown here and required there")
            }
            Self::Presence { place, here: true } => {
                write!(f, "{place} is required here and optional there")
            }
            Self::Presence { place, here: false } => {
                write!(f, "{place} is optional here and required there")
            }
            Self::Malformed(problem) => write!(f, "the description cannot be read: {problem}"),
        }
    }
}

impl std::error::Error for Incompatible {}

impl From<DecodeError> for Incompatible {
    fn from(problem: DecodeError) -> Self {
        Self::Malformed(problem)
    }
}

/// Checks that two ends with these descriptions of a method understand each other, if every field
/// comes with its id and type.
pub fn compare(ours: &[u8], theirs: &[u8]) -> Result<(), Incompatible> {
    if ours == theirs {
        return Ok(());
    }
    let (ours, theirs) = (parse(ours)?, parse(theirs)?);
    let mut comparison = Comparison {
        ours: &ours,
        theirs: &theirs,
        seen: HashSet::new(),
        waiting: Vec::new(),
        left: MAX,
    };
    comparison.signatures(&ours.signature, &theirs.signature)?;
    while let Some(pair) = comparison.waiting.pop() {
        comparison.definitions(pair)?;
    }
    Ok(())
}

struct Comparison<'a> {
    ours: &'a Parsed<'a>,
    theirs: &'a Parsed<'a>,
    /// The pairs of named types that stand in the same place somewhere, so that circles end.
    seen: HashSet<(usize, usize)>,
    waiting: Vec<(usize, usize)>,
    left: usize,
}

type Fields<'a> = [FieldType<'a, usize>];

impl Comparison<'_> {
    fn signatures(
        &mut self,
        ours: &Signature<'_, usize>,
        theirs: &Signature<'_, usize>,
    ) -> Result<(), Incompatible> {
        let name = show(ours.name);
        if ours.flags() != theirs.flags() {
            return Err(Incompatible::Type {
                place: format!("`{name}`"),
                ours: call(ours.flags()),
                theirs: call(theirs.flags()),
            });
        }
        self.fields(&name, &ours.params, &theirs.params)?;
        let place = || format!("the result of `{name}`");
        self.values(place, ours.result.as_ref(), theirs.result.as_ref())?;
        self.fields(&name, &ours.exceptions, &theirs.exceptions)?;
        let sink = (&ours.client_stream, &theirs.client_stream);
        let stream = (&ours.server_stream, &theirs.server_stream);
        for (word, streams) in [("sink", sink), ("stream", stream)] {
            if let (Some(ours), Some(theirs)) = streams {
                let place = || format!("an item of the {word} of `{name}`");
                self.values(place, Some(&ours.item), Some(&theirs.item))?;
                self.fields(&name, &ours.exceptions, &theirs.exceptions)?;
            }
        }
        Ok(())
    }

    /// Compares results or items: both have one type, or none.
    fn values(
        &mut self,
        place: impl FnOnce() -> String,
        ours: Option<&Type<usize>>,
        theirs: Option<&Type<usize>>,
    ) -> Result<(), Incompatible> {
        let same = match (ours, theirs) {
            (Some(ours), Some(theirs)) => self.same(ours, theirs),
            (ours, theirs) => ours.is_none() && theirs.is_none(),
        };
        if same {
            return Ok(());
        }
        let text = |parsed, ty: Option<_>| match ty {
            Some(ty) => type_text(parsed, ty),
            None => "void".to_owned(),
        };
        Err(Incompatible::Type {
            place: place(),
            ours: text(self.ours, ours),
            theirs: text(self.theirs, theirs),
        })
    }

    fn definitions(&mut self, numbers: (usize, usize)) -> Result<(), Incompatible> {
        let (ours, theirs) = (
            &self.ours.definitions[numbers.0],
            &self.theirs.definitions[numbers.1],
        );
        match (ours, theirs) {
            (Definition::Struct(name, ours), Definition::Struct(_, theirs))
            | (Definition::Union(name, ours), Definition::Union(_, theirs)) => {
                self.fields(&show(name), ours, theirs)
            }
            (Definition::Enum(name, ours), Definition::Enum(_, theirs)) => {
                self.enums(&show(name), ours, theirs)
            }
            (Definition::Family(_, ours), Definition::Family(_, theirs)) => {
                self.families(ours, theirs)
            }
            (Definition::Family(_, members), Definition::Struct(..)) => {
                self.pair(base(members), numbers.1);
                Ok(())
            }
            (Definition::Struct(..), Definition::Family(_, members)) => {
                self.pair(numbers.0, base(members));
                Ok(())
            }
            (Definition::Service(ours), Definition::Service(theirs)) if ours == theirs => Ok(()),
            (Definition::Service(ours), Definition::Service(theirs)) => Err(Incompatible::Type {
                place: "a reference to an object".to_owned(),
                ours: show(ours),
                theirs: show(theirs),
            }),
            (ours, theirs) => Err(Incompatible::Type {
                place: format!("`{}`", show(ours.name())),
                ours: ours.word().to_owned(),
                theirs: theirs.word().to_owned(),
            }),
        }
    }

    fn fields(
        &mut self,
        owner: &str,
        ours: &Fields<'_>,
        theirs: &Fields<'_>,
    ) -> Result<(), Incompatible> {
        self.spend(ours.len() + theirs.len())?;
        let place = |name: &str| format!("`{owner}.{}`", show(name));
        let by_name: HashMap<_, _> = theirs.iter().map(|f| (f.name, f.id)).collect();
        let mut by_id: HashMap<_, _> = theirs.iter().map(|f| (f.id, f)).collect();
        for field in ours {
            if let Some(id) = by_name.get(field.name)
                && *id != field.id
            {
                return Err(Incompatible::Number {
                    place: place(field.name),
                    ours: field.id,
                    theirs: *id,
                });
            }
            match by_id.remove(&field.id) {
                Some(other) if self.same(&field.ty, &other.ty) => {
                    present(field, other, place)?;
                }
                Some(other) => {
                    return Err(Incompatible::Type {
                        place: place(field.name),
                        ours: type_text(self.ours, &field.ty),
                        theirs: type_text(self.theirs, &other.ty),
                    });
                }
                None => known(field, true, place)?,
            }
        }
        let mut rest = theirs.iter().filter(|f| by_id.contains_key(&f.id));
        rest.try_for_each(|field| known(field, false, place))
    }

    fn enums(
        &mut self,
        owner: &str,
        ours: &[(i32, &str)],
        theirs: &[(i32, &str)],
    ) -> Result<(), Incompatible> {
        self.spend(ours.len() + theirs.len())?;
        let theirs: HashMap<_, _> = theirs
            .iter()
            .map(|(number, name)| (name, *number))
            .collect();
        let differs = ours.iter().find_map(|(number, name)| {
            let other = theirs.get(name).filter(|other| *other != number)?;
            Some((number, name, other))
        });
        match differs {
            None => Ok(()),
            Some((number, name, other)) => Err(Incompatible::Number {
                place: format!("`{owner}.{}`", show(name)),
                ours: *number,
                theirs: *other,
            }),
        }
    }

    /// Compares the first structs of both, and structs of one name. Other structs arrive as the
    /// first one, with unknown fields.
    fn families(&mut self, ours: &[usize], theirs: &[usize]) -> Result<(), Incompatible> {
        self.spend(ours.len() + theirs.len())?;
        let members = theirs.iter();
        let by_name: HashMap<_, _> = members
            .map(|number| (self.theirs.definitions[*number].name(), *number))
            .collect();
        self.pair(base(ours), base(theirs));
        for number in ours.iter().skip(1) {
            if let Some(other) = by_name.get(self.ours.definitions[*number].name()) {
                self.pair(*number, *other);
            }
        }
        Ok(())
    }

    /// Two named types that stand in the same place.
    fn pair(&mut self, ours: usize, theirs: usize) {
        if self.seen.insert((ours, theirs)) {
            self.waiting.push((ours, theirs));
        }
    }

    /// Returns whether values of one type can be read as the other. Pairs of named types are
    /// compared later.
    fn same(&mut self, ours: &Type<usize>, theirs: &Type<usize>) -> bool {
        match (ours, theirs) {
            (Type::List(ours), Type::List(theirs)) | (Type::Set(ours), Type::Set(theirs)) => {
                self.same(ours, theirs)
            }
            (Type::Map(key, value), Type::Map(other_key, other_value)) => {
                self.same(key, other_key) && self.same(value, other_value)
            }
            (Type::Enum(ours), Type::Enum(theirs))
            | (Type::Object(ours), Type::Object(theirs))
            | (
                Type::Struct(ours) | Type::Family(ours),
                Type::Struct(theirs) | Type::Family(theirs),
            ) => {
                self.pair(*ours, *theirs);
                true
            }
            (Type::Ref(ours), Type::Ref(theirs)) => self.same(ours, theirs),
            (Type::Enum(_), Type::Scalar(Kind::I32)) => true,
            (Type::Scalar(Kind::I32), Type::Enum(_)) => true,
            (Type::Scalar(ours), Type::Scalar(theirs)) => ours == theirs,
            (Type::Logical(ours), Type::Logical(theirs)) => ours == theirs,
            (Type::Array(extents, ours), Type::Array(others, theirs)) => {
                extents == others && self.same(ours, theirs)
            }
            _ => false,
        }
    }

    fn spend(&mut self, work: usize) -> Result<(), Incompatible> {
        // One more, for definitions of nothing.
        match self.left.checked_sub(work + 1) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(DecodeError::malformed("descriptions too large to be compared").into()),
        }
    }
}

/// The struct of a family that all others extend; a description has no family without one.
fn base(members: &[usize]) -> usize {
    members.first().copied().unwrap_or_default()
}

/// Refuses a field that the other end does not know, if it is required.
fn known(
    field: &FieldType<'_, usize>,
    here: bool,
    place: impl Fn(&str) -> String,
) -> Result<(), Incompatible> {
    match field.presence {
        FieldPresence::Required => Err(Incompatible::Required {
            place: place(field.name),
            here,
        }),
        _ => Ok(()),
    }
}

/// Refuses a field that one end may leave out and the other one needs.
fn present(
    ours: &FieldType<'_, usize>,
    theirs: &FieldType<'_, usize>,
    place: impl Fn(&str) -> String,
) -> Result<(), Incompatible> {
    let here = match (ours.presence, theirs.presence) {
        (FieldPresence::Required, FieldPresence::Optional) => true,
        (FieldPresence::Optional, FieldPresence::Required) => false,
        _ => return Ok(()),
    };
    let place = place(ours.name);
    Err(Incompatible::Presence { place, here })
}

impl<N> Definition<'_, N> {
    fn name(&self) -> &str {
        match self {
            Self::Struct(name, _)
            | Self::Union(name, _)
            | Self::Enum(name, _)
            | Self::Family(name, _)
            | Self::Service(name) => name,
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Struct(..) => "a struct",
            Self::Union(..) => "a union",
            Self::Enum(..) => "an enum",
            Self::Family(..) => "a struct that others extend",
            Self::Service(_) => "a service",
        }
    }
}

/// How a method is called.
fn call(flags: u8) -> String {
    match flags {
        0 => "a call with an answer".to_owned(),
        ONE_WAY => "one-way".to_owned(),
        CLIENT_STREAM => "a call with a sink".to_owned(),
        SERVER_STREAM => "a call with a stream".to_owned(),
        _ => "a call with a sink and a stream".to_owned(),
    }
}

/// A type as the contract spells it.
fn type_text(parsed: &Parsed<'_>, ty: &Type<usize>) -> String {
    show(&spelled(parsed, ty))
}

/// Returns a type as a contract has it: `map<string, list<Order>>`. It ends early where it has some
/// hundred characters.
pub fn spelled(parsed: &Parsed<'_>, ty: &Type<usize>) -> String {
    let mut text = String::new();
    spell(parsed, ty, &mut text);
    text
}

fn spell(parsed: &Parsed<'_>, ty: &Type<usize>, text: &mut String) {
    // Longer text is not shown.
    if text.len() > 4 * SHOWN {
        return;
    }
    match ty {
        Type::Scalar(kind) => text.push_str(word(*kind)),
        Type::List(item) | Type::Set(item) => {
            text.push_str(word(ty.kind()));
            text.push('<');
            spell(parsed, item, text);
            text.push('>');
        }
        Type::Map(key, value) => {
            text.push_str("map<");
            spell(parsed, key, text);
            text.push_str(", ");
            spell(parsed, value, text);
            text.push('>');
        }
        Type::Logical(logical) => text.push_str(logical.name()),
        Type::Array(extents, item) => {
            text.push_str("array<");
            spell(parsed, item, text);
            // Further extents are not shown.
            for extent in extents.iter().take(SHOWN) {
                text.push_str(", ");
                match extent {
                    0 => text.push('*'),
                    extent => text.push_str(&extent.to_string()),
                }
            }
            text.push('>');
        }
        Type::Ref(target) => {
            text.push_str("ref ");
            spell(parsed, target, text);
        }
        Type::Enum(number) | Type::Struct(number) | Type::Family(number) | Type::Object(number) => {
            let definition = parsed.definitions.get(*number);
            text.push_str(definition.map_or("", Definition::name));
        }
    }
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "bool",
        Kind::I8 => "i8",
        Kind::I16 => "i16",
        Kind::I32 => "i32",
        Kind::I64 => "i64",
        Kind::U8 => "u8",
        Kind::U16 => "u16",
        Kind::U32 => "u32",
        Kind::U64 => "u64",
        Kind::F32 => "float",
        Kind::F64 => "double",
        Kind::String => "string",
        Kind::Bytes => "binary",
        Kind::Uuid => "uuid",
        Kind::Enum => "enum",
        Kind::Struct => "struct",
        Kind::List => "list",
        Kind::Set => "set",
        Kind::Map => "map",
        Kind::Object => "object",
    }
}

/// Makes a peer's text fit for a message.
fn show(name: &str) -> String {
    let end = name.char_indices().nth(SHOWN);
    let mut shown = visible(&name[..end.map_or(name.len(), |(at, _)| at)]).to_string();
    if end.is_some() {
        shown.push('…');
    }
    shown
}
