struct S {
  32768: i32 a
  99999999999: i32 b
}
