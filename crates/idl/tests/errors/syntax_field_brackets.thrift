struct A {
  1: i32[] numbers
  2: string b
}
