struct S {
  1: i32 class
}

service T {
  void delete(1: i32 from)
}
