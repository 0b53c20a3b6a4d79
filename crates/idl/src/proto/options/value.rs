//! Values of options: what is written against what the field takes.

use super::super::descriptor::{Field, Kind, Label, OptionField, OptionValue, Options};
use super::super::encode;
use super::super::link::{Linker, Wanted, is_singular};
use super::super::symbols::join;
use super::super::syntax::NamePart;
use super::super::syntax::{Entry, Integer, Notation, Value, ValueKind};
use super::super::walk;
use super::{find_extension, find_field, option_field};

/// Converts a value to the type of its field; reports why it cannot.
pub(super) fn convert(
    linker: &mut Linker<'_>,
    field: &Field,
    value: &Value,
    notation: Notation,
) -> Option<OptionValue> {
    let kind = field.kind?;
    let converted = match kind {
        Kind::Message | Kind::Group => return message(linker, field, value),
        Kind::Enum => return enumeration(linker, field, value, notation),
        Kind::Bool => {
            boolean(&value.kind, notation).map(|value| OptionValue::Int(kind, value.into()))
        }
        Kind::String | Kind::Bytes => match &value.kind {
            ValueKind::Text(bytes) => Some(OptionValue::Bytes(bytes.clone())),
            _ => None,
        },
        Kind::Float => float(&value.kind, notation).map(|value| OptionValue::Float(value as f32)),
        Kind::Double => float(&value.kind, notation).map(OptionValue::Double),
        _ => match &value.kind {
            ValueKind::Int(number) if fits(kind, *number) => {
                Some(OptionValue::Int(kind, number.value))
            }
            ValueKind::Int(_) => {
                let text = format!("this number is out of the range of {}", kind.word());
                linker.error("E1603", value.span, text, "choose a number that fits");
                return None;
            }
            _ => None,
        },
    };
    if converted.is_none() {
        let help = match kind {
            Kind::Bool => "write `true` or `false`",
            Kind::String | Kind::Bytes => "write a string in quotes",
            Kind::Float | Kind::Double => "write a number",
            _ => "write an integer",
        };
        let text = format!("`{}` is of type {}", display(field), kind.word());
        linker.error("E1603", value.span, text, help);
    }
    converted
}

/// True for an integer in the range of its type; an unsigned one has no sign, not even `-0`.
fn fits(kind: Kind, number: Integer) -> bool {
    let range = kind.range();
    range.is_some_and(|range| {
        range.contains(&number.value) && (!number.negative || *range.start() < 0)
    })
}

fn display(field: &Field) -> &str {
    field.name.trim_start_matches('.')
}

fn boolean(value: &ValueKind, notation: Notation) -> Option<bool> {
    match (value, notation) {
        (ValueKind::Word(word), _) if word == "true" => Some(true),
        (ValueKind::Word(word), _) if word == "false" => Some(false),
        (ValueKind::Word(word), Notation::TextFormat) => match word.as_str() {
            "True" | "t" => Some(true),
            "False" | "f" => Some(false),
            _ => None,
        },
        (ValueKind::Int(number), Notation::TextFormat) => match number.value {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        },
        _ => None,
    }
}

fn float(value: &ValueKind, notation: Notation) -> Option<f64> {
    match value {
        ValueKind::Int(number) if notation == Notation::Statement || number.decimal => {
            let sign = if number.negative { -1.0 } else { 1.0 };
            Some(number.value.unsigned_abs() as f64 * sign)
        }
        ValueKind::Float(number) => Some(*number),
        ValueKind::Word(word) => notation.special(word),
        _ => None,
    }
}

fn enumeration(
    linker: &mut Linker<'_>,
    field: &Field,
    value: &Value,
    notation: Notation,
) -> Option<OptionValue> {
    let name = field.type_name.trim_start_matches('.');
    let symbol = linker.symbols.get(name)?;
    let def = walk::enumeration(&linker.files[symbol.file].file, &symbol.path)?;
    let number = match (&value.kind, notation) {
        (ValueKind::Word(word), _) => {
            let found = def.values.iter().find(|value| value.name == *word);
            found.map(|value| value.number)
        }
        (ValueKind::Int(number), Notation::TextFormat) => {
            let found = def
                .values
                .iter()
                .find(|value| i128::from(value.number) == number.value);
            found.map(|value| value.number)
        }
        _ => None,
    };
    if let Some(number) = number {
        return Some(OptionValue::Int(Kind::Enum, number.into()));
    }
    let names: Vec<&str> = def
        .values
        .iter()
        .take(8)
        .map(|value| value.name.as_str())
        .collect();
    let text = format!("`{}` takes a value of the enum `{name}`", display(field));
    let help = format!("it has {}", names.join(", "));
    linker.error("E1603", value.span, text, &help);
    None
}

/// A message as this field has it on the wire.
pub(super) fn message_value(field: &Field, options: Options) -> OptionValue {
    match field.kind {
        Some(Kind::Group) => OptionValue::Group(options),
        _ => OptionValue::Message(options),
    }
}

