struct S {
  reserved 2, 5 to 9, "old"
  1: i32 a
  2: i32 b
  3: i32 old
}

enum E {
  reserved 3
  A = 3
}
