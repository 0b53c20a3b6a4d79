include "include/shared.thrift"

struct S {
  1: shared.Poimt a
  2: Point b
  3: sharde.Point c
  4: other.Point d
}
