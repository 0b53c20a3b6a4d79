exception E {}
service S {
  void f() raises (1: E e)
}
