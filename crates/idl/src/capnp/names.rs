//! All definitions of all files, and what a name in one of them stands for.

use super::identity;
use super::load::Program;
use super::syntax::{Declaration, DeclarationKind, Expression, ExpressionKind, Name};
use crate::diagnostic::{Diagnostic, Sink};
use crate::source::{FileId, Span};
use std::collections::HashMap;

/// The place of a definition in [`Names::nodes`].
pub(super) type NodeId = usize;

/// A file, or a definition in one.
#[derive(Debug)]
pub(super) struct Node<'a> {
    pub(super) file: usize,
    pub(super) parent: Option<NodeId>,
    pub(super) id: u64,
    /// `None` for a file.
    pub(super) declaration: Option<&'a Declaration>,
    children: HashMap<&'a str, NodeId>,
}

impl<'a> Node<'a> {
    /// The parameters of a generic type.
    pub(super) fn parameters(&self) -> &'a [Name] {
        self.declaration.map_or(&[], |it| it.parameters.as_slice())
    }
}

#[derive(Debug)]
pub(super) struct Names<'a> {
    pub(super) program: &'a Program,
    pub(super) nodes: Vec<Node<'a>>,
    /// The node of each file.
    pub(super) files: Vec<NodeId>,
}

/// A definition, or something that is built in, as an expression names it. The types that it is
/// applied to are still expressions.
#[derive(Clone, Debug)]
pub(super) enum Entity<'a> {
    Node(NodeId, Vec<Applied<'a>>),
    /// A parameter of a generic type, by its place.
    Parameter(NodeId, usize),
    /// A parameter of a generic method.
    Implicit,
    BuiltIn(&'a str),
    /// `List`, and the types that it is applied to.
    List(Applied<'a>),
}

/// The types that a generic definition is applied to, and where they are written.
#[derive(Clone, Debug)]
pub(super) struct Applied<'a> {
    pub(super) node: NodeId,
    pub(super) arguments: &'a [super::syntax::Argument],
    pub(super) scope: Scope<'a>,
}

/// The place of an expression: names are looked for from here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope<'a> {
    pub(super) node: NodeId,
    /// The type parameters of the method.
    pub(super) implicit: &'a [Name],
}

const BUILT_IN: &[&str] = &[
    "Void",
    "Bool",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "Float32",
    "Float64",
    "Text",
    "Data",
    "List",
    "AnyPointer",
    "AnyStruct",
    "AnyList",
    "Capability",
];

/// How many `using` can lead to one another.
const LONGEST_USING: usize = 64;

impl<'a> Names<'a> {
    pub(super) fn declare(program: &'a Program, sink: &mut Sink) -> Self {
        let mut names = Names {
            program,
            nodes: Vec::new(),
            files: Vec::new(),
        };
        for (file, parsed) in program.files.iter().enumerate() {
            let id = names.file_id(file, sink);
            let node = names.nodes.len();
            names.files.push(node);
            names.nodes.push(Node {
                file,
                parent: None,
                id,
                declaration: None,
                children: HashMap::new(),
            });
            names.declare_all(node, &parsed.declarations, sink);
        }
        names.check_ids(sink);
        names
    }

    fn file_id(&self, file: usize, sink: &mut Sink) -> u64 {
        let (source, parsed) = (&self.program.sources[file], &self.program.files[file]);
        match parsed.id {
            Some(id) if id.value & identity::MARK != 0 => id.value,
            Some(id) => {
                let message = format!("{:#x} is not an id: its highest bit is not set", id.value);
                let error = Diagnostic::error("E2304", message);
                let error = error.at(FileId(file as u32), id.span, "");
                sink.push(error.help("`capnp id` makes a new one"));
                id.value
            }
            None => {
                let proposed = identity::proposed(&source.name, &source.text);
                if !parsed.damaged {
                    let error = Diagnostic::error("E2302", "the file has no id");
                    let error = error.at(FileId(file as u32), Span::default(), "");
                    sink.push(error.help(format!("add this line to it: `@{proposed:#x};`")));
                }
                proposed
            }
        }
    }

