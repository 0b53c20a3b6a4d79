struct S {
  1: i32 a = "x"
  2: string b = 1
  3: list<string> c = ["a", 1]
}
service T {
  void f(1: i8 x = 1000)
}
