include "include/broken.thrift"

struct S {
  1: broken.Missing a
  2: Unknown b
}
