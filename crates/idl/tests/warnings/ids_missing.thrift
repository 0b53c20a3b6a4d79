service S {
  i32 add(i32 a, i32 b)
}
