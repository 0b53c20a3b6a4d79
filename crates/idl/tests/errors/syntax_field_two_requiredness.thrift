struct A {
  1: required optional i32 a
}
