//! The syntax tree of one file.

use crate::source::Span;

/// A name with its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) span: Span,
}

/// A number behind `@`: an ordinal, or an id.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    pub(super) value: u64,
    pub(super) span: Span,
}

#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) id: Option<Number>,
    pub(super) annotations: Vec<Application>,
    pub(super) declarations: Vec<Declaration>,
    /// The paths of all imports, wherever they stand in the file.
    pub(super) imports: Vec<Name>,
    /// Set if definitions may be missing, so that an unknown name proves nothing.
    pub(super) damaged: bool,
}

/// The things that every definition can have.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    pub(super) annotations: Vec<Application>,
    pub(super) doc: Option<String>,
}

/// The use of an annotation: `$name(value)`.
#[derive(Debug)]
pub(super) struct Application {
    pub(super) name: Expression,
    /// `None` for a bare `$name`.
    pub(super) value: Option<Expression>,
}

/// A definition with a name of its own in its scope.
#[derive(Debug)]
pub(super) struct Declaration {
    pub(super) name: Name,
    pub(super) id: Option<Number>,
    /// The parameters of a generic type.
    pub(super) parameters: Vec<Name>,
    pub(super) attributes: Attributes,
    pub(super) kind: DeclarationKind,
}

#[derive(Debug)]
pub(super) enum DeclarationKind {
    Using(Expression),
    Const {
        ty: Expression,
        value: Expression,
    },
    Enum(Vec<Enumerant>),
    Struct {
        members: Vec<Member>,
        nested: Vec<Declaration>,
    },
    Interface {
        extends: Vec<Expression>,
        methods: Vec<Method>,
        nested: Vec<Declaration>,
    },
    Annotation(Expression),
}

impl Declaration {
    /// The definitions inside this one.
    pub(super) fn nested(&self) -> &[Declaration] {
        match &self.kind {
            DeclarationKind::Struct { nested, .. } | DeclarationKind::Interface { nested, .. } => {
                nested
            }
            _ => &[],
        }
    }
}

#[derive(Debug)]
pub(super) struct Enumerant {
    pub(super) name: Name,
    pub(super) ordinal: Number,
    pub(super) attributes: Attributes,
}

/// One of the things that a struct, a group or a union is made of.
#[derive(Debug)]
pub(super) struct Member {
    /// The name, or the word `union`.
    pub(super) span: Span,
    /// `None` for an unnamed union.
    pub(super) name: Option<Name>,
    /// Unions had one in early versions.
    pub(super) ordinal: Option<Number>,
    pub(super) attributes: Attributes,
    pub(super) kind: MemberKind,
}

#[derive(Debug)]
pub(super) enum MemberKind {
    Field {
        ty: Expression,
        default: Option<Expression>,
    },
    Group(Vec<Member>),
    Union(Vec<Member>),
}

#[derive(Debug)]
pub(super) struct Method {
    pub(super) name: Name,
    pub(super) ordinal: Number,
    /// The type parameters that each call chooses.
    pub(super) implicit: Vec<Name>,
    pub(super) params: Parameters,
    /// `None` where nothing is written, which is the same as `()`.
    pub(super) results: Option<Parameters>,
    pub(super) attributes: Attributes,
}

#[derive(Debug)]
pub(super) enum Parameters {
    /// Written out: members of a struct without a name.
    List(Vec<Member>),
    /// The fields of a struct that has a name.
    Struct(Expression),
    /// The result `stream`.
    Stream,
}

/// A type, a value, or a name of either.
#[derive(Debug)]
pub(super) struct Expression {
    pub(super) span: Span,
    pub(super) kind: ExpressionKind,
}

#[derive(Debug)]
pub(super) enum ExpressionKind {
    Int {
        negative: bool,
        magnitude: u64,
    },
    Float(f64),
    /// Bytes: only where it is a text they have to be UTF-8.
    Text(Vec<u8>),
    Data(Vec<u8>),
    /// A name that is looked for in this scope and those around it.
    Relative(String),
    /// A name of the file's scope: `.Name`.
    Absolute(String),
    Import(String),
    Embed,
    List(Vec<Expression>),
    Tuple(Vec<Argument>),
    Apply(Box<Expression>, Vec<Argument>),
    Member(Box<Expression>, Name),
}

#[derive(Debug)]
pub(super) struct Argument {
    pub(super) name: Option<Name>,
    pub(super) value: Expression,
}
