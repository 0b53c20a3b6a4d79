include "shared.thrift"

struct Line {
  1: shared.Point from_here
  2: shared.Point to_there
}
