struct S {
  1: shared..Thing a
}
