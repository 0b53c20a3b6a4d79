struct S {
  reserved 9 to 5;
  1: i32 a
}
