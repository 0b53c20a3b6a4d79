//! Options: from names and values as written to fields of the messages in `google/protobuf/descriptor.proto`,
//! and of extensions of those.

mod limits;
mod value;

use super::descriptor::{Field, Kind, Message, OptionField, OptionValue, Options};
use super::link::{Linker, is_singular};
use super::symbols::{SymbolKind, join};
use super::syntax::{NamePart, Pending};
use super::walk::{self, Owner};
use std::collections::HashMap;
use std::rc::Rc;

/// An option whose name has been understood: its fields from the outermost inwards.
type Chain = Vec<Field>;

/// Interprets the options of the current file.
pub(super) fn interpret(linker: &mut Linker<'_>) {
    let pending = std::mem::take(&mut linker.files[linker.current].options);
    let mut counts = HashMap::new();
    for option in pending {
        one(linker, &option, &mut counts);
    }
    let file = Rc::make_mut(&mut linker.files[linker.current].file);
    file.messages.iter_mut().for_each(share_with_entries);
}

/// What a map says of its text, its keys and values say, too.
fn share_with_entries(message: &mut Message) {
    let entries: HashMap<String, usize> = message
        .messages
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry.options.flag("map_entry"))
        .map(|(at, entry)| (entry.name.clone(), at))
        .collect();
    for field in &message.fields {
        let Some(features) = field
            .options
            .fields
            .iter()
            .find(|set| set.name == "features")
        else {
            continue;
        };
        let OptionValue::Message(all) = &features.value else {
            continue;
        };
        let own = |set: &&OptionField| set.name == "utf8_validation";
        let name = field.type_name.rsplit('.').next().unwrap_or_default();
        let entry = entries
            .get(name)
            .and_then(|at| message.messages.get_mut(*at));
        if let (Some(entry), Some(utf8)) = (entry, all.fields.iter().find(own)) {
            for part in &mut entry.fields {
                let fields = vec![utf8.clone()];
                part.options.fields.push(OptionField {
                    value: OptionValue::Message(Options { fields }),
                    ..features.clone()
                });
            }
        }
    }
    message.messages.iter_mut().for_each(share_with_entries);
}

/// How many values an option of an element has so far, by its path.
type Counts = HashMap<Vec<i32>, usize>;

/// Reports what is wrong by itself; `None` where there is nothing to go on with.
fn one(linker: &mut Linker<'_>, option: &Pending, counts: &mut Counts) -> Option<()> {
    let owner = Owner::of(&option.owner)?;
    let scope = walk::scope(&linker.parsed().file, &option.owner);
    let chain = chain(linker, owner, &scope, option)?;
    let last = chain.last()?;
    let value = value::convert(linker, last, &option.value, value::Place::Statement)?;
    limits::check(linker, owner, &chain, &value, option);
    let path = insert(linker, option, &chain, value, counts)?;
    linker.files[linker.current]
        .places
        .relocate(option.place, path);
    Some(())
}

/// Finds the fields that a name leads through.
fn chain(linker: &mut Linker<'_>, owner: Owner, scope: &str, option: &Pending) -> Option<Chain> {
    let mut message = format!("google.protobuf.{}", owner.options());
    let mut chain = Chain::new();
    for (at, part) in option.name.iter().enumerate() {
        let field = find_field(linker, &message, scope, part, at == 0)?;
        if at + 1 < option.name.len() {
            if !field.kind.is_some_and(Kind::is_message) || !is_singular(&field) {
                let message = format!("`{}` is not a single message", part.text);
                let help = "only fields of such messages can be set one by one";
                linker.error("E1601", part.span, message, help);
                return None;
            }
            message = field.type_name.trim_start_matches('.').to_owned();
        }
        chain.push(field);
    }
    Some(chain)
}

/// A field of a message, or an extension of it.
fn find_field(
    linker: &mut Linker<'_>,
    message: &str,
    scope: &str,
    part: &NamePart,
    outermost: bool,
) -> Option<Field> {
    if part.extension {
        return find_extension(linker, message, scope, part);
    }
    let own = field_of(linker, &join(message, &part.text));
    // A group goes by the name of its message, too, which the field has in lower case.
    let lower = || field_of(linker, &join(message, &part.text.to_ascii_lowercase()));
    let named = |field: &&Field| {
        field.kind == Some(Kind::Group)
            && field.type_name.rsplit('.').next() == Some(part.text.as_str())
    };
    match own.or_else(|| lower().filter(named)) {
        Some(_) if outermost && part.text == "uninterpreted_option" => {
            let help = "name the option itself";
            linker.error(
                "E1601",
                part.span,
                "`uninterpreted_option` cannot be set",
                help,
            );
            None
        }
        Some(field) => Some(slim(field)),
        None => {
            let fields = linker
                .message(message)
                .map(|message| message.fields.as_slice());
            let short = message.strip_prefix("google.protobuf.").unwrap_or(message);
            let known = fields.unwrap_or_default().iter();
            let close = known
                .map(|field| &field.name)
                .find(|name| name.eq_ignore_ascii_case(&part.text));
            let help = match close {
                Some(close) => format!("did you mean `{close}`?"),
                None if outermost => {
                    "an option of one's own is an extension, and stands in parentheses".to_owned()
                }
                None => "name one of its fields; extensions stand in parentheses".to_owned(),
            };
            let text = format!("`{short}` has no field `{}`", part.text);
            linker.error("E1601", part.span, text, &help);
            None
        }
    }
}

