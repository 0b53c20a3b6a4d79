service S {
  i32, sink<string> upload()
}