    fn declare_all(&mut self, parent: NodeId, all: &'a [Declaration], sink: &mut Sink) {
        for declaration in all {
            let name = declaration.name.text.as_str();
            let node = self.nodes.len();
            let file = self.nodes[parent].file;
            let own = declaration.id.map(|id| id.value);
            self.nodes.push(Node {
                file,
                parent: Some(parent),
                id: own.unwrap_or_else(|| identity::child(self.nodes[parent].id, name)),
                declaration: Some(declaration),
                children: HashMap::new(),
            });
            if let Some(first) = self.nodes[parent].children.insert(name, node) {
                let message = format!("`{name}` is defined twice");
                let error = Diagnostic::error("E2403", message);
                let error = error.at(FileId(file as u32), declaration.name.span, "here again");
                let first = self.nodes[first].declaration.map(|first| first.name.span);
                let error =
                    error.also(FileId(file as u32), first.unwrap_or_default(), "here first");
                sink.push(error.help("rename one of them"));
            }
            self.declare_all(node, declaration.nested(), sink);
        }
    }

    fn check_ids(&self, sink: &mut Sink) {
        let mut known: HashMap<u64, NodeId> = HashMap::new();
        for (index, node) in self.nodes.iter().enumerate() {
            if matches!(node.declaration, Some(it) if matches!(it.kind, DeclarationKind::Using(_)))
            {
                continue;
            }
            let Some(first) = known.insert(node.id, index) else {
                continue;
            };
            // Two of one name have been reported as such.
            let named = |node: &Node<'a>| (node.parent, node.declaration.map(|it| &it.name.text));
            if named(node) == named(&self.nodes[first]) {
                continue;
            }
            let message = format!("two definitions have the id @{:#x}", node.id);
            let ((file, span), (first_file, first_span)) = (self.place(index), self.place(first));
            let error = Diagnostic::error("E2305", message)
                .at(file, span, "the second one")
                .also(first_file, first_span, "the first one");
            sink.push(error.help("`capnp id` makes a new one for a file; definitions need none"));
        }
    }

    /// The file and the span of a definition's name.
    fn place(&self, node: NodeId) -> (FileId, Span) {
        let node = &self.nodes[node];
        let id = self.program.files[node.file].id;
        let span = match node.declaration {
            Some(declaration) => declaration.name.span,
            None => id.map_or_else(Span::default, |id| id.span),
        };
        (FileId(node.file as u32), span)
    }

    /// Returns whether a definition has one of this name inside.
    pub(super) fn has_child(&self, node: NodeId, name: &str) -> bool {
        self.nodes[node].children.contains_key(name)
    }

    /// The definition and those around it, up to the file.
    pub(super) fn around(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(Some(node), |node| self.nodes[*node].parent)
    }