fn find_extension(
    linker: &mut Linker<'_>,
    message: &str,
    scope: &str,
    part: &NamePart,
) -> Option<Field> {
    let wanted = |kind| kind == SymbolKind::Extension;
    let (name, _) = linker.find_at(scope, &part.text, part.span, "an extension", wanted)?;
    let symbol = linker.symbols.get(name.trim_start_matches('.'))?;
    let mut field = slim(walk::field(&linker.files[symbol.file].file, &symbol.path)?);
    if field.extendee.is_empty() {
        // That has been reported where it is defined.
        return None;
    }
    if field.extendee.trim_start_matches('.') != message {
        let text = format!(
            "`{}` extends `{}`, not `{message}`",
            part.text,
            field.extendee.trim_start_matches('.')
        );
        linker.error(
            "E1601",
            part.span,
            text,
            "take an extension that belongs here",
        );
        return None;
    }
    // In options, extensions are known by their full names.
    field.name = name;
    Some(field)
}

/// The field with this absolute name.
fn field_of<'a>(linker: &'a Linker<'_>, name: &str) -> Option<&'a Field> {
    let symbol = linker.symbols.get(name)?;
    walk::field(&linker.files[symbol.file].file, &symbol.path)
}

/// A field with those of its options that matter here, however many it has.
fn slim(field: &Field) -> Field {
    let matters =
        |option: &&OptionField| matches!(option.name.as_str(), "targets" | "feature_support");
    Field {
        name: field.name.clone(),
        type_name: field.type_name.clone(),
        extendee: field.extendee.clone(),
        options: Options {
            fields: field
                .options
                .fields
                .iter()
                .filter(matters)
                .cloned()
                .collect(),
        },
        default: None,
        json_name: None,
        ..*field
    }
}

/// Puts a value where its name leads. Returns its path among the places of the file.
fn insert(
    linker: &mut Linker<'_>,
    option: &Pending,
    chain: &[Field],
    value: OptionValue,
    counts: &mut Counts,
) -> Option<Vec<i32>> {
    let mut path = option.owner.clone();
    path.push(option.tag);
    path.extend(chain.iter().map(|field| field.number));
    let (last, around) = chain.split_last()?;
    let count = counts.entry(path.clone()).or_default();
    *count += 1;
    if is_singular(last) && *count > 1 {
        let span = linker.parsed().places.list.get(option.place)?.span;
        let message = format!("`{}` is set twice", name_of(&option.name));
        linker.error("E1602", span, message, "remove one of the two");
        return None;
    }
    if !is_singular(last) {
        path.push(*count as i32 - 1);
    }
    // A message that has been set part by part cannot be set as a whole any more.
    let inner = (0..around.len()).map(|depth| path[..option.owner.len() + 2 + depth].to_vec());
    inner.for_each(|path| *counts.entry(path).or_default() += 1);
    let file = Rc::make_mut(&mut linker.files[linker.current].file);
    let mut options = walk::options_mut(file, &option.owner)?;
    for field in around {
        options = enter(options, field);
    }
    options.fields.push(OptionField {
        number: last.number,
        name: last.name.clone(),
        value,
    });
    Some(path)
}

/// The message in a field, which is made where it is not set.
fn enter<'a>(options: &'a mut Options, field: &Field) -> &'a mut Options {
    let found = options.fields.iter().position(|known| {
        known.number == field.number
            && matches!(known.value, OptionValue::Message(_) | OptionValue::Group(_))
    });
    let at = found.unwrap_or_else(|| {
        options.fields.push(OptionField {
            number: field.number,
            name: field.name.clone(),
            value: value::message_value(field, Options::default()),
        });
        options.fields.len() - 1
    });
    match &mut options.fields[at].value {
        OptionValue::Message(inner) | OptionValue::Group(inner) => inner,
        // Only such entries are found or made.
        _ => unreachable!("a field that is not a message"),
    }
}

/// An option's name as written.
fn name_of(parts: &[NamePart]) -> String {
    let text = |part: &NamePart| match part.extension {
        true => format!("({})", part.text),
        false => part.text.clone(),
    };
    parts.iter().map(text).collect::<Vec<_>>().join(".")
}
