//! The syntax trees of a program to one [`Schema`].
//!
//! In this order, since each step relies on those before it: typedefs, so that every type can be
//! followed to what it is; then all other definitions; then what concerns several definitions
//! (cycles, inheritance); then values, which need the finished types.

mod annotation;
mod enumeration;
mod field;
mod identity;
mod inherit;
mod recursion;
mod service;

use crate::diagnostic::{Diagnostic, Sink};
use crate::source::{FileId, stem};
use crate::thrift::ast::{
    Annotation, ConstExpr, DefinitionKind, Header, Name, StructBody, StructKeyword, TypeExpr,
    TypeKind as AstType,
};
use crate::thrift::consts;
use crate::thrift::load::Program;
use crate::thrift::resolve::{Defined, Names, POISON, Symbol, resolve};
use annotation::untyped;
use dovetail_schema::{
    self as schema, Annotations, ConstantId, Schema, ServiceId, Type, TypeId, TypeKind, Value,
};
use field::Context;

/// A value to be found once all types are known, and where it then goes.
#[derive(Debug)]
pub(crate) struct Pending<'a> {
    pub(crate) file: FileId,
    pub(crate) ty: Type,
    pub(crate) expr: &'a ConstExpr,
    pub(crate) place: Place,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Default(FieldList, usize),
    Annotation(Owner, TypeId),
}

/// A list of fields in the schema.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FieldList {
    Struct(TypeId),
    Params(ServiceId, usize),
    Throws(ServiceId, usize),
    ClientThrows(ServiceId, usize),
    ServerThrows(ServiceId, usize),
}

/// Something with annotations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Owner {
    Type(TypeId),
    EnumValue(TypeId, usize),
    Field(FieldList, usize),
    Service(ServiceId),
    Method(ServiceId, usize),
    Constant(ConstantId),
}

pub(crate) fn lower(program: &Program, sink: &mut Sink) -> Schema {
    let names = Names::declare(program, sink);
    let mut lower = Lower {
        names,
        sink,
        schema: Schema::default(),
        pending: Vec::new(),
    };
    lower.packages();
    lower.typedefs();
    lower.definitions();
    lower.recursion();
    lower.inheritance();
    lower.identity();
    lower.values();
    lower.schema
}

struct Lower<'a, 's> {
    names: Names<'a>,
    sink: &'s mut Sink,
    schema: Schema,
    pending: Vec<Pending<'a>>,
}

