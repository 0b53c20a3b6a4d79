struct S {
  @Deprecated{why = "old"}
  1: i32 a
}
