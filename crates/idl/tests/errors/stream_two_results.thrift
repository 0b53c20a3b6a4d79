service S {
  i32, sink<string, i64> upload()
}
