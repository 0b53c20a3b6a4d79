struct NotThrown {}
service S {
  stream<i32 throws (1: NotThrown e)> numbers()
}
