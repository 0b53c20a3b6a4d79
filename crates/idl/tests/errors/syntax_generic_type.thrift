struct S {
  1: vector<i32> numbers
  2: optional<i32> maybe
}