fn message(linker: &mut Linker<'_>, field: &Field, value: &Value) -> Option<OptionValue> {
    let ValueKind::Message(entries) = &value.kind else {
        let text = format!("`{}` is a message", display(field));
        linker.error(
            "E1603",
            value.span,
            text,
            "write its fields in braces: `{ field: value }`",
        );
        return None;
    };
    let name = field.type_name.trim_start_matches('.');
    let options = fields(linker, name, entries, value)?;
    Some(message_value(field, options))
}

/// The fields of a message of this type.
fn fields(
    linker: &mut Linker<'_>,
    name: &str,
    entries: &[Entry],
    value: &Value,
) -> Option<Options> {
    let mut options = Options::default();
    let mut oneofs = std::collections::HashSet::new();
    let mut singular = std::collections::HashSet::new();
    for entry in entries {
        if entry.any.is_some() {
            let both = any(linker, name, entry)?;
            if both.iter().any(|field| !singular.insert(field.number)) {
                let help = "it is one message, by its address or by its two fields";
                let text = "this `Any` is set twice";
                linker.error("E1602", entry.name.span, text, help);
                return None;
            }
            options.fields.extend(both);
            continue;
        }
        let field = entry_field(linker, name, entry)?;
        if is_singular(&field) && !singular.insert(field.number) {
            let text = format!("`{}` is set twice", entry.name.text);
            linker.error("E1602", entry.name.span, text, "remove one of the two");
            return None;
        }
        if let Some(oneof) = field.oneof
            && !oneofs.insert(oneof)
        {
            let help = "a oneof has at most one of its fields";
            linker.error(
                "E1602",
                entry.name.span,
                "another field of its oneof is set",
                help,
            );
            return None;
        }
        for one in values(linker, &field, entry)? {
            let value = convert(linker, &field, one, Notation::TextFormat)?;
            let name = field.name.clone();
            options.fields.push(OptionField {
                number: field.number,
                name,
                value,
            });
        }
    }
    if let Some(missing) = linker.message(name).and_then(|message| {
        let mut required = message
            .fields
            .iter()
            .filter(|field| field.label == Label::Required);
        required.find(|field| !singular.contains(&field.number))
    }) {
        let text = format!("`{}` is required, and not set", missing.name);
        linker.error("E1603", value.span, text, "set it");
        return None;
    }
    options.fields.sort_by_key(|field| field.number);
    Some(options)
}

/// The values of an entry: several for a list.
fn values<'a>(linker: &mut Linker<'_>, field: &Field, entry: &'a Entry) -> Option<Vec<&'a Value>> {
    match &entry.value.kind {
        ValueKind::List(_) if is_singular(field) => {
            let text = format!("`{}` has one value, not a list", display(field));
            linker.error("E1603", entry.value.span, text, "write the value alone");
            None
        }
        ValueKind::List(values) => Some(values.iter().collect()),
        _ => Some(vec![&entry.value]),
    }
}

fn entry_field(linker: &mut Linker<'_>, message: &str, entry: &Entry) -> Option<Field> {
    let part = &entry.name;
    let scope = message.rsplit_once('.').map_or("", |(scope, _)| scope);
    match part.extension {
        true => find_extension(linker, message, scope, part),
        false => group_like(linker, message, part)
            .or_else(|| find_field(linker, message, "", part, false)),
    }
}

/// The field of a group, which the text format knows by the name of its type: one defined beside
/// it, in the same message, that is delimited and has the field's name but for its case.
fn group_like(linker: &Linker<'_>, message: &str, part: &NamePart) -> Option<Field> {
    let name = join(message, &part.text.to_ascii_lowercase());
    let symbol = linker.symbols.get(&name)?;
    let field = option_field(linker, symbol)?;
    let own = field.type_name.trim_start_matches('.') == join(message, &part.text);
    (own && field.kind == Some(Kind::Group)).then_some(field)
}

/// The two fields of an `Any` whose message is written out.
fn any(linker: &mut Linker<'_>, message: &str, entry: &Entry) -> Option<[OptionField; 2]> {
    let (domain, name) = (entry.any.as_deref()?, entry.name.text.as_str());
    let refused = match () {
        () if message != "google.protobuf.Any" => Some("only in a `google.protobuf.Any`"),
        () if !matches!(domain, "type.googleapis.com" | "type.googleprod.com") => {
            Some("the address is `type.googleapis.com/` and the name of a message")
        }
        () => None,
    };
    if let Some(help) = refused {
        linker.error(
            "E1601",
            entry.name.span,
            "no message can stand here by its address",
            help,
        );
        return None;
    }
    let absolute = format!(".{name}");
    linker.find_at("", &absolute, entry.name.span, Wanted::Message)?;
    let ValueKind::Message(entries) = &entry.value.kind else {
        linker.error(
            "E1603",
            entry.value.span,
            "an `Any` is written as a message",
            "write braces",
        );
        return None;
    };
    let inner = fields(linker, name, entries, &entry.value)?;
    let url = OptionField {
        number: 1,
        name: "type_url".to_owned(),
        value: OptionValue::Bytes(format!("{domain}/{name}").into_bytes()),
    };
    let value = OptionField {
        number: 2,
        name: "value".to_owned(),
        value: OptionValue::Bytes(encode::encode_options(&inner)),
    };
    Some([url, value])
}
