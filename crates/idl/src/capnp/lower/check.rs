//! Ordinals: each is there once, and none is left out.

use crate::capnp::names::{Names, NodeId};
use crate::capnp::syntax::{DeclarationKind, Member, MemberKind, Number, Parameters};
use crate::diagnostic::{Diagnostic, Sink};
use crate::source::{FileId, Span};
use std::collections::HashSet;

pub(super) fn ordinals(names: &Names<'_>, sink: &mut Sink) {
    for node in 0..names.nodes.len() {
        let Some(declaration) = names.nodes[node].declaration else {
            continue;
        };
        let mut check = Check { names, node, sink };
        match &declaration.kind {
            DeclarationKind::Enum(enumerants) => {
                check.ordinals(enumerants.iter().map(|it| it.ordinal).collect());
                check.names(enumerants.iter().map(|it| (&*it.name.text, it.name.span)));
            }
            DeclarationKind::Struct { members, .. } => check.structure(members),
            DeclarationKind::Interface { methods, .. } => {
                check.ordinals(methods.iter().map(|it| it.ordinal).collect());
                check.names(methods.iter().map(|it| (&*it.name.text, it.name.span)));
                let lists = methods
                    .iter()
                    .flat_map(|method| std::iter::once(&method.params).chain(&method.results));
                for list in lists {
                    if let Parameters::List(members) = list {
                        check.structure(members);
                    }
                }
            }
            _ => {}
        }
    }
}

struct Check<'a, 'n, 's> {
    names: &'n Names<'a>,
    node: NodeId,
    sink: &'s mut Sink,
}

impl Check<'_, '_, '_> {
    fn structure(&mut self, members: &[Member]) {
        let mut ordinals = Vec::new();
        self.members(members, &mut ordinals);
        self.ordinals(ordinals);
    }

    fn members(&mut self, members: &[Member], ordinals: &mut Vec<Number>) {
        let mut unnamed = None;
        for member in members {
            ordinals.extend(member.ordinal);
            let span = member.span;
            if member.name.is_none() && unnamed.replace(span).is_some() {
                let message = "two unions without a name in one struct";
                self.error(
                    "E2407",
                    span,
                    message,
                    "name one of them: `name :union { … }`",
                );
            }
            match &member.kind {
                MemberKind::Field { .. } => {}
                MemberKind::Group(inside) if inside.is_empty() => {
                    self.error("E2407", span, "a group without a member", "add a member");
                }
                MemberKind::Union(inside) if inside.len() < 2 => {
                    let message = "a union with less than two members";
                    self.error("E2407", span, message, "add a member, or make it a field");
                }
                MemberKind::Group(inside) | MemberKind::Union(inside) => {
                    self.members(inside, ordinals);
                }
            }
        }
        self.names(members.iter().flat_map(named));
    }

    /// Names stand in one scope: those of an unnamed union in that of its struct.
    fn names<'n>(&mut self, names: impl Iterator<Item = (&'n str, Span)>) {
        let mut known = HashSet::new();
        for (name, span) in names {
            if !known.insert(name) {
                let message = format!("`{name}` is defined twice");
                self.error("E2403", span, &message, "rename one of them");
            }
        }
    }

    fn ordinals(&mut self, mut ordinals: Vec<Number>) {
        ordinals.sort_by_key(|ordinal| ordinal.value);
        let mut expected = 0;
        for ordinal in ordinals {
            match ordinal.value.cmp(&expected) {
                std::cmp::Ordering::Less => {
                    let message = format!("the ordinal @{} comes twice", ordinal.value);
                    let help = "give the one that was added later the next free number";
                    self.error("E2404", ordinal.span, &message, help);
                    continue;
                }
                std::cmp::Ordering::Greater => {
                    let message = format!("the ordinal @{expected} is left out");
                    let help = "ordinals count from 0 without a gap: keep what was removed, \
                                under a name such as `obsolete0`";
                    self.error("E2405", ordinal.span, &message, help);
                }
                std::cmp::Ordering::Equal => {}
            }
            expected = ordinal.value + 1;
        }
    }

    fn error(&mut self, code: &'static str, span: Span, message: &str, help: &str) {
        let file = FileId(self.names.nodes[self.node].file as u32);
        // A member may be missing only because its statement was given up.
        if !self.names.program.files[self.names.nodes[self.node].file].damaged {
            let error = Diagnostic::error(code, message).at(file, span, "");
            self.sink.push(error.help(help));
        }
    }
}

/// The names that a member puts into the scope of its struct.
fn named(member: &Member) -> Vec<(&str, Span)> {
    match (&member.name, &member.kind) {
        (Some(name), _) => vec![(&name.text, name.span)],
        (None, MemberKind::Union(inside) | MemberKind::Group(inside)) => {
            inside.iter().flat_map(named).collect()
        }
        (None, MemberKind::Field { .. }) => Vec::new(),
    }
}
