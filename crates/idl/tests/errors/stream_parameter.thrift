service S {
  void upload(1: stream<i32> numbers)
}
