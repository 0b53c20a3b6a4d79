struct Range { 1: i64 min }

struct S {
  @Range{min: 5}
  1: i32 a
}
