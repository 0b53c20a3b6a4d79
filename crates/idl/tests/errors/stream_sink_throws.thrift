exception E {}
service S {
  sink<string, i32 throws (1: E e)> upload()
}
