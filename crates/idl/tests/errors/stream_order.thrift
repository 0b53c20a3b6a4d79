service S {
  stream<i32>, i32 twice()
}
