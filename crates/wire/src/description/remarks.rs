use super::{Definition, Signature, Type};
use crate::{Field, IntFormat};
use std::collections::HashSet;
use std::hash::Hash;

/// The properties of a struct's fields that descriptions leave out, since two ends need not agree
/// on them. Fields without such properties have no entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TypeRemarks {
    /// The name of the struct; empty for the parameters of the method.
    pub name: String,
    /// The fields.
    pub fields: Vec<FieldRemarks>,
}

crate::message!(TypeRemarks {
    1 name: String,
    2 fields: Vec<FieldRemarks>,
});

/// The properties of a field that descriptions leave out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldRemarks {
    /// The number on the wire.
    pub id: i32,
    /// The form of its integers in protobuf: 0 for `int32` and its kin, 1 for `sint32`, 2 for
    /// `fixed32`.
    pub format: i32,
    /// The form of a map's keys, likewise.
    pub key_format: i32,
    /// Protobuf writes the numbers of a list one by one.
    pub expanded: bool,
    /// Protobuf writes the message as a group.
    pub group: bool,
    /// The oneof that it belongs to; empty for none.
    pub oneof: String,
    /// The value is kept out of captures and of error texts.
    pub sensitive: bool,
    /// The name in JSON; empty where that is made of the other one.
    pub json_name: String,
}

crate::message!(FieldRemarks {
    1 id: i32,
    2 format: i32,
    3 key_format: i32,
    4 expanded: bool,
    5 group: bool,
    6 oneof: String,
    7 sensitive: bool,
    8 json_name: String,
});

impl FieldRemarks {
    /// Returns those of a row of a table; `None` where it has none.
    pub fn of(field: &Field<'_>) -> Option<Self> {
        let remarks = FieldRemarks {
            id: field.id,
            format: number(field.format),
            key_format: number(field.key_format),
            expanded: field.expanded,
            group: field.group,
            oneof: field.oneof.unwrap_or_default().to_owned(),
            sensitive: field.sensitive,
            json_name: field.json.unwrap_or_default().to_owned(),
        };
        let nothing = FieldRemarks {
            id: field.id,
            ..FieldRemarks::default()
        };
        (remarks != nothing).then_some(remarks)
    }
}

fn number(format: IntFormat) -> i32 {
    match format {
        IntFormat::Varint => 0,
        IntFormat::ZigZag => 1,
        IntFormat::Fixed => 2,
    }
}

/// Returns the remarks of the structs that a method reaches, and of its parameters. `define` says
/// what the named types are, `fields` gives the remarks of their fields.
pub fn remarks<'a, N: Copy + Eq + Hash>(
    signature: &Signature<'a, N>,
    params: &[Field<'_>],
    define: impl Fn(N) -> Definition<'a, N>,
    fields: impl Fn(N) -> Vec<FieldRemarks>,
) -> Vec<TypeRemarks> {
    let mut reached = Reached::default();
    signature.types().for_each(|ty| reached.ty(ty));
    let params = params.iter().filter_map(FieldRemarks::of).collect();
    let mut all = vec![TypeRemarks {
        name: String::new(),
        fields: params,
    }];
    while let Some(named) = reached.waiting.pop() {
        match define(named) {
            Definition::Struct(name, inside) | Definition::Union(name, inside) => {
                inside.iter().for_each(|field| reached.ty(&field.ty));
                all.push(TypeRemarks {
                    name: name.to_owned(),
                    fields: fields(named),
                });
            }
            Definition::Family(_, members) => {
                members.into_iter().for_each(|member| reached.named(member));
            }
            Definition::Enum(..) | Definition::Service(_) => {}
        }
    }
    all.retain(|remarks| !remarks.fields.is_empty());
    all
}

/// The named types that have been met, each once.
struct Reached<N> {
    known: HashSet<N>,
    waiting: Vec<N>,
}

impl<N> Default for Reached<N> {
    fn default() -> Self {
        Reached {
            known: HashSet::new(),
            waiting: Vec::new(),
        }
    }
}

impl<N: Copy + Eq + Hash> Reached<N> {
    fn named(&mut self, named: N) {
        if self.known.insert(named) {
            self.waiting.push(named);
        }
    }

    fn ty(&mut self, ty: &Type<N>) {
        match ty {
            Type::List(item) | Type::Set(item) | Type::Array(_, item) | Type::Ref(item) => {
                self.ty(item);
            }
            Type::Map(key, item) => {
                self.ty(key);
                self.ty(item);
            }
            Type::Struct(named) | Type::Family(named) => self.named(*named),
            Type::Scalar(_) | Type::Logical(_) | Type::Enum(_) | Type::Object(_) => {}
        }
    }
}
