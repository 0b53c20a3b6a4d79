struct S {
  1: list<list<i32> numbers
  2: i32 b
}
