//! The changes of a contract: a name, the definitions before and after it, and a value of the
//! parameters for each.

/// A change. The method is `f`. Definitions without a service get one whose method has the
/// parameter `1: S s`.
pub(crate) struct Change {
    pub(crate) name: &'static str,
    pub(crate) old: &'static str,
    pub(crate) new: &'static str,
    pub(crate) old_value: &'static str,
    pub(crate) new_value: &'static str,
}

macro_rules! changes {
    ($($name:literal: $old:literal $old_value:literal => $new:literal $new_value:literal;)*) => {
        pub(crate) const CHANGES: &[Change] = &[$(Change {
            name: $name,
            old: $old,
            new: $new,
            old_value: $old_value,
            new_value: $new_value,
        },)*];
    };
}

changes! {
    "fields in another order":
        "struct S { 1: i32 a 2: string b }" r#"{"s":{"a":1,"b":"x"}}"# =>
        "struct S { 2: string b 1: i32 a }" r#"{"s":{"a":1,"b":"x"}}"#;
    "a field renamed":
        "struct S { 1: i32 a 2: i32 b }" r#"{"s":{"a":1,"b":2}}"# =>
        "struct S { 1: i32 a 2: i32 c }" r#"{"s":{"a":1,"c":2}}"#;
    "a field renumbered":
        "struct S { 1: i32 a 2: i32 b }" r#"{"s":{"a":1,"b":2}}"# =>
        "struct S { 1: i32 a 3: i32 b }" r#"{"s":{"a":1,"b":2}}"#;
    "two fields swapped, of one type":
        "struct S { 1: i32 a 2: i32 b }" r#"{"s":{"a":1,"b":2}}"# =>
        "struct S { 1: i32 b 2: i32 a }" r#"{"s":{"a":1,"b":2}}"#;
    "two fields swapped, of two types":
        "struct S { 1: i32 a 2: string b }" r#"{"s":{"a":1,"b":"x"}}"# =>
        "struct S { 1: string b 2: i32 a }" r#"{"s":{"a":1,"b":"x"}}"#;
    "an optional field added":
        "struct S { 1: i32 a }" r#"{"s":{"a":1}}"# =>
        "struct S { 1: i32 a 2: optional string b }" r#"{"s":{"a":1,"b":"x"}}"#;
    "a plain field added":
        "struct S { 1: i32 a }" r#"{"s":{"a":1}}"# =>
        "struct S { 1: i32 a 2: string b }" r#"{"s":{"a":1,"b":"x"}}"#;
    "a required field added":
        "struct S { 1: i32 a }" r#"{"s":{"a":1}}"# =>
        "struct S { 1: i32 a 2: required string b }" r#"{"s":{"a":1,"b":"x"}}"#;
    "a field added in front":
        "struct S { 2: i32 a }" r#"{"s":{"a":1}}"# =>
        "struct S { 1: optional string b 2: i32 a }" r#"{"s":{"a":1,"b":"x"}}"#;
    "an optional field removed":
        "struct S { 1: i32 a 2: optional string b }" r#"{"s":{"a":1,"b":"x"}}"# =>
        "struct S { 1: i32 a }" r#"{"s":{"a":1}}"#;
    "a plain field removed":
        "struct S { 1: i32 a 2: i32 b }" r#"{"s":{"a":1,"b":2}}"# =>
        "struct S { 1: i32 a }" r#"{"s":{"a":1}}"#;
    "a required field removed":
        "struct S { 1: i32 a 2: required i32 b }" r#"{"s":{"a":1,"b":2}}"# =>
        "struct S { 1: i32 a }" r#"{"s":{"a":1}}"#;
    "optional made plain":
        "struct S { 1: i32 a 2: optional i32 b }" r#"{"s":{"a":1}}"# =>
        "struct S { 1: i32 a 2: i32 b }" r#"{"s":{"a":1,"b":2}}"#;
    "optional made required":
        "struct S { 1: i32 a 2: optional i32 b }" r#"{"s":{"a":1}}"# =>
        "struct S { 1: i32 a 2: required i32 b }" r#"{"s":{"a":1,"b":2}}"#;
    "plain made required":
        "struct S { 1: i32 a 2: i32 b }" r#"{"s":{"a":1,"b":2}}"# =>
        "struct S { 1: i32 a 2: required i32 b }" r#"{"s":{"a":1,"b":2}}"#;
    "a number used again, for the same type":
        "struct S { 1: i32 a 2: optional i32 b }" r#"{"s":{"a":1,"b":2}}"# =>
        "struct S { 1: i32 a 2: optional i32 c }" r#"{"s":{"a":1,"c":3}}"#;
    "a number used again, for another type":
        "struct S { 1: i32 a 2: optional i32 b }" r#"{"s":{"a":1,"b":2}}"# =>
        "struct S { 1: i32 a 2: optional string c }" r#"{"s":{"a":1,"c":"x"}}"#;

    "bool to i8": "struct S { 1: bool a }" r#"{"s":{"a":true}}"# => "struct S { 1: i8 a }" r#"{"s":{"a":7}}"#;
    "i8 to i16": "struct S { 1: i8 a }" r#"{"s":{"a":-7}}"# => "struct S { 1: i16 a }" r#"{"s":{"a":300}}"#;
    "i16 to i32": "struct S { 1: i16 a }" r#"{"s":{"a":-7}}"# => "struct S { 1: i32 a }" r#"{"s":{"a":70000}}"#;
    "i32 to i64": "struct S { 1: i32 a }" r#"{"s":{"a":-7}}"# => "struct S { 1: i64 a }" r#"{"s":{"a":5000000000}}"#;
    "i32 to u32": "struct S { 1: i32 a }" r#"{"s":{"a":-7}}"# => "struct S { 1: u32 a }" r#"{"s":{"a":4000000000}}"#;
    "i64 to u64": "struct S { 1: i64 a }" r#"{"s":{"a":-7}}"# => "struct S { 1: u64 a }" r#"{"s":{"a":10000000000000000000}}"#;
    "i32 to float": "struct S { 1: i32 a }" r#"{"s":{"a":7}}"# => "struct S { 1: float a }" r#"{"s":{"a":2.5}}"#;
    "i64 to double": "struct S { 1: i64 a }" r#"{"s":{"a":7}}"# => "struct S { 1: double a }" r#"{"s":{"a":2.5}}"#;
    "float to double": "struct S { 1: float a }" r#"{"s":{"a":2.5}}"# => "struct S { 1: double a }" r#"{"s":{"a":0.1}}"#;
    "i32 to string": "struct S { 1: i32 a }" r#"{"s":{"a":7}}"# => "struct S { 1: string a }" r#"{"s":{"a":"x"}}"#;
    "string to binary": "struct S { 1: string a }" r#"{"s":{"a":"YWJj"}}"# => "struct S { 1: binary a }" r#"{"s":{"a":"YWJj"}}"#;
    "string to uuid":
        "struct S { 1: string a }" r#"{"s":{"a":"00112233-4455-6677-8899-aabbccddeeff"}}"# =>
        "struct S { 1: uuid a }" r#"{"s":{"a":"00112233-4455-6677-8899-aabbccddeeff"}}"#;
    "i64 to timestamp": "struct S { 1: i64 a }" r#"{"s":{"a":7}}"# => "struct S { 1: timestamp a }" r#"{"s":{"a":"2026-01-02T03:04:05Z"}}"#;
    "string to timestamp": "struct S { 1: string a }" r#"{"s":{"a":"soon"}}"# => "struct S { 1: timestamp a }" r#"{"s":{"a":"2026-01-02T03:04:05Z"}}"#;
    "string to decimal": "struct S { 1: string a }" r#"{"s":{"a":"1.5"}}"# => "struct S { 1: decimal a }" r#"{"s":{"a":"2.50"}}"#;
    "i64 to duration": "struct S { 1: i64 a }" r#"{"s":{"a":7}}"# => "struct S { 1: duration a }" r#"{"s":{"a":"PT1S"}}"#;
    "date to timestamp": "struct S { 1: date a }" r#"{"s":{"a":"2026-01-02"}}"# => "struct S { 1: timestamp a }" r#"{"s":{"a":"2026-01-02T03:04:05Z"}}"#;
    "i32 to enum":
        "struct S { 1: i32 a }" r#"{"s":{"a":2}}"# =>
        "enum E { ONE = 1 TWO = 2 } struct S { 1: E a }" r#"{"s":{"a":"TWO"}}"#;
    "a typedef put around":
        "struct S { 1: i32 a }" r#"{"s":{"a":1}}"# =>
        "typedef i32 Id struct S { 1: Id a }" r#"{"s":{"a":1}}"#;

    "a value to a list of it": "struct S { 1: i32 a }" r#"{"s":{"a":7}}"# => "struct S { 1: list<i32> a }" r#"{"s":{"a":[7]}}"#;
    "list to set": "struct S { 1: list<i32> a }" r#"{"s":{"a":[2,1]}}"# => "struct S { 1: set<i32> a }" r#"{"s":{"a":[1,2]}}"#;
    "list to map": "struct S { 1: list<i32> a }" r#"{"s":{"a":[1,2]}}"# => "struct S { 1: map<i32, i32> a }" r#"{"s":{"a":{"1":2}}}"#;
    "set to map": "struct S { 1: set<i32> a }" r#"{"s":{"a":[1,2]}}"# => "struct S { 1: map<i32, i32> a }" r#"{"s":{"a":{"1":2}}}"#;
    "list to array": "struct S { 1: list<i32> a }" r#"{"s":{"a":[1,2]}}"# => "struct S { 1: array<i32, *> a }" r#"{"s":{"a":[1,2]}}"#;
    "list to array of a fixed length": "struct S { 1: list<i32> a }" r#"{"s":{"a":[1,2]}}"# => "struct S { 1: array<i32, 3> a }" r#"{"s":{"a":[1,2,3]}}"#;
    "another length of an array": "struct S { 1: array<i32, 2> a }" r#"{"s":{"a":[1,2]}}"# => "struct S { 1: array<i32, 3> a }" r#"{"s":{"a":[1,2,3]}}"#;
    "elements i32 to i64": "struct S { 1: list<i32> a }" r#"{"s":{"a":[1,2]}}"# => "struct S { 1: list<i64> a }" r#"{"s":{"a":[1,5000000000]}}"#;
    "elements i32 to string": "struct S { 1: list<i32> a }" r#"{"s":{"a":[1,2]}}"# => "struct S { 1: list<string> a }" r#"{"s":{"a":["x"]}}"#;
    "keys i32 to string": "struct S { 1: map<i32, i32> a }" r#"{"s":{"a":{"1":2}}}"# => "struct S { 1: map<string, i32> a }" r#"{"s":{"a":{"x":2}}}"#;
    "values i32 to string": "struct S { 1: map<i32, i32> a }" r#"{"s":{"a":{"1":2}}}"# => "struct S { 1: map<i32, string> a }" r#"{"s":{"a":{"1":"x"}}}"#;
    "binary to list of i8": "struct S { 1: binary a }" r#"{"s":{"a":"AQI="}}"# => "struct S { 1: list<i8> a }" r#"{"s":{"a":[1,2]}}"#;

    "a value added to an enum":
        "enum E { ONE = 1 } struct S { 1: E a }" r#"{"s":{"a":"ONE"}}"# =>
        "enum E { ONE = 1 TWO = 2 } struct S { 1: E a }" r#"{"s":{"a":"TWO"}}"#;
    "a value of an enum renamed":
        "enum E { ONE = 1 TWO = 2 } struct S { 1: E a }" r#"{"s":{"a":"TWO"}}"# =>
        "enum E { ONE = 1 ZWEI = 2 } struct S { 1: E a }" r#"{"s":{"a":"ZWEI"}}"#;
    "values of an enum swapped":
        "enum E { ONE = 1 TWO = 2 } struct S { 1: E a }" r#"{"s":{"a":"TWO"}}"# =>
        "enum E { ONE = 2 TWO = 1 } struct S { 1: E a }" r#"{"s":{"a":"TWO"}}"#;
    "an arm added to a union":
        "union U { 1: i32 a } struct S { 1: U u }" r#"{"s":{"u":{"a":1}}}"# =>
        "union U { 1: i32 a 2: string b } struct S { 1: U u }" r#"{"s":{"u":{"b":"x"}}}"#;
    "arms of a union swapped":
        "union U { 1: i32 a 2: i32 b } struct S { 1: U u }" r#"{"s":{"u":{"a":1}}}"# =>
        "union U { 1: i32 b 2: i32 a } struct S { 1: U u }" r#"{"s":{"u":{"a":1}}}"#;
    "an arm of a union of another type":
        "union U { 1: i32 a } struct S { 1: U u }" r#"{"s":{"u":{"a":1}}}"# =>
        "union U { 1: string a } struct S { 1: U u }" r#"{"s":{"u":{"a":"x"}}}"#;
    "struct to union":
        "struct T { 1: optional i32 a 2: optional i32 b } struct S { 1: T t }" r#"{"s":{"t":{"a":1}}}"# =>
        "union T { 1: i32 a 2: i32 b } struct S { 1: T t }" r#"{"s":{"t":{"b":2}}}"#;
    "a struct renamed":
        "struct T { 1: i32 a } struct S { 1: T t }" r#"{"s":{"t":{"a":1}}}"# =>
        "struct R { 1: i32 a } struct S { 1: R t }" r#"{"s":{"t":{"a":1}}}"#;
    "a value to a struct of it":
        "struct S { 1: i32 a }" r#"{"s":{"a":7}}"# =>
        "struct T { 1: i32 value } struct S { 1: T a }" r#"{"s":{"a":{"value":7}}}"#;
    "a value to a reference":
        "struct T { 1: i32 a } struct S { 1: optional T t }" r#"{"s":{"t":{"a":1}}}"# =>
        "struct T { 1: i32 a } struct S { 1: ref T t }" r#"{"s":{"t":{"a":1}}}"#;
    "fields swapped in a struct inside":
        "struct T { 1: i32 a 2: i32 b } struct S { 1: T t }" r#"{"s":{"t":{"a":1,"b":2}}}"# =>
        "struct T { 1: i32 b 2: i32 a } struct S { 1: T t }" r#"{"s":{"t":{"a":1,"b":2}}}"#;
    "fields swapped in a list's struct":
        "struct T { 1: i32 a 2: i32 b } struct S { 1: list<T> t }" r#"{"s":{"t":[{"a":1,"b":2}]}}"# =>
        "struct T { 1: i32 b 2: i32 a } struct S { 1: list<T> t }" r#"{"s":{"t":[{"a":1,"b":2}]}}"#;
    "a field of another type in a map's struct":
        "struct T { 1: i32 a } struct S { 1: map<string, T> t }" r#"{"s":{"t":{"k":{"a":1}}}}"# =>
        "struct T { 1: string a } struct S { 1: map<string, T> t }" r#"{"s":{"t":{"k":{"a":"x"}}}}"#;

    "parameters in another order":
        "service X { void f(1: i32 a, 2: string b) }" r#"{"a":1,"b":"x"}"# =>
        "service X { void f(2: string b, 1: i32 a) }" r#"{"a":1,"b":"x"}"#;
    "parameters swapped, of one type":
        "service X { void f(1: i32 a, 2: i32 b) }" r#"{"a":1,"b":2}"# =>
        "service X { void f(1: i32 b, 2: i32 a) }" r#"{"a":1,"b":2}"#;
    "a parameter added":
        "service X { void f(1: i32 a) }" r#"{"a":1}"# =>
        "service X { void f(1: i32 a, 2: i32 b) }" r#"{"a":1,"b":2}"#;
    "a parameter removed":
        "service X { void f(1: i32 a, 2: i32 b) }" r#"{"a":1,"b":2}"# =>
        "service X { void f(1: i32 a) }" r#"{"a":1}"#;
    "a parameter i32 to i64":
        "service X { void f(1: i32 a) }" r#"{"a":7}"# =>
        "service X { void f(1: i64 a) }" r#"{"a":5000000000}"#;
    "a parameter i32 to string":
        "service X { void f(1: i32 a) }" r#"{"a":7}"# =>
        "service X { void f(1: string a) }" r#"{"a":"x"}"#;
}
