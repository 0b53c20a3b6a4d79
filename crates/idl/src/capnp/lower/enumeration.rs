//! Enums.

use super::Lower;
use crate::capnp::names::Scope;
use crate::capnp::syntax::Enumerant;
use dovetail_schema::{Annotations, Enum, EnumValue};

impl<'a> Lower<'a, '_> {
    pub(super) fn enumeration(&mut self, scope: Scope<'a>, enumerants: &'a [Enumerant]) -> Enum {
        let mut values = Vec::new();
        for enumerant in enumerants {
            values.push(EnumValue {
                name: enumerant.name.text.clone(),
                number: enumerant.ordinal.value as i32,
                doc: enumerant.attributes.doc.clone(),
                annotations: Annotations {
                    untyped: self.annotations(scope, &enumerant.attributes),
                    typed: Vec::new(),
                },
                deprecated: None,
            });
        }
        Enum {
            values,
            ..Enum::default()
        }
    }
}
