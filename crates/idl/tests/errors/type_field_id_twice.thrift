struct S {
  1: i32 a
  2: i32 b
  1: i32 c
}

exception E {}
service T {
  void f(1: i32 x, 1: i32 y) throws (1: E a, 1: E b)
}
