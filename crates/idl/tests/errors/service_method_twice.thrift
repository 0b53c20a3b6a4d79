service S {
  void f()
  i32 f(1: i32 a)
}
