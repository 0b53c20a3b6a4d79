service S {
  ping()
  i32 add(1: i32 a)
}
