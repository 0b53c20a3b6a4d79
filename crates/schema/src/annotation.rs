use crate::{TypeId, Value};
use serde::{Deserialize, Serialize};

/// Remarks of a contract *about* a definition, for tools to read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Annotations {
    /// Free-form `(key = "value")` pairs, in the order written.
    pub untyped: Vec<Annotation>,
    /// Checked annotations: struct constants whose type the contract defines.
    pub typed: Vec<TypedAnnotation>,
}

/// A free-form annotation, as Apache Thrift has it. Nobody checks its key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Annotation {
    /// The key, such as `cpp.type`.
    pub key: String,
    /// The value; `"1"` where the file has a bare key, as Apache Thrift defines it.
    pub value: String,
}

/// An annotation with a declared type, so that a misspelled field is an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypedAnnotation {
    /// The struct that describes it.
    pub ty: TypeId,
    /// Its value: a [`Value::Struct`].
    pub value: Value,
}

impl Annotations {
    /// The value of the last free-form annotation with this key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.untyped
            .iter()
            .rev()
            .find(|a| a.key == key)
            .map(|a| a.value.as_str())
    }

    /// The value of the typed annotation of this type.
    pub fn typed(&self, ty: TypeId) -> Option<&Value> {
        self.typed.iter().find(|a| a.ty == ty).map(|a| &a.value)
    }

    /// Returns whether nothing is annotated.
    pub fn is_empty(&self) -> bool {
        self.untyped.is_empty() && self.typed.is_empty()
    }
}
