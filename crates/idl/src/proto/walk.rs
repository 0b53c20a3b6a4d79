//! From a path of field numbers and indexes to what it leads to in a descriptor.

use super::descriptor::{Enum, Field, File, Message, Options};

/// An element that options can belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    File,
    Message,
    Field,
    Oneof,
    Range,
    Enum,
    Value,
    Service,
    Method,
}

impl Owner {
    /// Returns the element that a path leads to.
    pub(super) fn of(path: &[i32]) -> Option<Owner> {
        let mut owner = Owner::File;
        for step in path.chunks(2) {
            owner = match (owner, step.first()?) {
                (Owner::File, 4) | (Owner::Message, 3) => Owner::Message,
                (Owner::File, 5) | (Owner::Message, 4) => Owner::Enum,
                (Owner::File, 6) => Owner::Service,
                (Owner::File, 7) | (Owner::Message, 2 | 6) => Owner::Field,
                (Owner::Message, 8) => Owner::Oneof,
                (Owner::Message, 5) => Owner::Range,
                (Owner::Enum, 2) => Owner::Value,
                (Owner::Service, 2) => Owner::Method,
                _ => return None,
            };
        }
        Some(owner)
    }

    /// The name of the message that its options are, in `google.protobuf`.
    pub(super) fn options(self) -> &'static str {
        match self {
            Owner::File => "FileOptions",
            Owner::Message => "MessageOptions",
            Owner::Field => "FieldOptions",
            Owner::Oneof => "OneofOptions",
            Owner::Range => "ExtensionRangeOptions",
            Owner::Enum => "EnumOptions",
            Owner::Value => "EnumValueOptions",
            Owner::Service => "ServiceOptions",
            Owner::Method => "MethodOptions",
        }
    }

    /// The number in `google.protobuf.FieldOptions.OptionTargetType`.
    pub(super) fn target(self) -> i128 {
        match self {
            Owner::File => 1,
            Owner::Range => 2,
            Owner::Message => 3,
            Owner::Field => 4,
            Owner::Oneof => 5,
            Owner::Enum => 6,
            Owner::Value => 7,
            Owner::Service => 8,
            Owner::Method => 9,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Owner::File => "a file",
            Owner::Message => "a message",
            Owner::Field => "a field",
            Owner::Oneof => "a oneof",
            Owner::Range => "a range of extensions",
            Owner::Enum => "an enum",
            Owner::Value => "a value of an enum",
            Owner::Service => "a service",
            Owner::Method => "a method",
        }
    }
}

/// An element of a descriptor.
enum Element<'a> {
    Message(&'a mut Message),
    Enum(&'a mut Enum),
    /// The options of something that has nothing inside.
    Leaf(&'a mut Options),
}

/// The options of what a path leads to.
pub(super) fn options_mut<'a>(file: &'a mut File, path: &[i32]) -> Option<&'a mut Options> {
    let Some((&[tag, at], mut rest)) = path.split_first_chunk() else {
        return Some(&mut file.options);
    };
    let at = at as usize;
    let mut element = match tag {
        4 => Element::Message(file.messages.get_mut(at)?),
        5 => Element::Enum(file.enums.get_mut(at)?),
        7 => Element::Leaf(&mut file.extensions.get_mut(at)?.options),
        6 => {
            let service = file.services.get_mut(at)?;
            return match rest {
                [_, at] => Some(&mut service.methods.get_mut(*at as usize)?.options),
                _ => Some(&mut service.options),
            };
        }
        _ => return None,
    };
    while let Some((&[tag, at], more)) = rest.split_first_chunk() {
        let at = at as usize;
        rest = more;
        element = match (element, tag) {
            (Element::Message(message), 2) => {
                Element::Leaf(&mut message.fields.get_mut(at)?.options)
            }
            (Element::Message(message), 3) => Element::Message(message.messages.get_mut(at)?),
            (Element::Message(message), 4) => Element::Enum(message.enums.get_mut(at)?),
            (Element::Message(message), 5) => {
                Element::Leaf(&mut message.extension_ranges.get_mut(at)?.options)
            }
            (Element::Message(message), 6) => {
                Element::Leaf(&mut message.extensions.get_mut(at)?.options)
            }
            (Element::Message(message), 8) => {
                Element::Leaf(&mut message.oneofs.get_mut(at)?.options)
            }
            (Element::Enum(def), 2) => Element::Leaf(&mut def.values.get_mut(at)?.options),
            _ => return None,
        };
    }
    Some(match element {
        Element::Message(message) => &mut message.options,
        Element::Enum(def) => &mut def.options,
        Element::Leaf(options) => options,
    })
}

/// The message that a path leads to.
pub(super) fn message<'a>(file: &'a File, path: &[i32]) -> Option<&'a Message> {
    let (&[tag, at], mut rest) = path.split_first_chunk()?;
    if tag != 4 {
        return None;
    }
    let mut message = file.messages.get(at as usize)?;
    while let Some((&[tag, at], more)) = rest.split_first_chunk() {
        if tag != 3 {
            return None;
        }
        message = message.messages.get(at as usize)?;
        rest = more;
    }
    Some(message)
}

/// The field or extension that a path leads to.
pub(super) fn field<'a>(file: &'a File, path: &[i32]) -> Option<&'a Field> {
    let (around, &[tag, at]) = path.split_last_chunk()?;
    let fields = match (around, tag) {
        ([], 7) => &file.extensions,
        (_, 2) => &message(file, around)?.fields,
        (_, 6) => &message(file, around)?.extensions,
        _ => return None,
    };
    fields.get(at as usize)
}

/// The enum that a path leads to.
pub(super) fn enumeration<'a>(file: &'a File, path: &[i32]) -> Option<&'a Enum> {
    let (around, &[tag, at]) = path.split_last_chunk()?;
    let enums = match (around, tag) {
        ([], 5) => &file.enums,
        (_, 4) => &message(file, around)?.enums,
        _ => return None,
    };
    enums.get(at as usize)
}

/// The name of the scope around what a path leads to, in which names of its options are looked up.
pub(super) fn scope(file: &File, path: &[i32]) -> String {
    let mut name = file.package.clone();
    let Some((around, _)) = path.split_last_chunk::<2>() else {
        return name;
    };
    let mut push = |part: &str| name = super::symbols::join(&name, part);
    let end = |steps: usize| &path[..2 * steps];
    for steps in 1..=around.len() / 2 {
        match (Owner::of(end(steps)), message(file, end(steps))) {
            (_, Some(message)) => push(&message.name),
            (Some(Owner::Service), _) => {
                let service = file.services.get(path[1] as usize);
                service.iter().for_each(|service| push(&service.name));
            }
            // Values are named beside their enum.
            _ => {}
        }
    }
    // The options of a range are looked up where those of its message are.
    if Owner::of(path) == Some(Owner::Range) {
        name = name
            .rsplit_once('.')
            .map_or("", |(outer, _)| outer)
            .to_owned();
    }
    name
}
