//! A description, as a peer sent it, back into words. It is as bad as any input.

use super::{
    ARRAY, CLIENT_STREAM, Definition, ENUM, FAMILY, FAMILY_TYPE, FieldPresence, FieldType, LOGICAL,
    Logical, ONE_WAY, REF_TYPE, SERVER_STREAM, SERVICE, STRUCT, Signature, StreamTypes, Type,
    UNION, VERSION,
};
use crate::input::Input;
use crate::tagged::kind;
use crate::{DecodeError, Kind, varint};
use std::collections::HashSet;
use std::hash::Hash;

/// Bytes of the longest description that is read.
const MAX: usize = 1 << 20;

/// Containers inside one another, at most.
const DEPTH: usize = 32;

/// A method and the named types that it reaches, by number.
#[derive(Clone, Debug)]
pub struct Parsed<'a> {
    /// The method.
    pub signature: Signature<'a, usize>,
    /// The named types. All numbers lead to one of them, of the kind as which it is mentioned.
    pub definitions: Vec<Definition<'a, usize>>,
}

/// Reads a description, of up to 1 MiB.
///
/// # Errors
///
/// Anything that [`describe`](super::describe) does not write.
pub fn parse(bytes: &[u8]) -> Result<Parsed<'_>, DecodeError> {
    if bytes.len() > MAX {
        return malformed("a description of more than 1 MiB");
    }
    let mut text = Text {
        input: Input::new(bytes),
        numbers: Vec::new(),
    };
    let parsed = text.description()?;
    match text.input.rest() {
        [] => {}
        _ => return malformed("bytes behind a description"),
    }
    text.check(&parsed.definitions)?;
    Ok(parsed)
}

fn malformed<T>(what: &'static str) -> Result<T, DecodeError> {
    Err(DecodeError::malformed(what))
}

/// Two of one id or name would make a comparison depend on their order.
fn distinct<T: Eq + Hash>(items: impl Iterator<Item = T>) -> Result<(), DecodeError> {
    let mut seen = HashSet::new();
    for item in items {
        if !seen.insert(item) {
            return malformed("an id or name that is there twice");
        }
    }
    Ok(())
}

/// As what a named type is mentioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Enum,
    Struct,
    /// A struct that is no union.
    Member,
    Family,
    Service,
}

/// The rest of a description.
struct Text<'a> {
    input: Input<'a>,
    /// The named types that were mentioned, and as what.
    numbers: Vec<(usize, Class)>,
}

