struct Point {
  1: required i32 x
  2: required i32 y
  3: required i32 z = 0
}

const Point P = {"z": 1}