impl<'a> Lower<'a, '_> {
    fn packages(&mut self) {
        let program = self.names.program;
        for &file in &program.order {
            let unit = program.unit(file);
            let source = &program.sources[file.index()];
            let includes = unit.includes.iter().filter_map(|include| include.file);
            let mut package = schema::Package {
                name: stem(&source.name).to_owned(),
                path: source.name.clone(),
                doc: unit.ast.doc.clone(),
                includes: includes.map(|file| self.names.package(file)).collect(),
                ..schema::Package::default()
            };
            for header in &unit.ast.headers {
                let annotations = &mut package.annotations.untyped;
                match header {
                    Header::Include(_) => {}
                    Header::CppInclude(path) => annotations.push(schema::Annotation {
                        key: "cpp_include".to_owned(),
                        value: path.text.clone(),
                    }),
                    Header::Namespace {
                        scope,
                        name,
                        annotations: written,
                    } => {
                        for annotation in written {
                            let mut lowered = untyped(annotation);
                            lowered.key = format!("namespace.{}.{}", scope.text, lowered.key);
                            annotations.push(lowered);
                        }
                        package
                            .namespaces
                            .insert(scope.text.clone(), name.text.clone());
                    }
                }
            }
            self.schema.packages.push(package);
        }
    }

    /// Makes an entry for every type; those of typedefs are final.
    fn typedefs(&mut self) {
        for index in 0..self.names.types.len() {
            let Defined { file, definition } = self.names.types[index];
            let kind = match &definition.kind {
                DefinitionKind::Typedef(target) => {
                    let ty = self.ty(file, target);
                    // Until cycles have been looked for, nobody may follow it.
                    TypeKind::Alias(ty)
                }
                DefinitionKind::Enum { .. } => TypeKind::Enum(schema::Enum::default()),
                _ => TypeKind::Struct(schema::Struct {
                    kind: schema::StructKind::Struct,
                    extends: None,
                    fields: Vec::new(),
                    reserved: schema::Reserved::default(),
                }),
            };
            self.schema.types.push(schema::TypeDef {
                package: self.names.package(file),
                name: definition.name.text.clone(),
                doc: definition.attributes.doc.clone(),
                annotations: Annotations::default(),
                deprecated: None,
                kind,
            });
        }
        self.alias_cycles();
    }

    fn definitions(&mut self) {
        // Enums and the roles of structs first: fields and exceptions are checked against them.
        for index in 0..self.names.types.len() {
            let Defined { file, definition } = self.names.types[index];
            let id = TypeId(index as u32);
            match &definition.kind {
                DefinitionKind::Enum { values, reserved } => {
                    self.enumeration(file, id, &definition.name, values, reserved);
                }
                DefinitionKind::Struct(body) => self.role(file, id, body),
                _ => {}
            }
        }
        for index in 0..self.names.types.len() {
            let Defined { file, definition } = self.names.types[index];
            let id = TypeId(index as u32);
            self.reserved_word(file, &definition.name);
            let owner = Owner::Type(id);
            let type_annotations: &[Annotation] = match &definition.kind {
                DefinitionKind::Typedef(target) => {
                    self.check_keys(file, target);
                    &target.annotations
                }
                DefinitionKind::Struct(body) => {
                    let context = match body.keyword {
                        StructKeyword::Struct => Context::Struct,
                        StructKeyword::Union => Context::Union,
                        StructKeyword::Exception(_) => Context::Exception,
                    };
                    let fields = self.fields(file, FieldList::Struct(id), &body.fields, context);
                    let reserved = self.reserved(file, body, &fields);
                    if let TypeKind::Struct(def) = &mut self.schema.types[index].kind {
                        def.fields = fields;
                        def.reserved = reserved;
                    }
                    &[]
                }
                _ => &[],
            };
            let (annotations, deprecated) =
                self.annotations(file, type_annotations, &definition.attributes, owner);
            let def = &mut self.schema.types[index];
            def.annotations = annotations;
            def.deprecated = deprecated;
        }
        for index in 0..self.names.services.len() {
            self.service(ServiceId(index as u32));
        }
        for index in 0..self.names.constants.len() {
            let Defined { file, definition } = self.names.constants[index];
            let DefinitionKind::Const { ty, .. } = &definition.kind else {
                continue;
            };
            self.reserved_word(file, &definition.name);
            let lowered = self.checked_type(file, ty);
            let owner = Owner::Constant(ConstantId(index as u32));
            let (annotations, _) =
                self.annotations(file, &ty.annotations, &definition.attributes, owner);
            self.schema.constants.push(schema::Constant {
                package: self.names.package(file),
                name: definition.name.text.clone(),
                doc: definition.attributes.doc.clone(),
                ty: lowered,
                value: Value::Bool(false),
                annotations,
            });
        }
    }

    fn role(&mut self, file: FileId, id: TypeId, body: &StructBody) {
        let kind = match body.keyword {
            StructKeyword::Struct => schema::StructKind::Struct,
            StructKeyword::Union => schema::StructKind::Union,
            StructKeyword::Exception(traits) => schema::StructKind::Exception(traits),
        };
        let extends = body
            .extends
            .as_ref()
            .and_then(|base| self.base(file, body.keyword, base));
        if let TypeKind::Struct(def) = &mut self.schema.types[id.0 as usize].kind {
            def.kind = kind;
            def.extends = extends;
        }
    }

    /// The type that a struct extends.
    fn base(&mut self, file: FileId, keyword: StructKeyword, base: &Name) -> Option<TypeId> {
        let what = match keyword {
            StructKeyword::Struct => "struct",
            StructKeyword::Exception(_) => "exception",
            StructKeyword::Union => {
                let error = Diagnostic::error("E0401", "a union cannot extend anything")
                    .at(file, base.span, "")
                    .help("make a field of the other union, or repeat its fields");
                self.sink.push(error);
                return None;
            }
        };
        let found = match self.names.find(file, &base.text) {
            Some(Symbol::Type(id)) => resolve(&self.schema, &Type::Named(id)).cloned(),
            Some(Symbol::Service(_)) => Some(Type::Bool),
            None => {
                self.names.unknown(file, base, what, self.sink);
                return None;
            }
        };
        let found = match found? {
            Type::Named(id) => match &self.names.types[id.0 as usize].definition.kind {
                DefinitionKind::Struct(body) => Some((id, body.keyword)),
                _ => None,
            },
            _ => None,
        };
        let same = |other: StructKeyword| {
            std::mem::discriminant(&other) == std::mem::discriminant(&keyword)
        };
        match found {
            Some((id, other)) if same(other) => Some(id),
            _ => {
                let article = if what == "exception" { "an" } else { "a" };
                let message = format!("`{}` is not {article} {what}", base.text);
                let error = Diagnostic::error("E0402", message)
                    .at(file, base.span, "")
                    .help(format!("{article} {what} can only extend another {what}"));
                self.sink.push(error);
                None
            }
        }
    }

    /// A type whose typedefs can be followed already.
    fn checked_type(&mut self, file: FileId, expr: &TypeExpr) -> Type {
        let ty = self.ty(file, expr);
        self.check_keys(file, expr);
        ty
    }

    fn ty(&mut self, file: FileId, expr: &TypeExpr) -> Type {
        match &expr.kind {
            AstType::Base(ty) => ty.clone(),
            AstType::Named(name) => self.names.ty(file, name, self.sink),
            AstType::List(item) => Type::List(Box::new(self.ty(file, item))),
            AstType::Set(item) => Type::Set(Box::new(self.ty(file, item))),
            AstType::Map(key, value) => {
                let key = Box::new(self.ty(file, key));
                Type::Map(key, Box::new(self.ty(file, value)))
            }
            AstType::Array(item, dimensions) => {
                Type::Array(Box::new(self.ty(file, item)), dimensions.clone())
            }
        }
    }

    /// Refuses keys that cannot be compared.
    fn check_keys(&mut self, file: FileId, expr: &TypeExpr) {
        match &expr.kind {
            AstType::Base(_) | AstType::Named(_) => {}
            AstType::List(item) | AstType::Array(item, _) => self.check_keys(file, item),
            AstType::Set(item) => {
                self.check_key(file, item, "the elements of a set");
                self.check_keys(file, item);
            }
            AstType::Map(key, value) => {
                self.check_key(file, key, "the keys of a map");
                self.check_keys(file, key);
                self.check_keys(file, value);
            }
        }
    }

    fn check_key(&mut self, file: FileId, expr: &TypeExpr, what: &str) {
        let AstType::Named(name) = &expr.kind else {
            return;
        };
        // Silent: the name has been looked up, and reported if need be, when the type was made.
        let ty = self.names.ty(file, name, &mut Sink::default());
        let refused = match resolve(&self.schema, &ty) {
            Some(Type::Object(_)) => "a remote object",
            Some(Type::Dynamic) => "`dynamic`",
            Some(Type::Any) => "`any`",
            _ => return,
        };
        let error = Diagnostic::error("E0407", format!("{refused} cannot be among {what}"))
            .at(file, expr.span, "")
            .note("keys are compared, and these cannot be")
            .help("take a list, or a key of your own such as an i64 or a string");
        self.sink.push(error);
    }

    /// Warns of a name that Apache Thrift's compiler refuses because of the languages that it
    /// generates.
    fn reserved_word(&mut self, file: FileId, name: &Name) {
        if !APACHE_RESERVED.split(' ').any(|word| word == name.text) {
            return;
        }
        let message = format!("Apache Thrift's compiler refuses the name `{}`", name.text);
        let warning = Diagnostic::warning("W0302", message)
            .at(file, name.span, "")
            .note("it is a keyword of one of the languages that it generates")
            .help("choose another name where such peers are to be generated from this file");
        self.sink.push(warning);
    }

    fn values(&mut self) {
        let found = consts::evaluate(&self.names, &self.schema, &self.pending, self.sink);
        for (constant, value) in self.schema.constants.iter_mut().zip(found.constants) {
            constant.value = value.unwrap_or(Value::Bool(false));
        }
        for (place, value) in self
            .pending
            .iter()
            .map(|pending| pending.place)
            .zip(found.pending)
        {
            let Some(value) = value else { continue };
            match place {
                Place::Default(list, index) => {
                    if let Some(field) = fields_mut(&mut self.schema, list).get_mut(index) {
                        field.default = Some(value);
                    }
                }
                Place::Annotation(owner, ty) => {
                    if let Some(annotations) = annotations_mut(&mut self.schema, owner) {
                        annotations
                            .typed
                            .push(schema::TypedAnnotation { ty, value });
                    }
                }
            }
        }
    }
}

