service S {
  oneway i32 f()
  oneway stream<i32> g()
}
