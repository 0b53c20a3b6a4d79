struct S {
  1: ref list<i32> numbers
  2: ref Number n
}
typedef i32 Number
