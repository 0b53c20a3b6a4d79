struct A {
  1: i32 = 5
  2: string good
  3: list<> bad
  four: i32 x
}

enum E {
  A = ,
  B = 2
}

service S {
  void (1: i32 x)
  i32 ok()
}
