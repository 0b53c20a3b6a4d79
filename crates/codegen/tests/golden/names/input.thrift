namespace rs names.type

struct Result {
  1: i32 value
}

struct Option {
  1: optional string value
}

struct Vec {
  1: list<Option> items
}

struct String {
  1: string text = "text"
}

struct Box {
  1: optional Box inner
}

struct Default {
  1: i32 value = 1
  2: optional Default other
}

struct Send {
}

struct Arc {
}

struct Status {
}

struct Context {
}

struct UnknownFields {
}

struct Bytes {
  1: binary bytes
}

struct BTreeMap {
  1: map<i32, i32> map
}

enum Ok {
  OK = 0
}

enum Err {
  ERR = 0
}

enum Some {
  SOME = 0
}

enum None {
  NONE = 0
}

struct Holder {
  1: Ok ok
  2: optional i32 number
  3: Err err = Err.ERR
}

exception Error {
  1: string message
}

/** Keywords, and names that differ by case only. */
struct Keywords {
  1: i32 type
  2: i32 self
  3: i32 Self
  4: i32 fn
  5: i32 fooBar
  6: i32 foo_bar
  7: i32 FooBar
  8: i32 unknown_fields
  9: i32 crate
  10: i32 r
  11: i32 gen
  12: i32 self_
}

struct snake_case {
  1: i32 a
}

struct SnakeCase {
  1: snake_case b
}

struct ServiceClient {
}

const i32 limit = 1
const i32 LIMIT = 2
const i32 SERVICE = 3

service Service {
  i32 new(1: i32 value)
  i32 call(1: i32 call) throws (1: Error error)
  i32 clone()
  string to_string(1: string self, 2: string cx, 3: string handler, 4: string type)
  Result match(1: Result r, 2: Option fooBar, 3: i32 foo_bar)
  void from(1: Some some, 2: None none)
  i32 descriptor()
  i32 dispatch()
  i32 Call(1: i32 channel)
}

// The parameters of types in what is generated.
struct R {
  1: i32 a
}

struct W {
  1: R r
  2: optional W w
  3: map<i32, list<L>> l
}

struct L {
  1: required set<R> r
}

union U {
  1: R r
  2: W w
}

exception E {
  1: R r
}

service T {
  R f(1: W w, 2: L l) throws (1: E e)
  R g(1: U u)
  oneway void h(1: R r)
}

service S extends T {
  W w()
}
