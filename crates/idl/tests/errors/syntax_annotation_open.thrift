struct S {
  1: i32 a (min = "5"
}
