service S {
  stream<i32>, stream<i32> twice()
}
