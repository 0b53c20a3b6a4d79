//! Fields, groups and unions.

use super::{Parsed, Parser};
use crate::capnp::lexer::Tok;
use crate::capnp::syntax::{Attributes, Member, MemberKind, Number};

impl Parser<'_, '_> {
    pub(super) fn member(&mut self) -> Parsed<Member> {
        let span = self.token(0).span;
        if self.is_unnamed_union() {
            self.at += 1;
            let ordinal = match self.peek() {
                Tok::At => Some(self.ordinal()?),
                _ => None,
            };
            let (attributes, members) = self.members()?;
            return Ok(Member {
                span,
                name: None,
                ordinal,
                attributes,
                kind: MemberKind::Union(members),
            });
        }
        let name = Some(self.name()?);
        let ordinal = match self.peek() {
            Tok::At => Some(self.ordinal()?),
            _ => None,
        };
        match self.peek() {
            Tok::Colon => self.at += 1,
            _ if ordinal.is_none() => return self.unexpected("`@` and an ordinal, or `:`"),
            _ if !self.opens_block() => return self.unexpected("`:` and a type"),
            _ => {}
        }
        let word = self.slice(self.token(0).span);
        let opens = self.opens_block();
        let (attributes, kind) = match word {
            "group" | "union" if opens => {
                let is_union = word == "union";
                self.at += 1;
                let late = match self.peek() {
                    Tok::At => Some(self.ordinal()?),
                    _ => None,
                };
                let (attributes, members) = self.members()?;
                let kind = match is_union {
                    true => MemberKind::Union(members),
                    false => MemberKind::Group(members),
                };
                return Ok(Member {
                    span,
                    name,
                    ordinal: ordinal.or(late),
                    attributes,
                    kind,
                });
            }
            _ => {
                let kind = self.typed()?;
                if ordinal.is_none() {
                    return self.unexpected("a group or a union: a field has `@` and an ordinal");
                }
                (self.end()?, kind)
            }
        };
        Ok(Member {
            span,
            name,
            ordinal,
            attributes,
            kind,
        })
    }

    /// A parameter of a method, whose ordinal is its place.
    pub(super) fn parameter(&mut self, place: u64) -> Parsed<Member> {
        let name = self.name()?;
        self.expect(Tok::Colon, "`:` and a type")?;
        let kind = self.typed()?;
        let annotations = self.annotations()?;
        Ok(Member {
            span: name.span,
            ordinal: Some(Number {
                value: place,
                span: name.span,
            }),
            name: Some(name),
            attributes: Attributes {
                annotations,
                doc: None,
            },
            kind,
        })
    }

    fn typed(&mut self) -> Parsed<MemberKind> {
        let ty = self.expression()?;
        let default = match self.take(Tok::Equals) {
            true => Some(self.expression()?),
            false => None,
        };
        Ok(MemberKind::Field { ty, default })
    }

    fn members(&mut self) -> Parsed<(Attributes, Vec<Member>)> {
        let attributes = self.begin()?;
        let mut members = Vec::new();
        self.block(|parser| {
            members.push(parser.member()?);
            Ok(())
        })?;
        Ok((attributes, members))
    }

    fn is_unnamed_union(&self) -> bool {
        self.slice(self.token(0).span) == "union" && self.opens_block()
    }

    /// Returns whether the next word begins a block, and is not the name of a type.
    fn opens_block(&self) -> bool {
        let begins = |ahead| matches!(self.token(ahead).tok, Tok::OpenBrace | Tok::Dollar);
        let has_ordinal = self.token(1).tok == Tok::At && self.token(2).tok == Tok::Int;
        self.peek() == Tok::Ident && (begins(1) || has_ordinal && begins(3))
    }
}
