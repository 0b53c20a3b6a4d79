//! Options: from names and values as written to fields of the messages in
//! `google/protobuf/descriptor.proto`, and of extensions of those.

mod limits;
mod value;

use super::descriptor::{Field, Kind, Label, Message, OptionField, OptionValue, Options};
use super::features::Features;
use super::link::{Linker, Wanted, is_singular};
use super::symbols::{Symbol, join};
use super::syntax::{NamePart, Notation, Pending};
use super::walk::{self, Owner};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// An option whose name has been understood: its fields from the outermost inwards.
type Chain = Vec<Field>;

/// Interprets the options of the current file.
pub(super) fn interpret(linker: &mut Linker<'_>) {
    let pending = std::mem::take(&mut linker.files[linker.current].options);
    let mut counts = HashMap::new();
    for option in &pending {
        one(linker, option, &mut counts);
    }
    let mut complete = HashSet::new();
    for option in pending.iter().filter(|option| option.name.len() > 1) {
        if complete.insert((&option.owner, &option.name[0].text)) {
            check_required(linker, option);
        }
    }
    let file = Rc::make_mut(&mut linker.files[linker.current].file);
    file.messages.iter_mut().for_each(share_with_entries);
}

/// Gives the features of a map's text to its keys and values.
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
    let value = value::convert(linker, last, &option.value, Notation::Statement)?;
    limits::check(linker, owner, &chain, &value, option);
    let path = insert(linker, option, &chain, value, counts)?;
    linker.files[linker.current]
        .positions
        .relocate(option.place, path);
    Some(())
}

/// Checks that a message that is set part by part has its required fields, once all parts are
/// known.
fn check_required(linker: &mut Linker<'_>, option: &Pending) -> Option<()> {
    let owner = Owner::of(&option.owner)?;
    let scope = walk::scope(&linker.parsed().file, &option.owner);
    let message = format!("google.protobuf.{}", owner.options());
    let first = option.name.first()?;
    let field = find_field(linker, &message, &scope, first, true)?;
    let file = Rc::make_mut(&mut linker.files[linker.current].file);
    let options = walk::options_mut(file, &option.owner)?;
    let set = options.fields.iter().find(|set| set.number == field.number);
    let value = set?.value.clone();
    let missing = missing(linker, &field.type_name, &value)?;
    let text = format!("`{missing}` is required, and not set");
    linker.error("E1603", first.span, text, "set it");
    None
}

/// The first required field that a message value lacks, at any depth.
fn missing(linker: &Linker<'_>, name: &str, value: &OptionValue) -> Option<String> {
    let (OptionValue::Message(set) | OptionValue::Group(set)) = value else {
        return None;
    };
    let message = linker.message(name)?;
    let is_set = |field: &&Field| set.fields.iter().any(|set| set.number == field.number);
    let mut required = message
        .fields
        .iter()
        .filter(|field| field.label == Label::Required);
    if let Some(field) = required.find(|field| !is_set(field)) {
        return Some(field.name.clone());
    }
    set.fields.iter().find_map(|set| {
        let field = match set.name.strip_prefix('.') {
            Some(extension) => field_of(linker, extension),
            None => message
                .fields
                .iter()
                .find(|field| field.number == set.number),
        };
        missing(linker, &field?.type_name, &set.value)
    })
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
    let own = linker.symbols.get(&join(message, &part.text));
    match own.and_then(|symbol| option_field(linker, symbol)) {
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
        Some(field) => Some(field),
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
    let (name, _) = linker.find_at(scope, &part.text, part.span, Wanted::Extension)?;
    let symbol = linker.symbols.get(name.trim_start_matches('.'))?;
    let mut field = option_field(linker, symbol)?;
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

/// The field that a symbol stands for, as values of options need it.
fn option_field(linker: &Linker<'_>, symbol: &Symbol) -> Option<Field> {
    let file = &linker.files.get(symbol.file)?.file;
    let field = walk::field(file, &symbol.path)?;
    let features = Features::around(file, &symbol.path).of_field(file.edition, field);
    let mut slim = slim(field);
    let delimited = features.delimited && field.kind == Some(Kind::Message);
    if delimited && !linker.message(&field.type_name)?.options.flag("map_entry") {
        slim.kind = Some(Kind::Group);
    }
    Some(slim)
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
        let span = linker.parsed().positions.list.get(option.place)?.span;
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
    put(options, last, value);
    Some(path)
}

/// Sets a field in the order in which protobuf's compiler writes them: those of its own by number,
/// then extensions as they stand in the file. Returns its place.
fn put(options: &mut Options, field: &Field, value: OptionValue) -> usize {
    const FIRST_EXTENSION: i32 = 1_000;
    let rank = |number: i32| number.min(FIRST_EXTENSION);
    let before = |known: &OptionField| rank(known.number) <= rank(field.number);
    let at = options.fields.partition_point(before);
    let set = OptionField {
        number: field.number,
        name: field.name.clone(),
        value,
    };
    options.fields.insert(at, set);
    at
}

/// The message in a field, which is made where it is not set.
fn enter<'a>(options: &'a mut Options, field: &Field) -> &'a mut Options {
    let found = options.fields.iter().position(|known| {
        known.number == field.number
            && matches!(known.value, OptionValue::Message(_) | OptionValue::Group(_))
    });
    let at = found.unwrap_or_else(|| {
        let empty = value::message_value(field, Options::default());
        put(options, field, empty)
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
