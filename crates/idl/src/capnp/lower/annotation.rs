//! Uses of annotations.

use super::Lower;
use crate::capnp::names::Scope;
use crate::capnp::syntax::{Application, Attributes, Expression, ExpressionKind};
use crate::source::{BUILT_IN, stem};
use dovetail_schema::Annotation;
use std::collections::BTreeMap;

impl<'a> Lower<'a, '_> {
    /// The annotations of a definition, those with one plain value: `json.name` for one that
    /// `json.capnp` defines, the bare name for those of Dovetail.
    pub(super) fn annotations(
        &mut self,
        scope: Scope<'a>,
        attributes: &'a Attributes,
    ) -> Vec<Annotation> {
        let all = attributes.annotations.iter();
        all.filter_map(|application| {
            let key = self.key(scope, application)?;
            let value = plain(application.value.as_ref())?;
            Some(Annotation { key, value })
        })
        .collect()
    }

    fn key(&mut self, scope: Scope<'a>, application: &'a Application) -> Option<String> {
        use crate::capnp::names::Entity;
        let entity = self.names.resolve(scope, &application.name, self.sink)?;
        let Entity::Node(node, _) = entity else {
            return None;
        };
        let node = &self.names.nodes[node];
        let name = &node.declaration?.name.text;
        let source = &self.names.program.sources[node.file].name;
        let path = source.strip_prefix(BUILT_IN).map(|path| format!("/{path}"));
        Some(match path.as_deref() == Some(crate::capnp::load::OPTIONS) {
            true => name.clone(),
            false => format!("{}.{name}", stem(source)),
        })
    }

    /// The namespaces that a file states for other languages.
    pub(super) fn namespaces(&mut self, file: usize) -> BTreeMap<String, String> {
        let scope = Scope {
            node: self.names.files[file],
            implicit: &[],
        };
        let program = self.names.program;
        let mut namespaces = BTreeMap::new();
        for application in &program.files[file].annotations {
            let Some(key) = self.key(scope, application) else {
                continue;
            };
            let language = match key.as_str() {
                "c++.namespace" => "cpp",
                "go.package" => "go",
                "java.package" => "java",
                _ => continue,
            };
            if let Some(value) = plain(application.value.as_ref()) {
                let value = value.trim_matches(':').replace("::", ".");
                namespaces.insert(language.to_owned(), value);
            }
        }
        namespaces
    }
}

/// The text of a plain value; a bare annotation is `1`.
fn plain(value: Option<&Expression>) -> Option<String> {
    let Some(value) = value else {
        return Some("1".to_owned());
    };
    match &value.kind {
        ExpressionKind::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
        ExpressionKind::Relative(text) => Some(text.clone()),
        ExpressionKind::Float(value) => Some(value.to_string()),
        ExpressionKind::Int {
            negative,
            magnitude,
        } => {
            let sign = if *negative { "-" } else { "" };
            Some(format!("{sign}{magnitude}"))
        }
        _ => None,
    }
}