    /// Finds what an expression names; an error has been reported.
    pub(super) fn resolve(
        &self,
        scope: Scope<'a>,
        expression: &'a Expression,
        sink: &mut Sink,
    ) -> Option<Entity<'a>> {
        match self.find(scope, expression, 0) {
            Ok(entity) => Some(entity),
            Err(error) => {
                error.into_iter().for_each(|error| sink.push(error));
                None
            }
        }
    }

    /// Finds a definition without reporting that there is none.
    pub(super) fn node_of(&self, scope: Scope<'a>, expression: &'a Expression) -> Option<NodeId> {
        match self.find(scope, expression, 0) {
            Ok(Entity::Node(node, _)) => Some(node),
            _ => None,
        }
    }

    fn find(&self, scope: Scope<'a>, expression: &'a Expression, using: usize) -> Found<'a> {
        let file = self.nodes[scope.node].file;
        let root = self.files[file];
        let at = |node: NodeId, name: &str| self.nodes[node].children.get(name).copied();
        match &expression.kind {
            ExpressionKind::Relative(name) => match self.lookup(scope, name) {
                Some(Entity::Node(node, applied)) => self.follow(node, applied, using),
                Some(entity) => Ok(entity),
                None => Err(self.unknown(scope, expression, name)),
            },
            ExpressionKind::Absolute(name) => match at(root, name) {
                Some(node) => self.follow(node, Vec::new(), using),
                None => Err(self.unknown(scope, expression, name)),
            },
            ExpressionKind::Import(path) => match self.program.imports[file].get(path) {
                Some(file) => Ok(Entity::Node(self.files[*file], Vec::new())),
                // It could not be read; that has been reported.
                None => Err(None),
            },
            ExpressionKind::Member(outer, name) => match self.find(scope, outer, using)? {
                Entity::Node(node, applied) => match at(node, &name.text) {
                    Some(node) => self.follow(node, applied, using),
                    None => Err(self.unknown(scope, expression, &name.text)),
                },
                _ => Err(self.unknown(scope, expression, &name.text)),
            },
            ExpressionKind::Apply(generic, arguments) => {
                let applied = |node| Applied {
                    node,
                    arguments,
                    scope,
                };
                match self.find(scope, generic, using)? {
                    Entity::BuiltIn("List") => Ok(Entity::List(applied(scope.node))),
                    Entity::Node(node, mut all) => {
                        all.push(applied(node));
                        Ok(Entity::Node(node, all))
                    }
                    _ => {
                        let message = "this type takes no types in parentheses";
                        let error = Diagnostic::error("E2406", message);
                        let error = error.at(FileId(file as u32), expression.span, "");
                        Err(Some(error.help("remove the parentheses")))
                    }
                }
            }
            _ => {
                let error = Diagnostic::error("E2402", "expected a name, found a value");
                let error = error.at(FileId(file as u32), expression.span, "");
                Err(Some(error.help("write the name of a definition")))
            }
        }
    }

    /// Looks for a name in a scope, and in those around it.
    fn lookup(&self, scope: Scope<'a>, name: &str) -> Option<Entity<'a>> {
        if scope.implicit.iter().any(|own| own.text == name) {
            return Some(Entity::Implicit);
        }
        for node in self.around(scope.node) {
            let parameters = self.nodes[node].parameters();
            if let Some(place) = parameters.iter().position(|own| own.text == name) {
                return Some(Entity::Parameter(node, place));
            }
            if let Some(child) = self.nodes[node].children.get(name) {
                return Some(Entity::Node(*child, Vec::new()));
            }
        }
        let built_in = BUILT_IN.iter().find(|known| **known == name);
        built_in.map(|name| Entity::BuiltIn(name))
    }

    /// Goes from a `using` to what it stands for.
    fn follow(&self, node: NodeId, applied: Vec<Applied<'a>>, using: usize) -> Found<'a> {
        let found = &self.nodes[node];
        let Some(declaration) = found.declaration else {
            return Ok(Entity::Node(node, applied));
        };
        let DeclarationKind::Using(target) = &declaration.kind else {
            return Ok(Entity::Node(node, applied));
        };
        if using == LONGEST_USING {
            let message = format!("`using {}` leads to itself", declaration.name.text);
            let (file, span) = self.place(node);
            let error = Diagnostic::error("E2412", message).at(file, span, "");
            return Err(Some(error.help("let it stand for a definition")));
        }
        let scope = Scope {
            node: found.parent.unwrap_or(node),
            implicit: &[],
        };
        match self.find(scope, target, using + 1)? {
            Entity::Node(target, mut own) => {
                own.splice(0..0, applied);
                Ok(Entity::Node(target, own))
            }
            entity => Ok(entity),
        }
    }

    fn unknown(&self, scope: Scope<'a>, expression: &Expression, name: &str) -> Option<Diagnostic> {
        let file = self.nodes[scope.node].file;
        // A definition may be missing only because its statement was given up.
        if self.program.files.iter().any(|file| file.damaged) {
            return None;
        }
        let message = format!("there is no `{name}` here");
        let error = Diagnostic::error("E2401", message);
        let error = error.at(FileId(file as u32), expression.span, "");
        let similar = BUILT_IN
            .iter()
            .copied()
            .chain(
                self.around(scope.node)
                    .flat_map(|node| self.nodes[node].children.keys().copied()),
            )
            .filter(|known| known.eq_ignore_ascii_case(name))
            .min();
        Some(match similar {
            Some(similar) => error.help(format!("write `{similar}`")),
            None => error.help("define it, or import it: `using import \"other.capnp\".Name;`"),
        })
    }
}

/// An error that is `None` has been reported before, or is no wonder in a damaged file.
type Found<'a> = Result<Entity<'a>, Option<Diagnostic>>;
