struct S {
  1: i32 a (min = 5)
  2: i32 b (= "x")
}
