struct Point {
  1: i32 x
  2: i32 y
}

enum Color {
  RED
  GREEN
}

const i32 ORIGIN_X = 0
const i32 ORIGIN_Y = 0

service Base {
  void ping()
}
