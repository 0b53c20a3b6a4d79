include "../errors/include/shared.thrift"
include "../errors/include/deep/shared.thrift"

struct S {
  1: shared.Point from_the_first
  2: shared.Other from_the_second
  3: i32 constant = shared.ORIGIN_X
}
