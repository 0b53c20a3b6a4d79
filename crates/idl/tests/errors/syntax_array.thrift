struct S {
  1: array<i32> a
  2: array<i32, 0> b
  3: array<i32, n> c
}
