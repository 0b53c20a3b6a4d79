struct S {
  1: stream<i32> numbers
}
