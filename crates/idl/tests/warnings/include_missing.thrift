// Nothing of it is used.
include "include/nowhere.thrift"

struct S {
  1: i32 a
}
