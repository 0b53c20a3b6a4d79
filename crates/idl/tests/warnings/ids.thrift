struct S {
  0: i32 a
  i32 b
  -7: i32 c
  5: i32 d
}
