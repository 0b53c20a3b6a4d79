interaction Counter {
  i32 next()
}
