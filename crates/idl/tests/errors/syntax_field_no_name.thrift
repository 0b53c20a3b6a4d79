struct A {
  1: i32,
  2: string b
}
