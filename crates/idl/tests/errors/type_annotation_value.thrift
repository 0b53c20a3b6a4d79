struct Range {
  1: required i64 min
  2: i8 step
}

struct S {
  @Range{mim = 1}
  1: i32 a
  @Range{min = "one"}
  2: i32 b
  @Range{step = 300, min = 1}
  3: i32 c
  @Range
  4: i32 d
}
