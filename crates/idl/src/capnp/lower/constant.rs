//! Values: of constants, and of fields that a peer leaves out.

use super::types::Bindings;
use super::{Lower, Pending, Place};
use crate::capnp::names::{Entity, NodeId, Scope};
use crate::capnp::syntax::{Argument, DeclarationKind, Expression, ExpressionKind};
use crate::source::Span;
use crate::spelling::spell;
use dovetail_schema::{
    Annotations, Constant, Field, PackageId, Type, TypeId, TypeKind, Value, capnp,
};

/// How many values a schema can have. Constants can name one another, and become ever larger.
const MAX: usize = 1_000_000;

/// How many constants can lead to one another.
const LONGEST: usize = 64;

/// The value is wrong, and that has been reported.
struct Wrong;

type Converted = Result<Value, Wrong>;

impl<'a> Lower<'a, '_> {
    pub(super) fn constant(&mut self, node: NodeId, ty: &'a Expression, value: &'a Expression) {
        let scope = self.outside(node);
        let ty = self.ty(scope, &Bindings::default(), ty);
        self.pending.push(Pending {
            scope,
            ty: ty.ty,
            value,
            place: Place::Constant(node),
        });
    }

    /// Finds all values, and puts them where they belong.
    pub(super) fn values(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            let value = self.value(pending.scope, &pending.ty, pending.value, 0);
            // Another value may have named a type for the first time.
            self.drain();
            let Ok(value) = value else { continue };
            match pending.place {
                Place::Field(id, field) => {
                    if let TypeKind::Struct(def) = &mut self.schema.types[id.0 as usize].kind
                        && let Some(field) = def.fields.get_mut(field)
                    {
                        field.default = Some(value);
                    }
                }
                Place::Param(id, method, param) => {
                    let methods = &mut self.schema.services[id.0 as usize].methods;
                    let params = methods.get_mut(method).map(|method| &mut method.params);
                    if let Some(field) = params.and_then(|params| params.get_mut(param)) {
                        field.default = Some(value);
                    }
                }
                Place::Constant(node) => self.add_constant(node, pending.ty, value),
            }
        }
    }

    fn add_constant(&mut self, node: NodeId, ty: Type, value: Value) {
        let found = &self.names.nodes[node];
        let Some(declaration) = found.declaration else {
            return;
        };
        let constant = Constant {
            package: PackageId(found.file as u32),
            name: self.path(node, &Bindings::default()).replace('.', "_"),
            doc: declaration.attributes.doc.clone(),
            ty,
            value,
            annotations: Annotations {
                untyped: self.annotations(self.outside(node), &declaration.attributes),
                typed: Vec::new(),
            },
        };
        self.schema.constants.push(constant);
    }

    fn value(
        &mut self,
        scope: Scope<'a>,
        ty: &Type,
        expression: &'a Expression,
        depth: usize,
    ) -> Converted {
        self.converted += 1;
        if self.converted > MAX {
            let message = format!("more than {MAX} values");
            return self.wrong(
                "E2507",
                scope,
                expression.span,
                message,
                "make them smaller",
            );
        }
        match &expression.kind {
            ExpressionKind::Relative(_)
            | ExpressionKind::Absolute(_)
            | ExpressionKind::Import(_)
            | ExpressionKind::Apply(..)
            | ExpressionKind::Member(..) => self.named_value(scope, ty, expression, depth),
            ExpressionKind::Int {
                negative,
                magnitude,
            } => {
                let value = i128::from(*magnitude);
                let value = if *negative { -value } else { value };
                self.number(scope, ty, value, expression.span)
            }
            ExpressionKind::Float(value) if matches!(ty, Type::F32 | Type::F64) => {
                Ok(Value::Double(*value))
            }
            ExpressionKind::Text(text) if *ty == Type::String => {
                match String::from_utf8(text.clone()) {
                    Ok(text) => Ok(Value::String(text)),
                    Err(_) => self.unfit(scope, ty, expression.span),
                }
            }
            ExpressionKind::Text(bytes) | ExpressionKind::Data(bytes) if *ty == Type::Bytes => {
                Ok(Value::Bytes(bytes.clone()))
            }
            ExpressionKind::Embed => {
                let message = "values in files of their own are not read".to_owned();
                let help = "write the value here";
                self.wrong("E2506", scope, expression.span, message, help)
            }
            ExpressionKind::List(items) => match ty {
                Type::List(element) => {
                    let items = items
                        .iter()
                        .map(|item| self.value(scope, element, item, depth));
                    items.collect::<Result<_, _>>().map(Value::List)
                }
                _ => self.unfit(scope, ty, expression.span),
            },
            ExpressionKind::Tuple(arguments) => match ty {
                Type::Named(id) if matches!(self.schema[*id].kind, TypeKind::Struct(_)) => {
                    self.fields(scope, *id, arguments, expression.span, depth)
                }
                _ => self.unfit(scope, ty, expression.span),
            },
            _ => self.unfit(scope, ty, expression.span),
        }
    }

    fn number(&mut self, scope: Scope<'a>, ty: &Type, value: i128, span: Span) -> Converted {
        let range = match ty {
            Type::I8 => (i128::from(i8::MIN), i128::from(i8::MAX)),
            Type::I16 => (i128::from(i16::MIN), i128::from(i16::MAX)),
            Type::I32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
            Type::I64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
            Type::U8 => (0, i128::from(u8::MAX)),
            Type::U16 => (0, i128::from(u16::MAX)),
            Type::U32 => (0, i128::from(u32::MAX)),
            Type::U64 => (0, i128::from(u64::MAX)),
            Type::F32 | Type::F64 => return Ok(Value::Double(value as f64)),
            _ => return self.unfit(scope, ty, span),
        };
        if (range.0..=range.1).contains(&value) {
            return Ok(Value::Int(value));
        }
        let message = format!("{value} is out of range for {}", spell(&self.schema, ty));
        let help = format!("values go from {} to {}", range.0, range.1);
        self.wrong("E2502", scope, span, message, &help)
    }

    /// A value with a name: a word of the language, a value of an enum, or a constant.
    fn named_value(
        &mut self,
        scope: Scope<'a>,
        ty: &Type,
        expression: &'a Expression,
        depth: usize,
    ) -> Converted {
        if let ExpressionKind::Relative(name) = &expression.kind
            && let Some(value) = self.word(ty, name)
        {
            return Ok(value);
        }
        let Some(entity) = self.names.resolve(scope, expression, self.sink) else {
            return Err(Wrong);
        };
        let Entity::Node(node, _) = entity else {
            return self.unfit(scope, ty, expression.span);
        };
        let declaration = self.names.nodes[node].declaration;
        let Some(DeclarationKind::Const { ty: own, value }) = declaration.map(|it| &it.kind) else {
            return self.unfit(scope, ty, expression.span);
        };
        if depth == LONGEST {
            let message = "this constant leads to itself".to_owned();
            return self.wrong("E2504", scope, expression.span, message, "write its value");
        }
        let outside = self.outside(node);
        let own = self.ty(outside, &Bindings::default(), own).ty;
        self.drain();
        // Numbers of any type can stand for one another, others only where their types are the
        // same.
        if own != *ty && !(is_number(&own) && is_number(ty)) {
            return self.unfit(scope, ty, expression.span);
        }
        self.value(outside, ty, value, depth + 1)
    }

    fn word(&mut self, ty: &Type, name: &str) -> Option<Value> {
        match (name, ty) {
            ("true" | "false", Type::Bool) => Some(Value::Bool(name == "true")),
            ("inf", Type::F32 | Type::F64) => Some(Value::Double(f64::INFINITY)),
            ("nan", Type::F32 | Type::F64) => Some(Value::Double(f64::NAN)),
            (name, Type::Named(id)) => {
                let def = &self.schema[*id];
                if name == "void" && capnp::is_void(def) {
                    return Some(Value::Struct(*id, Vec::new()));
                }
                let TypeKind::Enum(values) = &def.kind else {
                    return None;
                };
                let value = values.values.iter().find(|value| value.name == name)?;
                Some(Value::Enum(*id, value.number))
            }
            _ => None,
        }
    }

    fn fields(
        &mut self,
        scope: Scope<'a>,
        id: TypeId,
        arguments: &'a [Argument],
        span: Span,
        depth: usize,
    ) -> Converted {
        let mut fields: Vec<(String, Value)> = Vec::new();
        for argument in arguments {
            let Some(name) = &argument.name else {
                let message = "a value without a name".to_owned();
                let help = "name the field: `(name = value)`";
                return self.wrong("E2503", scope, argument.value.span, message, help);
            };
            let known = fields.iter().any(|(known, _)| *known == name.text);
            let Some(field) = self.field_of(id, &name.text).filter(|_| !known) else {
                let owner = &self.schema[id].name;
                let message = match known {
                    true => format!("`{}` has two values here", name.text),
                    false => format!("`{owner}` has no field `{}`", name.text),
                };
                let help = "correct the name";
                return self.wrong("E2503", scope, name.span, message, help);
            };
            let ty = field.ty.clone();
            let value = self.value(scope, &ty, &argument.value, depth)?;
            fields.push((name.text.clone(), value));
        }
        let is_union = matches!(&self.schema[id].kind, TypeKind::Struct(def) if def.kind == dovetail_schema::StructKind::Union);
        if is_union && fields.len() > 1 {
            let message = "a union has one value at a time".to_owned();
            return self.wrong("E2503", scope, span, message, "remove all but one");
        }
        Ok(Value::Struct(id, fields))
    }

    fn field_of(&self, id: TypeId, name: &str) -> Option<&Field> {
        match &self.schema[id].kind {
            TypeKind::Struct(def) => def.fields.iter().find(|field| field.name == name),
            _ => None,
        }
    }

    fn unfit(&mut self, scope: Scope<'a>, ty: &Type, span: Span) -> Converted {
        let message = format!("this is no value of {}", spell(&self.schema, ty));
        let help = match ty {
            Type::Named(_) => "structs are written `(name = value)`, values of enums by their name",
            Type::List(_) => "lists are written `[1, 2, 3]`",
            Type::String => "texts stand in double quotes, and are UTF-8",
            Type::Bytes => "data are written `0x\"12 34\"`",
            Type::Bool => "write `true` or `false`",
            _ => "write a number",
        };
        self.wrong("E2501", scope, span, message, help)
    }

    fn wrong(
        &mut self,
        code: &'static str,
        scope: Scope<'a>,
        span: Span,
        message: String,
        help: &str,
    ) -> Converted {
        self.error(code, scope.node, span, message, help);
        Err(Wrong)
    }
}

fn is_number(ty: &Type) -> bool {
    use Type::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    matches!(ty, I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 | F32 | F64)
}
