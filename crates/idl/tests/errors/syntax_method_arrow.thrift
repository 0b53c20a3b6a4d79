service S {
  add(1: i32 a) -> i32
}
