struct Page {
  1: i32 number
  2: i32 size = 20
}
