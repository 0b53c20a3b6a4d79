include shared.thrift

struct S {
  1: i32 a
}
