struct shared.Thing {
  1: i32 a
}
