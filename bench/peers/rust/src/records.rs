//! The plain types of the contract. tarpc sends them as they are; the others' generated types are
//! made of them.

pub(crate) use bytes::Bytes;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Date {
    pub(crate) year: i32,
    pub(crate) month: i8,
    pub(crate) day: i8,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) course: i16,
    pub(crate) title: String,
    pub(crate) grade: f64,
    pub(crate) passed: bool,
    pub(crate) date: Date,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Semester {
    pub(crate) number: i8,
    pub(crate) start: Date,
    pub(crate) marks: Vec<Mark>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Student {
    pub(crate) name: String,
    pub(crate) kind: i8,
    pub(crate) born: Date,
    pub(crate) semesters: Vec<Semester>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Nested {
    pub(crate) small: i32,
    pub(crate) large: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) small: i32,
    pub(crate) large: i64,
    pub(crate) real: f64,
    pub(crate) nested: Nested,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) born: String,
    pub(crate) amount: f64,
    pub(crate) voter: bool,
    pub(crate) street: String,
    pub(crate) house: String,
    pub(crate) city: String,
    pub(crate) state: String,
    pub(crate) zip: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Message {
    pub(crate) id: i64,
    pub(crate) text: String,
    pub(crate) payload: Bytes,
}
