//! Protobuf's text format (<https://protobuf.dev/reference/protobuf/textformat-spec/>), of messages
//! of protobuf's contracts.

mod lexer;
mod reader;
mod scalar;
mod well_known;
mod writer;

pub use reader::from_text;
pub use writer::{UnknownText, to_text};

use crate::Contract;
use dovetail_schema::{Field, Type, TypeId, TypeKind};
use std::fmt;

/// Why a text is no message of its type, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    line: usize,
    column: usize,
    problem: String,
}

impl TextError {
    /// The line, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The character in the line, counted from 1.
    pub fn column(&self) -> usize {
        self.column
    }

    /// The problem at that place.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TextError {
            line,
            column,
            problem,
        } = self;
        write!(f, "line {line}, column {column}: {problem}")
    }
}

impl std::error::Error for TextError {}

/// The name of the type of a group, which the text has for the name of its field: where the field
/// is called like its type, in small letters, and the type is defined beside it.
fn group_name<'a>(contract: &Contract<'a>, owner: TypeId, field: &Field) -> Option<&'a str> {
    let schema = contract.schema();
    let item = match schema.resolve(&field.ty) {
        Type::List(item) => schema.resolve(item),
        ty => ty,
    };
    let Type::Named(id) = item else {
        return None;
    };
    let name = schema[*id].name.as_str();
    let (around, name) = name.rsplit_once('.').unwrap_or(("", name));
    let beside = schema[*id].package == schema[owner].package && around == schema[owner].name;
    let like = field.protobuf.delimited && beside && name.to_ascii_lowercase() == field.name;
    like.then_some(name)
}

/// The message that a type is in protobuf, with the contract that defines it.
fn message_of<'a>(contract: &'a Contract<'a>, ty: &Type) -> Option<(&'a Contract<'a>, TypeId)> {
    match contract.schema().resolve(ty) {
        Type::Named(id) => {
            let is_message = matches!(contract.schema()[*id].kind, TypeKind::Struct(_));
            is_message.then_some((contract, *id))
        }
        ty => well_known::find(ty),
    }
}
