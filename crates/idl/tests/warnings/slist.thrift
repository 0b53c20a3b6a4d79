struct S {
  1: slist a
}
