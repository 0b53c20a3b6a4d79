service S {
  1: i32 a
}
