include "include/nowhere.thrift"

struct S {
  1: nowhere.Thing a
}
