struct S {
  1: list numbers
  2: map<string> names
}
