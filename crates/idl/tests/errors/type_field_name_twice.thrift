struct S {
  1: i32 a
  2: string a
}

service T {
  void f(1: i32 x, 2: i32 x)
}
