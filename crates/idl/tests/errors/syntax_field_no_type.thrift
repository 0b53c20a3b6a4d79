struct A {
  1: a
  2: string b
}
