//! Checks that data of the wire beside the fields of structs cannot be taken for fields.

use super::Lower;
use crate::diagnostic::Diagnostic;
use crate::thrift::ast::DefinitionKind;
use crate::thrift::resolve::resolve;
use dovetail_schema::{Field, RESERVED_IDS, Sharing, Type, TypeId, TypeKind};
use std::collections::{BTreeMap, BTreeSet, HashMap};

impl Lower<'_, '_> {
    pub(super) fn identity(&mut self) {
        let families = self.schema.families();
        families.values().for_each(|family| self.names_of(family));
        let mut identified: BTreeSet<TypeId> = families.values().flatten().copied().collect();
        identified.extend(self.targets(&families));
        identified.into_iter().for_each(|id| self.free_ids(id));
    }

    /// The structs that a `ref` can lead to.
    fn targets(&self, families: &BTreeMap<TypeId, Vec<TypeId>>) -> BTreeSet<TypeId> {
        let fields = self.schema.types.iter().flat_map(|def| match &def.kind {
            TypeKind::Struct(def) => def.fields.as_slice(),
            _ => &[],
        });
        let methods = self.schema.services.iter().flat_map(|s| &s.methods);
        let params = methods.flat_map(|method| &method.params);
        let target = |field: &Field| match resolve(&self.schema, &field.ty) {
            Some(Type::Named(id)) => Some(*id),
            _ => None,
        };
        let refs = fields.chain(params).filter(|f| f.sharing == Sharing::Ref);
        let mut targets: BTreeSet<TypeId> = refs.filter_map(target).collect();
        let members = targets.iter().filter_map(|id| families.get(id)).flatten();
        let members: Vec<TypeId> = members.copied().collect();
        targets.extend(members);
        targets
    }

    /// A value of a struct that extends another one is known by its name.
    fn names_of(&mut self, family: &[TypeId]) {
        let mut seen: HashMap<String, TypeId> = HashMap::new();
        for id in family {
            let name = self.schema[*id].name.clone();
            let Some(first) = seen.insert(name.clone(), *id) else {
                continue;
            };
            let ((file, span), (other, first)) =
                (self.names.type_span(*id), self.names.type_span(first));
            let base = family.first().unwrap_or(id);
            let message = format!(
                "two structs called `{name}` extend `{}`",
                self.schema[*base].name
            );
            let error = Diagnostic::error("E0423", message)
                .at(file, span, "the second one")
                .also(other, first, "the first one")
                .note("a value is sent with the name of its struct, without that of its file");
            self.sink.push(error.help("rename one of them"));
        }
    }

    /// The ids that say which struct it is, and which node.
    fn free_ids(&mut self, id: TypeId) {
        let (file, _) = self.names.type_span(id);
        let DefinitionKind::Struct(body) = &self.names.types[id.0 as usize].definition.kind else {
            return;
        };
        let TypeKind::Struct(def) = &self.schema[id].kind else {
            return;
        };
        let fields = def.fields.iter().zip(&body.fields);
        for (field, written) in fields.filter(|(f, _)| RESERVED_IDS.contains(&f.id)) {
            let message = format!("the id {} is not free in this struct", field.id);
            let error = Diagnostic::error("E0422", message)
                .at(file, written.name.span, "")
                .note(format!(
                    "where structs extend one another, or a `ref` leads to one, {} to {} say which it is",
                    RESERVED_IDS.start(),
                    RESERVED_IDS.end()
                ));
            self.sink.push(error.help("take another id"));
        }
    }
}
