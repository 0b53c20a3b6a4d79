struct S {
  1: void nothing
}
