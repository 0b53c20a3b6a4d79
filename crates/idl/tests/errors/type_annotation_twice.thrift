struct Range { 1: i64 min }

struct S {
  @Range{min = 1} @Range{min = 2}
  1: i32 a
}