impl<'a> Text<'a> {
    fn description(&mut self) -> Result<Parsed<'a>, DecodeError> {
        if self.input.byte()? != VERSION {
            return malformed("a description of another version");
        }
        let name = self.name()?;
        let flags = self.input.byte()?;
        // A one-way call has no streams.
        if flags > (CLIENT_STREAM | SERVER_STREAM) || flags & ONE_WAY != 0 && flags != ONE_WAY {
            return malformed("flags that no method has");
        }
        let signature = Signature {
            name,
            oneway: flags & ONE_WAY != 0,
            params: self.fields()?,
            result: self.result()?,
            exceptions: self.fields()?,
            client_stream: self.stream(flags & CLIENT_STREAM != 0)?,
            server_stream: self.stream(flags & SERVER_STREAM != 0)?,
        };
        let definitions = self.many(Self::definition)?;
        Ok(Parsed {
            signature,
            definitions,
        })
    }

    fn stream(&mut self, there: bool) -> Result<Option<StreamTypes<'a, usize>>, DecodeError> {
        if !there {
            return Ok(None);
        }
        let item = self.ty()?;
        let exceptions = self.fields()?;
        Ok(Some(StreamTypes { item, exceptions }))
    }

    /// Named types have to be defined, and to be what they were mentioned as.
    fn check(&self, definitions: &[Definition<'_, usize>]) -> Result<(), DecodeError> {
        let fits = |(number, class): &(usize, Class)| match definitions.get(*number) {
            Some(Definition::Enum(..)) => *class == Class::Enum,
            Some(Definition::Struct(..)) => matches!(class, Class::Struct | Class::Member),
            Some(Definition::Union(..)) => *class == Class::Struct,
            Some(Definition::Family(..)) => *class == Class::Family,
            Some(Definition::Service(_)) => *class == Class::Service,
            None => false,
        };
        match self.numbers.iter().all(fits) {
            true => Ok(()),
            false => malformed("a type that is not defined"),
        }
    }

    fn number<T: TryFrom<u64>>(&mut self) -> Result<T, DecodeError> {
        let number = varint::read(&mut self.input)?;
        T::try_from(number).map_err(|_| varint::overflow())
    }

    fn signed(&mut self) -> Result<i32, DecodeError> {
        let number = varint::unzigzag(self.number()?);
        i32::try_from(number).map_err(|_| varint::overflow())
    }

    /// Things of which each takes at least a byte.
    fn many<T>(
        &mut self,
        one: fn(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let count: usize = self.number()?;
        if count > self.input.rest().len() {
            return malformed("a count of more than there are bytes");
        }
        // Not reserved: a byte promises many times its size.
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(one(self)?);
        }
        Ok(items)
    }

    fn name(&mut self) -> Result<&'a str, DecodeError> {
        let len = self.number()?;
        let bytes = self.input.take(len)?;
        match std::str::from_utf8(bytes) {
            Err(_) => malformed("a name that is not UTF-8"),
            // Names are shown to people.
            Ok(name) if name.contains(char::is_control) => {
                malformed("a name with control characters")
            }
            Ok(name) => Ok(name),
        }
    }

    fn fields(&mut self) -> Result<Vec<FieldType<'a, usize>>, DecodeError> {
        let fields = self.many(Self::field)?;
        distinct(fields.iter().map(|field| field.id))?;
        distinct(fields.iter().map(|field| field.name))?;
        Ok(fields)
    }

    fn field(&mut self) -> Result<FieldType<'a, usize>, DecodeError> {
        Ok(FieldType {
            id: self.signed()?,
            name: self.name()?,
            presence: match self.input.byte()? {
                0 => FieldPresence::Always,
                1 => FieldPresence::Required,
                2 => FieldPresence::Optional,
                _ => return malformed("a presence that is none"),
            },
            ty: self.ty()?,
        })
    }

    fn result(&mut self) -> Result<Option<Type<usize>>, DecodeError> {
        match self.input.rest() {
            [0, rest @ ..] => {
                self.input.set_rest(rest);
                Ok(None)
            }
            _ => self.ty().map(Some),
        }
    }

    fn ty(&mut self) -> Result<Type<usize>, DecodeError> {
        self.ty_inside(DEPTH)
    }

    fn ty_inside(&mut self, left: usize) -> Result<Type<usize>, DecodeError> {
        let Some(left) = left.checked_sub(1) else {
            return malformed("a type of too many containers inside one another");
        };
        let code = self.input.byte()?;
        let kind = match code {
            LOGICAL => return self.logical().map(Type::Logical),
            ARRAY => {
                let extents = self.many(Self::number)?;
                return Ok(Type::Array(extents, Box::new(self.ty_inside(left)?)));
            }
            REF_TYPE => return self.reference(left),
            FAMILY_TYPE => return self.named(Class::Family).map(Type::Family),
            _ => kind(code),
        };
        let Some(kind) = kind else {
            return malformed("a type that is none");
        };
        Ok(match kind {
            Kind::List => Type::List(Box::new(self.ty_inside(left)?)),
            Kind::Set => Type::Set(Box::new(self.ty_inside(left)?)),
            Kind::Map => {
                let key = self.ty_inside(left)?;
                Type::Map(Box::new(key), Box::new(self.ty_inside(left)?))
            }
            Kind::Enum => Type::Enum(self.named(Class::Enum)?),
            Kind::Struct => Type::Struct(self.named(Class::Struct)?),
            Kind::Object => Type::Object(self.named(Class::Service)?),
            scalar => Type::Scalar(scalar),
        })
    }

    fn logical(&mut self) -> Result<Logical, DecodeError> {
        let number = self.input.byte()?;
        let known = Logical::ALL.into_iter().find(|one| *one as u8 == number);
        known.ok_or_else(|| DecodeError::malformed("a type that is none"))
    }

    /// The type that a reference leads to.
    fn reference(&mut self, left: usize) -> Result<Type<usize>, DecodeError> {
        match self.ty_inside(left)? {
            ty @ (Type::Struct(_) | Type::Family(_)) => Ok(Type::Ref(Box::new(ty))),
            _ => malformed("a reference to what is no struct"),
        }
    }

    fn named(&mut self, class: Class) -> Result<usize, DecodeError> {
        let number = self.number()?;
        self.numbers.push((number, class));
        Ok(number)
    }

    /// The structs of a family, at least one.
    fn members(&mut self) -> Result<Vec<usize>, DecodeError> {
        let members = self.many(|text| text.named(Class::Member))?;
        distinct(members.iter())?;
        match members.is_empty() {
            false => Ok(members),
            true => malformed("a family of no structs"),
        }
    }

    fn definition(&mut self) -> Result<Definition<'a, usize>, DecodeError> {
        let kind = self.input.byte()?;
        let name = self.name()?;
        Ok(match kind {
            STRUCT => Definition::Struct(name, self.fields()?),
            UNION => Definition::Union(name, self.fields()?),
            ENUM => Definition::Enum(name, self.values()?),
            FAMILY => Definition::Family(name, self.members()?),
            SERVICE => Definition::Service(name),
            _ => return malformed("a definition of nothing known"),
        })
    }

    fn values(&mut self) -> Result<Vec<(i32, &'a str)>, DecodeError> {
        let values = self.many(Self::value)?;
        distinct(values.iter().map(|(_, name)| *name))?;
        Ok(values)
    }

    fn value(&mut self) -> Result<(i32, &'a str), DecodeError> {
        Ok((self.signed()?, self.name()?))
    }
}
