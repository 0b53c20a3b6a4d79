include "include/uses_shared.thrift"

struct S {
  1: shared.Point a
}
