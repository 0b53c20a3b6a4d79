enum Kind { A }

struct S {
  @Kind
  1: i32 a
}
