namespace py

struct S {
  1: i32 a
}
