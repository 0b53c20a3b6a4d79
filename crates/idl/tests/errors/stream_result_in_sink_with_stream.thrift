service S {
  sink<string, i32>, stream<string> chat()
}
