//! Whether descriptors that come from elsewhere say what a contract can be made of. What our own
//! front end makes needs no such check: it has told the author of the text.

use super::decode::{DescriptorError, Memory};
use super::descriptor::{Enum, Field, File, FileSet, Kind, Message};
use super::lower::well_known;
use super::symbols::join;
use std::collections::{HashMap, HashSet};

type Result = std::result::Result<(), DescriptorError>;

/// The largest number of a field.
const MAX_NUMBER: i32 = (1 << 29) - 1;

/// Refuses names that are none, what is defined twice, and what is used and nowhere defined.
pub(super) fn check(set: &FileSet) -> Result {
    let mut known = Known::default();
    for file in &set.files {
        known.collect(file)?;
    }
    set.files.iter().try_for_each(|file| known.check_file(file))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Definition {
    Message,
    Enum,
}

/// All types by their full names.
#[derive(Default)]
struct Known {
    types: HashMap<String, Definition>,
    memory: Memory,
}

impl Known {
    fn collect(&mut self, file: &File) -> Result {
        if file.name.is_empty() || file.name.chars().any(char::is_control) {
            return Err(invalid("a file has a name", &file.package));
        }
        if !file.package.is_empty() {
            file.package.split('.').try_for_each(identifier)?;
        }
        for service in &file.services {
            identifier(&service.name)?;
            let methods = service.methods.iter();
            methods
                .map(|method| &method.name)
                .try_for_each(|name| identifier(name))?;
        }
        extensions(&file.extensions)?;
        self.enums(&file.package, &file.enums)?;
        self.messages(&file.package, &file.messages)
    }

    fn messages(&mut self, scope: &str, messages: &[Message]) -> Result {
        for message in messages {
            let name = self.define(scope, &message.name, Definition::Message)?;
            fields(&name, message)?;
            extensions(&message.extensions)?;
            self.enums(&name, &message.enums)?;
            self.messages(&name, &message.messages)?;
        }
        Ok(())
    }

    fn enums(&mut self, scope: &str, enums: &[Enum]) -> Result {
        for def in enums {
            let name = self.define(scope, &def.name, Definition::Enum)?;
            if def.values.is_empty() {
                return Err(invalid("an enum has a value", &name));
            }
            let values = def.values.iter();
            values
                .map(|value| &value.name)
                .try_for_each(|name| identifier(name))?;
        }
        Ok(())
    }

    fn define(
        &mut self,
        scope: &str,
        name: &str,
        definition: Definition,
    ) -> std::result::Result<String, DescriptorError> {
        identifier(name)?;
        // Names inside one another can be long together: here, and where they are lowered.
        self.memory.take(4 * (scope.len() + name.len()))?;
        let full = join(scope, name);
        match self.types.insert(full.clone(), definition) {
            None => Ok(full),
            Some(_) => Err(invalid("it is defined twice", &full)),
        }
    }

    fn check_file(&self, file: &File) -> Result {
        for service in &file.services {
            for method in &service.methods {
                let at = || format!("{}.{}", service.name, method.name);
                for message in [&method.input, &method.output] {
                    self.uses(message, Definition::Message, at)?;
                }
            }
        }
        self.check_messages(&file.messages)
    }

    fn check_messages(&self, messages: &[Message]) -> Result {
        for message in messages {
            for field in &message.fields {
                let at = || format!("{}.{}", message.name, field.name);
                match field.kind {
                    None => return Err(invalid("a field has a type", &at())),
                    Some(Kind::Enum) => self.uses(&field.type_name, Definition::Enum, at)?,
                    Some(kind) if kind.is_message() => {
                        self.uses(&field.type_name, Definition::Message, at)?;
                    }
                    Some(_) => {}
                }
            }
            self.check_messages(&message.messages)?;
        }
        Ok(())
    }

    fn uses(&self, name: &str, definition: Definition, at: impl Fn() -> String) -> Result {
        let absolute = name.strip_prefix('.');
        match absolute.map(|name| (self.types.get(name), well_known::of(name))) {
            Some((Some(found), _)) if *found == definition => Ok(()),
            Some((None, Some(_))) => Ok(()),
            Some((None, None)) => Err(DescriptorError::Missing {
                name: name.chars().filter(|c| !c.is_control()).skip(1).collect(),
                at: at(),
            }),
            _ => Err(invalid("its type is not what it says", &at())),
        }
    }
}

/// Those that are sound by themselves, and do not fit the messages that they extend, are left out
/// where they are lowered.
fn extensions(extensions: &[Field]) -> Result {
    extensions
        .iter()
        .try_for_each(|extension| identifier(&extension.name))
}

fn fields(name: &str, message: &Message) -> Result {
    let mut numbers = HashSet::with_capacity(message.fields.len());
    for Field {
        name: own, number, ..
    } in &message.fields
    {
        identifier(own)?;
        if !(1..=MAX_NUMBER).contains(number) || !numbers.insert(*number) {
            let what = "its number is another field's, or none that fields can have";
            return Err(invalid(what, &format!("{name}.{own}")));
        }
    }
    if message
        .reserved_ranges
        .iter()
        .any(|(start, end)| start >= end)
    {
        return Err(invalid("a reserved range ends before it begins", name));
    }
    if message.options.flag("map_entry") && !(numbers.len() == 2 && numbers.contains(&1)) {
        return Err(invalid("the entry of a map has a key and a value", name));
    }
    message
        .oneofs
        .iter()
        .try_for_each(|oneof| identifier(&oneof.name))
}

/// As the language has them. What is shown to people cannot be anything else then.
fn identifier(name: &str) -> Result {
    let mut bytes = name.bytes();
    let first = bytes.next();
    let good = first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.len() <= 512;
    match good {
        true => Ok(()),
        false => {
            let shown: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
            Err(invalid("this is no name", &shown))
        }
    }
}

fn invalid(what: &'static str, at: &str) -> DescriptorError {
    let at = at.to_owned();
    DescriptorError::Invalid { what, at }
}
