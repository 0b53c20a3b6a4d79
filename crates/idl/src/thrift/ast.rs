//! The contents of a file as they are written: nothing is looked up or checked here.

use crate::source::Span;

/// A name or a dotted name.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// A string, with its escapes understood.
pub(crate) type Text = Name;

#[derive(Debug, Default)]
pub(crate) struct File {
    pub(crate) doc: Option<String>,
    pub(crate) headers: Vec<Header>,
    pub(crate) definitions: Vec<Definition>,
}

#[derive(Debug)]
pub(crate) enum Header {
    Include(Text),
    CppInclude(Text),
    /// The scope is `*` for all languages.
    Namespace {
        scope: Name,
        name: Name,
        annotations: Vec<Annotation>,
    },
}

/// `key = "value"`.
#[derive(Clone, Debug)]
pub(crate) struct Annotation {
    pub(crate) key: Name,
    /// `None` for a bare key.
    pub(crate) value: Option<Text>,
}

/// `@name{field = value}`.
#[derive(Debug)]
pub(crate) struct TypedAnnotation {
    pub(crate) name: Name,
    /// Always a [`ConstKind::Map`].
    pub(crate) value: ConstExpr,
    pub(crate) span: Span,
}

/// The attributes of a named thing beside its name.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    pub(crate) doc: Option<String>,
    pub(crate) typed: Vec<TypedAnnotation>,
    pub(crate) untyped: Vec<Annotation>,
}

#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) name: Name,
    pub(crate) attributes: Attributes,
    pub(crate) kind: DefinitionKind,
}

#[derive(Debug)]
pub(crate) enum DefinitionKind {
    Typedef(TypeExpr),
    Const {
        ty: TypeExpr,
        value: ConstExpr,
    },
    Enum {
        values: Vec<EnumValue>,
        reserved: Vec<Reserved>,
    },
    Struct(StructBody),
    Service {
        extends: Option<Name>,
        methods: Vec<Method>,
    },
}

#[derive(Debug)]
pub(crate) struct EnumValue {
    pub(crate) name: Name,
    pub(crate) number: Option<Int>,
    pub(crate) attributes: Attributes,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Int {
    pub(crate) value: i128,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) enum Reserved {
    Ids(Int, Int),
    Name(Text),
}

#[derive(Debug)]
pub(crate) struct StructBody {
    pub(crate) keyword: StructKeyword,
    pub(crate) extends: Option<Name>,
    pub(crate) fields: Vec<Field>,
    pub(crate) reserved: Vec<Reserved>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StructKeyword {
    Struct,
    Union,
    Exception(dovetail_schema::ExceptionTraits),
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: Name,
    pub(crate) id: Option<Int>,
    pub(crate) requiredness: Option<(Requiredness, Span)>,
    pub(crate) ty: TypeExpr,
    /// `&`: held by pointer.
    pub(crate) pointer: bool,
    /// `ref`: shared by identity.
    pub(crate) shared: Option<Span>,
    pub(crate) default: Option<ConstExpr>,
    pub(crate) attributes: Attributes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requiredness {
    Required,
    Optional,
}

#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) name: Name,
    pub(crate) oneway: Option<Span>,
    pub(crate) idempotency: Option<dovetail_schema::Idempotency>,
    pub(crate) returns: Returns,
    pub(crate) params: Vec<Field>,
    pub(crate) throws: Vec<Field>,
    /// The word `throws`.
    pub(crate) throws_span: Option<Span>,
    pub(crate) attributes: Attributes,
}

/// `R, sink<T>, stream<U>` in all its forms.
#[derive(Debug, Default)]
pub(crate) struct Returns {
    /// `None` for `void`.
    pub(crate) result: Option<TypeExpr>,
    pub(crate) sink: Option<Stream>,
    pub(crate) stream: Option<Stream>,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) item: TypeExpr,
    pub(crate) throws: Vec<Field>,
}

#[derive(Debug)]
pub(crate) struct TypeExpr {
    pub(crate) kind: TypeKind,
    pub(crate) span: Span,
    pub(crate) annotations: Vec<Annotation>,
}

#[derive(Debug)]
pub(crate) enum TypeKind {
    /// A type that a keyword names.
    Base(dovetail_schema::Type),
    /// Everything else that has a name, also the types whose names are not keywords.
    Named(Name),
    List(Box<TypeExpr>),
    Set(Box<TypeExpr>),
    Map(Box<TypeExpr>, Box<TypeExpr>),
    Array(Box<TypeExpr>, Vec<dovetail_schema::Dimension>),
}

#[derive(Debug)]
pub(crate) struct ConstExpr {
    pub(crate) kind: ConstKind,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) enum ConstKind {
    Bool(bool),
    Int(i128),
    /// As written: a decimal keeps digits that a double would lose.
    Double(String),
    Text(String),
    Name(String),
    List(Vec<ConstExpr>),
    Map(Vec<(ConstExpr, ConstExpr)>),
}
