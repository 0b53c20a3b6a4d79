struct Oops {}
service S {
  void f() throws (1: Oops a, 2: i32 b)
}
