struct struct {
  1: i32 a
}

enum E {
  list
}
