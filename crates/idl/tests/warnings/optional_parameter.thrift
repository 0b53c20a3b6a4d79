service S {
  void f(1: optional i32 a)
}
