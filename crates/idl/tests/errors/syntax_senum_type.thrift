struct S {
  1: senum nothing
}
