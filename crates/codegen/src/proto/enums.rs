//! Enums. Their values keep the names that JSON has for them: where those of two enums would meet,
//! each of the enums stands in a message of its own.

use super::dialect::Dialect;
use super::{Style, Writer, block, buf, comment, deprecated};
use crate::case::screaming;
use crate::scope::Scope;
use dovetail_schema::{Enum, EnumValue, Schema, TypeDef, TypeId, TypeKind};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The name of an enum in a message that has the enum's own name.
const INNER: &str = "Value";

/// Words that begin something else than a value.
const WORDS: [&str; 2] = ["option", "reserved"];

/// The enums with a value that another definition of their package has the name of.
pub(super) fn enclosed(schema: &Schema) -> BTreeSet<TypeId> {
    let mut uses: HashMap<(&str, String), usize> = HashMap::new();
    let mut count = |package, name| *uses.entry((package, name)).or_default() += 1;
    let mut around = HashSet::new();
    for def in &schema.types {
        let package = schema[def.package].name.as_str();
        let outermost = def.name.split('.').next().unwrap_or_default();
        if around.insert((package, outermost)) {
            count(package, outermost.to_owned());
        }
    }
    for service in &schema.services {
        count(&schema[service.package].name, service.name.clone());
    }
    let enums: Vec<_> = open_enums(schema).collect();
    for (_, package, names) in &enums {
        names.iter().for_each(|name| count(package, name.clone()));
    }
    let met = |package, names: &BTreeSet<String>| {
        let mut names = names.iter();
        names.any(|name| uses.get(&(package, name.clone())) > Some(&1))
    };
    enums
        .iter()
        .filter(|(_, package, names)| met(package, names))
        .map(|(id, ..)| *id)
        .collect()
}

/// The enums that stand in no message, each with its package and the names of its values.
fn open_enums(schema: &Schema) -> impl Iterator<Item = (TypeId, &str, BTreeSet<String>)> {
    let types = schema.types.iter().enumerate();
    types.filter_map(|(index, def)| {
        let TypeKind::Enum(values) = &def.kind else {
            return None;
        };
        let package = &schema[def.package];
        let names = values.values.iter().map(|value| value.name.clone());
        let zero = (!package.messages).then(|| zero(def, values)).flatten();
        let open = !def.name.contains('.');
        open.then(|| {
            let names = names.chain(zero).collect();
            (TypeId(index as u32), package.name.as_str(), names)
        })
    })
}

/// The name of a 0 that the contract does not have.
fn zero(def: &TypeDef, values: &Enum) -> Option<String> {
    let names: Vec<&str> = values.values.iter().map(|value| &*value.name).collect();
    let has_zero = values.values.iter().any(|value| value.number == 0);
    let wanted = format!("{}_UNSPECIFIED", screaming(&def.name));
    (!has_zero).then(|| Scope::with(&names).claim(&wanted))
}

impl Writer<'_> {
    /// The names of the values that stand beside the messages of the file.
    pub(super) fn open_values(&self) -> BTreeSet<String> {
        let enums = open_enums(self.schema);
        enums
            .filter(|(id, ..)| self.schema[*id].package == self.id && !self.enclosed.contains(id))
            .flat_map(|(.., names)| names)
            .collect()
    }

    /// The name of a type in its package, as the file has it.
    pub(super) fn written_name(&self, id: TypeId) -> String {
        let name = &self.schema[id].name;
        match self.enclosed.contains(&id) {
            true => format!("{name}.{INNER}"),
            false => name.clone(),
        }
    }

    pub(super) fn enumeration(&self, id: TypeId, values: &Enum, indent: &str) -> String {
        let def = &self.schema[id];
        if self.style == Style::Buf && self.enclosed.contains(&id) {
            self.refuse(buf::SAME, &def.name);
        }
        let before = comment(def.doc.as_deref(), &[], indent);
        let name = def.name.rsplit('.').next().unwrap_or_default();
        let inside = format!("{indent}  ");
        let written = match self.enclosed.contains(&id) {
            true => {
                let body = self.enum_body(def, values, &format!("{inside}  "));
                let body = block("enum", INNER, &body, &inside);
                block("message", name, &body, indent)
            }
            false => block("enum", name, &self.enum_body(def, values, &inside), indent),
        };
        before + &written
    }

    fn enum_body(&self, def: &TypeDef, values: &Enum, indent: &str) -> String {
        let mut text = deprecated(def, indent);
        let mut option = |option: &str| text += &format!("{indent}option {option};\n");
        if values.closed && self.dialect == Dialect::Edition2023 {
            option("features.enum_type = CLOSED");
        }
        let mut numbers = HashSet::new();
        let mut all = values.values.iter();
        if !all.all(|value| numbers.insert(value.number)) {
            option("allow_alias = true");
        }
        let zero = zero(def, values).filter(|_| self.dialect == Dialect::Proto3);
        match clash(def, values, zero.as_deref()) {
            // Compilers take that in proto2, if the enum says so.
            Some(_) if self.package.messages && self.dialect == Dialect::Proto2 => {
                option("deprecated_legacy_json_field_conflicts = true");
            }
            Some(name) if !self.package.messages => self.refuse(
                "two values have the same name in other languages; rename one",
                name,
            ),
            _ => {}
        }
        text += &self.reserved(&values.reserved, indent);
        if let Some(name) = zero {
            text += &format!(
                "{indent}// Not in the contract: what is left out is 0.\n{indent}{name} = 0;\n"
            );
        }
        let mut sorted: Vec<&EnumValue> = values.values.iter().collect();
        if self.dialect == Dialect::Proto3 {
            // The first one is 0.
            sorted.sort_by_key(|value| value.number != 0);
        }
        text.extend(sorted.into_iter().map(|value| self.value(value, indent)));
        text
    }

    fn value(&self, value: &EnumValue, indent: &str) -> String {
        self.identifier(&value.name);
        if WORDS.contains(&value.name.as_str()) {
            self.refuse("a word of protobuf's own; rename the value", &value.name);
        }
        let before = comment(value.doc.as_deref(), &[], indent);
        let options = match value.deprecated {
            Some(_) => " [deprecated = true]",
            None => "",
        };
        format!(
            "{before}{indent}{} = {}{options};\n",
            value.name, value.number
        )
    }
}

/// A value whose name differs from that of another one by case and by the name of the enum alone:
/// compilers refuse it.
fn clash<'a>(def: &TypeDef, values: &'a Enum, zero: Option<&str>) -> Option<&'a str> {
    let letters = |name: &str| name.replace('_', "").to_lowercase();
    let prefix = letters(&def.name);
    let short = |name: &str| {
        let name = letters(name);
        name.strip_prefix(&prefix).unwrap_or(&name).to_owned()
    };
    let mut known: HashSet<String> = zero.map(short).into_iter().collect();
    let mut values = values.values.iter();
    let clashing = values.find(|value| !known.insert(short(&value.name)));
    clashing.map(|value| value.name.as_str())
}
