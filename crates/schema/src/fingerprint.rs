//! Fingerprints: equal if and only if two ends lay a type out in the same way, position by position.
//!
//! The hash covers the names, ids, types, order and presence of everything reachable. Documentation,
//! annotations, defaults, file names and aliases do not count: they leave no trace on the wire.
//! Named types get numbers in the order in which they are met, and are described in that order, one after
//! the other: recursive types end, and deep ones cost no stack.

use crate::{
    Dimension, Field, Method, Presence, Schema, Sharing, Stream, StructKind, Type, TypeId, TypeKind,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, VecDeque};
use std::fmt;

/// The first 128 bits of a SHA-256 over the canonical form described in this module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fingerprint(pub [u8; 16]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Schema {
    /// The fingerprint of a type and all that is reachable from it.
    pub fn fingerprint(&self, ty: &Type) -> Fingerprint {
        let mut walk = Walk::new(self);
        walk.ty(ty);
        walk.finish()
    }

    /// The fingerprint of a method: its name, kind of call, parameters, result, streams and exceptions.
    pub fn method_fingerprint(&self, method: &Method) -> Fingerprint {
        let mut walk = Walk::new(self);
        walk.text(&method.name);
        walk.byte(u8::from(method.oneway));
        walk.fields(&method.params);
        walk.optional(method.result.as_ref(), Walk::ty);
        walk.optional(method.client_stream.as_ref(), Walk::stream);
        walk.optional(method.server_stream.as_ref(), Walk::stream);
        walk.fields(&method.throws);
        walk.finish()
    }
}

struct Walk<'a> {
    schema: &'a Schema,
    hash: Sha256,
    seen: HashMap<TypeId, u32>,
    /// Numbered, but not described yet.
    waiting: VecDeque<TypeId>,
}

impl<'a> Walk<'a> {
    fn new(schema: &'a Schema) -> Self {
        Walk {
            schema,
            hash: Sha256::new(),
            seen: HashMap::new(),
            waiting: VecDeque::new(),
        }
    }

    fn finish(mut self) -> Fingerprint {
        while let Some(id) = self.waiting.pop_front() {
            self.describe(id);
        }
        let digest = self.hash.finalize();
        let mut short = [0; 16];
        short.copy_from_slice(&digest[..16]);
        Fingerprint(short)
    }

    fn byte(&mut self, byte: u8) {
        self.hash.update([byte]);
    }

    fn number(&mut self, number: i64) {
        self.hash.update(number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as i64);
        self.hash.update(text.as_bytes());
    }

    fn optional<T>(&mut self, item: Option<&'a T>, write: fn(&mut Self, &'a T)) {
        self.byte(u8::from(item.is_some()));
        if let Some(item) = item {
            write(self, item);
        }
    }

    fn fields(&mut self, fields: &'a [Field]) {
        self.number(fields.len() as i64);
        for field in fields {
            self.number(field.id.into());
            self.text(&field.name);
            self.byte(match field.presence {
                Presence::Default => 0,
                Presence::Required => 1,
                Presence::Optional => 2,
            });
            self.byte(u8::from(field.sharing == Sharing::Ref));
            self.ty(&field.ty);
        }
    }

    fn stream(&mut self, stream: &'a Stream) {
        self.ty(&stream.item);
        self.fields(&stream.throws);
    }

    fn ty(&mut self, ty: &'a Type) {
        let ty = self.schema.resolve(ty);
        self.byte(tag(ty));
        match ty {
            Type::List(item) | Type::Set(item) => self.ty(item),
            Type::Map(key, value) => {
                self.ty(key);
                self.ty(value);
            }
            Type::Array(item, dimensions) => {
                self.ty(item);
                self.number(dimensions.len() as i64);
                for dimension in dimensions {
                    self.number(match dimension {
                        Dimension::Fixed(extent) => i64::from(*extent),
                        Dimension::Dynamic => -1,
                    });
                }
            }
            Type::Named(id) => self.named(*id),
            Type::Object(id) => self.text(&self.schema[*id].name),
            _ => {}
        }
    }

    fn named(&mut self, id: TypeId) {
        let next = self.seen.len() as u32;
        let number = *self.seen.entry(id).or_insert(next);
        if number == next {
            self.waiting.push_back(id);
        }
        self.number(i64::from(number));
    }

    fn describe(&mut self, id: TypeId) {
        let def = &self.schema[id];
        self.text(&def.name);
        match &def.kind {
            TypeKind::Alias(target) => self.ty(target),
            TypeKind::Enum(def) => {
                self.byte(0);
                self.number(def.values.len() as i64);
                for value in &def.values {
                    self.text(&value.name);
                    self.number(value.number.into());
                }
            }
            TypeKind::Struct(def) => {
                self.byte(match def.kind {
                    StructKind::Struct => 1,
                    StructKind::Union => 2,
                    StructKind::Exception(_) => 3,
                });
                self.optional(def.extends.as_ref(), |walk, base| walk.named(*base));
                self.fields(&def.fields);
            }
        }
    }
}

/// Stable for ever: part of what two ends compare.
fn tag(ty: &Type) -> u8 {
    match ty {
        Type::Bool => 1,
        Type::I8 => 2,
        Type::I16 => 3,
        Type::I32 => 4,
        Type::I64 => 5,
        Type::U8 => 6,
        Type::U16 => 7,
        Type::U32 => 8,
        Type::U64 => 9,
        Type::F32 => 10,
        Type::F64 => 11,
        Type::String => 12,
        Type::Bytes => 13,
        Type::Uuid => 14,
        Type::Timestamp { offset: false } => 15,
        Type::Timestamp { offset: true } => 16,
        Type::Date => 17,
        Type::Duration => 18,
        Type::Decimal => 19,
        Type::Any => 20,
        Type::Dynamic => 21,
        Type::List(_) => 22,
        Type::Set(_) => 23,
        Type::Map(..) => 24,
        Type::Array(..) => 25,
        Type::Named(_) => 26,
        Type::Object(_) => 27,
    }
}