fn fields_mut(schema: &mut Schema, list: FieldList) -> &mut [schema::Field] {
    match list {
        FieldList::Struct(id) => match &mut schema.types[id.0 as usize].kind {
            TypeKind::Struct(def) => &mut def.fields,
            _ => &mut [],
        },
        FieldList::Params(id, method) => &mut method_mut(schema, id, method).params,
        FieldList::Throws(id, method) => &mut method_mut(schema, id, method).throws,
        FieldList::ClientThrows(id, method) => {
            let stream = method_mut(schema, id, method).client_stream.as_mut();
            stream.map_or(&mut [], |stream| &mut stream.throws)
        }
        FieldList::ServerThrows(id, method) => {
            let stream = method_mut(schema, id, method).server_stream.as_mut();
            stream.map_or(&mut [], |stream| &mut stream.throws)
        }
    }
}

fn method_mut(schema: &mut Schema, service: ServiceId, method: usize) -> &mut schema::Method {
    &mut schema.services[service.0 as usize].methods[method]
}

fn annotations_mut(schema: &mut Schema, owner: Owner) -> Option<&mut Annotations> {
    Some(match owner {
        Owner::Type(id) => &mut schema.types[id.0 as usize].annotations,
        Owner::EnumValue(id, value) => match &mut schema.types[id.0 as usize].kind {
            TypeKind::Enum(def) => &mut def.values.get_mut(value)?.annotations,
            _ => return None,
        },
        Owner::Field(list, field) => &mut fields_mut(schema, list).get_mut(field)?.annotations,
        Owner::Service(id) => &mut schema.services[id.0 as usize].annotations,
        Owner::Method(id, method) => &mut method_mut(schema, id, method).annotations,
        Owner::Constant(id) => &mut schema.constants[id.0 as usize].annotations,
    })
}

/// True for a type that has been reported as unknown.
fn poisoned(ty: &Type) -> bool {
    *ty == POISON
}

/// The words that Apache Thrift's generators refuse as names unless they know better.
const APACHE_RESERVED: &str = "\
    BEGIN END __CLASS__ __DIR__ __FILE__ __FUNCTION__ __LINE__ __METHOD__ __NAMESPACE__ abstract \
    alias and args as assert begin break case catch class clone continue declare def default del \
    delete do dynamic elif else elseif elsif end enddeclare endfor endforeach endif endswitch \
    endwhile ensure except exec finally float for foreach from function global goto if implements \
    import in inline instanceof interface is lambda module native new next nil not or package pass \
    public print private protected raise redo rescue retry register return self sizeof static super \
    switch synchronized then this throw transient try undef unless unsigned until use var virtual \
    volatile when while with xor yield";
